; A part of an image of 4-byte pixels, interpolated linearly in fixed point as OpenCV does it, and written as planes of normalized numbers.
; What `numbers` holds, and the arithmetic, are described in jit/pictures.py.

declare float @llvm.floor.f32(float)
declare float @llvm.rint.f32(float)
declare void @llvm.masked.store.v${LANES}f32.p0(<$LANES x float>, ptr, i32, <$LANES x i1>)

; Where the number `place` of a row or column lies: the first of two neighbors, and the weights of both in 11 bits.
define internal { i64, i64, i64 } @neighbors(i64 %place, i64 %size, double %scale, double %start) noinline nounwind {
  %number = sitofp i64 %place to double
  %center = fadd double %number, %start
  %scaled = fmul double %center, %scale
  %exact = fsub double %scaled, 0.5
  %at = fptrunc double %exact to float
  %floor = call float @llvm.floor.f32(float %at)
  %distance = fsub float %at, %floor
  %low = fptosi float %floor to i64
  %last = sub i64 %size, 1
  %after = icmp sge i64 %low, 0
  %before = icmp slt i64 %low, %last
  %inside = and i1 %after, %before
  %share = select i1 %inside, float %distance, float 0.0
  %wide = fpext float %share to double
  %rest.wide = fsub double 1.0, %wide
  %rest = fptrunc double %rest.wide to float
  %second.scaled = fmul float %share, 2048.0
  %second.rounded = call float @llvm.rint.f32(float %second.scaled)
  %second = fptosi float %second.rounded to i64
  %first.scaled = fmul float %rest, 2048.0
  %first.rounded = call float @llvm.rint.f32(float %first.scaled)
  %first = fptosi float %first.rounded to i64
  ; at the end the last two pixels are read, of which the first has no weight
  %past = icmp sge i64 %low, %last
  %last.pair = sub i64 %size, 2
  %clipped = select i1 %after, i64 %low, i64 0
  %from = select i1 %past, i64 %last.pair, i64 %clipped
  %w0 = select i1 %past, i64 0, i64 %first
  %w1 = select i1 %past, i64 2048, i64 %second
  %r0 = insertvalue { i64, i64, i64 } poison, i64 %from, 0
  %r1 = insertvalue { i64, i64, i64 } %r0, i64 %w0, 1
  %r2 = insertvalue { i64, i64, i64 } %r1, i64 %w1, 2
  ret { i64, i64, i64 } %r2
}

; For each new column, in the order in which they are written: the offset of its two pixels, and their weights four times.
define internal void @columns(ptr %offsets, ptr %weights, i64 %width, i64 %padded, i64 %size, double %scale, double %start, i1 %mirror) noinline nounwind {
entry:
  br label %next
next:
  %x = phi i64 [ 0, %entry ], [ %x.next, %write ]
  %is.real = icmp slt i64 %x, %width
  %w.last = sub i64 %width, 1
  %x.clipped = select i1 %is.real, i64 %x, i64 %w.last
  %reversed = sub i64 %w.last, %x.clipped
  %place = select i1 %mirror, i64 %reversed, i64 %x.clipped
  %found = call { i64, i64, i64 } @neighbors(i64 %place, i64 %size, double %scale, double %start)
  br label %write
write:
  %from = extractvalue { i64, i64, i64 } %found, 0
  %w0 = extractvalue { i64, i64, i64 } %found, 1
  %w1 = extractvalue { i64, i64, i64 } %found, 2
  %bytes = shl i64 %from, 2
  %offset = trunc i64 %bytes to i32
  %offset.at = getelementptr i32, ptr %offsets, i64 %x
  store i32 %offset, ptr %offset.at, align 4
  %high = shl i64 %w1, 16
  %both = or i64 %high, %w0
  %pair = trunc i64 %both to i32
  %one = insertelement <4 x i32> poison, i32 %pair, i64 0
  %four = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %weight.at = getelementptr <4 x i32>, ptr %weights, i64 %x
  store <4 x i32> %four, ptr %weight.at, align 4
  %x.next = add i64 %x, 1
  %more = icmp slt i64 %x.next, %padded
  br i1 %more, label %next, label %done
done:
  ret void
}

