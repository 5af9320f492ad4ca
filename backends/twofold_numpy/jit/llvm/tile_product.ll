; A piece of the products of Winograd's algorithm: the results of %filters filters for some of the tiles. Kernels are transformed for some
; channels at a time, so that they are in the cache when they are multiplied, %block.tiles tiles at once, by the code of `tile_sums.ll` at
; %multiply. The words begin like those of `pieces.ll`; the rest are named below. All steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
$DATA
  %slot = alloca ptr
  %kernels = call ptr @take_slot(ptr %scratch.data, i64 %slots, i64 %scratch.size, i64 %piece, ptr %slot)
  %elements = getelementptr i8, ptr %kernels, i64 %elements.from
  %pixels = getelementptr i8, ptr %kernels, i64 %pixels.from
  %sums = getelementptr i8, ptr %kernels, i64 %sums.from
  %group = udiv i64 %index, %splits
  %part = urem i64 %index, %splits
  %part.next = add i64 %part, 1
  %first.times = mul i64 %blocks, %part
  %first = udiv i64 %first.times, %splits
  %end.times = mul i64 %blocks, %part.next
  %end = udiv i64 %end.times, %splits
  ; the last block ends with the last tile, and may have tiles of the one before it, too
  %last.tile = sub i64 %tiles.number, %block.tiles
  %multiply.code = inttoptr i64 %multiply to ptr
  %vectors = udiv i64 %filters, $LANES
  %sums.line = mul i64 %filters, $ITEM
  %sums.position = mul i64 %sums.line, %block.tiles
  %sums.row = mul i64 %sums.position, $TILE
  %filter = mul i64 %group, %filters
  %weight.offset = mul i64 %filter, %weight.filter
  %weight.first = getelementptr i8, ptr %weight.data, i64 %weight.offset
  %out.offset = mul i64 %filter, %out.channel
  %out.first = getelementptr i8, ptr %out.data, i64 %out.offset
  br label %depth.block
depth.block:
  %channel = phi i64 [ 0, %entry ], [ %channel.next, %depth.done ]
  %channels.left = sub i64 %channels, %channel
  %channels.now = call i64 @llvm.umin.i64(i64 %channels.left, i64 %depth)
  %channel.of.phases = udiv i64 %channel, $PHASES
  %weight.depth = mul i64 %channel.of.phases, %weight.channel
  %weight.at = getelementptr i8, ptr %weight.first, i64 %weight.depth
  call void @kernels(ptr %weight.at, i64 %weight.filter, i64 %weight.channel, i64 %channels.now, i64 %vectors, ptr %elements, ptr %kernels, i64 %kernels.apart)
  %adds = icmp ne i64 %channel, 0
  %tiles.groups = udiv i64 %channel, $CHANNELS
  %tiles.offset = mul i64 %tiles.groups, %tiles.group
  %tiles.depth = getelementptr i8, ptr %tiles.data, i64 %tiles.offset
  br label %position
position:
  %p = phi i64 [ 0, %depth.block ], [ %p.next, %position.done ]
  %kernels.offset = mul i64 %p, %kernels.apart
  %kernels.p = getelementptr i8, ptr %kernels, i64 %kernels.offset
  %tiles.p.offset = mul i64 %p, %tiles.apart
  %tiles.p = getelementptr i8, ptr %tiles.depth, i64 %tiles.p.offset
  br label %block
block:
  %k = phi i64 [ %first, %position ], [ %k.next, %block ]
  %tile.number = mul i64 %k, %block.tiles
  %tile = call i64 @llvm.umin.i64(i64 %tile.number, i64 %last.tile)
  %tile.offset = mul i64 %tile, $TILE_BYTES
  %tiles.k = getelementptr i8, ptr %tiles.p, i64 %tile.offset
  %k.here = sub i64 %k, %first
  %k.place = mul i64 %k.here, $POSITIONS
  %k.p = add i64 %k.place, %p
  %sums.k.offset = mul i64 %k.p, %sums.position
  %sums.k = getelementptr i8, ptr %sums, i64 %sums.k.offset
  call void %multiply.code(ptr %tiles.k, i64 %tiles.group, ptr %kernels.p, i64 %channels.now, ptr %sums.k, i1 %adds)
  %k.next = add i64 %k, 1
  %more.blocks = icmp ult i64 %k.next, %end
  br i1 %more.blocks, label %block, label %position.done
