  ; a matrix product, after board.ll: holds BLAS to one thread, offers the pieces, and computes those that nobody has begun
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
  %k = phi i64 [ 0, %entry ], [ 0, %share ], [ %k.next, %each ]
  %is.more = icmp ult i64 %k, %pieces
  br i1 %is.more, label %each, label %release
each:
  %one = call ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %k)
  %k.next = add i64 %k, 1
  br label %alone
post:
  %posts = atomicrmw add ptr %posts.at, i64 1 monotonic
  %start = call i64 @now()
  br label %next
next:
  %own.pieces = phi i64 [ 0, %post ], [ %own.more, %compute ]
  %index = call i64 @take(ptr %board)
  %is.over = icmp slt i64 %index, 0
  br i1 %is.over, label %wait, label %compute
compute:
  %mine = call ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %index)
  %own.more = add i64 %own.pieces, 1
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
  %nothing = call i64 @join(ptr %board, i64 %theirs, i64 %fair, i1 false)
  br label %release
release:
  call void @give_back(ptr %words)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
; The words of a product: board, counter of posts, functions that get and set the number of threads, the product's function, pieces,
; helpers to wake, whether to share, state of the hold, transposition of both operands, their inner size, rows' strides of all three, and
; strides of the batch; then six for each piece: its sizes, its offsets in the three arrays, and its number of products.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
  %one = alloca [2 x $REAL], align 16
  %zero = alloca [2 x $REAL], align 16
  store [2 x $REAL] [$REAL 1.0, $REAL 0.0], ptr %one
  store [2 x $REAL] zeroinitializer, ptr %zero
  %function.at = getelementptr ptr, ptr %words, i64 4
  %function = load ptr, ptr %function.at
  %ta.at = getelementptr i64, ptr %words, i64 9
  %ta.64 = load i64, ptr %ta.at
  %ta = trunc i64 %ta.64 to i32
  %tb.at = getelementptr i64, ptr %words, i64 10
  %tb.64 = load i64, ptr %tb.at
  %tb = trunc i64 %tb.64 to i32
  %k.at = getelementptr i64, ptr %words, i64 11
  %k.64 = load i64, ptr %k.at
  %k = $NARROW i64 %k.64 to $INT
  %lda.at = getelementptr i64, ptr %words, i64 12
  %lda.64 = load i64, ptr %lda.at
  %lda = $NARROW i64 %lda.64 to $INT
  %ldb.at = getelementptr i64, ptr %words, i64 13
  %ldb.64 = load i64, ptr %ldb.at
  %ldb = $NARROW i64 %ldb.64 to $INT
  %ldc.at = getelementptr i64, ptr %words, i64 14
  %ldc.64 = load i64, ptr %ldc.at
  %ldc = $NARROW i64 %ldc.64 to $INT
  %a.step.at = getelementptr i64, ptr %words, i64 15
  %a.step = load i64, ptr %a.step.at
  %b.step.at = getelementptr i64, ptr %words, i64 16
  %b.step = load i64, ptr %b.step.at
  %c.step.at = getelementptr i64, ptr %words, i64 17
  %c.step = load i64, ptr %c.step.at
  %own.offset = mul i64 %index, 6
  %own.first = add i64 %own.offset, 18
  %m.at = getelementptr i64, ptr %words, i64 %own.first
  %m.64 = load i64, ptr %m.at
  %m = $NARROW i64 %m.64 to $INT
  %n.at = getelementptr i64, ptr %m.at, i64 1
  %n.64 = load i64, ptr %n.at
  %n = $NARROW i64 %n.64 to $INT
  %a.from.at = getelementptr i64, ptr %m.at, i64 2
  %a.from = load i64, ptr %a.from.at
  %b.from.at = getelementptr i64, ptr %m.at, i64 3
  %b.from = load i64, ptr %b.from.at
  %c.from.at = getelementptr i64, ptr %m.at, i64 4
  %c.from = load i64, ptr %c.from.at
  %number.at = getelementptr i64, ptr %m.at, i64 5
  %number = load i64, ptr %number.at
  %a.object.at = getelementptr ptr, ptr %arguments, i64 $FIRST
  %a.object = load ptr, ptr %a.object.at
  %b.object.at = getelementptr ptr, ptr %arguments, i64 $SECOND
  %b.object = load ptr, ptr %b.object.at
  %c.object.at = getelementptr ptr, ptr %arguments, i64 2
  %c.object = load ptr, ptr %c.object.at
  %a.data.at = getelementptr i8, ptr %a.object, i64 $DATA
  %a.data = load ptr, ptr %a.data.at
  %b.data.at = getelementptr i8, ptr %b.object, i64 $DATA
  %b.data = load ptr, ptr %b.data.at
  %c.data.at = getelementptr i8, ptr %c.object, i64 $DATA
  %c.data = load ptr, ptr %c.data.at
  %a.first = getelementptr i8, ptr %a.data, i64 %a.from
  %b.first = getelementptr i8, ptr %b.data, i64 %b.from
  %c.first = getelementptr i8, ptr %c.data, i64 %c.from
  br label %look
look:
  %j = phi i64 [ 0, %entry ], [ %j.next, %multiply ]
  %a = phi ptr [ %a.first, %entry ], [ %a.next, %multiply ]
  %b = phi ptr [ %b.first, %entry ], [ %b.next, %multiply ]
  %c = phi ptr [ %c.first, %entry ], [ %c.next, %multiply ]
  %more = icmp ult i64 %j, %number
  br i1 %more, label %multiply, label %end
multiply:
  $CALL
  %j.next = add i64 %j, 1
  %a.next = getelementptr i8, ptr %a, i64 %a.step
  %b.next = getelementptr i8, ptr %b, i64 %b.step
  %c.next = getelementptr i8, ptr %c, i64 %c.step
  br label %look
end:
  ret ptr null
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