; A row of the image interpolated along itself: 15 bits for each of the four bytes of a pixel.
define internal void @across(ptr noalias %source, ptr noalias %offsets, ptr noalias %weights, ptr noalias %target, i64 %padded) noinline nounwind {
entry:
  br label %next
next:
  %x = phi i64 [ 0, %entry ], [ %x.next, %next ]
  %offset.at = getelementptr i32, ptr %offsets, i64 %x
  %four = load <4 x i32>, ptr %offset.at, align 4
  %o0 = extractelement <4 x i32> %four, i64 0
  %o1 = extractelement <4 x i32> %four, i64 1
  %o2 = extractelement <4 x i32> %four, i64 2
  %o3 = extractelement <4 x i32> %four, i64 3
  %at0 = getelementptr i8, ptr %source, i32 %o0
  %at1 = getelementptr i8, ptr %source, i32 %o1
  %at2 = getelementptr i8, ptr %source, i32 %o2
  %at3 = getelementptr i8, ptr %source, i32 %o3
  %p0 = load <8 x i8>, ptr %at0, align 1
  %p1 = load <8 x i8>, ptr %at1, align 1
  %p2 = load <8 x i8>, ptr %at2, align 1
  %p3 = load <8 x i8>, ptr %at3, align 1
  %p01 = shufflevector <8 x i8> %p0, <8 x i8> %p1, <16 x i32> <$PAIR>
  %p23 = shufflevector <8 x i8> %p2, <8 x i8> %p3, <16 x i32> <$PAIR>
  %bytes = shufflevector <16 x i8> %p01, <16 x i8> %p23, <32 x i32> <$ALL_32>
  %words = zext <32 x i8> %bytes to <32 x i16>
  %weight.at = getelementptr <4 x i32>, ptr %weights, i64 %x
  %w = load <32 x i16>, ptr %weight.at, align 4
  %words.wide = sext <32 x i16> %words to <32 x i32>
  %w.wide = sext <32 x i16> %w to <32 x i32>
  %products = mul nsw <32 x i32> %words.wide, %w.wide
  %left = shufflevector <32 x i32> %products, <32 x i32> poison, <16 x i32> <$EVEN>
  %right = shufflevector <32 x i32> %products, <32 x i32> poison, <16 x i32> <$ODD>
  %sum = add nsw <16 x i32> %left, %right
  %shifted = lshr <16 x i32> %sum, splat (i32 4)
  %found = trunc <16 x i32> %shifted to <16 x i16>
  %target.at = getelementptr <4 x i16>, ptr %target, i64 %x
  store <16 x i16> %found, ptr %target.at, align 2
  %x.next = add i64 %x, 4
  %more = icmp slt i64 %x.next, %padded
  br i1 %more, label %next, label %done
done:
  ret void
}

