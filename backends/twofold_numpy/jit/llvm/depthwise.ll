; The words of a depthwise convolution begin like those of `pieces.ll`; the rest are named below, in their order. An item is a channel of
; an image.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
  %pieces.at = getelementptr i64, ptr %words, i64 5
  %pieces = load i64, ptr %pieces.at
$WORDS
  %data.object = load ptr, ptr %arguments
  %weight.object.at = getelementptr ptr, ptr %arguments, i64 1
  %weight.object = load ptr, ptr %weight.object.at
  %out.last = sub i64 %count, 1
  %out.object.at = getelementptr ptr, ptr %arguments, i64 %out.last
  %out.object = load ptr, ptr %out.object.at
  %data.at = getelementptr i8, ptr %data.object, i64 $DATA
  %data = load ptr, ptr %data.at
  %weight.at = getelementptr i8, ptr %weight.object, i64 $DATA
  %weight = load ptr, ptr %weight.at
  %out.at = getelementptr i8, ptr %out.object, i64 $DATA
  %out = load ptr, ptr %out.at
  %zero.row = inttoptr i64 %zeros to ptr
  %begin.times = mul i64 %index, %items
  %begin = udiv i64 %begin.times, %pieces
  %index.next = add i64 %index, 1
  %end.times = mul i64 %index.next, %items
  %end = udiv i64 %end.times, %pieces
  %has.epilogue = icmp ne i64 %epilogue, 0
  %epilogue.code = inttoptr i64 %epilogue to ptr
  %plane = mul i64 %height, %width
  %out.plane = mul i64 %rows, %columns
  br label %look
look:
  %item = phi i64 [ %begin, %entry ], [ %item.next, %item.done ]
  %more.items = icmp ult i64 %item, %end
  br i1 %more.items, label %start, label %over
start:
  %channel = urem i64 %item, %channels
  %image.offset = mul i64 %item, %plane
  %image = getelementptr float, ptr %data, i64 %image.offset
  %weights.offset = mul i64 %channel, $TAPS
  %weights = getelementptr float, ptr %weight, i64 %weights.offset
  %out.first = mul i64 %item, %out.plane
  br label %band
band:
  %top = phi i64 [ 0, %start ], [ %bottom, %band.done ]
  %more.rows = icmp ult i64 %top, %rows
  br i1 %more.rows, label %compute, label %item.done
compute:
  %below = add i64 %top, %band.rows
  %is.last = icmp ult i64 %rows, %below
  %bottom = select i1 %is.last, i64 %rows, i64 %below
  %skipped = mul i64 %top, %columns
  %out.from = add i64 %out.first, %skipped
  %target = getelementptr float, ptr %out, i64 %out.from
  call void @rows(ptr %image, ptr %zero.row, ptr %weights, ptr %target, i64 %top, i64 %bottom, i64 %height, i64 %width, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns)
  br i1 %has.epilogue, label %epilogue.run, label %band.done
epilogue.run:
  ; the rows have no gaps: they are one row of results, which is overwritten
  %band.count = sub i64 %bottom, %top
  %run = mul i64 %band.count, %columns
  %out.offset = mul i64 %out.from, 4
  call void %epilogue.code(ptr %target, i64 0, ptr %arguments, i64 %out.offset, i64 0, i64 1, i64 1, i64 %run, i64 %run, i64 %channel)
  br label %band.done
band.done:
  br label %band
item.done:
  %item.next = add i64 %item, 1
  br label %look
over:
  ret ptr null
}
; Some rows of results of a channel, in blocks of one vector of columns. An element of padding is a lane that is not loaded, or is read from
; a row of zeros. What the next row of results reads too may stay in registers.
define internal void @rows(ptr %image, ptr %zero.row, ptr %weights, ptr %target, i64 %top, i64 %bottom, i64 %height, i64 %width, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns) noinline nounwind {
entry:
$LOADED_WEIGHTS
  %width.32 = trunc i64 %width to i32
  %width.first = insertelement <$LANES x i32> poison, i32 %width.32, i64 0
  %widths = shufflevector <$LANES x i32> %width.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  br label %block
block:
  %x = phi i64 [ 0, %entry ], [ %x.next, %block.done ]
  %more.columns = icmp ult i64 %x, %columns
  br i1 %more.columns, label %begin, label %end
begin:
  %left = sub i64 %columns, %x
  %left.32 = trunc i64 %left to i32
  %left.first = insertelement <$LANES x i32> poison, i32 %left.32, i64 0
  %left.all = shufflevector <$LANES x i32> %left.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  %stored = icmp ult <$LANES x i32> <$LANE_NUMBERS>, %left.all
  %x.image = mul i64 %x, $ACROSS
  %x.first = sub i64 %x.image, %pad.columns
$MASKS
  %y.top = mul i64 %top, %down
  %y.begin = sub i64 %y.top, %pad.rows
$FIRST_ROWS
  br label %row
row:
  %y = phi i64 [ %top, %begin ], [ %y.next, %each ]
  %to = phi ptr [ %target, %begin ], [ %to.next, %each ]
$KEPT_ROWS
  %more = icmp ult i64 %y, %bottom
  br i1 %more, label %each, label %block.done
each:
  %y.image = mul i64 %y, %down
  %y.first = sub i64 %y.image, %pad.rows
$SUMS
  %to.block = getelementptr float, ptr %to, i64 %x
  call void @llvm.masked.store.$OVERLOAD.p0($VECTOR %sum, ptr %to.block, i32 4, $MASK %stored)
  %to.next = getelementptr float, ptr %to, i64 %columns
  %y.next = add i64 %y, 1
  br label %row
block.done:
  %x.next = add i64 %x, $LANES
  br label %block
end:
  ret void
}
declare $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr, i32 immarg, $MASK, $VECTOR)
declare void @llvm.masked.store.$OVERLOAD.p0($VECTOR, ptr, i32 immarg, $MASK)
declare $VECTOR @llvm.fma.$OVERLOAD($VECTOR, $VECTOR, $VECTOR)
