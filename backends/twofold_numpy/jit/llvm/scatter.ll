; Adds rows of values (outer, n, inner) to rows of an array (outer, size, inner), each to the row that the index says, one after the other.
; Returns 1, and has added nothing, if a row does not exist; a negative index counts from the end.
define i64 @kernel(ptr %out, ptr %values, ptr %index, ptr %numbers) nounwind {
entry:
$LOADED
  %whole = and i64 %inner, -$LANES
  %is.long = icmp sgt i64 %whole, 0
  %is.over = icmp slt i64 %whole, %inner
  %bound = mul i64 %size, 2
  br label %check
check:
  %c = phi i64 [ 0, %entry ], [ %c.next, %check.next ]
  %more.checks = icmp slt i64 %c, %n
  br i1 %more.checks, label %check.one, label %outer.look
check.one:
  %c.at = getelementptr i64, ptr %index, i64 %c
  %c.row = load i64, ptr %c.at
  ; from -size to size - 1
  %c.up = add i64 %c.row, %size
  %is.row = icmp ult i64 %c.up, %bound
  br i1 %is.row, label %check.next, label %refused
check.next:
  %c.next = add i64 %c, 1
  br label %check
refused:
  ret i64 1
outer.look:
  %o = phi i64 [ 0, %check ], [ %o.next, %outer.next ]
  %more.outer = icmp slt i64 %o, %outer
  br i1 %more.outer, label %outer.begin, label %done
outer.begin:
  %o.rows = mul i64 %o, %size
  %o.elements = mul i64 %o.rows, %inner
  %out.o = getelementptr $TYPE, ptr %out, i64 %o.elements
  %o.values = mul i64 %o, %n
  %o.value = mul i64 %o.values, %inner
  %values.o = getelementptr $TYPE, ptr %values, i64 %o.value
  br label %row
row:
  %i = phi i64 [ 0, %outer.begin ], [ %i.next, %row.next ]
  %from = phi ptr [ %values.o, %outer.begin ], [ %from.next, %row.next ]
  %more.rows = icmp slt i64 %i, %n
  br i1 %more.rows, label %row.begin, label %outer.next
row.begin:
  %i.at = getelementptr i64, ptr %index, i64 %i
  %i.row = load i64, ptr %i.at
  %is.below = icmp slt i64 %i.row, 0
  %i.up = add i64 %i.row, %size
  %i.place = select i1 %is.below, i64 %i.up, i64 %i.row
  %i.elements = mul i64 %i.place, %inner
  %to = getelementptr $TYPE, ptr %out.o, i64 %i.elements
  br i1 %is.long, label %vector, label %rest
vector:
  %k = phi i64 [ 0, %row.begin ], [ %k.next, %vector ]
  %from.k = getelementptr $TYPE, ptr %from, i64 %k
  %to.k = getelementptr $TYPE, ptr %to, i64 %k
  %x = load <$LANES x $TYPE>, ptr %from.k, align $ITEM
  %y = load <$LANES x $TYPE>, ptr %to.k, align $ITEM
  %sum = fadd <$LANES x $TYPE> %y, %x
  store <$LANES x $TYPE> %sum, ptr %to.k, align $ITEM
  %k.next = add i64 %k, $LANES
  %more.vectors = icmp slt i64 %k.next, %whole
  br i1 %more.vectors, label %vector, label %rest
rest:
  br i1 %is.over, label %one, label %row.next
one:
  %j = phi i64 [ %whole, %rest ], [ %j.next, %one ]
  %from.j = getelementptr $TYPE, ptr %from, i64 %j
  %to.j = getelementptr $TYPE, ptr %to, i64 %j
  %x.j = load $TYPE, ptr %from.j, align $ITEM
  %y.j = load $TYPE, ptr %to.j, align $ITEM
  %sum.j = fadd $TYPE %y.j, %x.j
  store $TYPE %sum.j, ptr %to.j, align $ITEM
  %j.next = add i64 %j, 1
  %more.ones = icmp slt i64 %j.next, %inner
  br i1 %more.ones, label %one, label %row.next
row.next:
  %i.next = add i64 %i, 1
  %from.next = getelementptr $TYPE, ptr %from, i64 %inner
  br label %row
outer.next:
  %o.next = add i64 %o, 1
  br label %outer.look
done:
  ret i64 0
}
