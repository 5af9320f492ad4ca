  ; a split kernel, after board.ll: offers its second half, runs the first, and the second too if nobody has begun it
  %code.at = getelementptr ptr, ptr %own, i64 $HEAD1
  %code = load ptr, ptr %code.at
  %here.at = getelementptr ptr, ptr %own, i64 $HEAD2
  %here = load ptr, ptr %here.at
  %there.at = getelementptr ptr, ptr %own, i64 $HEAD3
  %there = load ptr, ptr %there.at
  %posts.at.at = getelementptr ptr, ptr %own, i64 $HEAD4
  %posts.at = load ptr, ptr %posts.at.at
  %wakes.at = getelementptr i64, ptr %own, i64 $HEAD5
  %wakes = load i64, ptr %wakes.at
  %is.offered = call i1 @offer(ptr %board, ptr %code, ptr %there, ptr %arguments, i64 %count, i64 1, i64 %wakes)
  br i1 %is.offered, label %post, label %alone
alone:
  %other.result = call ptr @PyObject_Vectorcall(ptr %refused, ptr %arguments, i64 %count, ptr null)
  ret ptr %other.result
post:
  %posts = load i64, ptr %posts.at
  %posts.next = add i64 %posts, 1
  store i64 %posts.next, ptr %posts.at
  %start = call i64 @now()
  %result = call ptr %code(ptr %here, ptr %arguments, i64 %count)
  %here.well = icmp eq ptr %result, null
  %index = call i64 @take(ptr %board)
  %is.theirs = icmp slt i64 %index, 0
  br i1 %is.theirs, label %wait, label %both
both:
  %own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)
  %own.well = icmp eq ptr %own.returned, null
  %nothing = call i64 @join(ptr %board, i64 0, i64 0, i64 0, i1 true)
  br label %end
wait:
  %half = call i64 @now()
  %took = sub i64 %half, %start
  %fair = add i64 %took, $GRACE
  %twice = shl i64 %took, 1
  %slow = add i64 %twice, $GRACE
  %refusals = call i64 @join(ptr %board, i64 1, i64 %fair, i64 %slow, i1 true)
  %their.well = icmp eq i64 %refusals, 0
  br label %end
end:
  %there.well = phi i1 [ %own.well, %both ], [ %their.well, %wait ]
  %is.well = and i1 %here.well, %there.well
  br i1 %is.well, label %give, label %refuse
refuse:
  ; both halves check the same arguments; if only one refused, it had no memory for its scratch, and inputs may be overwritten
  %is.one = or i1 %here.well, %there.well
  br i1 %is.one, label %full, label %alone
give:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
full:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error
}
