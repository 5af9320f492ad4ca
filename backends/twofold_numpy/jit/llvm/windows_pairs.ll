; Records of an offset in the plane, those of its even and of its odd elements in scratch memory, and how many pairs of neighbors there are;
; and how many such rows there are, with the distances of their begins in both.
define internal void @apart(ptr %plane, ptr %scratch, ptr %records, i64 %count) noinline nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %done ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %begin, label %over
begin:
  %record = getelementptr [8 x i64], ptr %records, i64 %k
$RECORD
  %elements = mul i64 %pairs, 2
  %plane.first = getelementptr $TYPE, ptr %plane, i64 %plane.offset
  %even.first = getelementptr $TYPE, ptr %scratch, i64 %even.offset
  %odd.first = getelementptr $TYPE, ptr %scratch, i64 %odd.offset
  %whole = and i64 %elements, -$LANES
  %left = sub i64 %elements, %whole
  %is.part = icmp ne i64 %left, 0
  %half.left = lshr i64 %left, 1
$MASK
$HALF_MASK
  br label %row
row:
  %j = phi i64 [ 0, %begin ], [ %j.next, %row.done ]
  %j.plane = phi ptr [ %plane.first, %begin ], [ %j.plane.next, %row.done ]
  %j.even = phi ptr [ %even.first, %begin ], [ %j.even.next, %row.done ]
  %j.odd = phi ptr [ %odd.first, %begin ], [ %j.odd.next, %row.done ]
  br label %vector.look
vector.look:
  %v = phi i64 [ 0, %row ], [ %v.next, %vector ]
  %half = lshr i64 %v, 1
  %from.v = getelementptr $TYPE, ptr %j.plane, i64 %v
  %even.v = getelementptr $TYPE, ptr %j.even, i64 %half
  %odd.v = getelementptr $TYPE, ptr %j.odd, i64 %half
  %is.whole = icmp ult i64 %v, %whole
  br i1 %is.whole, label %vector, label %rest
vector:
  %wide = load <$LANES x $TYPE>, ptr %from.v, align $ITEM
  %even = shufflevector <$LANES x $TYPE> %wide, <$LANES x $TYPE> poison, <$HALF x i32> <$EVEN>
  %odd = shufflevector <$LANES x $TYPE> %wide, <$LANES x $TYPE> poison, <$HALF x i32> <$ODD>
  store <$HALF x $TYPE> %even, ptr %even.v, align $ITEM
  store <$HALF x $TYPE> %odd, ptr %odd.v, align $ITEM
  %v.next = add i64 %v, $LANES
  br label %vector.look
rest:
  br i1 %is.part, label %part, label %row.done
part:
  %wide.part = call <$LANES x $TYPE> @llvm.masked.load.v$LANES$SUFFIX.p0(ptr %from.v, i32 $ITEM, <$LANES x i1> %mask, <$LANES x $TYPE> zeroinitializer)
  %even.part = shufflevector <$LANES x $TYPE> %wide.part, <$LANES x $TYPE> poison, <$HALF x i32> <$EVEN>
  %odd.part = shufflevector <$LANES x $TYPE> %wide.part, <$LANES x $TYPE> poison, <$HALF x i32> <$ODD>
  call void @llvm.masked.store.v$HALF$SUFFIX.p0(<$HALF x $TYPE> %even.part, ptr %even.v, i32 $ITEM, <$HALF x i1> %half.mask)
  call void @llvm.masked.store.v$HALF$SUFFIX.p0(<$HALF x $TYPE> %odd.part, ptr %odd.v, i32 $ITEM, <$HALF x i1> %half.mask)
  br label %row.done
row.done:
  %j.plane.next = getelementptr $TYPE, ptr %j.plane, i64 %plane.step
  %j.even.next = getelementptr $TYPE, ptr %j.even, i64 %scratch.step
  %j.odd.next = getelementptr $TYPE, ptr %j.odd, i64 %scratch.step
  %j.next = add i64 %j, 1
  %more.rows = icmp ult i64 %j.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  %k.next = add i64 %k, 1
  br label %look
over:
  ret void
}
define internal void @together(ptr %plane, ptr %scratch, ptr %records, i64 %count) noinline nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %done ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %begin, label %over
begin:
  %record = getelementptr [8 x i64], ptr %records, i64 %k
$RECORD
  %elements = mul i64 %pairs, 2
  %plane.first = getelementptr $TYPE, ptr %plane, i64 %plane.offset
  %even.first = getelementptr $TYPE, ptr %scratch, i64 %even.offset
  %odd.first = getelementptr $TYPE, ptr %scratch, i64 %odd.offset
  %whole = and i64 %elements, -$LANES
  %left = sub i64 %elements, %whole
  %is.part = icmp ne i64 %left, 0
  %half.left = lshr i64 %left, 1
$MASK
$HALF_MASK
  br label %row
row:
  %j = phi i64 [ 0, %begin ], [ %j.next, %row.done ]
  %j.plane = phi ptr [ %plane.first, %begin ], [ %j.plane.next, %row.done ]
  %j.even = phi ptr [ %even.first, %begin ], [ %j.even.next, %row.done ]
  %j.odd = phi ptr [ %odd.first, %begin ], [ %j.odd.next, %row.done ]
  br label %vector.look
vector.look:
  %v = phi i64 [ 0, %row ], [ %v.next, %vector ]
  %half = lshr i64 %v, 1
  %from.v = getelementptr $TYPE, ptr %j.plane, i64 %v
  %even.v = getelementptr $TYPE, ptr %j.even, i64 %half
  %odd.v = getelementptr $TYPE, ptr %j.odd, i64 %half
  %is.whole = icmp ult i64 %v, %whole
  br i1 %is.whole, label %vector, label %rest
vector:
  %even = load <$HALF x $TYPE>, ptr %even.v, align $ITEM
  %odd = load <$HALF x $TYPE>, ptr %odd.v, align $ITEM
  %wide = shufflevector <$HALF x $TYPE> %even, <$HALF x $TYPE> %odd, <$LANES x i32> <$TURNS>
  store <$LANES x $TYPE> %wide, ptr %from.v, align $ITEM
  %v.next = add i64 %v, $LANES
  br label %vector.look
rest:
  br i1 %is.part, label %part, label %row.done
part:
  %even.part = load <$HALF x $TYPE>, ptr %even.v, align $ITEM
  %odd.part = load <$HALF x $TYPE>, ptr %odd.v, align $ITEM
  %wide.part = shufflevector <$HALF x $TYPE> %even.part, <$HALF x $TYPE> %odd.part, <$LANES x i32> <$TURNS>
  call void @llvm.masked.store.v$LANES$SUFFIX.p0(<$LANES x $TYPE> %wide.part, ptr %from.v, i32 $ITEM, <$LANES x i1> %mask)
  br label %row.done
row.done:
  %j.plane.next = getelementptr $TYPE, ptr %j.plane, i64 %plane.step
  %j.even.next = getelementptr $TYPE, ptr %j.even, i64 %scratch.step
  %j.odd.next = getelementptr $TYPE, ptr %j.odd, i64 %scratch.step
  %j.next = add i64 %j, 1
  %more.rows = icmp ult i64 %j.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  %k.next = add i64 %k, 1
  br label %look
over:
  ret void
}
declare void @llvm.masked.store.v$HALF$SUFFIX.p0(<$HALF x $TYPE>, ptr, i32 immarg, <$HALF x i1>)
