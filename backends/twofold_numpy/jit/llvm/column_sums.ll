; Sums of an array (outer, n, inner) over its middle axis, each added in order, to (outer, inner). A vector of sums stays in a register while
; its n terms are added.
declare ptr @PyLong_FromSsize_t(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
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
$SPREAD_INNER
  br label %block
block:
  %o = phi i64 [ 0, %entry ], [ %o.next, %block.next ]
  %o.elements = mul i64 %o, %each
  %from = getelementptr $TYPE, ptr %values, i64 %o.elements
  %o.sums = mul i64 %o, %inner
  %to = getelementptr $TYPE, ptr %out, i64 %o.sums
  br label %vector
vector:
  %k = phi i64 [ 0, %block ], [ %k.next, %vector.done ]
  %first = getelementptr $TYPE, ptr %from, i64 %k
  %to.k = getelementptr $TYPE, ptr %to, i64 %k
  %k.next = add i64 %k, $LANES
  %is.whole = icmp sle i64 %k.next, %inner
  br i1 %is.whole, label %whole, label %part
whole:
  ; from zero on, as in NumPy: the sum of negative zeros is positive
  %j = phi i64 [ 0, %vector ], [ %j.next, %add ]
  %at = phi ptr [ %first, %vector ], [ %at.next, %add ]
  %sum = phi $VECTOR [ zeroinitializer, %vector ], [ %sum.next, %add ]
  %more.terms = icmp slt i64 %j, %n
  br i1 %more.terms, label %add, label %added
add:
  %term = load $VECTOR, ptr %at, align $ITEM
  %sum.next = fadd $VECTOR %sum, %term
  %at.next = getelementptr $TYPE, ptr %at, i64 %inner
  %j.next = add i64 %j, 1
  br label %whole
added:
  store $VECTOR %sum, ptr %to.k, align $ITEM
  br label %vector.done
part:
$SPREAD_K
  %lanes = add <$LANES x i64> %k.all, <$NUMBERED>
  %mask = icmp slt <$LANES x i64> %lanes, %inner.all
  br label %part.look
part.look:
  %p = phi i64 [ 0, %part ], [ %p.next, %part.add ]
  %p.at = phi ptr [ %first, %part ], [ %p.at.next, %part.add ]
  %p.sum = phi $VECTOR [ zeroinitializer, %part ], [ %p.sum.next, %part.add ]
  %p.more = icmp slt i64 %p, %n
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
  br i1 %more.vectors, label %vector, label %block.next
block.next:
  %o.next = add i64 %o, 1
  %more.blocks = icmp slt i64 %o.next, %outer
  br i1 %more.blocks, label %block, label %done
done:
  ret void
}
