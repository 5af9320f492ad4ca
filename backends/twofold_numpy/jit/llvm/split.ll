  ; a split kernel, after mailbox.ll: posts its second half, runs the first, fetches the second back if nobody has taken it
  %code.at = getelementptr ptr, ptr %own, i64 $HEAD1
  %code = load ptr, ptr %code.at
  %here.at = getelementptr ptr, ptr %own, i64 $HEAD2
  %here = load ptr, ptr %here.at
  %there.at = getelementptr ptr, ptr %own, i64 $HEAD3
  %there = load ptr, ptr %there.at
  %posts.at.at = getelementptr ptr, ptr %own, i64 $HEAD4
  %posts.at = load ptr, ptr %posts.at.at
  %claiming = cmpxchg ptr %mailbox, i64 $READY, i64 $CLAIMED acquire monotonic, align 8
  %has.claimed = extractvalue { i64, i1 } %claiming, 1
  br i1 %has.claimed, label %post, label %alone
alone:
  %other.result = call ptr @PyObject_Vectorcall(ptr %refused, ptr %arguments, i64 %count, ptr null)
  ret ptr %other.result
post:
  store ptr %code, ptr %function.at
  store ptr %there, ptr %numbers.at
  store ptr %arguments, ptr %arguments.at
  store i64 %count, ptr %count.at
  %posts = load i64, ptr %posts.at
  %posts.next = add i64 %posts, 1
  store i64 %posts.next, ptr %posts.at
  store atomic i64 $POSTED, ptr %mailbox release, align 8
  %result = call ptr %code(ptr %here, ptr %arguments, i64 %count)
  %fetching = cmpxchg ptr %mailbox, i64 $POSTED, i64 $READY acquire monotonic, align 8
  %is.mine = extractvalue { i64, i1 } %fetching, 1
  br i1 %is.mine, label %both, label %look
both:
  %own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)
  br label %end
look:
  %n = phi i64 [ 0, %post ], [ %n.next, %wait ]
  %state = load atomic i64, ptr %mailbox acquire, align 8
  %is.done = icmp eq i64 %state, $DONE
  br i1 %is.done, label %done, label %wait
wait:
  %n.next = add i64 %n, 1
  $PAUSE
  %is.long = icmp ugt i64 %n, $SHORT_WAIT
  br i1 %is.long, label %let, label %look
let:
  ; the other half takes long: let Python's other threads run meanwhile
  %released = call ptr @PyEval_SaveThread()
  br label %look.again
look.again:
  %state.later = load atomic i64, ptr %mailbox acquire, align 8
  %is.done.later = icmp eq i64 %state.later, $DONE
  br i1 %is.done.later, label %restore, label %let.run
let.run:
  %let.others = call i32 @usleep(i32 $NAP)
  br label %look.again
restore:
  call void @PyEval_RestoreThread(ptr %released)
  br label %done
done:
  %their.returned = load ptr, ptr %returned.at
  store atomic i64 $READY, ptr %mailbox release, align 8
  br label %end
end:
  %returned = phi ptr [ %own.returned, %both ], [ %their.returned, %done ]
  %here.well = icmp eq ptr %result, null
  %there.well = icmp eq ptr %returned, null
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
