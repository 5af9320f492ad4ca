; The words of a direct convolution begin like those of `pieces.ll`; the rest are named below, in their order. All sizes of data are in bytes.
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
  %has.scratch = icmp ne i64 %scratch.size, 0
  br i1 %has.scratch, label %allocate, label %ready
allocate:
  %scratch.whole = add i64 %scratch.size, 63
  %scratch.memory = call ptr @malloc(i64 %scratch.whole)
  %lacks.memory = icmp eq ptr %scratch.memory, null
  br i1 %lacks.memory, label %fail, label %align
align:
  %scratch.address = ptrtoint ptr %scratch.memory to i64
  %scratch.above = add i64 %scratch.address, 63
  %scratch.aligned = and i64 %scratch.above, -64
  %scratch.begin = inttoptr i64 %scratch.aligned to ptr
  br label %ready
ready:
  %scratch = phi ptr [ null, %entry ], [ %scratch.begin, %align ]
  %scratch.own = phi ptr [ null, %entry ], [ %scratch.memory, %align ]
  %tile = getelementptr i8, ptr %scratch, i64 %tile.offset
  %begin.times = mul i64 %index, %items
  %begin = udiv i64 %begin.times, %pieces
  %index.next = add i64 %index, 1
  %end.times = mul i64 %index.next, %items
  %end = udiv i64 %end.times, %pieces
  %copies = icmp ne i64 %is.copied, 0
  %has.epilogue = icmp ne i64 %epilogue, 0
  %epilogue.code = inttoptr i64 %epilogue to ptr
  %spreads = icmp ne i64 %is.spread, 0
  %uses.tile = icmp ne i64 %is.tiled, 0
  br label %look
look:
  %item = phi i64 [ %begin, %ready ], [ %item.next, %item.done ]
  %unit.before = phi i64 [ -1, %ready ], [ %unit, %item.done ]
  %more.items = icmp ult i64 %item, %end
  br i1 %more.items, label %start, label %over
start:
  %range = urem i64 %item, %ranges
  %unit = udiv i64 %item, %ranges
  %band = urem i64 %unit, %bands
  %part = udiv i64 %unit, %bands
  %group = urem i64 %part, %groups
  %image = udiv i64 %part, %groups
  %top = mul i64 %band, %band.rows
  %rows.left = sub i64 %out.rows, %top
  %is.last.band = icmp ult i64 %rows.left, %band.rows
  %rows = select i1 %is.last.band, i64 %rows.left, i64 %band.rows
  %image.offset = mul i64 %image, %image.step
  %image.first = getelementptr i8, ptr %data, i64 %image.offset
  %channels.offset = mul i64 %group, %data.group.step
  %channels.first = getelementptr i8, ptr %image.first, i64 %channels.offset
  br i1 %copies, label %copy, label %in.place
copy:
  %source.top = mul i64 %top, %stride
  %is.new = icmp ne i64 %unit, %unit.before
  br i1 %is.new, label %copy.now, label %copied
copy.now:
  call void @copy_rows(ptr %channels.first, ptr %scratch, ptr %row.table, i64 %channels, i64 %channel.step, i64 %copied.rows, i64 %source.top, i64 %image.rows, i64 %row.step, i64 %column.step, i64 %pitch)
  br label %copied
copied:
  br label %filter.first
in.place:
  %top.offset = mul i64 %top, %row.step
  %band.first = getelementptr i8, ptr %channels.first, i64 %top.offset
  br label %filter.first
filter.first:
  %source = phi ptr [ %scratch, %copied ], [ %band.first, %in.place ]
  %full.rows = sub i64 %rows, 1
  %full.run = mul i64 %full.rows, %pitch
  %run = add i64 %full.run, %out.columns
  %first = mul i64 %range, %range.filters
  %range.end = add i64 %first, %range.filters
  %is.last.range = icmp ult i64 %filters, %range.end
  %last = select i1 %is.last.range, i64 %filters, i64 %range.end
  %weights.offset = mul i64 %group, %weight.group.step
  %weights.first = getelementptr i8, ptr %weight, i64 %weights.offset
$PACK
  %out.image.offset = mul i64 %image, %out.image.step
  %out.image = getelementptr i8, ptr %out, i64 %out.image.offset
  %out.group.offset = mul i64 %group, %out.group.step
  %out.group = getelementptr i8, ptr %out.image, i64 %out.group.offset
  %out.top = mul i64 %top, %out.row.step
  %out.band = getelementptr i8, ptr %out.group, i64 %out.top
  br label %filters.look
