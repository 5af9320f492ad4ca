; Operators of arrays and single elements; `array_objects` has what they call.
; An operator of two operands; `function` is that of Python's C API.
define internal ptr @binary(ptr %self, ptr %other, ptr %function, i64 %python, i1 %reflected, i1 %packed) nounwind {
  %a = call ptr @operand(ptr %self, i1 %packed)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %second, label %python.way
second:
  %b = call ptr @operand(ptr %other, i1 %packed)
  %has.b = icmp ne ptr %b, null
  br i1 %has.b, label %run, label %one
one:
  call void @Py_DecRef(ptr %a)
  br label %python.way
run:
  %first = select i1 %reflected, ptr %b, ptr %a
  %last = select i1 %reflected, ptr %a, ptr %b
  %result = call ptr %function(ptr %first, ptr %last)
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %b)
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr %other, i64 2)
  ret ptr %found
}

define internal ptr @unary(ptr %self, ptr %function, i64 %python) nounwind {
  %a = call ptr @operand(ptr %self, i1 false)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %run, label %python.way
run:
  %result = call ptr %function(ptr %a)
  call void @Py_DecRef(ptr %a)
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr null, i64 1)
  ret ptr %found
}

; An operator that writes to its first operand.
define internal ptr @in_place(ptr %self, ptr %other, ptr %function, i64 %python) nounwind {
  %a = call ptr @memory(ptr %self, i1 true)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %look, label %python.way
look:
  ; NumPy has an immutable scalar where a result has no axes; a view of one element can be changed, and what the program has made
  %nd = call i32 @axes(ptr %a)
  %has.axes = icmp ne i32 %nd, 0
  %held = call ptr @slot(ptr %self, i64 $HELD)
  %is.view = icmp ne ptr %held, %a
  %key = call ptr @slot(ptr %self, i64 $KEY)
  %changeable = call ptr @word(i64 $CHANGEABLE)
  %is.made = icmp eq ptr %key, %changeable
  %is.own = or i1 %is.view, %is.made
  %is.mutable = or i1 %has.axes, %is.own
  %size = call i64 @elements(ptr %a, i32 0)
  %is.short = icmp sle i64 %size, $LOCKED
  %is.possible = and i1 %is.mutable, %is.short
  br i1 %is.possible, label %second, label %python.way
second:
  call void @Py_IncRef(ptr %a)
  %b = call ptr @operand(ptr %other, i1 false)
  %has.b = icmp ne ptr %b, null
  br i1 %has.b, label %run, label %one
one:
  call void @Py_DecRef(ptr %a)
  br label %python.way
run:
  %result = call ptr %function(ptr %a, ptr %b)
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %b)
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %done, label %failed
done:
  call void @Py_DecRef(ptr %result)
  call void @Py_IncRef(ptr %self)
  ret ptr %self
failed:
  %is.refused = call i1 @is_refused(i64 $UNWRITTEN)
  br i1 %is.refused, label %python.way, label %raise
raise:
  ret ptr null
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr %other, i64 2)
  ret ptr %found
}

; The square, as `x ** 2`, of floats and integers.
define internal ptr @pow(ptr %self, ptr %other, i64 %python) nounwind {
  %two = call ptr @word(i64 $TWO)
  %is.two = icmp eq ptr %other, %two
  br i1 %is.two, label %look, label %python.way
look:
  %is.array = call i1 @is_a(ptr %self, i64 $ARRAY)
  br i1 %is.array, label %array, label %python.way
array:
  %a = call ptr @content(ptr %self, i1 false)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %kinds, label %python.way
kinds:
  %kind = call i8 @kind(ptr %a)
  switch i8 %kind, label %unlike [ i8 102, label %run
                                   i8 105, label %run
                                   i8 117, label %run ]
unlike:
  call void @Py_DecRef(ptr %a)
  br label %python.way
run:
  %result = call ptr @PyNumber_Multiply(ptr %a, ptr %a)
  call void @Py_DecRef(ptr %a)
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr %other, i64 2)
  ret ptr %found
}