; A row between two rows interpolated along themselves: the four bytes of each pixel.
define internal void @down(ptr noalias %upper, ptr noalias %lower, i64 %y.w0, i64 %y.w1, ptr noalias %target, i64 %padded) noinline nounwind {
entry:
  %w0.16 = trunc i64 %y.w0 to i16
  %w1.16 = trunc i64 %y.w1 to i16
  %w0.first = insertelement <32 x i16> poison, i16 %w0.16, i64 0
  %w1.first = insertelement <32 x i16> poison, i16 %w1.16, i64 0
  %w0 = shufflevector <32 x i16> %w0.first, <32 x i16> poison, <32 x i32> zeroinitializer
  %w1 = shufflevector <32 x i16> %w1.first, <32 x i16> poison, <32 x i32> zeroinitializer
  br label %next
next:
  %x = phi i64 [ 0, %entry ], [ %x.next, %next ]
  %upper.at = getelementptr <4 x i16>, ptr %upper, i64 %x
  %lower.at = getelementptr <4 x i16>, ptr %lower, i64 %x
  %a = load <32 x i16>, ptr %upper.at, align 2
  %b = load <32 x i16>, ptr %lower.at, align 2
  %a.wide = zext <32 x i16> %a to <32 x i32>
  %b.wide = zext <32 x i16> %b to <32 x i32>
  %w0.wide = zext <32 x i16> %w0 to <32 x i32>
  %w1.wide = zext <32 x i16> %w1 to <32 x i32>
  %a.product = mul <32 x i32> %a.wide, %w0.wide
  %b.product = mul <32 x i32> %b.wide, %w1.wide
  %a.high = lshr <32 x i32> %a.product, splat (i32 16)
  %b.high = lshr <32 x i32> %b.product, splat (i32 16)
  %a.part = trunc <32 x i32> %a.high to <32 x i16>
  %b.part = trunc <32 x i32> %b.high to <32 x i16>
  %sum = add <32 x i16> %a.part, %b.part
  %half = add <32 x i16> %sum, splat (i16 2)
  %found = lshr <32 x i16> %half, splat (i16 2)
  %bytes = trunc <32 x i16> %found to <32 x i8>
  %target.at = getelementptr i32, ptr %target, i64 %x
  store <32 x i8> %bytes, ptr %target.at, align 4
  %x.next = add i64 %x, 8
  %more = icmp slt i64 %x.next, %padded
  br i1 %more, label %next, label %done
done:
  ret void
}

; A channel of a row of pixels, from a bit of each on, as bytes; what remains of a vector one by one.
define internal void @bytes(ptr noalias %pixels, i32 %bit, ptr noalias %target, i64 %width) noinline nounwind {
entry:
$SPREAD_BIT
  br label %look
look:
  %x = phi i64 [ 0, %entry ], [ %x.next, %whole ]
  %left = sub i64 %width, %x
  %is.whole = icmp sge i64 %left, $LANES
  br i1 %is.whole, label %whole, label %some
whole:
  %pixel.at = getelementptr i32, ptr %pixels, i64 %x
  %several = load <$LANES x i32>, ptr %pixel.at, align 4
  %shifted = lshr <$LANES x i32> %several, %bit.all
  %byte = trunc <$LANES x i32> %shifted to <$LANES x i8>
  %to = getelementptr i8, ptr %target, i64 %x
  store <$LANES x i8> %byte, ptr %to, align 1
  %x.next = add i64 %x, $LANES
  br label %look
some:
  %place = phi i64 [ %x, %look ], [ %place.next, %one ]
  %more = icmp slt i64 %place, %width
  br i1 %more, label %one, label %done
one:
  %one.at = getelementptr i32, ptr %pixels, i64 %place
  %pixel = load i32, ptr %one.at, align 4
  %one.shifted = lshr i32 %pixel, %bit
  %one.byte = trunc i32 %one.shifted to i8
  %one.to = getelementptr i8, ptr %target, i64 %place
  store i8 %one.byte, ptr %one.to, align 1
  %place.next = add i64 %place, 1
  br label %some
done:
  ret void
}

