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
  ; whether vectors that reach beyond a row are inside the array
  %is.after.others = icmp ne i64 %item, 0
  %item.after = add i64 %item, 1
  %is.before.others = icmp ult i64 %item.after, %items
  %is.among.others = and i1 %is.after.others, %is.before.others
  %is.large = icmp uge i64 %plane, %margin
  %is.near = and i1 %is.among.others, %is.large
  %some.rows = select i1 %is.near, ptr @${NEAR}_$TOGETHER, ptr @rows_$TOGETHER
  %one.row = select i1 %is.near, ptr @${NEAR}_1, ptr @rows_1
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
  %band.count = sub i64 %bottom, %top
  %rest = urem i64 %band.count, $TOGETHER
  %together.end = sub i64 %bottom, %rest
  call void %some.rows(ptr %image, ptr %zero.row, ptr %weights, ptr %target, i64 %top, i64 %together.end, i64 %height, i64 %width, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns)
  %has.rest = icmp ne i64 %rest, 0
  br i1 %has.rest, label %last.rows, label %computed
last.rows:
  %together.count = sub i64 %together.end, %top
  %together.results = mul i64 %together.count, %columns
  %last.target = getelementptr float, ptr %target, i64 %together.results
  call void %one.row(ptr %image, ptr %zero.row, ptr %weights, ptr %last.target, i64 %together.end, i64 %bottom, i64 %height, i64 %width, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns)
  br label %computed
computed:
  br i1 %has.epilogue, label %epilogue.run, label %band.done
epilogue.run:
  ; the rows have no gaps: they are one row of results, which is overwritten
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
$ROWS
declare $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr, i32 immarg, $MASK, $VECTOR)
declare void @llvm.masked.store.$OVERLOAD.p0($VECTOR, ptr, i32 immarg, $MASK)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare $VECTOR @llvm.fma.$OVERLOAD($VECTOR, $VECTOR, $VECTOR)
