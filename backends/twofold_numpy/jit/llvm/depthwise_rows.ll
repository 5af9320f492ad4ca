; Some rows of results of a channel, $TOGETHER at once, in blocks of one vector of columns. An element of padding is a lane that is not
; loaded, or is read from a row of zeros. What the next row of results reads too may stay in registers.
define internal void @${NAME}_$TOGETHER(ptr %image, ptr %zero.row, ptr %weights, ptr %target, i64 %top, i64 %bottom, i64 %height, i64 %width, i64 %columns, i64 %down, i64 %dilate.rows, i64 %pad.rows, i64 %pad.columns) noinline nounwind {
entry:
$LOADED_WEIGHTS
  %plane = mul i64 %height, %width
  %width.32 = trunc i64 %width to i32
  %width.first = insertelement <$LANES x i32> poison, i32 %width.32, i64 0
  %widths = shufflevector <$LANES x i32> %width.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
  br label %block
block:
  %x = phi i64 [ 0, %entry ], [ %x.next, %block.done ]
  %more.columns = icmp ult i64 %x, %columns
  br i1 %more.columns, label %begin, label %end
begin:
  ; the last block of a row begins so early that it ends with the row, if there is a whole one: what it computes again is the same
  %latest = sub i64 %columns, $LANES
  %fits = icmp uge i64 %columns, $LANES
  %is.beyond = icmp sgt i64 %x, %latest
  %moves = and i1 %fits, %is.beyond
  %x.now = select i1 %moves, i64 %latest, i64 %x
  %left = sub i64 %columns, %x.now
  %left.32 = trunc i64 %left to i32
  %left.first = insertelement <$LANES x i32> poison, i32 %left.32, i64 0
  %left.all = shufflevector <$LANES x i32> %left.first, <$LANES x i32> poison, <$LANES x i32> zeroinitializer
$INSIDE
  %is.whole = icmp uge i64 %left, $LANES
  %x.image = mul i64 %x.now, $ACROSS
  %x.first = sub i64 %x.image, %pad.columns
$MASKS
  %y.top = mul i64 %top, %down
  %y.begin = sub i64 %y.top, %pad.rows
$FIRST_ROWS
  br label %row
row:
  %y = phi i64 [ %top, %begin ], [ %y.next, %next ]
  %to = phi ptr [ %target, %begin ], [ %to.next, %next ]
$KEPT_ROWS
  %more = icmp ult i64 %y, %bottom
  br i1 %more, label %each, label %block.done
each:
  %y.image = mul i64 %y, %down
  %y.first = sub i64 %y.image, %pad.rows
$SUMS
$PLACES
  br i1 %is.whole, label %store.whole, label %store.some
store.whole:
$STORE_WHOLE
  br label %next
store.some:
$STORE_SOME
  br label %next
next:
  %to.next = getelementptr float, ptr %to.last, i64 %columns
  %y.next = add i64 %y, $TOGETHER
  br label %row
block.done:
  %x.next = add i64 %x, $LANES
  br label %block
end:
  ret void
}
