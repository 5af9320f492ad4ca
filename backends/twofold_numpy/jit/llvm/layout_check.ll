define internal ptr @after(ptr %array, i64 %class, i64 %dtype, ptr %record) noinline nounwind {
entry:
$CHECK_ARRAY
axes:
  %strides.at = getelementptr i8, ptr %array, i64 $STRIDES
  %strides = load ptr, ptr %strides.at
  %nd.wanted.at = getelementptr i64, ptr %record, i64 2
  %nd.wanted = load i64, ptr %nd.wanted.at
  %nd.long = sext i32 %nd to i64
  %sizes.wanted = getelementptr i64, ptr %record, i64 3
  %strides.wanted = getelementptr i64, ptr %sizes.wanted, i64 %nd.long
  %end = getelementptr i64, ptr %strides.wanted, i64 %nd.long
  %same.nd = icmp eq i64 %nd.wanted, %nd.long
  br i1 %same.nd, label %next, label %other
next:
  %k = phi i64 [ 0, %axes ], [ %k.next, %axis ]
  %more = icmp slt i64 %k, %nd.long
  br i1 %more, label %axis, label %done
axis:
  %n.at = getelementptr i64, ptr %dimensions, i64 %k
  %n = load i64, ptr %n.at
  %n.wanted.at = getelementptr i64, ptr %sizes.wanted, i64 %k
  %n.wanted = load i64, ptr %n.wanted.at
  %same.n = icmp eq i64 %n, %n.wanted
  %s.at = getelementptr i64, ptr %strides, i64 %k
  %s = load i64, ptr %s.at
  %s.wanted.at = getelementptr i64, ptr %strides.wanted, i64 %k
  %s.wanted = load i64, ptr %s.wanted.at
  %same.s = icmp eq i64 %s, %s.wanted
  %same = and i1 %same.n, %same.s
  %k.next = add i64 %k, 1
  br i1 %same, label %next, label %other
done:
  ret ptr %end
other:
  ret ptr null
}
