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
