; Maxima or sums of small windows of images, a row of results after the other: each vector of results is computed from the image itself.
; Lanes outside the image have the value of padding. A row of each window is reduced first, then its rows, as elsewhere. A maximum of
; numbers is one instruction; what has a NaN is computed again. The words begin like those of `pieces.ll`; the rest are named below, in
; their order.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
  %pieces.at = getelementptr i64, ptr %words, i64 5
  %pieces = load i64, ptr %pieces.at
$WORDS
$DATA
  %lowest.double = bitcast i64 %lowest to double
  %lowest.value = $LOWEST
$PADDING
  %in.plane = mul i64 %height, %width
  %out.plane = mul i64 %rows, %columns
  %begin.times = mul i64 %index, %planes
  %begin = udiv i64 %begin.times, %pieces
  %index.next = add i64 %index, 1
  %end.times = mul i64 %index.next, %planes
  %end = udiv i64 %end.times, %pieces
  br label %plane.look
plane.look:
  %p = phi i64 [ %begin, %entry ], [ %p.next, %plane.done ]
  %more.planes = icmp ult i64 %p, %end
  br i1 %more.planes, label %plane, label %over
plane:
  %number = add i64 %p, %planes.before
  %in.place = mul i64 %number, %in.plane
  %in.p = getelementptr $TYPE, ptr %in.data, i64 %in.place
  ; whether vectors that reach beyond a row, or above or below a plane, are inside the array
  %is.after.others = icmp ne i64 %number, 0
  %p.after = add i64 %p, 1
  %is.before.others = icmp ult i64 %p.after, %planes
  %is.among.others = and i1 %is.after.others, %is.before.others
  %is.large = icmp sge i64 %in.plane, %margin
  %may.be.near = and i1 %is.among.others, %is.large
  %out.place = mul i64 %number, %out.plane
  %out.p = getelementptr $TYPE, ptr %out.data, i64 %out.place
  br label %row
row:
  %r = phi i64 [ 0, %plane ], [ %r.next, %row.done ]
  %r.top = mul i64 %r, %down
  %top = sub i64 %r.top, %rows.before
  %above = sub i64 0, %top
  %k.first = call i64 @llvm.smax.i64(i64 %above, i64 0)
  %below = sub i64 %height, %top
  %k.below = call i64 @llvm.smin.i64(i64 %below, i64 %kernel.rows)
  %k.end = call i64 @llvm.smax.i64(i64 %k.below, i64 %k.first)
  %k.number = sub i64 %k.end, %k.first
  %is.whole = icmp eq i64 %k.number, %kernel.rows
  %line.number = add i64 %top, %k.first
  %line.place = mul i64 %line.number, %width
  %line = getelementptr $TYPE, ptr %in.p, i64 %line.place
  %to.place = mul i64 %r, %columns
  %to = getelementptr $TYPE, ptr %out.p, i64 %to.place
  br label %block
block:
  %c = phi i64 [ 0, %row ], [ %c.next, %block.done ]
  %c.across = mul i64 %c, $ACROSS
  %first = sub i64 %c.across, %columns.before
$MASKS
  %block.line = getelementptr $TYPE, ptr %line, i64 %first
  br i1 $IS_NEAR, label %$NEAR_LOOK.look, label %quick.look
quick.look:
  %quick.k = phi i64 [ 0, %block ], [ %quick.k.next, %quick ]
  %quick.from = phi ptr [ %block.line, %block ], [ %quick.from.next, %quick ]
$QUICK_VALUES
  %quick.nan = phi $KEPT_MASK [ zeroinitializer, %block ], [ %quick.nan.all, %quick ]
  %more.quick = icmp ult i64 %quick.k, %k.number
  br i1 %more.quick, label %quick, label %checked
quick:
$QUICK
  %quick.from.next = getelementptr $TYPE, ptr %quick.from, i64 %width
  %quick.k.next = add i64 %quick.k, 1
  br label %quick.look
$NEAR_ROWS
checked:
$CHECKED
  %nan.number = bitcast <$LANES x i1> %nan.bits to i$LANES
  %is.exact = icmp eq i$LANES %nan.number, 0
  br i1 %is.exact, label %reduced, label %again.look
again.look:
  %again.k = phi i64 [ 0, %checked ], [ %again.k.next, %again ]
  %again.from = phi ptr [ %block.line, %checked ], [ %again.from.next, %again ]
$AGAIN_VALUES
  %more.again = icmp ult i64 %again.k, %k.number
  br i1 %more.again, label %again, label %reduced
again:
$AGAIN
  %again.from.next = getelementptr $TYPE, ptr %again.from, i64 %width
  %again.k.next = add i64 %again.k, 1
  br label %again.look
reduced:
$RESULTS
  br label %block.done
block.done:
  %c.next = add i64 %c, $TOGETHER
  %more.blocks = icmp slt i64 %c.next, %columns
  br i1 %more.blocks, label %block, label %row.done
row.done:
  %r.next = add i64 %r, 1
  %more.rows = icmp ult i64 %r.next, %rows
  br i1 %more.rows, label %row, label %plane.done
plane.done:
  %p.next = add i64 %p, 1
  br label %plane.look
over:
  ret ptr null
}
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare $VECTOR @llvm.masked.load.$OVERLOAD.p0(ptr, i32 immarg, <$LANES x i1>, $VECTOR)
declare void @llvm.masked.store.$OVERLOAD.p0($VECTOR, ptr, i32 immarg, <$LANES x i1>)
