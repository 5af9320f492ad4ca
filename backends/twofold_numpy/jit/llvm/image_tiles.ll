; A piece of transforming the tiles of images with a border of zeros: some rows of tiles of some channels. The lines of pixels of a row of tiles
; are copied into scratch memory with $LANES channels side by side, and their tiles are transformed from there. The words begin like those
; of `pieces.ll`; the rest are named below. All steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
$DATA
  %scratch.address = ptrtoint ptr %scratch.data to i64
  %scratch.above = add i64 %scratch.address, 63
  %scratch.aligned = and i64 %scratch.above, -64
  %scratch.first = inttoptr i64 %scratch.aligned to ptr
  %scratch.offset = mul i64 %index, %scratch.size
  %lines = getelementptr i8, ptr %scratch.first, i64 %scratch.offset
  %line.pixels = call i64 @pixels(i64 %across)
  %line.size = mul i64 %line.pixels, $VECTOR_BYTES
  ; the borders at the left and at the right stay zeros
  call void @llvm.memset.p0.i64(ptr %lines, i8 0, i64 %scratch.size, i1 false)
  %of.image = mul i64 %rows, %groups
  %items = mul i64 %images, %of.image
  %begin.times = mul i64 %items, %index
  %begin = udiv i64 %begin.times, %shares
  %index.next = add i64 %index, 1
  %end.times = mul i64 %items, %index.next
  %end = udiv i64 %end.times, %shares
  br label %item
item:
  %item.number = phi i64 [ %begin, %entry ], [ %item.next, %item.done ]
  %row = urem i64 %item.number, %rows
  %row.of.all = udiv i64 %item.number, %rows
  %group = urem i64 %row.of.all, %groups
  %image = udiv i64 %row.of.all, %groups
  %channel = mul i64 %group, $LANES
  %image.offset = mul i64 %image, %in.image
  %channel.offset = mul i64 %channel, %in.channel
  %in.of.image = getelementptr i8, ptr %in.data, i64 %image.offset
  %in.first = getelementptr i8, ptr %in.of.image, i64 %channel.offset
  %row.in.image = add i64 %row, %row.first
  %row.y = mul i64 %row.in.image, $RESULTS
  %top = sub i64 %row.y, %pad.top
  br label %line
line:
  %l = phi i64 [ 0, %item ], [ %l.next, %line.done ]
  %y = add i64 %top, %l
  %line.offset = mul i64 %l, %line.size
  %line.to = getelementptr i8, ptr %lines, i64 %line.offset
  %is.inside = icmp ult i64 %y, %height
  br i1 %is.inside, label %inside, label %outside
outside:
  call void @llvm.memset.p0.i64(ptr %line.to, i8 0, i64 %line.size, i1 false)
  br label %line.done
inside:
  %y.offset = mul i64 %y, %in.row
  %in.y = getelementptr i8, ptr %in.first, i64 %y.offset
  %inside.to = getelementptr [$LANES x float], ptr %line.to, i64 %pad.left
  call void @copy_line(ptr %inside.to, ptr %in.y, i64 %in.channel, i64 %in.column, i64 %width)
  br label %line.done
line.done:
  %l.next = add i64 %l, 1
  %more.lines = icmp ult i64 %l.next, $PIXELS
  br i1 %more.lines, label %line, label %tiles.begin
tiles.begin:
  %row.of.images = mul i64 %image, %rows
  %row.number = add i64 %row.of.images, %row
  %tile.first = mul i64 %row.number, %across
  %step = udiv i64 %channel, $STEP
  %in.step = urem i64 %channel, $STEP
  %step.first = mul i64 %step, $ALL_PHASES
  %tiles.place = add i64 %step.first, %in.step
  %tiles.group.number = udiv i64 %tiles.place, $CHANNELS
  %in.group = urem i64 %tiles.place, $CHANNELS
  %tiles.group.offset = mul i64 %tiles.group.number, %tiles.group
  %tiles.of.group = getelementptr i8, ptr %tiles.data, i64 %tiles.group.offset
  %tiles.channel = getelementptr float, ptr %tiles.of.group, i64 %in.group
  %to.i = mul i64 %tiles.apart, $TILE
  br label %tile
tile:
  %column = phi i64 [ 0, %tiles.begin ], [ %column.next, %tile ]
  %tile.number = add i64 %tile.first, %column
  %tile.offset = mul i64 %tile.number, $TILE_BYTES
  %tile.to = getelementptr i8, ptr %tiles.channel, i64 %tile.offset
  %x = mul i64 %column, $RESULTS
  %tile.from = getelementptr [$LANES x float], ptr %lines, i64 %x
  call void @whole(ptr %tile.to, ptr %tile.from, i64 %line.size, i64 $VECTOR_BYTES, i64 %to.i, i64 %tiles.apart)
  %column.next = add i64 %column, 1
  %more.columns = icmp ult i64 %column.next, %across
  br i1 %more.columns, label %tile, label %item.done
item.done:
  %item.next = add i64 %item.number, 1
  %more.items = icmp ult i64 %item.next, %end
  br i1 %more.items, label %item, label %over
over:
  ret ptr null
}
; The pixels that the tiles of a row have side by side.
define internal i64 @pixels(i64 %across) alwaysinline nounwind {
  %new = mul i64 %across, $RESULTS
  %pixels = add i64 %new, $OVERLAP
  ret i64 %pixels
}
; Copies a line of pixels, with $LANES channels side by side. It may write zeros behind the line.
define internal void @copy_line(ptr %to, ptr %from, i64 %channel, i64 %column, i64 %width) noinline nounwind {
$COPY
}
$TRANSFORM