filters.look:
  %filter = phi i64 [ %first, %filter.first ], [ %filter.next, %block.done ]
  %more.filters = icmp ult i64 %filter, %last
  br i1 %more.filters, label %block, label %item.done
block:
  %weights.from = mul i64 %filter, %weight.step
  %weights = getelementptr i8, ptr %weights.first, i64 %weights.from
  %out.from = mul i64 %filter, %out.step
  %out.filter = getelementptr i8, ptr %out.band, i64 %out.from
  %filters.left = sub i64 %last, %filter
  %ends.long = icmp ne i64 %is.long, 0
  %target.step = select i1 %uses.tile, i64 %tile.step, i64 %out.step
  br label %chunk
chunk:
  ; a run without gaps at the ends of its rows is computed in chunks: the epilogue finds each in the L1 cache
  %place = phi i64 [ 0, %block ], [ %place.next, %chunk.done ]
  %places.left = sub i64 %run, %place
  %is.short = icmp ult i64 %places.left, %chunk.places
  %places = select i1 %is.short, i64 %places.left, i64 %chunk.places
  %chunk.source = getelementptr float, ptr %source, i64 %place
  %out.place = getelementptr float, ptr %out.filter, i64 %place
  %target = select i1 %uses.tile, ptr %tile, ptr %out.place
$BLOCKS
block.computed:
  %block.size = phi i64 $SIZES
  %spread.rows = select i1 %spreads, i64 %rows, i64 1
  %spread.columns = select i1 %spreads, i64 %out.columns, i64 %places
  br i1 %has.epilogue, label %epilogue.run, label %plain
epilogue.run:
  %channel.first = mul i64 %group, %filters
  %channel = add i64 %channel.first, %filter
  %out.filter.address = ptrtoint ptr %out.filter to i64
  %out.address = ptrtoint ptr %out to i64
  %out.filter.offset = sub i64 %out.filter.address, %out.address
  %chunk.offset = mul i64 %place, 4
  %out.offset = add i64 %out.filter.offset, %chunk.offset
  call void %epilogue.code(ptr %target, i64 %target.step, ptr %arguments, i64 %out.offset, i64 %out.step, i64 %block.size, i64 %spread.rows, i64 %pitch, i64 %spread.columns, i64 %channel)
  br label %chunk.done
plain:
  br i1 %uses.tile, label %spread, label %chunk.done
spread:
  call void @spread(ptr %tile, i64 %tile.step, ptr %out.place, i64 %out.step, i64 %block.size, i64 %spread.rows, i64 %pitch, i64 %spread.columns)
  br label %chunk.done
chunk.done:
  %place.next = add i64 %place, %places
  %more.places = icmp ult i64 %place.next, %run
  br i1 %more.places, label %chunk, label %block.done
block.done:
  %filter.next = add i64 %filter, %block.size
  br label %filters.look
item.done:
  %item.next = add i64 %item, 1
  br label %look
over:
  call void @free(ptr %scratch.own)
  ret ptr null
