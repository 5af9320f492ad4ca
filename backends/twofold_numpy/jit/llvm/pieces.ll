  ; a computation in pieces, after board.ll: holds BLAS to one thread, offers the pieces, and computes those that nobody has begun. A piece
  ; returns null, or another address if it lacks memory.
  %mode.at = getelementptr i64, ptr %own, i64 3
  %mode = load i64, ptr %mode.at
  %checks = icmp eq i64 %mode, $REFUSE_GAPS
  br i1 %checks, label %check, label %begin
check:
  %has.gaps = call i1 @have_gaps(ptr %arguments, i64 %count)
  br i1 %has.gaps, label %refuse, label %begin
refuse:
  %found = call ptr @PyObject_Vectorcall(ptr %refused, ptr %arguments, i64 %count, ptr null)
  ret ptr %found
begin:
  %words = getelementptr i64, ptr %own, i64 $HEAD
  %posts.at.at = getelementptr ptr, ptr %words, i64 1
  %posts.at = load ptr, ptr %posts.at.at
  %pieces.at = getelementptr i64, ptr %words, i64 5
  %pieces = load i64, ptr %pieces.at
  %wakes.at = getelementptr i64, ptr %words, i64 6
  %wakes = load i64, ptr %wakes.at
  %shares.at = getelementptr i64, ptr %words, i64 7
  %shares = load i64, ptr %shares.at
  %thread = call ptr @PyEval_SaveThread()
  %before = call i32 @hold(ptr %words)
  ; whoever has limited BLAS to one thread wants one here too
  %is.limited = icmp eq i32 %before, 1
  %is.whole = icmp eq i64 %shares, 0
  %is.own = or i1 %is.limited, %is.whole
  br i1 %is.own, label %alone, label %share
share:
  %is.offered = call i1 @offer(ptr %board, ptr @piece, ptr %words, ptr %arguments, i64 %count, i64 %pieces, i64 %wakes)
  br i1 %is.offered, label %post, label %alone
alone:
  %k = phi i64 [ 0, %begin ], [ 0, %share ], [ %k.next, %each ]
  %failed.before = phi i64 [ 0, %begin ], [ 0, %share ], [ %failed, %each ]
  %is.more = icmp ult i64 %k, %pieces
  br i1 %is.more, label %each, label %release
each:
  %one = call ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %k)
  %has.failed = icmp ne ptr %one, null
  %failed.one = zext i1 %has.failed to i64
  %failed = add i64 %failed.before, %failed.one
  %k.next = add i64 %k, 1
  br label %alone
post:
  %posts = atomicrmw add ptr %posts.at, i64 1 monotonic
  %start = call i64 @now()
  br label %next
next:
  %own.pieces = phi i64 [ 0, %post ], [ %own.more, %compute ]
  %own.failed = phi i64 [ 0, %post ], [ %own.failed.more, %compute ]
  %index = call i64 @take(ptr %board)
  %is.over = icmp slt i64 %index, 0
  br i1 %is.over, label %wait, label %compute
compute:
  %mine = call ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %index)
  %own.more = add i64 %own.pieces, 1
  %mine.failed = icmp ne ptr %mine, null
  %mine.number = zext i1 %mine.failed to i64
  %own.failed.more = add i64 %own.failed, %mine.number
  br label %next
wait:
  %theirs = sub i64 %pieces, %own.pieces
  %end = call i64 @now()
  %took = sub i64 %end, %start
  %is.none = icmp eq i64 %own.pieces, 0
  %divisor = select i1 %is.none, i64 1, i64 %own.pieces
  %each.took = udiv i64 %took, %divisor
  %theirs.here = mul i64 %each.took, %theirs
  %fair = add i64 %theirs.here, $GRACE
  %twice = shl i64 %each.took, 1
  %slow = add i64 %twice, $GRACE
  %theirs.failed = call i64 @join(ptr %board, i64 %theirs, i64 %fair, i64 %slow, i1 false)
  %shared.failed = add i64 %own.failed, %theirs.failed
  br label %release
