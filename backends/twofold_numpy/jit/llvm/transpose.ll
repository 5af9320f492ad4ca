; Transposes arrays (outer, rows, columns), whose columns are one element apart, to (outer, columns, rows), whose rows are: in tiles of
; $ROWS by $COLUMNS, which end cache lines of the source before they are dropped, and element by element at the edges.
define void @kernel(ptr %out, ptr %x, ptr %numbers) nounwind {
entry:
$LOADED
  %rows.whole = and i64 %rows, -$ROWS
  %columns.whole = and i64 %columns, -$COLUMNS
  br label %outer.look
outer.look:
  %o = phi i64 [ 0, %entry ], [ %o.next, %outer.next ]
  %more.outer = icmp slt i64 %o, %outer
  br i1 %more.outer, label %outer.begin, label %done
outer.begin:
  %o.out = mul i64 %o, %to.outer
  %o.x = mul i64 %o, %from.outer
  %out.o = getelementptr $TYPE, ptr %out, i64 %o.out
  %x.o = getelementptr $TYPE, ptr %x, i64 %o.x
  br label %band
band:
  %c = phi i64 [ 0, %outer.begin ], [ %c.next, %band.next ]
  %more.bands = icmp slt i64 %c, %columns.whole
  br i1 %more.bands, label %band.begin, label %edge
band.begin:
  %c.next = add i64 %c, $COLUMNS
  %c.out = mul i64 %c, %to.column
  %out.c = getelementptr $TYPE, ptr %out.o, i64 %c.out
  %x.c = getelementptr $TYPE, ptr %x.o, i64 %c
  br label %tile
tile:
  %r = phi i64 [ 0, %band.begin ], [ %r.next, %tile.begin ]
  %more.tiles = icmp slt i64 %r, %rows.whole
  br i1 %more.tiles, label %tile.begin, label %rest
tile.begin:
  %r.next = add i64 %r, $ROWS
  %tile.to = getelementptr $TYPE, ptr %out.c, i64 %r
  %r.x = mul i64 %r, %from.row
  %x.0 = getelementptr $TYPE, ptr %x.c, i64 %r.x
$POINTERS
$TILE
  br label %tile
; the rows behind the last tile of a band
rest:
  %s = phi i64 [ %rows.whole, %tile ], [ %s.next, %rest.next ]
  %more.rest = icmp slt i64 %s, %rows
  br i1 %more.rest, label %rest.begin, label %band.next
rest.begin:
  %s.x = mul i64 %s, %from.row
  %x.s = getelementptr $TYPE, ptr %x.c, i64 %s.x
  %out.s = getelementptr $TYPE, ptr %out.c, i64 %s
  br label %rest.one
rest.one:
  %i = phi i64 [ 0, %rest.begin ], [ %i.next, %rest.one ]
  %i.from = getelementptr $TYPE, ptr %x.s, i64 %i
  %i.value = load $TYPE, ptr %i.from, align $ITEM
  %i.out = mul i64 %i, %to.column
  %i.to = getelementptr $TYPE, ptr %out.s, i64 %i.out
  store $TYPE %i.value, ptr %i.to, align $ITEM
  %i.next = add i64 %i, 1
  %more.i = icmp slt i64 %i.next, $COLUMNS
  br i1 %more.i, label %rest.one, label %rest.next
rest.next:
  %s.next = add i64 %s, 1
  br label %rest
band.next:
  br label %band
; the columns behind the last band
edge:
  %e = phi i64 [ %columns.whole, %band ], [ %e.next, %edge.next ]
  %more.edge = icmp slt i64 %e, %columns
  br i1 %more.edge, label %edge.begin, label %outer.next
edge.begin:
  %e.out = mul i64 %e, %to.column
  %out.e = getelementptr $TYPE, ptr %out.o, i64 %e.out
  %x.e = getelementptr $TYPE, ptr %x.o, i64 %e
  br label %edge.one
edge.one:
  %j = phi i64 [ 0, %edge.begin ], [ %j.next, %edge.one ]
  %j.x = mul i64 %j, %from.row
  %j.from = getelementptr $TYPE, ptr %x.e, i64 %j.x
  %j.value = load $TYPE, ptr %j.from, align $ITEM
  %j.to = getelementptr $TYPE, ptr %out.e, i64 %j
  store $TYPE %j.value, ptr %j.to, align $ITEM
  %j.next = add i64 %j, 1
  %more.j = icmp slt i64 %j.next, %rows
  br i1 %more.j, label %edge.one, label %edge.next
edge.next:
  %e.next = add i64 %e, 1
  br label %edge
outer.next:
  %o.next = add i64 %o, 1
  br label %outer.look
done:
  ret void
}