fail:
  ret ptr %words
}
declare ptr @malloc(i64)
declare void @free(ptr)
; Copies the rows that a band of results reads, channel by channel, with zeros for padding. The table has, for each row of a channel: its
; row in the image relative to the band's first, the first of its elements, the first that is not padding and the end of these, all
; relative to the copied row. Rows of results are %pitch elements apart.
define internal void @copy_rows(ptr %image, ptr %target, ptr %table, i64 %channels, i64 %channel.step, i64 %count, i64 %top, i64 %image.rows, i64 %row.step, i64 %column.step, i64 %pitch) noinline nounwind {
entry:
  %is.dense = icmp eq i64 %column.step, 4
  %is.strided = icmp ugt i64 %column.step, 8
  %step = lshr i64 %column.step, 2
  %target.step = mul i64 %pitch, 4
  br label %channel
channel:
  %c = phi i64 [ 0, %entry ], [ %c.next, %channel.done ]
  %channel.at = phi ptr [ %image, %entry ], [ %channel.next, %channel.done ]
  %to.first = phi ptr [ %target, %entry ], [ %to, %channel.done ]
  %more.channels = icmp ult i64 %c, %channels
  br i1 %more.channels, label %rows, label %end
rows:
  br label %row
row:
  %r = phi i64 [ 0, %rows ], [ %r.next, %row.done ]
  %to = phi ptr [ %to.first, %rows ], [ %to.next, %row.done ]
  %more.rows = icmp ult i64 %r, %count
  br i1 %more.rows, label %look, label %channel.done
look:
  %record = getelementptr [4 x i64], ptr %table, i64 %r
  %below = load i64, ptr %record
  %offset.at = getelementptr i64, ptr %record, i64 1
  %offset = load i64, ptr %offset.at
  %inner.at = getelementptr i64, ptr %record, i64 2
  %inner = load i64, ptr %inner.at
  %outer.at = getelementptr i64, ptr %record, i64 3
  %outer = load i64, ptr %outer.at
  %y = add i64 %top, %below
  %exists = icmp ult i64 %y, %image.rows
  %y.offset = mul i64 %y, %row.step
  %row.at = getelementptr i8, ptr %channel.at, i64 %y.offset
  %from = getelementptr i8, ptr %row.at, i64 %offset
  %number.all = sub i64 %outer, %inner
  %number = select i1 %exists, i64 %number.all, i64 0
  %inner.32 = trunc i64 %inner to i32
  br i1 %is.strided, label %strided, label %whole
whole:
  ; a lane of padding is not loaded; lanes beyond the end of the row are overwritten by the next row, or end in the space behind the copy
  %last = sub i64 %number, 1
  %last.element = mul i64 %last, %step
  %elements = add i64 %last.element, 1
  %is.some = icmp sgt i64 %number, 0
  %elements.loaded = select i1 %is.some, i64 %elements, i64 0
  %loaded.32 = trunc i64 %elements.loaded to i32
  %loaded.first = insertelement <$LANES x i32> poison, i32 %loaded.32, i64 0
  %loaded.all = shufflevector <$LANES x i32> %loaded.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  br label %vector
vector:
  %v = phi i64 [ 0, %whole ], [ %v.next, %vector.done ]
  %v.inner = sub i64 %v, %inner
  %v.element = mul i64 %v.inner, %step
  %v.32 = trunc i64 %v.element to i32
  %v.first = insertelement <$LANES x i32> poison, i32 %v.32, i64 0
  %v.all = shufflevector <$LANES x i32> %v.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  %v.lanes = add <$LANES x i32> %v.all, <$LANE_INTS>
  %v.mask = icmp ult <$LANES x i32> %v.lanes, %loaded.all
  %v.at = getelementptr float, ptr %from, i64 %v.element
  %v.low = call $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr %v.at, i32 4, $MASK %v.mask, $VECTOR zeroinitializer)
  br i1 %is.dense, label %vector.done, label %seconds
seconds:
  ; every second element of two vectors
  %h.lanes = add <$LANES x i32> %v.lanes, splat (i32 $LANES)
  %h.mask = icmp ult <$LANES x i32> %h.lanes, %loaded.all
  %h.at = getelementptr float, ptr %v.at, i64 $LANES
  %v.high = call $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr %h.at, i32 4, $MASK %h.mask, $VECTOR zeroinitializer)
  %v.seconds = shufflevector $VECTOR %v.low, $VECTOR %v.high, <$LANES x i32> <$SECONDS>
  br label %vector.done
vector.done:
  %v.values = phi $VECTOR [ %v.low, %vector ], [ %v.seconds, %seconds ]
  %v.to = getelementptr float, ptr %to, i64 %v
  store $VECTOR %v.values, ptr %v.to, align 4
  %v.next = add i64 %v, $LANES
  %v.more = icmp ult i64 %v.next, %pitch
  br i1 %v.more, label %vector, label %row.done
strided:
  %head = select i1 %exists, i64 %inner, i64 %pitch
  %tail = select i1 %exists, i64 %outer, i64 %pitch
  call void @fill(ptr %to, i64 0, i64 %head)
  call void @fill(ptr %to, i64 %tail, i64 %pitch)
  %to.inner = getelementptr float, ptr %to, i64 %inner
  br label %ones.look
ones.look:
  %x = phi i64 [ 0, %strided ], [ %x.next, %one ]
  %from.x = phi ptr [ %from, %strided ], [ %from.next, %one ]
  %more = icmp ult i64 %x, %number
  br i1 %more, label %one, label %row.done