position.done:
  %p.next = add i64 %p, 1
  %more.positions = icmp ult i64 %p.next, $POSITIONS
  br i1 %more.positions, label %position, label %depth.done
depth.done:
  %channel.next = add i64 %channel, %channels.now
  %more.channels = icmp ult i64 %channel.next, %channels
  br i1 %more.channels, label %depth.block, label %result.block
result.block:
  %j = phi i64 [ %first, %depth.done ], [ %j.next, %result.block.done ]
  %j.number = mul i64 %j, %block.tiles
  %j.tile = call i64 @llvm.umin.i64(i64 %j.number, i64 %last.tile)
  %j.here = sub i64 %j, %first
  %j.place = mul i64 %j.here, $POSITIONS
  %sums.j.offset = mul i64 %j.place, %sums.position
  %sums.j = getelementptr i8, ptr %sums, i64 %sums.j.offset
  br label %result
result:
  %i = phi i64 [ 0, %result.block ], [ %i.next, %result.done ]
  %t = add i64 %j.tile, %i
  %t.row = udiv i64 %t, %across
  %column = urem i64 %t, %across
  %image = udiv i64 %t.row, %rows
  %row = urem i64 %t.row, %rows
  %y = mul i64 %row, $RESULTS
  %x = mul i64 %column, $RESULTS
  %height.left = sub i64 %height, %y
  %width.left = sub i64 %width, %x
  %image.offset = mul i64 %image, %out.image
  %y.offset = mul i64 %y, %out.row
  %x.offset = mul i64 %x, %out.column
  %out.of.image = getelementptr i8, ptr %out.first, i64 %image.offset
  %out.y = getelementptr i8, ptr %out.of.image, i64 %y.offset
  %out.x = getelementptr i8, ptr %out.y, i64 %x.offset
  %sums.i.offset = mul i64 %i, %sums.line
  %sums.i = getelementptr i8, ptr %sums.j, i64 %sums.i.offset
  br label %vector
vector:
  %v = phi i64 [ 0, %result ], [ %v.next, %vector ]
  %sums.v = getelementptr [$LANES x float], ptr %sums.i, i64 %v
  call void @whole_results(ptr %pixels, ptr %sums.v, i64 %sums.row, i64 %sums.position, i64 $PIXELS_ROW, i64 $VECTOR_BYTES)
  %filter.v = mul i64 %v, $LANES
  %out.v.offset = mul i64 %filter.v, %out.channel
  %out.v = getelementptr i8, ptr %out.x, i64 %out.v.offset
  call void @store(ptr %pixels, ptr %out.v, i64 %out.channel, i64 %out.row, i64 %out.column, i64 %height.left, i64 %width.left)
  %v.next = add i64 %v, 1
  %more.vectors = icmp ult i64 %v.next, %vectors
  br i1 %more.vectors, label %vector, label %result.done
result.done:
  %i.next = add i64 %i, 1
  %more.results = icmp ult i64 %i.next, %block.tiles
  br i1 %more.results, label %result, label %result.block.done
result.block.done:
  %j.next = add i64 %j, 1
  %more.result.blocks = icmp ult i64 %j.next, %end
  br i1 %more.result.blocks, label %result.block, label %over
