declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @PyThread_release_lock(ptr)
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @Py_IncRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i32 @usleep(i32)
declare i32 @clock_gettime(i32, ptr)
$PAUSE_DECLARED
$APART
define internal i64 @now() noinline nounwind {
  %time = alloca [2 x i64], align 8
  %got = call i32 @clock_gettime(i32 $CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %nanoseconds = add i64 %whole, %rest
  ret i64 %nanoseconds
}
; Offers pieces of a task to the helpers, and wakes up to %wakes of those that sleep. False if nobody is to help.
define internal i1 @offer(ptr %board, ptr %function, ptr %numbers, ptr %arguments, i64 %count, i64 %pieces, i64 %wakes) noinline nounwind {
entry:
  %helpers.at = getelementptr i64, ptr %board, i64 $HELPERS
  %helpers = load atomic i64, ptr %helpers.at acquire, align 8
  %nobody = icmp eq i64 %helpers, 0
  br i1 %nobody, label %alone, label %trust
trust:
  ; for some time after a helper was late nothing is offered
  %alone.at = getelementptr i64, ptr %board, i64 $ALONE
  %until = load atomic i64, ptr %alone.at monotonic, align 8
  %was.late = icmp ne i64 %until, 0
  br i1 %was.late, label %compare, label %claim
compare:
  %time = call i64 @now()
  %is.over = icmp uge i64 %time, %until
  br i1 %is.over, label %claim, label %alone
claim:
  %owner.at = getelementptr i64, ptr %board, i64 $OWNER
  %claiming = cmpxchg ptr %owner.at, i64 0, i64 1 acquire monotonic, align 8
  %has.claimed = extractvalue { i64, i1 } %claiming, 1
  br i1 %has.claimed, label %publish, label %alone
publish:
  %function.at = getelementptr i64, ptr %board, i64 $FUNCTION
  %numbers.at = getelementptr i64, ptr %board, i64 $NUMBERS
  %arguments.at = getelementptr i64, ptr %board, i64 $ARGUMENTS
  %count.at = getelementptr i64, ptr %board, i64 $COUNT
  %finished.at = getelementptr i64, ptr %board, i64 $FINISHED
  %refused.at = getelementptr i64, ptr %board, i64 $REFUSED
  store atomic ptr %function, ptr %function.at monotonic, align 8
  store atomic ptr %numbers, ptr %numbers.at monotonic, align 8
  store atomic ptr %arguments, ptr %arguments.at monotonic, align 8
  store atomic i64 %count, ptr %count.at monotonic, align 8
  store atomic i64 0, ptr %finished.at monotonic, align 8
  store atomic i64 0, ptr %refused.at monotonic, align 8
  %longest.at = getelementptr i64, ptr %board, i64 $LONGEST
  store atomic i64 0, ptr %longest.at monotonic, align 8
  %ticket = load atomic i64, ptr %board monotonic, align 8
  %generation = lshr i64 %ticket, 16
  %generation.next = add i64 %generation, 1
  %high = shl i64 %generation.next, 16
  %ticket.next = or i64 %high, %pieces
  store atomic i64 %ticket.next, ptr %board seq_cst, align 8
  fence seq_cst
  %fewer = icmp ult i64 %helpers, %wakes
  %waken = select i1 %fewer, i64 %helpers, i64 %wakes
  %core = call i64 @core()
  br label %wake
wake:
  %k = phi i64 [ 0, %publish ], [ %k.next, %next ]
  %more = icmp ult i64 %k, %helpers
  br i1 %more, label %asleep, label %offered
asleep:
  %helper.offset = mul i64 %k, $HELPER_SIZE
  %helper.index = add i64 %helper.offset, $FIRST_HELPER
  %sleeping.at = getelementptr i64, ptr %board, i64 %helper.index
  %sleeping = load atomic i64, ptr %sleeping.at monotonic, align 8
  %is.asleep = icmp ne i64 %sleeping, 0
  br i1 %is.asleep, label %wanted, label %awake
awake:
  %core.at = getelementptr i64, ptr %sleeping.at, i64 3
  %their.core = load atomic i64, ptr %core.at monotonic, align 8
  %is.here = icmp eq i64 %their.core, %core
  br i1 %is.here, label %away, label %next
away:
  call void @move_off(ptr %board, ptr %sleeping.at, i64 %core)
  br label %next
wanted:
  %is.wanted = icmp ult i64 %k, %waken
  br i1 %is.wanted, label %rouse, label %next
rouse:
  %rousing = cmpxchg ptr %sleeping.at, i64 1, i64 0 acq_rel monotonic, align 8
  %is.mine = extractvalue { i64, i1 } %rousing, 1
  br i1 %is.mine, label %release, label %next
release:
  call void @move_off(ptr %board, ptr %sleeping.at, i64 %core)
  %lock.at = getelementptr i64, ptr %sleeping.at, i64 1
  %lock = load ptr, ptr %lock.at
  call void @PyThread_release_lock(ptr %lock)
  br label %next
next:
  %k.next = add i64 %k, 1
  br label %wake
offered:
  ret i1 true
alone:
  ret i1 false
}
; Takes a piece of the task that this thread has offered; -1 if none is left.
define internal i64 @take(ptr %board) noinline nounwind {
entry:
  br label %look
look:
  %ticket = load atomic i64, ptr %board acquire, align 8
  %left = and i64 %ticket, 65535
  %none = icmp eq i64 %left, 0
  br i1 %none, label %end, label %claim
claim:
  %ticket.next = sub i64 %ticket, 1
  %claiming = cmpxchg ptr %board, i64 %ticket, i64 %ticket.next acq_rel monotonic, align 8
  %has.claimed = extractvalue { i64, i1 } %claiming, 1
  br i1 %has.claimed, label %taken, label %look
taken:
  %index = sub i64 %left, 1
  ret i64 %index
end:
  ret i64 -1
}
; Waits until the helpers have finished the pieces that they have begun, and returns how many of these refused. It frees the board.
; A helper is late if it would have been faster to compute its pieces here, in nanoseconds %fair, and one piece took it more than %slow: it has
; probably lost its core. A helper that had to be woken first begins late, too, but is awake for the next task.
define internal i64 @join(ptr %board, i64 %theirs, i64 %fair, i64 %slow, i1 %has.gil) noinline nounwind {
entry:
  %finished.at = getelementptr i64, ptr %board, i64 $FINISHED
  %owner.at = getelementptr i64, ptr %board, i64 $OWNER
  %refused.at = getelementptr i64, ptr %board, i64 $REFUSED
  %alone.at = getelementptr i64, ptr %board, i64 $ALONE
  %level.at = getelementptr i64, ptr %board, i64 $LEVEL
  %level = load atomic i64, ptr %level.at monotonic, align 8
  %nobody = icmp eq i64 %theirs, 0
  br i1 %nobody, label %free, label %begin
begin:
  %finished.first = load atomic i64, ptr %finished.at acquire, align 8
  %is.first = icmp uge i64 %finished.first, %theirs
  br i1 %is.first, label %good, label %watch
watch:
  %start = call i64 @now()
  br label %look
look:
  %n = phi i64 [ 0, %watch ], [ %n.next, %again ]
  %finished = load atomic i64, ptr %finished.at acquire, align 8
  %is.done = icmp uge i64 %finished, %theirs
  br i1 %is.done, label %check, label %wait
wait:
  %n.next = add i64 %n, 1
  $PAUSE
  %is.long = icmp ugt i64 %n, $SHORT_WAIT
  br i1 %is.long, label %let, label %again
again:
  br label %look
let:
  ; let the other threads run meanwhile, and Python's too
  br i1 %has.gil, label %save, label %nap
save:
  %released = call ptr @PyEval_SaveThread()
  br label %nap
nap:
  %thread = phi ptr [ null, %let ], [ %released, %save ], [ %thread, %nap.again ]
  %finished.later = load atomic i64, ptr %finished.at acquire, align 8
  %is.done.later = icmp uge i64 %finished.later, %theirs
  br i1 %is.done.later, label %rested, label %nap.again
nap.again:
  %slept = call i32 @usleep(i32 $NAP)
  br label %nap
rested:
  br i1 %has.gil, label %restore, label %check
restore:
  call void @PyEval_RestoreThread(ptr %thread)
  br label %check
check:
  %end = call i64 @now()
  %waited = sub i64 %end, %start
  %is.long.wait = icmp ugt i64 %waited, %fair
  %longest.at = getelementptr i64, ptr %board, i64 $LONGEST
  %longest = load atomic i64, ptr %longest.at monotonic, align 8
  %is.slow = icmp ugt i64 %longest, %slow
  %is.late = and i1 %is.long.wait, %is.slow
  br i1 %is.late, label %late, label %good
late:
  %lost = sub i64 %waited, %fair
  %several = shl i64 %lost, 2
  %before = load atomic i64, ptr %alone.at monotonic, align 8
  %is.again = icmp ne i64 %before, 0
  %old = select i1 %is.again, i64 %level, i64 0
  %twice = shl i64 %old, 1
  %is.longer = icmp ugt i64 %twice, %several
  %longer = select i1 %is.longer, i64 %twice, i64 %several
  %is.most = icmp ugt i64 %longer, $MOST_ALONE
  %level.up = select i1 %is.most, i64 $MOST_ALONE, i64 %longer
  %until = add i64 %end, %level.up
  store atomic i64 %level.up, ptr %level.at monotonic, align 8
  store atomic i64 %until, ptr %alone.at monotonic, align 8
  br label %free
good:
  store atomic i64 0, ptr %alone.at monotonic, align 8
  br label %free
free:
  %refused = load atomic i64, ptr %refused.at monotonic, align 8
  store atomic i64 0, ptr %owner.at release, align 8
  ret i64 %refused
}
define ptr @kernel(ptr %self, ptr %arguments, i64 %count) #0 {
entry:
  %own = getelementptr i8, ptr %self, i64 $CONTENT
  %none = load ptr, ptr %own
  %refused.at = getelementptr ptr, ptr %own, i64 2
  %refused = load ptr, ptr %refused.at
  %board.at = getelementptr ptr, ptr %own, i64 $HEAD
  %board = load ptr, ptr %board.at
