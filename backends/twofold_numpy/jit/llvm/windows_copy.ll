; Records of an offset in the plane and one in scratch memory; how many elements are neighbors in both; and how many such rows there are,
; with the distances of their begins in both.
define internal void @$NAME(ptr %plane, ptr %scratch, ptr %records, i64 %count) noinline nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %done ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %begin, label %over
begin:
  %record = getelementptr [8 x i64], ptr %records, i64 %k
$RECORD
  %plane.first = getelementptr $TYPE, ptr %plane, i64 %plane.offset
  %scratch.first = getelementptr $TYPE, ptr %scratch, i64 %scratch.offset
  %is.one = icmp eq i64 %elements, 1
  br i1 %is.one, label %one, label %rows.begin
one:
  %i = phi i64 [ 0, %begin ], [ %i.next, %one ]
  %one.plane = phi ptr [ %plane.first, %begin ], [ %one.plane.next, %one ]
  %one.scratch = phi ptr [ %scratch.first, %begin ], [ %one.scratch.next, %one ]
  %one.value = load $TYPE, ptr %one.$FROM, align $ITEM
  store $TYPE %one.value, ptr %one.$TO, align $ITEM
  %one.plane.next = getelementptr $TYPE, ptr %one.plane, i64 %plane.step
  %one.scratch.next = getelementptr $TYPE, ptr %one.scratch, i64 %scratch.step
  %i.next = add i64 %i, 1
  %more.ones = icmp ult i64 %i.next, %rows
  br i1 %more.ones, label %one, label %done
rows.begin:
  %whole = and i64 %elements, -$LANES
  %left = sub i64 %elements, %whole
  %is.part = icmp ne i64 %left, 0
$MASK
  br label %row
row:
  %j = phi i64 [ 0, %rows.begin ], [ %j.next, %row.done ]
  %j.plane = phi ptr [ %plane.first, %rows.begin ], [ %j.plane.next, %row.done ]
  %j.scratch = phi ptr [ %scratch.first, %rows.begin ], [ %j.scratch.next, %row.done ]
  br label %vector.look
vector.look:
  %v = phi i64 [ 0, %row ], [ %v.next, %vector ]
  %plane.v = getelementptr $TYPE, ptr %j.plane, i64 %v
  %scratch.v = getelementptr $TYPE, ptr %j.scratch, i64 %v
  %is.whole = icmp ult i64 %v, %whole
  br i1 %is.whole, label %vector, label %rest
vector:
  %value = load <$LANES x $TYPE>, ptr %$FROM.v, align $ITEM
  store <$LANES x $TYPE> %value, ptr %$TO.v, align $ITEM
  %v.next = add i64 %v, $LANES
  br label %vector.look
rest:
  br i1 %is.part, label %part, label %row.done
part:
  %part.value = call <$LANES x $TYPE> @llvm.masked.load.v$LANES$SUFFIX.p0(ptr %$FROM.v, i32 $ITEM, <$LANES x i1> %mask, <$LANES x $TYPE> zeroinitializer)
  call void @llvm.masked.store.v$LANES$SUFFIX.p0(<$LANES x $TYPE> %part.value, ptr %$TO.v, i32 $ITEM, <$LANES x i1> %mask)
  br label %row.done
row.done:
  %j.plane.next = getelementptr $TYPE, ptr %j.plane, i64 %plane.step
  %j.scratch.next = getelementptr $TYPE, ptr %j.scratch, i64 %scratch.step
  %j.next = add i64 %j, 1
  %more.rows = icmp ult i64 %j.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  %k.next = add i64 %k, 1
  br label %look
over:
  ret void
}
