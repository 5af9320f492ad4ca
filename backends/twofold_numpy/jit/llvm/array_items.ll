; Reads and writes of parts of arrays; `array_objects` has what they call.
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyTuple_GetItem(ptr, i64)

; Whether a bound of a slice is a number or None: other objects would run code of the program.
define internal i1 @is_bound(ptr %bound) nounwind alwaysinline {
  %none = call ptr @word(i64 $NONE)
  %is.none = icmp eq ptr %bound, %none
  %is.int = call i1 @is_a(ptr %bound, i64 $INT)
  %is.index = call i1 @is_a(ptr %bound, i64 $INDEX)
  %is.number = or i1 %is.int, %is.index
  %is = or i1 %is.none, %is.number
  ret i1 %is
}

; Whether one item of an index is a number or a slice, which give an element or a view: 0 for others, 1 for a number, 2 for a slice, 3 for
; None, 4 for an ellipsis.
define internal i32 @place(ptr %item) nounwind {
  %is.int = call i1 @is_a(ptr %item, i64 $INT)
  br i1 %is.int, label %number, label %other
other:
  %is.slice = call i1 @is_a(ptr %item, i64 $SLICE)
  br i1 %is.slice, label %bounds, label %third
bounds:
  %start = call ptr @slot(ptr %item, i64 $START)
  %stop = call ptr @slot(ptr %item, i64 $STOP)
  %step = call ptr @slot(ptr %item, i64 $STEP)
  %start.known = call i1 @is_bound(ptr %start)
  %stop.known = call i1 @is_bound(ptr %stop)
  %step.known = call i1 @is_bound(ptr %step)
  %both.known = and i1 %start.known, %stop.known
  %all.known = and i1 %both.known, %step.known
  br i1 %all.known, label %slice, label %no
third:
  %none = call ptr @word(i64 $NONE)
  %is.none = icmp eq ptr %item, %none
  br i1 %is.none, label %nothing, label %fourth
fourth:
  %is.index = call i1 @is_a(ptr %item, i64 $INDEX)
  br i1 %is.index, label %number, label %fifth
fifth:
  %ellipsis = call ptr @word(i64 $ELLIPSIS)
  %is.ellipsis = icmp eq ptr %item, %ellipsis
  br i1 %is.ellipsis, label %rest, label %no
number:
  ret i32 1
slice:
  ret i32 2
nothing:
  ret i32 3
rest:
  ret i32 4
no:
  ret i32 0
}

