; Ufuncs and methods of arrays; `array_objects` has what they call.
; `__array_ufunc__(ufunc, "__call__", x, y)`: where the first operand of an arithmetic operator is NumPy's scalar.
define internal ptr @array_ufunc(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python) nounwind {
  %two = alloca [2 x ptr]
  %is.plain = icmp eq ptr %names, null
  %are.four = icmp eq i64 %count, 4
  %is.possible = and i1 %is.plain, %are.four
  br i1 %is.possible, label %look, label %python.way
look:
  %ufunc = load ptr, ptr %arguments
  %how.at = getelementptr ptr, ptr %arguments, i64 1
  %how = load ptr, ptr %how.at
  %is.text = call i1 @is_a(ptr %how, i64 $STR)
  br i1 %is.text, label %compare, label %python.way
compare:
  %unlike = call i32 @PyUnicode_CompareWithASCIIString(ptr %how, ptr @call)
  %is.call = icmp eq i32 %unlike, 0
  %is.known = call i1 @is_among(ptr %ufunc, i64 $UFUNCS, i64 $UFUNCS_END)
  %is.simple = and i1 %is.call, %is.known
  br i1 %is.simple, label %first, label %python.way
first:
  %x.at = getelementptr ptr, ptr %arguments, i64 2
  %x = load ptr, ptr %x.at
  %x.scalar = call i1 @is_scalar(ptr %x)
  br i1 %x.scalar, label %second, label %python.way
second:
  %y.at = getelementptr ptr, ptr %arguments, i64 3
  %y = load ptr, ptr %y.at
  %b = call ptr @operand(ptr %y, i1 false)
  %has.b = icmp ne ptr %b, null
  br i1 %has.b, label %run, label %python.way
run:
  %b.at = getelementptr ptr, ptr %two, i64 1
  store ptr %x, ptr %two
  store ptr %b, ptr %b.at
  %result = call ptr @PyObject_Vectorcall(ptr %ufunc, ptr %two, i64 2, ptr null)
  call void @Py_DecRef(ptr %b)
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

; The function that a method with keywords has replaced.
define internal ptr @with_names(ptr %python, ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind noinline {
  %bound = call ptr @PyMethod_New(ptr %python, ptr %self)
  %is.bound = icmp ne ptr %bound, null
  br i1 %is.bound, label %go, label %raise
go:
  %found = call ptr @PyObject_Vectorcall(ptr %bound, ptr %arguments, i64 %count, ptr %names)
  call void @Py_DecRef(ptr %bound)
  ret ptr %found
raise:
  ret ptr null
}

; A ufunc's call, of one array or number or two. Numbers alone are left to the function if a device has been chosen for new arrays.
define internal ptr @ufunc_call(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {
  %two = alloca [2 x ptr]
  %is.plain = icmp eq ptr %names, null
  %is.one = icmp eq i64 %count, 1
  %are.two = icmp eq i64 %count, 2
  %few = or i1 %is.one, %are.two
  %is.possible = and i1 %is.plain, %few
  br i1 %is.possible, label %look, label %python.way
look:
  %number = select i1 %is.one, i64 $ONE, i64 $TWO
  %wanted = call ptr @word(i64 %number)
  %operands = call ptr @slot(ptr %self, i64 $OPERANDS)
  %are.all = icmp eq ptr %operands, %wanted
  br i1 %are.all, label %first, label %python.way
first:
  %x = load ptr, ptr %arguments
  %x.array = call i1 @is_at_hand(ptr %x)
  br i1 %x.array, label %compute, label %number.first
number.first:
  %devices = call ptr @word(i64 $DEVICES)
  %size.at = getelementptr i8, ptr %devices, i64 $SIZE
  %size = load i64, ptr %size.at
  %is.default = icmp eq i64 %size, 0
  br i1 %is.default, label %other.first, label %python.way
other.first:
  br i1 %is.one, label %scalar.first, label %last.look
last.look:
  %last.at = getelementptr ptr, ptr %arguments, i64 1
  %last = load ptr, ptr %last.at
  %last.array = call i1 @is_at_hand(ptr %last)
  br i1 %last.array, label %compute, label %scalar.first
scalar.first:
  ; functions of NumPy's scalars alone give such scalars, and those of a number of Python's an element
  %x.scalar = call i1 @is_scalar(ptr %x)
  br i1 %x.scalar, label %compute, label %only
only:
  br i1 %is.one, label %number.only, label %python.way
number.only:
  %x.number = call i1 @is_number(ptr %x)
  br i1 %x.number, label %compute, label %python.way
compute:
  %keeps = phi i1 [ false, %first ], [ false, %last.look ], [ true, %scalar.first ], [ false, %number.only ]
  %a = call ptr @operand(ptr %x, i1 true)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %second, label %python.way
second:
  store ptr %a, ptr %two
  br i1 %is.one, label %run, label %other
other:
  %y.at = getelementptr ptr, ptr %arguments, i64 1
  %y = load ptr, ptr %y.at
  %b = call ptr @operand(ptr %y, i1 true)
  %b.at = getelementptr ptr, ptr %two, i64 1
  store ptr %b, ptr %b.at
  %has.b = icmp ne ptr %b, null
  br i1 %has.b, label %run, label %one
one:
  call void @Py_DecRef(ptr %a)
  br label %python.way
run:
  %last.operand = phi ptr [ null, %second ], [ %b, %other ]
  %ufunc = call ptr @slot(ptr %self, i64 $NUMPYS)
  %result = call ptr @PyObject_Vectorcall(ptr %ufunc, ptr %two, i64 %count, ptr null)
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %last.operand)
  %is.done = icmp ne ptr %result, null
  %as.it.is = and i1 %is.done, %keeps
  br i1 %as.it.is, label %give, label %make
give:
  ret ptr %result
make:
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
python.way:
  %python = call ptr @slot(ptr %self, i64 $BY_PYTHON)
  %is.made = icmp ne ptr %python, null
  br i1 %is.made, label %call, label %unmade
unmade:
  %error = call ptr @hidden()
  ret ptr %error
call:
  %found = call ptr @with_names(ptr %python, ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %found
}

; Whether an operand is an array or a single element.
define internal i1 @is_at_hand(ptr %x) nounwind {
  %is.array = call i1 @is_a(ptr %x, i64 $ARRAY)
  %is.element = call i1 @is_a(ptr %x, i64 $ELEMENT)
  %is = or i1 %is.array, %is.element
  ret i1 %is
}

; `x.astype(dtype)` of real numbers.
define internal ptr @astype(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python) nounwind {
  %two = alloca [2 x ptr]
  %is.plain = icmp eq ptr %names, null
  %is.one = icmp eq i64 %count, 1
  %is.possible = and i1 %is.plain, %is.one
  br i1 %is.possible, label %look, label %python.way
look:
  %is.array = call i1 @is_a(ptr %self, i64 $ARRAY)
  br i1 %is.array, label %read, label %python.way
read:
  %a = call ptr @content(ptr %self, i1 true)
  %is.ready = icmp ne ptr %a, null
  br i1 %is.ready, label %run, label %python.way
run:
  ; a warning is NumPy's, once: what it computes here is kept, and complex numbers may become something that is not
  %is.real = call i1 @is_real(ptr %a)
  ; whether an array without axes can be changed depends on the one that it is made of
  %nd = call i32 @axes(ptr %a)
  %has.axes = icmp ne i32 %nd, 0
  %is.known = and i1 %is.real, %has.axes
  br i1 %is.known, label %cast, label %other
other:
  call void @Py_DecRef(ptr %a)
  br label %python.way
cast:
  %dtype = load ptr, ptr %arguments
  %dtype.at = getelementptr ptr, ptr %two, i64 1
  store ptr %a, ptr %two
  store ptr %dtype, ptr %dtype.at
  %function = call ptr @word(i64 $CAST)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %two, i64 2, ptr null)
  call void @Py_DecRef(ptr %a)
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %kinds, label %conclude
kinds:
  %letter = call i8 @letter(ptr %result)
  switch i8 %letter, label %unlike [
    $LETTERS
  ]
known:
  %descr = call ptr @slot(ptr %result, i64 $DESCR)
  %order.at = getelementptr i8, ptr %descr, i64 $ORDER
  %order = load i8, ptr %order.at
  switch i8 %order, label %unlike [ i8 61, label %conclude
                                    i8 124, label %conclude ]
conclude:
  %new = call ptr @concluded(ptr %result)
  %is.left = icmp eq ptr %new, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %new
unlike:
  call void @Py_DecRef(ptr %result)
  br label %python.way
python.way:
  %replaced = call ptr @word(i64 %python)
  %found = call ptr @with_names(ptr %replaced, ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %found
}

; `x.copy()` of an array or part that is so small that it does not wait.
define internal ptr @copy(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python) nounwind {
  %one = alloca ptr
  %is.plain = icmp eq ptr %names, null
  %is.none = icmp eq i64 %count, 0
  %is.possible = and i1 %is.plain, %is.none
  br i1 %is.possible, label %look, label %python.way
look:
  %v = call ptr @memory(ptr %self, i1 true)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %measure, label %python.way
measure:
  %n = call i64 @elements(ptr %v, i32 0)
  %is.small = icmp slt i64 %n, $GAPS
  %nd = call i32 @axes(ptr %v)
  %has.axes = icmp ne i32 %nd, 0
  %is.known = and i1 %is.small, %has.axes
  br i1 %is.known, label %run, label %python.way
run:
  store ptr %v, ptr %one
  call void @Py_IncRef(ptr %v)
  %function = call ptr @word(i64 $COPIED)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %one, i64 1, ptr null)
  call void @Py_DecRef(ptr %v)
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

; `x.sum()` and its like over all axes or one; `function` is NumPy's, of an array and an axis.
define internal ptr @reduction(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python, i64 %function) nounwind {
  %two = alloca [2 x ptr]
  %none = call ptr @word(i64 $NONE)
  %is.named = icmp ne ptr %names, null
  br i1 %is.named, label %named, label %unnamed
named:
  %size.at = getelementptr i8, ptr %names, i64 $SIZE
  %size = load i64, ptr %size.at
  %name = call ptr @slot(ptr %names, i64 $ITEMS)
  %wanted = call ptr @word(i64 $AXIS)
  %is.one = icmp eq i64 %size, 1
  %is.axis = icmp eq ptr %name, %wanted
  %is.only = icmp eq i64 %count, 0
  %is.single = and i1 %is.one, %is.axis
  %is.fine = and i1 %is.single, %is.only
  br i1 %is.fine, label %given, label %python.way
unnamed:
  switch i64 %count, label %python.way [ i64 0, label %look
                                         i64 1, label %given ]
given:
  %axis.given = load ptr, ptr %arguments
  %is.none = icmp eq ptr %axis.given, %none
  %is.int = call i1 @is_a(ptr %axis.given, i64 $INT)
  %are.some = call i1 @is_a(ptr %axis.given, i64 $TUPLE)
  %is.axes = or i1 %is.int, %are.some
  %is.known = or i1 %is.none, %is.axes
  br i1 %is.known, label %look, label %python.way
look:
  %axis = phi ptr [ %none, %unnamed ], [ %axis.given, %given ]
  %is.array = call i1 @is_a(ptr %self, i64 $ARRAY)
  br i1 %is.array, label %read, label %python.way
read:
  %a = call ptr @content(ptr %self, i1 true)
  %has.a = icmp ne ptr %a, null
  br i1 %has.a, label %run, label %python.way
run:
  %axis.at = getelementptr ptr, ptr %two, i64 1
  store ptr %a, ptr %two
  store ptr %axis, ptr %axis.at
  %callable = call ptr @word(i64 %function)
  %result = call ptr @PyObject_Vectorcall(ptr %callable, ptr %two, i64 2, ptr null)
  call void @Py_DecRef(ptr %a)
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

define internal ptr @len(ptr %self, i64 %python) nounwind {
  %v = call ptr @memory(ptr %self, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %look, label %python.way
look:
  %nd = call i32 @axes(ptr %v)
  %has.axes = icmp ne i32 %nd, 0
  br i1 %has.axes, label %first, label %python.way
first:
  %sizes = call ptr @slot(ptr %v, i64 $DIMENSIONS)
  %size = load i64, ptr %sizes
  %number = call ptr @PyLong_FromSsize_t(i64 %size)
  ret ptr %number
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr null, i64 1)
  ret ptr %found
}

; What a class has not got.
define internal ptr @hidden() nounwind {
  %class = call ptr @word(i64 $ATTRIBUTE_ERROR)
  call void @PyErr_SetNone(ptr %class)
  ret ptr null
}
