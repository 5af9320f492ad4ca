; A channel of a row of pixels, from a bit of each on, as normalized float32; stores past the caches need
; whole vectors at multiples of their size.
define internal void @$NAME(ptr noalias %pixels, i32 %bit, ptr noalias %target, i64 %width, float %mean, float %factor, float %summand) noinline nounwind {
entry:
$SPREAD_BIT
$SPREAD_MEAN
$SPREAD_FACTOR
$SPREAD_SUMMAND
  br label %look
look:
  %x = phi i64 [ 0, %entry ], [ %x.next, %whole ]
  %left = sub i64 %width, %x
  %pixel.at = getelementptr i32, ptr %pixels, i64 %x
  %several = load <$LANES x i32>, ptr %pixel.at, align 4
  %shifted = lshr <$LANES x i32> %several, %bit.all
  %byte = and <$LANES x i32> %shifted, splat (i32 255)
  %number = sitofp <$LANES x i32> %byte to <$LANES x float>
  %centered = fsub <$LANES x float> %number, %mean.all
  %scaled = fmul <$LANES x float> %centered, %factor.all
  %found = fadd <$LANES x float> %scaled, %summand.all
  %to = getelementptr float, ptr %target, i64 %x
  %is.whole = icmp sge i64 %left, $LANES
  br i1 %is.whole, label %whole, label %some
whole:
  store <$LANES x float> %found, ptr %to, $STORED
  %x.next = add i64 %x, $LANES
  %more = icmp slt i64 %x.next, %width
  br i1 %more, label %look, label %done
some:
  %left.32 = trunc i64 %left to i32
$SPREAD_LEFT
  %mask = icmp slt <$LANES x i32> <$NUMBERED>, %left.32.all
  call void @llvm.masked.store.v${LANES}f32.p0(<$LANES x float> %found, ptr %to, i32 4, <$LANES x i1> %mask)
  br label %done
done:
  ret void
}
