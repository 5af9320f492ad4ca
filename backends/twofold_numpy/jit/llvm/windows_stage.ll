; Records of an offset in scratch memory, the number of elements that are computed there, the number of the first tap, and how many there
; are. A tap has the offset of what it reads.
define internal void @$NAME(ptr %scratch, ptr %records, i64 %count, ptr %taps) noinline nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %done ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %begin, label %over
begin:
  %record = getelementptr [8 x i64], ptr %records, i64 %k
$RECORD
  %to.first = getelementptr $TYPE, ptr %scratch, i64 %to.offset
  %tap.first = getelementptr [8 x i64], ptr %taps, i64 %tap.number
  br label %block
block:
  %v = phi i64 [ 0, %begin ], [ %v.next, %block.done ]
  %from.v = getelementptr $TYPE, ptr %scratch, i64 %v
  br label %tap
tap:
  %t = phi i64 [ 0, %block ], [ %t.next, %tap ]
  %value = phi <$LANES x $TYPE> [ $BEGIN, %block ], [ %value.next, %tap ]
  %code = phi <$LANES x $INTEGER> [ zeroinitializer, %block ], [ %code.next, %tap ]
  %t.at = getelementptr [8 x i64], ptr %tap.first, i64 %t
  %offset = load i64, ptr %t.at
  %from = getelementptr $TYPE, ptr %from.v, i64 %offset
  %x = load <$LANES x $TYPE>, ptr %from, align $ITEM
$BODY
  %t.next = add i64 %t, 1
  %more.taps = icmp ult i64 %t.next, %number
  br i1 %more.taps, label %tap, label %block.done
block.done:
$STORE
  %v.next = add i64 %v, $LANES
  %more.blocks = icmp ult i64 %v.next, %length
  br i1 %more.blocks, label %block, label %done
done:
  %k.next = add i64 %k, 1
  br label %look
over:
  ret void
}
