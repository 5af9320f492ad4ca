; The words of a gradient of depthwise weights begin like those of `pieces.ll`; the rest are named below, in their order. An item is a
; channel, with the sums over the places of all images: in each lane of a vector those of some columns.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
  %pieces.at = getelementptr i64, ptr %words, i64 5
  %pieces = load i64, ptr %pieces.at
$WORDS
  %data.object = load ptr, ptr %arguments
  %result.object.at = getelementptr ptr, ptr %arguments, i64 1
  %result.object = load ptr, ptr %result.object.at
  %out.object.at = getelementptr ptr, ptr %arguments, i64 2
  %out.object = load ptr, ptr %out.object.at
  %data.at = getelementptr i8, ptr %data.object, i64 $DATA
  %data = load ptr, ptr %data.at
  %result.at = getelementptr i8, ptr %result.object, i64 $DATA
  %result = load ptr, ptr %result.at
  %out.at = getelementptr i8, ptr %out.object, i64 $DATA
  %out = load ptr, ptr %out.at
  %zero.row = inttoptr i64 %zeros to ptr
  %begin.times = mul i64 %index, %channels
  %begin = udiv i64 %begin.times, %pieces
  %index.next = add i64 %index, 1
  %end.times = mul i64 %index.next, %channels
  %end = udiv i64 %end.times, %pieces
  %plane = mul i64 %height, %width
  %result.plane = mul i64 %rows, %columns
  %image.step = mul i64 %channels, %plane
  %result.step = mul i64 %channels, %result.plane
  br label %look
look:
  %channel = phi i64 [ %begin, %entry ], [ %channel.next, %start ]
  %more.channels = icmp ult i64 %channel, %end
  br i1 %more.channels, label %start, label %over
start:
  %image.offset = mul i64 %channel, %plane
  %images.first = getelementptr float, ptr %data, i64 %image.offset
  %result.offset = mul i64 %channel, %result.plane
  %results.first = getelementptr float, ptr %result, i64 %result.offset
  %sums.offset = mul i64 %channel, $TAPS
  %sums = getelementptr float, ptr %out, i64 %sums.offset
  call void @channel(ptr %images.first, ptr %results.first, ptr %sums, ptr %zero.row, i64 %images, i64 %image.step, i64 %result.step, i64 %height, i64 %width, i64 %rows, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns)
  %channel.next = add i64 %channel, 1
  br label %look
over:
  ret ptr null
}
; The sums of a channel, in blocks of one vector of columns. An element of padding is a lane that is not loaded, or is read from a row of
; zeros.
define internal void @channel(ptr %images.first, ptr %results.first, ptr %to, ptr %zero.row, i64 %images, i64 %image.step, i64 %result.step, i64 %height, i64 %width, i64 %rows, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns) noinline nounwind {
entry:
  %width.32 = trunc i64 %width to i32
  %width.first = insertelement <$LANES x i32> poison, i32 %width.32, i64 0
  %widths = shufflevector <$LANES x i32> %width.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  br label %block
block:
  %x = phi i64 [ 0, %entry ], [ %x.next, %block.done ]
$OF_BLOCK
  %more.columns = icmp ult i64 %x, %columns
  br i1 %more.columns, label %begin, label %end
begin:
  %left = sub i64 %columns, %x
  %left.32 = trunc i64 %left to i32
  %left.first = insertelement <$LANES x i32> poison, i32 %left.32, i64 0
  %left.all = shufflevector <$LANES x i32> %left.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
$INSIDE
  %x.image = mul i64 %x, $ACROSS
  %x.first = sub i64 %x.image, %pad.columns
$MASKS
  br label %image.look
image.look:
  %n = phi i64 [ 0, %begin ], [ %n.next, %image.done ]
$OF_IMAGE
  %more.images = icmp ult i64 %n, %images
  br i1 %more.images, label %image.begin, label %block.done
image.begin:
  %n.image = mul i64 %n, %image.step
  %image = getelementptr float, ptr %images.first, i64 %n.image
  %n.result = mul i64 %n, %result.step
  %result.n = getelementptr float, ptr %results.first, i64 %n.result
  br label %row
row:
  %y = phi i64 [ 0, %image.begin ], [ %y.next, %each ]
  %from = phi ptr [ %result.n, %image.begin ], [ %from.next, %each ]
$OF_ROW
  %more = icmp ult i64 %y, %rows
  br i1 %more, label %each, label %image.done
each:
  %from.block = getelementptr float, ptr %from, i64 %x
$GIVEN
  %y.image = mul i64 %y, %down
  %y.first = sub i64 %y.image, %pad.rows
$SUMS
  %from.next = getelementptr float, ptr %from, i64 %columns
  %y.next = add i64 %y, 1
  br label %row
image.done:
  %n.next = add i64 %n, 1
  br label %image.look
block.done:
  %x.next = add i64 %x, $LANES
  br label %block
end:
$STORED
  ret void
}
declare $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr, i32 immarg, $MASK, $VECTOR)
declare $VECTOR @llvm.fma.$OVERLOAD($VECTOR, $VECTOR, $VECTOR)
