  ; the helper's loop, after mailbox.ll; it returns at once if another thread is spinning already
  %waking = cmpxchg ptr %mailbox, i64 $ASLEEP, i64 $READY acq_rel monotonic, align 8
  %is.alone = extractvalue { i64, i1 } %waking, 1
  br i1 %is.alone, label %begin, label %over
begin:
  %released = call ptr @PyEval_SaveThread()
  br label %look
look:
  %n = phi i64 [ 0, %begin ], [ 0, %leave ], [ %n.next, %idle ], [ %n.next, %tired ]
  %served = phi i64 [ 0, %begin ], [ %served.next, %leave ], [ %served, %idle ], [ %served, %tired ]
  %state = load atomic i64, ptr %mailbox acquire, align 8
  %is.posted = icmp eq i64 %state, $POSTED
  br i1 %is.posted, label %take, label %wait
take:
  ; the owner may have fetched its task back in between: then look again
  %taking = cmpxchg ptr %mailbox, i64 $POSTED, i64 $TAKEN acquire monotonic, align 8
  %has.taken = extractvalue { i64, i1 } %taking, 1
  br i1 %has.taken, label %run, label %wait
run:
  %function = load ptr, ptr %function.at
  %numbers = load ptr, ptr %numbers.at
  %given = load ptr, ptr %arguments.at
  %given.count = load i64, ptr %count.at
  %result = call ptr %function(ptr %numbers, ptr %given, i64 %given.count)
  store ptr %result, ptr %returned.at
  ; release: the owner sees the result and the arrays' content before it sees DONE
  store atomic i64 $DONE, ptr %mailbox release, align 8
  br label %done
done:
  ; wait until the owner has read the result and made the mailbox ready again
  %m = phi i64 [ 0, %run ], [ %m.next, %still ], [ %m.next, %slow ]
  %after = load atomic i64, ptr %mailbox acquire, align 8
  %is.done = icmp eq i64 %after, $DONE
  br i1 %is.done, label %again, label %leave
again:
  %m.next = add i64 %m, 1
  $PAUSE
  %takes.long = icmp ugt i64 %m, $SHORT_WAIT
  br i1 %takes.long, label %slow, label %still
slow:
  %let = call i32 @usleep(i32 $NAP)
  br label %done
still:
  br label %done
leave:
  %served.next = add i64 %served, 1
  br label %look
wait:
  %n.next = add i64 %n, 1
  $PAUSE
  %is.old = icmp ugt i64 %n, $PATIENCE
  %is.long = icmp uge i64 %served, $MAX_SERVED
  %is.tired = or i1 %is.old, %is.long
  br i1 %is.tired, label %tired, label %idle
idle:
  br label %look
tired:
  ; a task may have been posted in the last moment: then the exchange fails, and the helper serves it first
  %sleeping = cmpxchg ptr %mailbox, i64 $READY, i64 $ASLEEP acquire monotonic, align 8
  %sleeps = extractvalue { i64, i1 } %sleeping, 1
  %seen = extractvalue { i64, i1 } %sleeping, 0
  %is.forgotten = icmp eq i64 %seen, $ASLEEP
  %ends = or i1 %sleeps, %is.forgotten
  br i1 %ends, label %end, label %look
end:
  call void @PyEval_RestoreThread(ptr %released)
  br label %over
over:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
