; Puts four channels of every place side by side: images of %depth channels of %plane bytes each become planes of words of four bytes,
; zeros where there are fewer than four channels. After each image so many words are left out.
define void @kernel(ptr %from, i64 %images, ptr %to, i64 %left.out, i64 %depth, i64 %plane) nounwind {
entry:
  %image.bytes = mul i64 %depth, %plane
  %depth.above = add i64 %depth, 3
  %quads = lshr i64 %depth.above, 2
  %words = mul i64 %quads, %plane
  %words.all = add i64 %words, %left.out
  %quad.bytes = shl i64 %plane, 2
  %last = sub i64 %plane, 8
  %is.short = icmp slt i64 %plane, 8
  br label %image
image:
  %n = phi i64 [ 0, %entry ], [ %n.next, %image.done ]
  %more.images = icmp slt i64 %n, %images
  br i1 %more.images, label %image.start, label %done
image.start:
  %from.offset = mul i64 %n, %image.bytes
  %from.image = getelementptr i8, ptr %from, i64 %from.offset
  %to.offset = mul i64 %n, %words.all
  %to.image = getelementptr i32, ptr %to, i64 %to.offset
  br label %quad
quad:
  %c = phi i64 [ 0, %image.start ], [ %c.next, %quad.done ]
  %to.quad = phi ptr [ %to.image, %image.start ], [ %to.next, %quad.done ]
  %more.quads = icmp slt i64 %c, %depth
  br i1 %more.quads, label %quad.start, label %image.done
quad.start:
$CHANNELS
  br i1 %is.short, label %word, label %vector
vector:
  %p = phi i64 [ 0, %quad.start ], [ %p.next, %vector.do ]
  %more.vectors = icmp slt i64 %p, %plane
  br i1 %more.vectors, label %vector.do, label %quad.done
vector.do:
  ; the last vector overlaps the one before it
  %is.over = icmp sgt i64 %p, %last
  %place = select i1 %is.over, i64 %last, i64 %p
$VECTORS
  %low = shufflevector <8 x i8> %vector.0, <8 x i8> %vector.1, <16 x i32> <$PAIRS>
  %high = shufflevector <8 x i8> %vector.2, <8 x i8> %vector.3, <16 x i32> <$PAIRS>
  %all = shufflevector <16 x i8> %low, <16 x i8> %high, <32 x i32> <$QUADS>
  %to.vector = getelementptr i32, ptr %to.quad, i64 %place
  store <32 x i8> %all, ptr %to.vector, align 1
  %p.next = add i64 %p, 8
  br label %vector
word:
  %w = phi i64 [ 0, %quad.start ], [ %w.next, %word.do ]
  %more.words = icmp slt i64 %w, %plane
  br i1 %more.words, label %word.do, label %quad.done
word.do:
$WORDS
  %to.word = getelementptr i32, ptr %to.quad, i64 %w
  store <4 x i8> %word.3, ptr %to.word, align 1
  %w.next = add i64 %w, 1
  br label %word
quad.done:
  %c.next = add i64 %c, 4
  %to.next = getelementptr i8, ptr %to.quad, i64 %quad.bytes
  br label %quad
image.done:
  %n.next = add i64 %n, 1
  br label %image
done:
  ret void
}