; A row of pixels as they are, or in the opposite order.
define internal void @copied(ptr noalias %source, ptr noalias %target, i64 %width, i1 %mirror) noinline nounwind {
entry:
  %last = sub i64 %width, 1
  %vectors = and i64 %width, -4
  %any = icmp sgt i64 %vectors, 0
  br i1 %any, label %four, label %look
four:
  %x = phi i64 [ 0, %entry ], [ %x.next, %four ]
  %end = sub i64 %width, %x
  %reversed.x = sub i64 %end, 4
  %from.x = select i1 %mirror, i64 %reversed.x, i64 %x
  %from = getelementptr i32, ptr %source, i64 %from.x
  %pixels = load <4 x i32>, ptr %from, align 1
  %reversed = shufflevector <4 x i32> %pixels, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %found = select i1 %mirror, <4 x i32> %reversed, <4 x i32> %pixels
  %to = getelementptr i32, ptr %target, i64 %x
  store <4 x i32> %found, ptr %to, align 4
  %x.next = add i64 %x, 4
  %more.vectors = icmp slt i64 %x.next, %vectors
  br i1 %more.vectors, label %four, label %look
look:
  %place = phi i64 [ 0, %entry ], [ %vectors, %four ], [ %place.next, %one ]
  %more = icmp slt i64 %place, %width
  br i1 %more, label %one, label %done
one:
  %one.reversed = sub i64 %last, %place
  %one.x = select i1 %mirror, i64 %one.reversed, i64 %place
  %one.from = getelementptr i32, ptr %source, i64 %one.x
  %pixel = load i32, ptr %one.from, align 1
  %one.to = getelementptr i32, ptr %target, i64 %place
  store i32 %pixel, ptr %one.to, align 4
  %place.next = add i64 %place, 1
  br label %look
done:
  ret void
}

