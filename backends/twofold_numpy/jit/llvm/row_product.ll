; A piece of a product of a few rows of floats and the columns of a matrix, all read along the inner axis: blocks of $DEPTH places of all rows,
; which stay in the first cache, by those of two columns at a time. The words begin like those of `pieces.ll`; the rest are named below. All
; steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
  %own = getelementptr [$PIECE_SIZE x i64], ptr %table, i64 %index
$PIECE
$DATA
  br label %block
block:
  %place = phi i64 [ 0, %entry ], [ %place.next, %block.done ]
  %inner.left = sub i64 %inner, %place
  %inner.now = call i64 @llvm.umin.i64(i64 %inner.left, i64 $DEPTH)
  %a.block = getelementptr float, ptr %a.first, i64 %place
  %b.block = getelementptr float, ptr %b.first, i64 %place
  %adds = icmp ne i64 %place, 0
  br label %column
column:
  %j = phi i64 [ 0, %block ], [ %j.next, %column ]
  %j.other = add i64 %j, 1
  %is.pair = icmp ult i64 %j.other, %columns
  %j.second = select i1 %is.pair, i64 %j.other, i64 %j
  %b.0.offset = mul i64 %j, %b.column
  %b.1.offset = mul i64 %j.second, %b.column
  %b.0.first = getelementptr i8, ptr %b.block, i64 %b.0.offset
  %b.1.first = getelementptr i8, ptr %b.block, i64 %b.1.offset
  %c.0 = getelementptr float, ptr %c.first, i64 %j
  %c.1 = getelementptr float, ptr %c.first, i64 %j.second
  call void @tile(ptr %a.block, i64 %a.row, i64 %rows, ptr %b.0.first, ptr %b.1.first, i64 %inner.now, ptr %c.0, ptr %c.1, i64 %c.row, i1 %adds)
  %j.next = add i64 %j, 2
  %more.columns = icmp ult i64 %j.next, %columns
  br i1 %more.columns, label %column, label %block.done
block.done:
  %place.next = add i64 %place, %inner.now
  %more.inner = icmp ult i64 %place.next, %inner
  br i1 %more.inner, label %block, label %over
over:
  ret ptr null
}
; The sums over a block of up to $ROWS rows by two columns; rows that do not exist are the last one again, and are not stored.
define internal void @tile(ptr %a, i64 %a.row, i64 %rows, ptr %b.0, ptr %b.1, i64 %inner, ptr %c.0, ptr %c.1, i64 %c.row, i1 %adds) noinline nounwind {
entry:
  %last = sub i64 %rows, 1
  %whole = and i64 %inner, -$LANES
  %rest = sub i64 %inner, %whole
$ROW_ADDRESSES
  %has.whole = icmp ne i64 %whole, 0
  br i1 %has.whole, label %place, label %end
place:
  %p = phi i64 [ 0, %entry ], [ %p.next, %place ]
$PLACE
  %p.next = add i64 %p, $LANES
  %more = icmp ult i64 %p.next, %whole
  br i1 %more, label %place, label %end
end:
$END
}
