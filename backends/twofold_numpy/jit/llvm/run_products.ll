; For each channel and tap the sum of x[offset of the tap + k] * y[k] over a run of places of all images, in 32 partial sums
; whatever the processor's vectors, which are added in halves.
define void @kernel(ptr %x, ptr %y, ptr %sums, ptr %offsets, ptr %numbers) nounwind {
entry:
$LOADED
  %whole = and i64 %run, -32
  %left = sub i64 %run, %whole
  %is.long = icmp sgt i64 %whole, 0
$SPREAD_LEFT
  %mask = icmp slt <32 x i64> <$NUMBERED>, %left.all
  br label %channel
channel:
  %c = phi i64 [ 0, %entry ], [ %c.next, %channel.done ]
  %x.from = mul i64 %c, %x.channel
  %x.c = getelementptr float, ptr %x, i64 %x.from
  %y.from = mul i64 %c, %y.channel
  %y.c = getelementptr float, ptr %y, i64 %y.from
  %sums.from = mul i64 %c, %taps
  %sums.c = getelementptr float, ptr %sums, i64 %sums.from
  br label %tap
tap:
  %t = phi i64 [ 0, %channel ], [ %t.next, %tap.done ]
  %offset.at = getelementptr i64, ptr %offsets, i64 %t
  %offset = load i64, ptr %offset.at, align 1
  %x.t = getelementptr float, ptr %x.c, i64 %offset
  br label %image
image:
  %n = phi i64 [ 0, %tap ], [ %n.next, %rest ]
  %total = phi <32 x float> [ zeroinitializer, %tap ], [ %added, %rest ]
  %x.step = mul i64 %n, %x.image
  %x.n = getelementptr float, ptr %x.t, i64 %x.step
  %y.step = mul i64 %n, %y.image
  %y.n = getelementptr float, ptr %y.c, i64 %y.step
  br i1 %is.long, label %more, label %rest
more:
  %k = phi i64 [ 0, %image ], [ %k.next, %more ]
  %sum = phi <32 x float> [ %total, %image ], [ %sum.next, %more ]
  %x.at = getelementptr float, ptr %x.n, i64 %k
  %x.now = load <32 x float>, ptr %x.at, align 4
  %y.at = getelementptr float, ptr %y.n, i64 %k
  %y.now = load <32 x float>, ptr %y.at, align 4
  %sum.next = call <32 x float> @llvm.fma.v32f32(<32 x float> %x.now, <32 x float> %y.now, <32 x float> %sum)
  %k.next = add i64 %k, 32
  %goes.on = icmp slt i64 %k.next, %whole
  br i1 %goes.on, label %more, label %rest
rest:
  %before = phi <32 x float> [ %total, %image ], [ %sum.next, %more ]
  %x.last = getelementptr float, ptr %x.n, i64 %whole
  %x.end = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %x.last, i32 4, <32 x i1> %mask, <32 x float> zeroinitializer)
  %y.last = getelementptr float, ptr %y.n, i64 %whole
  %y.end = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %y.last, i32 4, <32 x i1> %mask, <32 x float> zeroinitializer)
  %added = call <32 x float> @llvm.fma.v32f32(<32 x float> %x.end, <32 x float> %y.end, <32 x float> %before)
  %n.next = add i64 %n, 1
  %more.images = icmp slt i64 %n.next, %images
  br i1 %more.images, label %image, label %tap.done
tap.done:
$HALVES
  %to = getelementptr float, ptr %sums.c, i64 %t
  store float %all.sum, ptr %to, align 4
  %t.next = add i64 %t, 1
  %more.taps = icmp slt i64 %t.next, %taps
  br i1 %more.taps, label %tap, label %channel.done
channel.done:
  %c.next = add i64 %c, 1
  %more.channels = icmp slt i64 %c.next, %channels
  br i1 %more.channels, label %channel, label %done
done:
  ret void
}
declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)
declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32, <32 x i1>, <32 x float>)