one:
  %value = load float, ptr %from.x, align 4
  %to.x = getelementptr float, ptr %to.inner, i64 %x
  store float %value, ptr %to.x, align 4
  %x.next = add i64 %x, 1
  %from.next = getelementptr i8, ptr %from.x, i64 %column.step
  br label %ones.look
row.done:
  %r.next = add i64 %r, 1
  %to.next = getelementptr i8, ptr %to, i64 %target.step
  br label %row
channel.done:
  %c.next = add i64 %c, 1
  %channel.next = getelementptr i8, ptr %channel.at, i64 %channel.step
  br label %channel
end:
  ret void
}
; Sets some elements of a row to 0.
define internal void @fill(ptr %row, i64 %begin, i64 %end) noinline nounwind {
entry:
  br label %look
look:
  %x = phi i64 [ %begin, %entry ], [ %x.next, %each ]
  %more = icmp slt i64 %x, %end
  br i1 %more, label %each, label %done
each:
  %at = getelementptr float, ptr %row, i64 %x
  store float 0.0, ptr %at, align 4
  %x.next = add i64 %x, 1
  br label %look
done:
  ret void
}
; Copies adjacent elements.
define internal void @copy(ptr %to, ptr %from, i64 %number) noinline nounwind {
entry:
  br label %look
look:
  %x = phi i64 [ 0, %entry ], [ %x.next, %each ]
  %left = sub i64 %number, %x
  %more = icmp sge i64 %left, $LANES
  br i1 %more, label %each, label %rest
each:
  %from.at = getelementptr float, ptr %from, i64 %x
  %values = load $VECTOR, ptr %from.at, align 4
  %to.at = getelementptr float, ptr %to, i64 %x
  store $VECTOR %values, ptr %to.at, align 4
  %x.next = add i64 %x, $LANES
  br label %look
rest:
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %last, label %done
last:
  %left.first = insertelement <$LANES x i64> poison, i64 %left, i64 0
  %left.all = shufflevector <$LANES x i64> %left.first, <$LANES x i64> poison, <$LANES x i32> zeroinitializer
  %mask = icmp slt <$LANES x i64> <$LANE_NUMBERS>, %left.all
  %from.last = getelementptr float, ptr %from, i64 %x
  %values.last = call $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr %from.last, i32 4, $MASK %mask, $VECTOR zeroinitializer)
  %to.last = getelementptr float, ptr %to, i64 %x
  call void @llvm.masked.store.$OVERLOAD.p0($VECTOR %values.last, ptr %to.last, i32 4, $MASK %mask)
  br label %done
done:
  ret void
}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
; Copies results out of a tile, in which rows are %pitch elements apart.
define internal void @spread(ptr %tile, i64 %tile.step, ptr %out, i64 %out.step, i64 %filters, i64 %rows, i64 %pitch, i64 %columns) noinline nounwind {
entry:
  br label %filter
filter:
  %f = phi i64 [ 0, %entry ], [ %f.next, %filter.done ]
  %from.first = phi ptr [ %tile, %entry ], [ %from.filter, %filter.done ]
  %to.first = phi ptr [ %out, %entry ], [ %to.filter, %filter.done ]
  %more.filters = icmp ult i64 %f, %filters
  br i1 %more.filters, label %row, label %end
row:
  %r = phi i64 [ 0, %filter ], [ %r.next, %each ]
  %from = phi ptr [ %from.first, %filter ], [ %from.next, %each ]
  %to = phi ptr [ %to.first, %filter ], [ %to.next, %each ]
  %more = icmp ult i64 %r, %rows
  br i1 %more, label %each, label %filter.done
each:
  call void @copy(ptr %to, ptr %from, i64 %columns)
  %r.next = add i64 %r, 1
  %from.next = getelementptr float, ptr %from, i64 %pitch
  %to.next = getelementptr float, ptr %to, i64 %columns
  br label %row
filter.done:
  %f.next = add i64 %f, 1
  %from.filter = getelementptr i8, ptr %from.first, i64 %tile.step
  %to.filter = getelementptr i8, ptr %to.first, i64 %out.step
  br label %filter
end:
  ret void
}
declare i64 @llvm.umin.i64(i64, i64)
declare $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr, i32 immarg, $MASK, $VECTOR)
declare void @llvm.masked.store.$OVERLOAD.p0($VECTOR, ptr, i32 immarg, $MASK)
$ARITHMETIC
$FUNCTIONS
