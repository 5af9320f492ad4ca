; A piece of a product of matrices of floats. Blocks of both operands are copied to scratch memory as panels, in the order in which
; @tile_… reads them: $ROWS rows of the left operand or $COLUMNS columns of the right one side by side, for one place of the inner axis
; after the other. The words begin like those of `pieces.ll`; the rest are named below. All steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
  %own = getelementptr [7 x i64], ptr %table, i64 %index
$PIECE
$DATA
  %scratch.offset = mul i64 %index, %scratch.size
  %packed.a = getelementptr i8, ptr %scratch.first, i64 %scratch.offset
  %packed.b = getelementptr i8, ptr %packed.a, i64 %right.offset
  br label %product
product:
  %j = phi i64 [ %first, %entry ], [ %j.next, %product.done ]
  %outer = udiv i64 %j, %stack
  %in.stack = urem i64 %j, %stack
  %a.stack.offset = mul i64 %outer, %a.apart
  %a.stack = getelementptr i8, ptr %a.first, i64 %a.stack.offset
  %a.matrix.offset = mul i64 %in.stack, %a.step
  %a.matrix = getelementptr i8, ptr %a.stack, i64 %a.matrix.offset
  %b.stack.offset = mul i64 %outer, %b.apart
  %b.stack = getelementptr i8, ptr %b.first, i64 %b.stack.offset
  %b.matrix.offset = mul i64 %in.stack, %b.step
  %b.matrix = getelementptr i8, ptr %b.stack, i64 %b.matrix.offset
  %c.matrix.offset = mul i64 %j, %c.step
  %c.matrix = getelementptr i8, ptr %c.first, i64 %c.matrix.offset
  br label %columns.block
columns.block:
  %column = phi i64 [ 0, %product ], [ %column.next, %columns.done ]
  %columns.left = sub i64 %columns, %column
  %columns.now = call i64 @llvm.umin.i64(i64 %columns.left, i64 $MOST_COLUMNS)
  %b.columns.offset = mul i64 %column, %b.column
  %b.columns = getelementptr i8, ptr %b.matrix, i64 %b.columns.offset
  %c.columns = getelementptr float, ptr %c.matrix, i64 %column
  br label %inner.block
inner.block:
  %place = phi i64 [ 0, %columns.block ], [ %place.next, %inner.done ]
  %inner.left = sub i64 %inner, %place
  %inner.now = call i64 @llvm.umin.i64(i64 %inner.left, i64 %depth)
  %b.offset = mul i64 %place, %b.inner
  %b.block = getelementptr i8, ptr %b.columns, i64 %b.offset
  call void @pack(ptr %b.block, i64 %b.column, i64 %b.inner, i64 %columns.now, i64 %inner.now, ptr %packed.b, i64 $COLUMNS)
  %a.inner.offset = mul i64 %place, %a.inner
  %a.inner.first = getelementptr i8, ptr %a.matrix, i64 %a.inner.offset
  %adds = icmp ne i64 %place, 0
  br label %rows.block
rows.block:
  %row = phi i64 [ 0, %inner.block ], [ %row.next, %rows.block ]
  %rows.left = sub i64 %rows, %row
  %rows.now = call i64 @llvm.umin.i64(i64 %rows.left, i64 $MOST_ROWS)
  %a.offset = mul i64 %row, %a.row
  %a.block = getelementptr i8, ptr %a.inner.first, i64 %a.offset
  call void @pack(ptr %a.block, i64 %a.row, i64 %a.inner, i64 %rows.now, i64 %inner.now, ptr %packed.a, i64 $ROWS)
  %c.offset = mul i64 %row, %c.row
  %c.block = getelementptr i8, ptr %c.columns, i64 %c.offset
  call void @multiply(ptr %packed.a, ptr %packed.b, i64 %inner.now, ptr %c.block, i64 %c.row, i64 %rows.now, i64 %columns.now, i1 %adds)
  %row.next = add i64 %row, %rows.now
  %more.rows = icmp ult i64 %row.next, %rows
  br i1 %more.rows, label %rows.block, label %inner.done
inner.done:
  %place.next = add i64 %place, %inner.now
  %more.inner = icmp ult i64 %place.next, %inner
  br i1 %more.inner, label %inner.block, label %columns.done
columns.done:
  %column.next = add i64 %column, %columns.now
  %more.columns = icmp ult i64 %column.next, %columns
  br i1 %more.columns, label %columns.block, label %product.done
product.done:
  %j.next = add i64 %j, 1
  %more.products = icmp ult i64 %j.next, %end
  br i1 %more.products, label %product, label %over
over:
  ret ptr null
}
; The products of all panels of two packed blocks; they are added to what is there if the inner axis has earlier blocks.
define internal void @multiply(ptr %a, ptr %b, i64 %inner, ptr %c, i64 %c.row, i64 %rows, i64 %columns, i1 %adds) noinline nounwind {
entry:
  br label %right
right:
  %column = phi i64 [ 0, %entry ], [ %column.next, %right.done ]
  %b.offset = mul i64 %column, %inner
  %b.panel = getelementptr float, ptr %b, i64 %b.offset
  %c.columns = getelementptr float, ptr %c, i64 %column
  %columns.left = sub i64 %columns, %column
  %is.narrow = icmp ule i64 %columns.left, $LANES
  br label %left
left:
  %row = phi i64 [ 0, %right ], [ %row.next, %left.done ]
  %a.offset = mul i64 %row, %inner
  %a.panel = getelementptr float, ptr %a, i64 %a.offset
  %c.offset = mul i64 %row, %c.row
  %c.tile = getelementptr i8, ptr %c.columns, i64 %c.offset
  %rows.left = sub i64 %rows, %row
  br i1 %is.narrow, label %narrow, label %wide
narrow:
  call void @tile_1(ptr %a.panel, ptr %b.panel, i64 %inner, ptr %c.tile, i64 %c.row, i64 %rows.left, i64 %columns.left, i1 %adds)
  br label %left.done
wide:
  call void @tile_2(ptr %a.panel, ptr %b.panel, i64 %inner, ptr %c.tile, i64 %c.row, i64 %rows.left, i64 %columns.left, i1 %adds)
  br label %left.done
left.done:
  %row.next = add i64 %row, $ROWS
  %more.rows = icmp ult i64 %row.next, %rows
  br i1 %more.rows, label %left, label %right.done
right.done:
  %column.next = add i64 %column, $COLUMNS
  %more.columns = icmp ult i64 %column.next, %columns
  br i1 %more.columns, label %right, label %end
end:
  ret void
}
$PACK
$TILES
declare i64 @llvm.umin.i64(i64, i64)
declare <$LANES x float> @llvm.masked.load.v${LANES}f32.p0(ptr, i32 immarg, <$LANES x i1>, <$LANES x float>)
declare void @llvm.masked.store.v${LANES}f32.p0(<$LANES x float>, ptr, i32 immarg, <$LANES x i1>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