release:
  %all.failed = phi i64 [ %failed.before, %alone ], [ %shared.failed, %wait ]
  call void @give_back(ptr %words)
  call void @PyEval_RestoreThread(ptr %thread)
  %lacks.memory = icmp ne i64 %all.failed, 0
  br i1 %lacks.memory, label %raise, label %return
raise:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
return:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
; Whether any of the arrays is not C-contiguous.
define internal i1 @have_gaps(ptr %arguments, i64 %count) noinline nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %each ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %each, label %none
each:
  %object.at = getelementptr ptr, ptr %arguments, i64 %k
  %object = load ptr, ptr %object.at
  %flags.at = getelementptr i8, ptr %object, i64 $FLAGS
  %flags = load i32, ptr %flags.at
  %k.next = add i64 %k, 1
  %is.contiguous = trunc i32 %flags to i1
  br i1 %is.contiguous, label %look, label %some
none:
  ret i1 false
some:
  ret i1 true
}
; Holds BLAS to one thread, and returns its number of threads outside. The words of the hold: a lock that is held for some nanoseconds, how
; many products hold, and that number.
define internal i32 @hold(ptr %words) noinline nounwind {
entry:
  %hold.at = getelementptr ptr, ptr %words, i64 8
  %hold = load ptr, ptr %hold.at
  %holders.at = getelementptr i64, ptr %hold, i64 1
  %before.at = getelementptr i64, ptr %hold, i64 2
  br label %lock
lock:
  %locking = cmpxchg ptr %hold, i64 0, i64 1 acquire monotonic, align 8
  %is.locked = extractvalue { i64, i1 } %locking, 1
  br i1 %is.locked, label %locked, label %spin
spin:
  $PAUSE
  br label %lock
locked:
  %holders = load i64, ptr %holders.at
  %holders.next = add i64 %holders, 1
  store i64 %holders.next, ptr %holders.at
  %is.first = icmp eq i64 %holders, 0
  br i1 %is.first, label %first, label %end
first:
  %get.at = getelementptr ptr, ptr %words, i64 2
  %get = load ptr, ptr %get.at
  %now = call i32 %get()
  %now.64 = zext i32 %now to i64
  store i64 %now.64, ptr %before.at
  %is.one = icmp eq i32 %now, 1
  br i1 %is.one, label %end, label %limit
limit:
  %set.at = getelementptr ptr, ptr %words, i64 3
  %set = load ptr, ptr %set.at
  call void %set(i32 1)
  br label %end
end:
  %before.64 = load i64, ptr %before.at
  %before = trunc i64 %before.64 to i32
  store atomic i64 0, ptr %hold release, align 8
  ret i32 %before
}
; The end of a hold; the last one gives the number of threads back, unless somebody has set another in the meantime.
define internal void @give_back(ptr %words) noinline nounwind {
entry:
  %hold.at = getelementptr ptr, ptr %words, i64 8
  %hold = load ptr, ptr %hold.at
  %holders.at = getelementptr i64, ptr %hold, i64 1
  %before.at = getelementptr i64, ptr %hold, i64 2
  br label %lock
lock:
  %locking = cmpxchg ptr %hold, i64 0, i64 1 acquire monotonic, align 8
  %is.locked = extractvalue { i64, i1 } %locking, 1
  br i1 %is.locked, label %locked, label %spin
spin:
  $PAUSE
  br label %lock
locked:
  %holders = load i64, ptr %holders.at
  %holders.next = sub i64 %holders, 1
  store i64 %holders.next, ptr %holders.at
  %before.64 = load i64, ptr %before.at
  %before = trunc i64 %before.64 to i32
  %is.last = icmp eq i64 %holders, 1
  %was.many = icmp ne i32 %before, 1
  %gives = and i1 %is.last, %was.many
  br i1 %gives, label %look, label %end
look:
  %get.at = getelementptr ptr, ptr %words, i64 2
  %get = load ptr, ptr %get.at
  %now = call i32 %get()
  %is.held = icmp eq i32 %now, 1
  br i1 %is.held, label %give, label %end
give:
  %set.at = getelementptr ptr, ptr %words, i64 3
  %set = load ptr, ptr %set.at
  call void %set(i32 %before)
  br label %end
end:
  store atomic i64 0, ptr %hold release, align 8
  ret void
}