; The matrix product of small arrays of float32 or float64: BLAS' own, or of more elements and where BLAS' result is not finite, NumPy's.
; Transposed views, which are multiplied without a copy, are left to the function.
define internal ptr @matmul(ptr %self, ptr %other, i64 %python) nounwind {
  %product.of.blas = call ptr @product(ptr %self, ptr %other)
  %is.multiplied = icmp ne ptr %product.of.blas, null
  br i1 %is.multiplied, label %give, label %look
give:
  %made = call ptr @made(ptr %product.of.blas)
  ret ptr %made
look:
  %a = call ptr @factor(ptr %self)
  %b = call ptr @factor(ptr %other)
  %has.a = icmp ne ptr %a, null
  %has.b = icmp ne ptr %b, null
  %are = and i1 %has.a, %has.b
  br i1 %are, label %measure, label %python.way
measure:
  %m = call i64 @elements(ptr %a, i32 0)
  %n = call i64 @elements(ptr %b, i32 0)
  %work = mul i64 %m, %n
  %is.small = icmp sle i64 %work, $SMALL
  br i1 %is.small, label %multiply, label %python.way
multiply:
  %product = call ptr @binary(ptr %self, ptr %other, ptr @PyNumber_MatrixMultiply, i64 %python, i1 false, i1 true)
  ret ptr %product
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr %other, i64 2)
  ret ptr %found
}

; `x.dot(y)`: as of `@matmul`, but NumPy's is of vectors and of whole arrays of any dtype, as a matrix that is a view may be transposed.
define internal ptr @dot(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python) nounwind {
  %two = alloca [2 x ptr]
  %is.plain = icmp eq ptr %names, null
  %is.one = icmp eq i64 %count, 1
  %is.possible = and i1 %is.plain, %is.one
  br i1 %is.possible, label %first, label %python.way
first:
  %other = load ptr, ptr %arguments
  %product.of.blas = call ptr @product(ptr %self, ptr %other)
  %is.multiplied = icmp ne ptr %product.of.blas, null
  br i1 %is.multiplied, label %give, label %look
give:
  %made = call ptr @made(ptr %product.of.blas)
  ret ptr %made
look:
  %a = call ptr @vector(ptr %self)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %second, label %python.way
second:
  %b = call ptr @vector(ptr %other)
  %has.b = icmp ne ptr %b, null
  br i1 %has.b, label %run, label %one
one:
  call void @Py_DecRef(ptr %a)
  br label %python.way
run:
  %b.at = getelementptr ptr, ptr %two, i64 1
  store ptr %a, ptr %two
  store ptr %b, ptr %b.at
  %function = call ptr @word(i64 $DOT)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %two, i64 2, ptr null)
  call void @drop(ptr %a, ptr %b)
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
python.way:
  %replaced = call ptr @word(i64 %python)
  %found = call ptr @with_names(ptr %replaced, ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %found
}

; NumPy's array of a vector, or of a whole matrix; a new reference, or null.
define internal ptr @vector(ptr %x) nounwind {
  %is.array = call i1 @is_a(ptr %x, i64 $ARRAY)
  br i1 %is.array, label %read, label %no
read:
  %content = call ptr @content(ptr %x, i1 true)
  %is.ready = icmp ne ptr %content, null
  br i1 %is.ready, label %look, label %no
look:
  %nd = call i32 @axes(ptr %content)
  %is.vector = icmp eq i32 %nd, 1
  br i1 %is.vector, label %yes, label %matrix
matrix:
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %none = call ptr @word(i64 $NONE)
  %is.whole = icmp ne ptr %held, %none
  %is.matrix = icmp eq i32 %nd, 2
  %is = and i1 %is.whole, %is.matrix
  br i1 %is, label %yes, label %unlike
yes:
  ret ptr %content
unlike:
  call void @Py_DecRef(ptr %content)
  br label %no
no:
  ret ptr null
}

; NumPy's array of a whole array or of a view by an index, if it has such elements; null otherwise. The reference is the array's.
define internal ptr @factor(ptr %x) nounwind {
  %v = call ptr @memory(ptr %x, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %look, label %no
look:
  %letter = call i8 @letter(ptr %v)
  switch i8 %letter, label %no [ i8 102, label %kind
                                 i8 100, label %kind ]
kind:
  %none = call ptr @word(i64 $NONE)
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %is.view = icmp eq ptr %held, %none
  br i1 %is.view, label %view, label %yes
view:
  %steps = call ptr @slot(ptr %x, i64 $STEPS)
  %is.direct = icmp eq ptr %steps, %none
  %key = call ptr @slot(ptr %x, i64 $KEY)
  %reversed = call ptr @word(i64 $REVERSED)
  %is.straight = icmp ne ptr %key, %reversed
  %is = and i1 %is.direct, %is.straight
  br i1 %is, label %yes, label %no
yes:
  ret ptr %v
no:
  ret ptr null
}
