; A piece of the gradient of a weight: sums over the tiles of products of transformed data and transformed gradients of results, for some
; filters and $COLUMNS channels, and after the last tiles the kernels that they are. The sums are in scratch memory of the thread, or if tiles
; come in several blocks, of the piece. The words begin like those of `pieces.ll`; the rest are named below. All steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
$DATA
  %slot = alloca ptr
  %memory = call ptr @take_slot(ptr %scratch.data, i64 %slots, i64 %scratch.size, i64 %piece, ptr %slot)
  %sums.offset = mul i64 %index, %sums.apart
  %is.kept = icmp ne i64 %sums.apart, 0
  %sums.before = select i1 %is.kept, ptr %sums.data, ptr %memory
  %sums = getelementptr i8, ptr %sums.before, i64 %sums.offset
  %elements = getelementptr i8, ptr %memory, i64 %elements.from
  %group = udiv i64 %index, %parts
  %part = urem i64 %index, %parts
  %filter = mul i64 %group, %filters.number
  %channel = mul i64 %part, $COLUMNS
  %data.first = call ptr @place(ptr %data.data, i64 %channel, i64 %data.group)
  %results.first = call ptr @place(ptr %results.data, i64 %filter, i64 %results.group)
  %adds.first = icmp ne i64 %is.first, 1
  br label %position
position:
  %p = phi i64 [ 0, %entry ], [ %p.next, %position.done ]
  %data.offset = mul i64 %p, %data.apart
  %data.p = getelementptr i8, ptr %data.first, i64 %data.offset
  %results.offset = mul i64 %p, %results.apart
  %results.p = getelementptr i8, ptr %results.first, i64 %results.offset
  %sums.p.place = mul i64 %p, %filters.number
  br label %tiles
tiles:
  ; so many that the first cache holds them
  %t = phi i64 [ 0, %position ], [ %t.next, %tiles.done ]
  %t.left = sub i64 %tiles.number, %t
  %t.now = call i64 @llvm.umin.i64(i64 %t.left, i64 $TILES)
  %data.t = getelementptr [$CHANNELS x float], ptr %data.p, i64 %t
  %results.t = getelementptr [$CHANNELS x float], ptr %results.p, i64 %t
  %is.later = icmp ne i64 %t, 0
  %adds = or i1 %is.later, %adds.first
  br label %rows
rows:
  %f = phi i64 [ 0, %tiles ], [ %f.next, %rows ]
  %results.f = getelementptr float, ptr %results.t, i64 %f
  %sums.place = add i64 %sums.p.place, %f
  %sums.f = getelementptr [$COLUMNS x float], ptr %sums, i64 %sums.place
  call void @multiply(ptr %results.f, ptr %data.t, i64 %t.now, ptr %sums.f, i1 %adds)
  %f.next = add i64 %f, $ROWS
  %more.rows = icmp ult i64 %f.next, %filters.number
  br i1 %more.rows, label %rows, label %tiles.done
tiles.done:
  %t.next = add i64 %t, %t.now
  %more.tiles = icmp ult i64 %t.next, %tiles.number
  br i1 %more.tiles, label %tiles, label %position.done
position.done:
  %p.next = add i64 %p, 1
  %more.positions = icmp ult i64 %p.next, $POSITIONS
  br i1 %more.positions, label %position, label %summed
summed:
  %ends = icmp eq i64 %is.last, 1
  %to.i = mul i64 %filters.number, $SUMS_ROW
  %to.j = mul i64 %filters.number, $SUMS_LINE
  br i1 %ends, label %kernels, label %over
kernels:
  %k = phi i64 [ 0, %summed ], [ %k.next, %kernels.done ]
  %sums.k = getelementptr [$COLUMNS x float], ptr %sums, i64 %k
  %out.filter = add i64 %filter, %k
  %channels.of.phases = udiv i64 %channels, $PHASES
  %out.place = mul i64 %out.filter, %channels.of.phases
  %out.k = getelementptr [$ELEMENTS x float], ptr %out.data, i64 %out.place
  br label %vector
vector:
  %v = phi i64 [ 0, %kernels ], [ %v.next, %vector ]
  %sums.v = getelementptr [$LANES x float], ptr %sums.k, i64 %v
  call void @whole(ptr %elements, ptr %sums.v, i64 %to.i, i64 %to.j, i64 $ELEMENTS_ROW, i64 $VECTOR_BYTES)
  ; the same phase of $STEP channels, then the next phase of these
  %v.first = mul i64 %v, $LANES
  %v.channel = add i64 %channel, %v.first
  %v.steps = udiv i64 %v.channel, $ALL_PHASES
  %v.in.steps = urem i64 %v.channel, $ALL_PHASES
  %q = udiv i64 %v.in.steps, $STEP
  %v.in.step = urem i64 %v.in.steps, $STEP
  %v.step = mul i64 %v.steps, $STEP
  %v.place = add i64 %v.step, %v.in.step
  %out.v = getelementptr [$ELEMENTS x float], ptr %out.k, i64 %v.place
  %q.row = udiv i64 %q, $STRIDE
  %q.column = urem i64 %q, $STRIDE
  %q.row.elements = mul i64 %q.row, $PHASE_ROW
  %q.elements = add i64 %q.row.elements, %q.column
  %out.q = getelementptr float, ptr %out.v, i64 %q.elements
  call void @store(ptr %elements, ptr %out.q)
  %v.next = add i64 %v, 1
  %more.vectors = icmp ult i64 %v.next, $VECTORS
  br i1 %more.vectors, label %vector, label %kernels.done
kernels.done:
  %k.next = add i64 %k, 1
  %more.kernels = icmp ult i64 %k.next, %filters.number
  br i1 %more.kernels, label %kernels, label %over
over:
  %slot.at = load ptr, ptr %slot
  store atomic i64 0, ptr %slot.at release, align 8
  ret ptr null
}
; The first tile's number of a channel.
define internal ptr @place(ptr %tiles, i64 %channel, i64 %group.size) alwaysinline nounwind {
  %group = udiv i64 %channel, $CHANNELS
  %in.group = urem i64 %channel, $CHANNELS
  %offset = mul i64 %group, %group.size
  %first = getelementptr i8, ptr %tiles, i64 %offset
  %found = getelementptr float, ptr %first, i64 %in.group
  ret ptr %found
}
; For one position in the tile, the products of $ROWS filters and $COLUMNS channels, summed over tiles in registers.
define internal void @multiply(ptr %results, ptr %data, i64 %tiles, ptr %sums, i1 %adds) noinline nounwind {
entry:
  br label %tile
tile:
  %t = phi i64 [ 0, %entry ], [ %t.next, %tile ]
$TILE_SUMS
  %results.t = getelementptr [$CHANNELS x float], ptr %results, i64 %t
  %data.t = getelementptr [$CHANNELS x float], ptr %data, i64 %t
$MULTIPLIED
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %tiles
  br i1 %more, label %tile, label %end
end:
$STORED
  ret void
}
; Stores the elements of the kernels of $LANES channels, one kernel after the other.
define internal void @store(ptr %elements, ptr %out) noinline nounwind {
entry:
$STORE
  ret void
}
; Transposes a square of $LANES numbers a side. Rows are %step bytes apart, those of the result %width numbers.
define internal void @transpose(ptr %x.0, i64 %step, ptr %tile.to, i64 %width) alwaysinline nounwind {
entry:
$SQUARE
  ret void
}
$TRANSFORM
$SLOTS
