; The product of a matrix of %m rows and %k columns and one of %k rows and %n columns, or of a vector, as `%kind` says: 18 for a vector and
; a matrix, 33 for a matrix and a vector, 34 for two matrices. NumPy's array, a new reference; null without an error as in `@product`.
define internal ptr @multiplied_$LETTER_OF(ptr %a, ptr %b, i64 %m, i64 %k, i64 %n, i32 %kind) nounwind noinline {
  %left = alloca [$SHORT x $REAL]
  %right = alloca [$SHORT x $REAL]
  %sizes = alloca [2 x i64]
  ; as in NumPy, a matrix of one row is multiplied as a vector
  %is.row = icmp eq i64 %m, 1
  %is.column = icmp eq i64 %n, 1
  %is.vector = or i1 %is.row, %is.column
  ; sizes of the result: that of `m` comes first, if it is an axis
  %is.matrix = icmp eq i32 %kind, 34
  %is.first = icmp eq i32 %kind, 18
  %head = select i1 %is.first, i64 %n, i64 %m
  %second = getelementptr i64, ptr %sizes, i64 1
  store i64 %head, ptr %sizes
  store i64 %n, ptr %second
  %nd = select i1 %is.matrix, i32 2, i32 1
  %dtype = call ptr @slot(ptr %a, i64 $DESCR)
  call void @Py_IncRef(ptr %dtype)
  %empty = call ptr @word(i64 $NEW_ARRAY)
  %result = call ptr %empty(i32 %nd, ptr %sizes, ptr %dtype, i32 0)
  %is.made = icmp ne ptr %result, null
  br i1 %is.made, label %read, label %failed
failed:
  call void @PyErr_Clear()
  ret ptr null
read:
  %a.data = call ptr @without_gaps(ptr %a, ptr %left, i64 $ITEM)
  %b.data = call ptr @without_gaps(ptr %b, ptr %right, i64 $ITEM)
  %out = call ptr @slot(ptr %result, i64 $ELEMENTS)
  %m.int = $CAST_M
  %k.int = $CAST_K
  %n.int = $CAST_N
  br i1 %is.vector, label %vector, label %matrices
vector:
  %gemv = call ptr @word(i64 $GEMV)
  br i1 %is.row, label %row, label %column
row:
  call void %gemv(i32 101, i32 112, i$INTEGER %k.int, i$INTEGER %n.int, $REAL 1.0, ptr %b.data, i$INTEGER %n.int, ptr %a.data, i$INTEGER 1, $REAL 0.0, ptr %out, i$INTEGER 1)
  br label %look
column:
  call void %gemv(i32 101, i32 111, i$INTEGER %m.int, i$INTEGER %k.int, $REAL 1.0, ptr %a.data, i$INTEGER %k.int, ptr %b.data, i$INTEGER 1, $REAL 0.0, ptr %out, i$INTEGER 1)
  br label %look
matrices:
  %gemm = call ptr @word(i64 $GEMM)
  call void %gemm(i32 101, i32 111, i32 111, i$INTEGER %m.int, i$INTEGER %n.int, i$INTEGER %k.int, $REAL 1.0, ptr %a.data, i$INTEGER %k.int, ptr %b.data, i$INTEGER %n.int, $REAL 0.0, ptr %out, i$INTEGER %n.int)
  br label %look
look:
  %size = mul i64 %m, %n
  br label %element
element:
  %j = phi i64 [ 0, %look ], [ %j.next, %next ]
  %at = getelementptr $REAL, ptr %out, i64 %j
  %value = load $REAL, ptr %at
  %own = fsub $REAL %value, %value
  ; the difference is no number, unless the value is finite
  %is.finite = fcmp oeq $REAL %own, 0.0
  br i1 %is.finite, label %next, label %unlike
next:
  %j.next = add i64 %j, 1
  %is.over = icmp eq i64 %j.next, %size
  br i1 %is.over, label %done, label %element
done:
  ret ptr %result
unlike:
  call void @Py_DecRef(ptr %result)
  ret ptr null
}