define void @kernel(ptr %source, i64 %row.bytes, ptr %numbers, ptr %scratch, ptr %target) nounwind {
entry:
$LOADED
  %mirrors = icmp ne i64 %mirror, 0
  %as.bytes = icmp ne i64 %bytes, 0
  %width.above = add i64 %width, ${ROUNDING}
  %padded = and i64 %width.above, -$MULTIPLE
  %plane = mul i64 %width, %height
  %weights = getelementptr i32, ptr %scratch, i64 %padded
  %row.a = getelementptr <4 x i32>, ptr %weights, i64 %padded
  %row.b = getelementptr <4 x i16>, ptr %row.a, i64 %padded
  %pixels = getelementptr <4 x i16>, ptr %row.b, i64 %padded
  %normal = getelementptr i64, ptr %numbers, i64 $NORMAL
  %is.float = icmp eq i64 %bytes, 0
  %item.shift = select i1 %is.float, i64 2, i64 0
  %plane.bytes = shl i64 %plane, %item.shift
  %is.whole = icmp ne i64 %whole, 0
  ; rows of whole vectors from a whole vector on
  %address = ptrtoint ptr %target to i64
  %row.size = shl i64 %width, 2
  %either = or i64 %address, %row.size
  %beyond = and i64 %either, $VECTOR_MASK
  %is.aligned = icmp eq i64 %beyond, 0
  %left.double = fsub double %start.x, 0.5
  %left = fptosi double %left.double to i64
  %top.double = fsub double %start.y, 0.5
  %top = fptosi double %top.double to i64
  br i1 %is.whole, label %row, label %weigh
weigh:
  call void @columns(ptr %scratch, ptr %weights, i64 %width, i64 %padded, i64 %source.width, double %scale.x, double %start.x, i1 %mirrors)
  br label %row
row:
  %y = phi i64 [ 0, %entry ], [ 0, %weigh ], [ %y.next, %written ]
  %upper.old = phi ptr [ %row.a, %entry ], [ %row.a, %weigh ], [ %upper, %written ]
  %lower.old = phi ptr [ %row.b, %entry ], [ %row.b, %weigh ], [ %lower, %written ]
  %known = phi i64 [ -2, %entry ], [ -2, %weigh ], [ %known.new, %written ]
  %begin = mul i64 %y, %width
  %begin.bytes = shl i64 %begin, %item.shift
  %row.target = getelementptr i8, ptr %target, i64 %begin.bytes
  br i1 %is.whole, label %copy, label %interpolate
copy:
  %source.y = add i64 %top, %y
  %source.begin = mul i64 %source.y, %row.bytes
  %source.row = getelementptr i8, ptr %source, i64 %source.begin
  %source.first = getelementptr i32, ptr %source.row, i64 %left
  call void @copied(ptr %source.first, ptr %pixels, i64 %width, i1 %mirrors)
  br label %planes
interpolate:
  %found = call { i64, i64, i64 } @neighbors(i64 %y, i64 %source.height, double %scale.y, double %start.y)
  %from = extractvalue { i64, i64, i64 } %found, 0
  %w0 = extractvalue { i64, i64, i64 } %found, 1
  %w1 = extractvalue { i64, i64, i64 } %found, 2
  %upper.bytes = mul i64 %from, %row.bytes
  %upper.source = getelementptr i8, ptr %source, i64 %upper.bytes
  %lower.source = getelementptr i8, ptr %upper.source, i64 %row.bytes
  %same = icmp eq i64 %from, %known
  br i1 %same, label %emit, label %other
other:
  %known.next = add i64 %known, 1
  %follows = icmp eq i64 %from, %known.next
  %upper.new = select i1 %follows, ptr %lower.old, ptr %upper.old
  %lower.new = select i1 %follows, ptr %upper.old, ptr %lower.old
  br i1 %follows, label %second, label %first
first:
  call void @across(ptr %upper.source, ptr %scratch, ptr %weights, ptr %upper.new, i64 %padded)
  br label %second
second:
  call void @across(ptr %lower.source, ptr %scratch, ptr %weights, ptr %lower.new, i64 %padded)
  br label %emit
emit:
  %upper.emit = phi ptr [ %upper.old, %interpolate ], [ %upper.new, %second ]
  %lower.emit = phi ptr [ %lower.old, %interpolate ], [ %lower.new, %second ]
  call void @down(ptr %upper.emit, ptr %lower.emit, i64 %w0, i64 %w1, ptr %pixels, i64 %padded)
  br label %planes
planes:
  %upper = phi ptr [ %upper.emit, %emit ], [ %upper.old, %copy ]
  %lower = phi ptr [ %lower.emit, %emit ], [ %lower.old, %copy ]
  %known.new = phi i64 [ %from, %emit ], [ %known, %copy ]
  br label %channel
channel:
  %c = phi i64 [ 0, %planes ], [ %c.next, %next.channel ]
  %before = mul i64 %c, %plane.bytes
  %to = getelementptr i8, ptr %row.target, i64 %before
  %bit.64 = shl i64 %c, 3
  %bit = trunc i64 %bit.64 to i32
  br i1 %as.bytes, label %as.they.are, label %normalized
as.they.are:
  call void @bytes(ptr %pixels, i32 %bit, ptr %to, i64 %width)
  br label %next.channel
normalized:
  %mean.at = getelementptr float, ptr %normal, i64 %c
  %factor.at = getelementptr float, ptr %mean.at, i64 4
  %summand.at = getelementptr float, ptr %mean.at, i64 8
  %mean = load float, ptr %mean.at, align 1
  %factor = load float, ptr %factor.at, align 1
  %summand = load float, ptr %summand.at, align 1
  br i1 %is.aligned, label %past.caches, label %through.caches
past.caches:
  call void @floats_past_caches(ptr %pixels, i32 %bit, ptr %to, i64 %width, float %mean, float %factor, float %summand)
  br label %next.channel
through.caches:
  call void @floats(ptr %pixels, i32 %bit, ptr %to, i64 %width, float %mean, float %factor, float %summand)
  br label %next.channel
next.channel:
  %c.next = add i64 %c, 1
  %more.channels = icmp slt i64 %c.next, %channels
  br i1 %more.channels, label %channel, label %written
written:
  %y.next = add i64 %y, 1
  %more = icmp slt i64 %y.next, %height
  br i1 %more, label %row, label %done
done:
  ; stores past the caches are visible to other threads before the function returns
  fence seq_cst
  ret void
}

!0 = !{i32 1}
