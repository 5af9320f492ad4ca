define internal i1 @wrong(ptr %array, i64 %class, i64 %dtype, i64 %count) noinline nounwind {
entry:
$CHECK_ARRAY
axes:
  %k = phi i32 [ 0, %take ], [ %k.next, %axis ]
  %total = phi i64 [ 1, %take ], [ %product, %axis ]
  %more = icmp slt i32 %k, %nd
  br i1 %more, label %axis, label %done
axis:
  %n.at = getelementptr i64, ptr %dimensions, i32 %k
  %n = load i64, ptr %n.at
  %product = mul i64 %total, %n
  %k.next = add i32 %k, 1
  br label %axes
done:
  %differs = icmp ne i64 %total, %count
  ret i1 %differs
other:
  ret i1 true
}