; The most elements that an index may select, -1 if it has other items than these: elements along the axes of numbers count once. An
; index with None or an ellipsis alone selects as many as the array has, and with an ellipsis among others no more.
define internal i64 @selected(ptr %array, ptr %key) nounwind {
entry:
  %is.tuple = call i1 @is_a(ptr %key, i64 $TUPLE)
  br i1 %is.tuple, label %items, label %single
single:
  %only = call i32 @place(ptr %key)
  %is.place = icmp ne i32 %only, 0
  br i1 %is.place, label %first, label %no
first:
  %is.number = icmp eq i32 %only, 1
  %from = zext i1 %is.number to i32
  %part = call i64 @elements(ptr %array, i32 %from)
  ret i64 %part
items:
  %count.at = getelementptr i8, ptr %key, i64 $SIZE
  %count = load i64, ptr %count.at
  %nd = call i32 @axes(ptr %array)
  %sizes = call ptr @slot(ptr %array, i64 $DIMENSIONS)
  %has.items = icmp ne i64 %count, 0
  br i1 %has.items, label %look, label %no
look:
  %k = phi i64 [ 0, %items ], [ %k.next, %next ]
  %axis = phi i32 [ 0, %items ], [ %axis.next, %next ]
  %n = phi i64 [ 1, %items ], [ %n.next, %next ]
  %unknown = phi i1 [ false, %items ], [ %unknown.next, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %item, label %rest
item:
  %item.at = getelementptr ptr, ptr %key, i64 %k
  %value = call ptr @slot(ptr %item.at, i64 $ITEMS)
  %place = call i32 @place(ptr %value)
  %k.next = add i64 %k, 1
  switch i32 %place, label %no [ i32 1, label %skip
                                 i32 2, label %along
                                 i32 3, label %next
                                 i32 4, label %any ]
any:
  ; which axes the items after it are for depends on their number
  br label %next
skip:
  %after.number = add i32 %axis, 1
  br label %next
along:
  ; too many items are NumPy's error
  %is.axis = icmp slt i32 %axis, %nd
  br i1 %is.axis, label %size, label %no
size:
  %at = getelementptr i64, ptr %sizes, i32 %axis
  %length = load i64, ptr %at
  %longer = mul i64 %n, %length
  %after.slice = add i32 %axis, 1
  br label %next
next:
  %axis.next = phi i32 [ %after.number, %skip ], [ %after.slice, %size ], [ %axis, %item ], [ %axis, %any ]
  %n.next = phi i64 [ %n, %skip ], [ %longer, %size ], [ %n, %item ], [ %n, %any ]
  %unknown.next = phi i1 [ %unknown, %skip ], [ %unknown, %size ], [ %unknown, %item ], [ true, %any ]
  br label %look
rest:
  br i1 %unknown, label %whole, label %sum
whole:
  %size.of.all = call i64 @elements(ptr %array, i32 0)
  ret i64 %size.of.all
sum:
  %others = call i64 @elements(ptr %array, i32 %axis)
  %all = mul i64 %n, %others
  ret i64 %all
no:
  ret i64 -1
}

define internal ptr @getitem(ptr %self, ptr %key, i64 %python) nounwind {
  %v = call ptr @memory(ptr %self, i1 false)
  %has.memory = icmp ne ptr %v, null
  br i1 %has.memory, label %look, label %python.way
look:
  %n = call i64 @selected(ptr %v, ptr %key)
  %is.basic = icmp sge i64 %n, 0
  br i1 %is.basic, label %read, label %other
read:
  %owner = call { ptr, ptr } @owner(ptr %self)
  %result = call ptr @PyObject_GetItem(ptr %v, ptr %key)
  %part = call ptr @part(ptr %self, ptr %key, ptr %result, { ptr, ptr } %owner)
  br label %conclude
other:
  %chosen = call ptr @chosen(ptr %v, ptr %key)
  br label %conclude
conclude:
  %found = phi ptr [ %part, %read ], [ %chosen, %other ]
  %is.left = icmp eq ptr %found, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %found
python.way:
  %by.python = call ptr @by_python(i64 %python, ptr %self, ptr %key, i64 2)
  ret ptr %by.python
}

; The elements at an array of indices or where a mask is true, if these are few: a new array.
define internal ptr @chosen(ptr %v, ptr %key) nounwind {
  %is.array = call i1 @is_a(ptr %key, i64 $ARRAY)
  br i1 %is.array, label %look, label %leave
look:
  %at = call ptr @content(ptr %key, i1 true)
  %is.ready = icmp ne ptr %at, null
  br i1 %is.ready, label %kinds, label %leave
kinds:
  %nd = call i32 @axes(ptr %at)
  %kind = call i8 @kind(ptr %at)
  switch i8 %kind, label %unlike [ i8 105, label %measure
                                   i8 117, label %measure
                                   i8 98, label %mask ]
mask:
  br label %measure
measure:
  ; a mask selects along its own axes, indices along the first
  %axes = phi i32 [ 1, %kinds ], [ 1, %kinds ], [ %nd, %mask ]
  %has.axes = icmp ne i32 %nd, 0
  %each = call i64 @elements(ptr %v, i32 %axes)
  %times = call i64 @elements(ptr %at, i32 0)
  %n = mul i64 %each, %times
  %is.small = icmp slt i64 %n, $GAPS
  %is.possible = and i1 %has.axes, %is.small
  br i1 %is.possible, label %read, label %unlike
read:
  call void @Py_IncRef(ptr %v)
  %result = call ptr @PyObject_GetItem(ptr %v, ptr %at)
  call void @drop(ptr %v, ptr %at)
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %order, label %conclude
order:
  ; the order of elements in memory is that of the array's axes
  %is.packed = call i1 @is_packed(ptr %result)
  br i1 %is.packed, label %conclude, label %scattered
conclude:
  %new = call ptr @concluded(ptr %result)
  ret ptr %new
scattered:
  call void @Py_DecRef(ptr %result)
  br label %leave
unlike:
  call void @Py_DecRef(ptr %at)
  br label %leave
leave:
  ret ptr @words
}

define internal void @drop(ptr %first, ptr %second) nounwind {
  call void @Py_DecRef(ptr %first)
  call void @Py_DecRef(ptr %second)
  ret void
}

; NumPy's array or number to write to a part of an array, a new reference; null if another function has to find out: NumPy may read
; elements of the same array that it has just written.
define internal ptr @source(ptr %self, ptr %v, ptr %key, ptr %value) nounwind {
  %is.array = call i1 @is_a(ptr %value, i64 $ARRAY)
  br i1 %is.array, label %array, label %number
number:
  %scalar = call ptr @operand(ptr %value, i1 false)
  %is.scalar = icmp ne ptr %scalar, null
  br i1 %is.scalar, label %one, label %several.of.them
one:
  ret ptr %scalar
several.of.them:
  %are.numbers = call i1 @are_numbers(ptr %value)
  br i1 %are.numbers, label %as.given, label %no
as.given:
  call void @Py_IncRef(ptr %value)
  ret ptr %value
array:
  %content = call ptr @memory(ptr %value, i1 false)
  %is.ready = icmp ne ptr %content, null
  br i1 %is.ready, label %roots, label %no
roots:
  %own = call ptr @root(ptr %self)
  %other = call ptr @root(ptr %value)
  %is.same = icmp eq ptr %own, %other
  br i1 %is.same, label %together, label %found
together:
  %is.safe = call i1 @is_safe(ptr %v, ptr %key, ptr %content)
  br i1 %is.safe, label %found, label %no
found:
  call void @Py_IncRef(ptr %content)
  ret ptr %content
no:
  ret ptr null
}

; Whether a value is a short list or tuple of numbers.
define internal i1 @are_numbers(ptr %value) nounwind {
  %is.list = call i1 @is_a(ptr %value, i64 $LIST)
  %is.tuple = call i1 @is_a(ptr %value, i64 $TUPLE)
  %is.sequence = or i1 %is.list, %is.tuple
  br i1 %is.sequence, label %measure, label %no
measure:
  %size.at = getelementptr i8, ptr %value, i64 $SIZE
  %n = load i64, ptr %size.at
  %less = sub i64 %n, 1
  %is.short = icmp ult i64 %less, $FEW
  br i1 %is.short, label %look, label %no
look:
  %k = phi i64 [ 0, %measure ], [ %k.next, %next ]
  br i1 %is.list, label %of.list, label %of.tuple
of.list:
  %list.item = call ptr @PyList_GetItem(ptr %value, i64 %k)
  br label %judge
of.tuple:
  %tuple.item = call ptr @PyTuple_GetItem(ptr %value, i64 %k)
  br label %judge
judge:
  %item = phi ptr [ %list.item, %of.list ], [ %tuple.item, %of.tuple ]
  %is.number = call i1 @is_number(ptr %item)
  br i1 %is.number, label %next, label %scalar
scalar:
  %is.scalar = call i1 @is_scalar(ptr %item)
  %is.real = call i1 @is_real(ptr %item)
  %is.fine = and i1 %is.scalar, %is.real
  br i1 %is.fine, label %next, label %no
next:
  %k.next = add i64 %k, 1
  %is.over = icmp eq i64 %k.next, %n
  br i1 %is.over, label %yes, label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether NumPy reads all elements of a part before it writes them to another part of the same array, which overlaps: it does for several
; axes, by way of a copy, and along one axis if both parts have the same step.
define internal i1 @is_safe(ptr %v, ptr %key, ptr %content) nounwind {
  %place = call i32 @place(ptr %key)
  switch i32 %place, label %no [ i32 2, label %slice
                                 i32 4, label %axes ]
slice:
  %none = call ptr @word(i64 $NONE)
  %step = call ptr @slot(ptr %key, i64 $STEP)
  %is.plain = icmp eq ptr %step, %none
  br i1 %is.plain, label %axes, label %several
axes:
  %nd = call i32 @axes(ptr %v)
  %content.nd = call i32 @axes(ptr %content)
  %both.nd = mul i32 %nd, %content.nd
  %are.lines = icmp eq i32 %both.nd, 1
  br i1 %are.lines, label %steps, label %several
steps:
  %strides = call ptr @slot(ptr %v, i64 $STRIDES)
  %apart = load i64, ptr %strides
  %content.strides = call ptr @slot(ptr %content, i64 $STRIDES)
  %content.apart = load i64, ptr %content.strides
  %are.equal = icmp eq i64 %apart, %content.apart
  ret i1 %are.equal
several:
  %target.nd = call i32 @axes(ptr %v)
  %is = icmp sgt i32 %target.nd, 1
  ret i1 %is
no:
  ret i1 false
}

; The array that owns the memory.
define internal ptr @root(ptr %x) nounwind {
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %none = call ptr @word(i64 $NONE)
  %is.view = icmp eq ptr %held, %none
  %base = call ptr @slot(ptr %x, i64 $BASE)
  %root = select i1 %is.view, ptr %base, ptr %x
  ret ptr %root
}

; Whether an array or scalar has real numbers.
define internal i1 @is_real(ptr %source) nounwind {
  %is.array = call i1 @is_a(ptr %source, i64 $PLAIN)
  br i1 %is.array, label %array, label %scalar
array:
  %kind = call i8 @kind(ptr %source)
  %is.other = icmp ne i8 %kind, 99
  ret i1 %is.other
scalar:
  %is.single = call i1 @is_a(ptr %source, i64 $COMPLEX64)
  %is.double = call i1 @is_a(ptr %source, i64 $COMPLEX128)
  %is.complex = or i1 %is.single, %is.double
  %is.real = xor i1 %is.complex, true
  ret i1 %is.real
}

; Whether a value is the view that `self[key] += y` has changed, and now writes to its own place.
define internal i1 @is_there(ptr %self, ptr %key, ptr %value) nounwind {
  %is.array = call i1 @is_a(ptr %value, i64 $ARRAY)
  br i1 %is.array, label %look, label %no
look:
  %held = call ptr @slot(ptr %value, i64 $HELD)
  %none = call ptr @word(i64 $NONE)
  %is.view = icmp eq ptr %held, %none
  br i1 %is.view, label %view, label %no
view:
  %under = call ptr @slot(ptr %value, i64 $UNDER)
  %its.key = call ptr @slot(ptr %value, i64 $KEY)
  %is.under = icmp eq ptr %under, %self
  %is.key = icmp eq ptr %its.key, %key
  %is = and i1 %is.under, %is.key
  ret i1 %is
no:
  ret i1 false
}

define internal ptr @setitem(ptr %self, ptr %arguments, i64 %count, i64 %python) nounwind {
  %all = alloca [3 x ptr]
  %are.two = icmp eq i64 %count, 2
  br i1 %are.two, label %two, label %wrong
wrong:
  %function.of.two = call ptr @word(i64 %python)
  %error = call ptr @with_names(ptr %function.of.two, ptr %self, ptr %arguments, i64 %count, ptr null)
  ret ptr %error
two:
  %key = load ptr, ptr %arguments
  %value.at = getelementptr ptr, ptr %arguments, i64 1
  %value = load ptr, ptr %value.at
  %is.there = call i1 @is_there(ptr %self, ptr %key, ptr %value)
  br i1 %is.there, label %done, label %look
look:
  %v = call ptr @memory(ptr %self, i1 true)
  %has.memory = icmp ne ptr %v, null
  br i1 %has.memory, label %measure, label %python.way
measure:
  %n = call i64 @selected(ptr %v, ptr %key)
  ; -1 is the largest of unsigned numbers
  %is.short = icmp ule i64 %n, $LOCKED
  br i1 %is.short, label %whole, label %long
whole:
  call void @Py_IncRef(ptr %v)
  br label %find
long:
  ; what slices select of a long array may be short
  %is.basic = icmp sge i64 %n, 0
  br i1 %is.basic, label %narrow, label %python.way
narrow:
  %view = call ptr @PyObject_GetItem(ptr %v, ptr %key)
  %is.view = call i1 @is_plain(ptr %view)
  br i1 %is.view, label %again, label %no.view
no.view:
  call void @Py_DecRef(ptr %view)
  call void @PyErr_Clear()
  br label %python.way
again:
  %view.n = call i64 @elements(ptr %view, i32 0)
  %view.short = icmp ule i64 %view.n, $LOCKED
  br i1 %view.short, label %find, label %too.long
too.long:
  call void @Py_DecRef(ptr %view)
  br label %python.way
find:
  %target = phi ptr [ %v, %whole ], [ %view, %again ]
  %all.of.it = call ptr @word(i64 $ELLIPSIS)
  %is.part = icmp ne ptr %target, %v
  %place = select i1 %is.part, ptr %all.of.it, ptr %key
  %source = call ptr @source(ptr %self, ptr %v, ptr %key, ptr %value)
  %has.source = icmp ne ptr %source, null
  br i1 %has.source, label %kinds, label %leave
leave:
  call void @Py_DecRef(ptr %target)
  br label %python.way
kinds:
  ; where a cast loses the imaginary part, NumPy calls Python's functions for warnings before it writes
  %is.real = call i1 @is_real(ptr %source)
  br i1 %is.real, label %write, label %unlike
unlike:
  call void @drop(ptr %target, ptr %source)
  br label %python.way
write:
  %status = call i32 @PyObject_SetItem(ptr %target, ptr %place, ptr %source)
  call void @drop(ptr %target, ptr %source)
  %is.written = icmp eq i32 %status, 0
  br i1 %is.written, label %done, label %failed
failed:
  %is.refused = call i1 @is_refused(i64 $UNWRITTEN)
  br i1 %is.refused, label %python.way, label %raise
raise:
  ret ptr null
done:
  %none = call ptr @word(i64 $NONE)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
python.way:
  %second = getelementptr ptr, ptr %all, i64 1
  %third = getelementptr ptr, ptr %all, i64 2
  store ptr %self, ptr %all
  store ptr %key, ptr %second
  store ptr %value, ptr %third
  %function = call ptr @word(i64 %python)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %all, i64 3, ptr null)
  ret ptr %result
}
