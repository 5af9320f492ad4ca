; Sums of an array (outer, n, inner) over its middle axis, each added in order, to (outer, inner). A vector of sums stays in a register while
; the terms of a chunk of rows are added, of about $CHUNK bytes. The chunk lies on few pages and stays in cache until its last vector is
; added: a cache line may hold several. What lies as many bytes ahead is fetched meanwhile.
declare ptr @PyLong_FromSsize_t(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
$DECLARED

define ptr @kernel(ptr %self, ptr %arguments, i64 %count) nounwind {
entry:
$LOADED
  %sizes.at = getelementptr i8, ptr %values.object, i64 $SIZES
  %sizes = load ptr, ptr %sizes.at
  %outer = load i64, ptr %sizes
  %n.at = getelementptr i64, ptr %sizes, i64 1
  %n = load i64, ptr %n.at
  %inner.at = getelementptr i64, ptr %sizes, i64 2
  %inner = load i64, ptr %inner.at
  %rows = mul i64 %outer, %n
  %elements = mul i64 %rows, %inner
  %is.short = icmp slt i64 %elements, $RELEASE_FROM
  br i1 %is.short, label %held, label %release
held:
  call void @sums(ptr %values.data, ptr %out.data, i64 %outer, i64 %n, i64 %inner)
  br label %return
release:
  %thread = call ptr @PyEval_SaveThread()
  call void @sums(ptr %values.data, ptr %out.data, i64 %outer, i64 %n, i64 %inner)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %return
return:
  %none = call ptr @PyLong_FromSsize_t(i64 0)
  ret ptr %none
}

define internal void @sums(ptr %values, ptr %out, i64 %outer, i64 %n, i64 %inner) nounwind {
entry:
  %each = mul i64 %n, %inner
  %row = mul i64 %inner, $ITEM
  %fitting = udiv i64 $CHUNK, %row
  %is.narrow = icmp sgt i64 %fitting, 8
  %height = select i1 %is.narrow, i64 %fitting, i64 8
$SPREAD_INNER
  br label %block
block:
  %o = phi i64 [ 0, %entry ], [ %o.next, %block.next ]
  %o.elements = mul i64 %o, %each
  %from = getelementptr $TYPE, ptr %values, i64 %o.elements
  %o.sums = mul i64 %o, %inner
  %to = getelementptr $TYPE, ptr %out, i64 %o.sums
  br label %chunk
chunk:
  %c = phi i64 [ 0, %block ], [ %c.end, %chunk.next ]
  %c.whole = add i64 %c, %height
  %is.inside = icmp slt i64 %c.whole, %n
  %c.end = select i1 %is.inside, i64 %c.whole, i64 %n
  %count = sub i64 %c.end, %c
  %c.elements = mul i64 %c, %inner
  %from.c = getelementptr $TYPE, ptr %from, i64 %c.elements
  %is.first = icmp eq i64 %c, 0
  br label %vector
vector:
  %k = phi i64 [ 0, %chunk ], [ %k.next, %vector.done ]
  %first = getelementptr $TYPE, ptr %from.c, i64 %k
  %to.k = getelementptr $TYPE, ptr %to, i64 %k
  %k.next = add i64 %k, $LANES
  %is.whole = icmp sle i64 %k.next, %inner
  br i1 %is.whole, label %whole, label %part
whole:
  %so.far = load $VECTOR, ptr %to.k, align $ITEM
  ; from zero on, as in NumPy: the sum of negative zeros is positive
  %begin = select i1 %is.first, $VECTOR zeroinitializer, $VECTOR %so.far
  br label %look
look:
  %j = phi i64 [ 0, %whole ], [ %j.next, %add ]
  %at = phi ptr [ %first, %whole ], [ %at.next, %add ]
  %sum = phi $VECTOR [ %begin, %whole ], [ %sum.next, %add ]
  %more.terms = icmp slt i64 %j, %count
  br i1 %more.terms, label %add, label %added
add:
  %term = load $VECTOR, ptr %at, align $ITEM
  %ahead = getelementptr i8, ptr %at, i64 $CHUNK
  call void @llvm.prefetch.p0(ptr %ahead, i32 0, i32 3, i32 1)
  %sum.next = fadd $VECTOR %sum, %term
  %at.next = getelementptr $TYPE, ptr %at, i64 %inner
  %j.next = add i64 %j, 1
  br label %look
added:
  store $VECTOR %sum, ptr %to.k, align $ITEM
  br label %vector.done
part:
$SPREAD_K
  %lanes = add <$LANES x i64> %k.all, <$NUMBERED>
  %mask = icmp slt <$LANES x i64> %lanes, %inner.all
  %p.so.far = call $VECTOR @llvm.masked.load.$SUFFIX.p0(ptr %to.k, i32 $ITEM, <$LANES x i1> %mask, $VECTOR zeroinitializer)
  %p.begin = select i1 %is.first, $VECTOR zeroinitializer, $VECTOR %p.so.far
  br label %part.look
part.look:
  %p = phi i64 [ 0, %part ], [ %p.next, %part.add ]
  %p.at = phi ptr [ %first, %part ], [ %p.at.next, %part.add ]
  %p.sum = phi $VECTOR [ %p.begin, %part ], [ %p.sum.next, %part.add ]
  %p.more = icmp slt i64 %p, %count
  br i1 %p.more, label %part.add, label %part.added
part.add:
  %p.term = call $VECTOR @llvm.masked.load.$SUFFIX.p0(ptr %p.at, i32 $ITEM, <$LANES x i1> %mask, $VECTOR zeroinitializer)
  %p.sum.next = fadd $VECTOR %p.sum, %p.term
  %p.at.next = getelementptr $TYPE, ptr %p.at, i64 %inner
  %p.next = add i64 %p, 1
  br label %part.look
part.added:
  call void @llvm.masked.store.$SUFFIX.p0($VECTOR %p.sum, ptr %to.k, i32 $ITEM, <$LANES x i1> %mask)
  br label %vector.done
vector.done:
  %more.vectors = icmp slt i64 %k.next, %inner
  br i1 %more.vectors, label %vector, label %chunk.next
chunk.next:
  %more.chunks = icmp slt i64 %c.end, %n
  br i1 %more.chunks, label %chunk, label %block.next
block.next:
  %o.next = add i64 %o, 1
  %more.blocks = icmp slt i64 %o.next, %outer
  br i1 %more.blocks, label %block, label %done
done:
  ret void
}
