  ; a helper's loop, after board.ll
  %slot.at = getelementptr ptr, ptr %own, i64 $HEAD1
  %slot = load ptr, ptr %slot.at
  %lock.at = getelementptr ptr, ptr %slot, i64 1
  %lock = load ptr, ptr %lock.at
  %ends.at = getelementptr i64, ptr %slot, i64 2
  %core.at = getelementptr i64, ptr %slot, i64 3
  %function.at = getelementptr i64, ptr %board, i64 $FUNCTION
  %numbers.at = getelementptr i64, ptr %board, i64 $NUMBERS
  %arguments.at = getelementptr i64, ptr %board, i64 $ARGUMENTS
  %count.at = getelementptr i64, ptr %board, i64 $COUNT
  %finished.at = getelementptr i64, ptr %board, i64 $FINISHED
  %refusals.at = getelementptr i64, ptr %board, i64 $REFUSED
  %longest.at = getelementptr i64, ptr %board, i64 $LONGEST
  %thread = call ptr @PyEval_SaveThread()
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ 0, %done ], [ %n.next, %idle ], [ 0, %awake ]
  %patience = phi i64 [ $PATIENCE, %entry ], [ %patience.up, %done ], [ %patience, %idle ], [ %patience.down, %awake ]
  %ticket = load atomic i64, ptr %board acquire, align 8
  %left = and i64 %ticket, 65535
  %is.empty = icmp eq i64 %left, 0
  br i1 %is.empty, label %wait, label %claim
claim:
  ; a stale ticket fails the exchange: then the words below may be those of two tasks, and are not used
  %function = load atomic ptr, ptr %function.at monotonic, align 8
  %numbers = load atomic ptr, ptr %numbers.at monotonic, align 8
  %given = load atomic ptr, ptr %arguments.at monotonic, align 8
  %given.count = load atomic i64, ptr %count.at monotonic, align 8
  %ticket.next = sub i64 %ticket, 1
  %claiming = cmpxchg ptr %board, i64 %ticket, i64 %ticket.next acq_rel monotonic, align 8
  %has.claimed = extractvalue { i64, i1 } %claiming, 1
  br i1 %has.claimed, label %run, label %wait
run:
  %begin = call i64 @now()
  call void @move_freely(ptr %board, ptr %slot)
  %result = call ptr %function(ptr %numbers, ptr %given, i64 %given.count, i64 %ticket.next)
  %is.refused = icmp ne ptr %result, null
  %refusal = zext i1 %is.refused to i64
  %refusals = atomicrmw add ptr %refusals.at, i64 %refusal monotonic
  %over = call i64 @now()
  %took = sub i64 %over, %begin
  %longest = atomicrmw umax ptr %longest.at, i64 %took monotonic
  ; release: the owner sees the result and the arrays' content before it sees the number
  %finished = atomicrmw add ptr %finished.at, i64 1 release
  br label %done
done:
  %patience.twice = shl i64 %patience, 1
  %is.patient = icmp ugt i64 %patience.twice, $PATIENCE
  %patience.up = select i1 %is.patient, i64 $PATIENCE, i64 %patience.twice
  br label %look
wait:
  %core = call i64 @core()
  store atomic i64 %core, ptr %core.at monotonic, align 8
  %n.next = add i64 %n, 1
  $PAUSE
  %is.old = icmp ugt i64 %n, %patience
  br i1 %is.old, label %tired, label %idle
idle:
  br label %look
tired:
  ; waiting in vain takes time from other threads: half as long the next time
  %patience.half = lshr i64 %patience, 1
  %is.least = icmp ult i64 %patience.half, $LEAST_PATIENCE
  %patience.down = select i1 %is.least, i64 $LEAST_PATIENCE, i64 %patience.half
  store atomic i64 1, ptr %slot seq_cst, align 8
  fence seq_cst
  ; a task may have been offered in the last moment, by a thread that did not see this one asleep
  %last = load atomic i64, ptr %board monotonic, align 8
  %last.left = and i64 %last, 65535
  %is.over = icmp eq i64 %last.left, 0
  br i1 %is.over, label %sleep, label %rise
rise:
  %rising = cmpxchg ptr %slot, i64 1, i64 0 acq_rel monotonic, align 8
  %has.risen = extractvalue { i64, i1 } %rising, 1
  br i1 %has.risen, label %awake, label %sleep
sleep:
  %woken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  %ends = load atomic i64, ptr %ends.at acquire, align 8
  %is.end = icmp ne i64 %ends, 0
  br i1 %is.end, label %end, label %awake
awake:
  br label %look
end:
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