over:
  %slot.at = load ptr, ptr %slot
  store atomic i64 0, ptr %slot.at release, align 8
  ret ptr null
}
; The transformed kernels of some channels, %vectors vectors of filters side by side. The elements of the kernels of $LANES filters and
; channels are transposed first; those of the next channels are fetched from memory meanwhile.
define internal void @kernels(ptr %weight, i64 %weight.filter, i64 %weight.channel, i64 %channels, i64 %vectors, ptr %elements, ptr %kernels, i64 %apart)
noinline nounwind {
entry:
  %row.apart = mul i64 %apart, $TILE
  %chunk.size = mul i64 %weight.channel, $LANES
  %channels.of.phases = udiv i64 %channels, $PHASES
  br label %chunk
chunk:
  %c = phi i64 [ 0, %entry ], [ %c.next, %chunk.done ]
  %c.offset = mul i64 %c, %weight.channel
  %weight.c = getelementptr i8, ptr %weight, i64 %c.offset
  br label %vector
vector:
  %v = phi i64 [ 0, %chunk ], [ %v.next, %vector.done ]
  %filter = mul i64 %v, $LANES
  %filter.offset = mul i64 %filter, %weight.filter
  %weight.v = getelementptr i8, ptr %weight.c, i64 %filter.offset
  br label %columns
columns:
  %e = phi i64 [ 0, %vector ], [ %e.next, %columns ]
  %from.offset = mul i64 %e, $SQUARE_APART
  %from = getelementptr i8, ptr %weight.v, i64 %from.offset
  %e.first = mul i64 %e, $SQUARE_ELEMENTS
  %to = getelementptr [$LANES x float], ptr %elements, i64 %e.first
  call void @transpose_elements(ptr %from, i64 %weight.filter, ptr %to, i64 $LANES)
$PREFETCHES
  %e.next = add i64 %e, 1
  %more.elements = icmp ult i64 %e.next, $SQUARES
  br i1 %more.elements, label %columns, label %kernel
kernel:
  %i = phi i64 [ 0, %columns ], [ %i.next, %kernel.done ]
  %elements.offset = mul i64 %i, $ELEMENTS
  %c.i = add i64 %c, %i
  ; the same phase of $STEP channels, then the next phase of these
  %c.step = udiv i64 %c.i, $STEP
  %c.in.step = urem i64 %c.i, $STEP
  %c.first = mul i64 %c.step, $ALL_PHASES
  %c.place = add i64 %c.first, %c.in.step
  br label %phase
phase:
  %q = phi i64 [ 0, %kernel ], [ %q.next, %phase ]
  %q.row = udiv i64 %q, $STRIDE
  %q.column = urem i64 %q, $STRIDE
  %q.row.elements = mul i64 %q.row, $ELEMENTS_ROW
  %q.elements = add i64 %q.row.elements, %q.column
  %elements.q = add i64 %elements.offset, %q.elements
  %elements.i = getelementptr [$LANES x float], ptr %elements, i64 %elements.q
  %q.steps = mul i64 %q, $STEP
  %c.q = add i64 %c.place, %q.steps
  %c.q.vectors = mul i64 %c.q, %vectors
  %c.q.v = add i64 %c.q.vectors, %v
  %kernels.v = getelementptr [$LANES x float], ptr %kernels, i64 %c.q.v
  call void @whole_kernel(ptr %kernels.v, ptr %elements.i, i64 $KERNEL_ROW, i64 $KERNEL_COLUMN, i64 %row.apart, i64 %apart)
  %q.next = add i64 %q, 1
  %more.phases = icmp ult i64 %q.next, $PHASES
  br i1 %more.phases, label %phase, label %kernel.done
kernel.done:
  %i.next = add i64 %i, 1
  %more.kernels = icmp ult i64 %i.next, $LANES
  br i1 %more.kernels, label %kernel, label %vector.done
vector.done:
  %v.next = add i64 %v, 1
  %more.vectors = icmp ult i64 %v.next, %vectors
  br i1 %more.vectors, label %vector, label %chunk.done
chunk.done:
  %c.next = add i64 %c, $LANES
  %more.chunks = icmp ult i64 %c.next, %channels.of.phases
  br i1 %more.chunks, label %chunk, label %end
end:
  ret void
}
; Transposes a square of $LANES numbers a side. Rows are %step bytes apart, those of the result %width numbers.
define internal void @transpose(ptr %x.0, i64 %step, ptr %tile.to, i64 %width) alwaysinline nounwind {
entry:
$SQUARE
  ret void
}
define internal void @transpose_elements(ptr %x.0, i64 %step, ptr %tile.to, i64 %width) alwaysinline nounwind {
entry:
$OF_SQUARE
  ret void
}
; Stores the results of a tile for $LANES filters, those that are inside the image.
define internal void @store(ptr %pixels, ptr %out, i64 %channel, i64 %row, i64 %column, i64 %height, i64 %width) noinline nounwind {
entry:
$STORE
  ret void
}
$TRANSFORMS
$SLOTS
