; Methods of arrays whose elements are NumPy's, ready and unrecorded: they do what the functions do that they replace, and call these for
; everything else. They run with the GIL, and write nothing that is so large that NumPy would release it.
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare void @PyErr_SetNone(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyErr_GivenExceptionMatches(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_GetItem(ptr, ptr)
declare i32 @PyObject_SetItem(ptr, ptr, ptr)
declare ptr @PyObject_RichCompare(ptr, ptr, i32)
declare i32 @PyUnicode_CompareWithASCIIString(ptr, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyMethod_New(ptr, ptr)
declare ptr @PyLong_FromSsize_t(i64)
declare i64 @PyLong_AsSsize_t(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare ptr @PyNumber_MatrixMultiply(ptr, ptr)
$DECLARED

; The objects that the code knows, by their places: Python fills them in.
@words = internal global [$COUNT x ptr] zeroinitializer
@call = internal constant [9 x i8] c"__call__\00"

; Takes the objects, and gives the methods' addresses.
define void @kernel(ptr %given, ptr %methods) nounwind {
entry:
  br label %copy
copy:
  %k = phi i64 [ 0, %entry ], [ %k.next, %copy ]
  %from = getelementptr ptr, ptr %given, i64 %k
  %to = getelementptr ptr, ptr @words, i64 %k
  %object = load ptr, ptr %from
  store ptr %object, ptr %to
  %k.next = add i64 %k, 1
  %is.over = icmp eq i64 %k.next, $COUNT
  br i1 %is.over, label %tell, label %copy
tell:
$TOLD
  ret void
}

define internal ptr @word(i64 %k) nounwind alwaysinline {
  %at = getelementptr ptr, ptr @words, i64 %k
  %word = load ptr, ptr %at
  ret ptr %word
}

; The object in a slot; a class is in one, too.
define internal ptr @slot(ptr %object, i64 %offset) nounwind alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}

; Puts an object into an empty slot, which takes the reference.
define internal void @put(ptr %object, i64 %offset, ptr %value) nounwind alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %at
  ret void
}

; Puts another reference into it.
define internal void @share(ptr %object, i64 %offset, ptr %value) nounwind {
  call void @Py_IncRef(ptr %value)
  call void @put(ptr %object, i64 %offset, ptr %value)
  ret void
}

define internal i1 @is_a(ptr %object, i64 %class) nounwind alwaysinline {
  %own = call ptr @slot(ptr %object, i64 $CLASS)
  %wanted = call ptr @word(i64 %class)
  %is = icmp eq ptr %own, %wanted
  ret i1 %is
}

; Whether an object is of a class or of one derived from it.
define internal i1 @is_instance(ptr %object, i64 %class) nounwind alwaysinline {
  %is = call i1 @is_a(ptr %object, i64 %class)
  br i1 %is, label %yes, label %look
yes:
  ret i1 true
look:
  %own = call ptr @slot(ptr %object, i64 $CLASS)
  %wanted = call ptr @word(i64 %class)
  %derives = call i32 @PyType_IsSubtype(ptr %own, ptr %wanted)
  %does = icmp ne i32 %derives, 0
  ret i1 %does
}

; Whether an object is a number of Python's.
define internal i1 @is_number(ptr %object) nounwind alwaysinline {
  %is.float = call i1 @is_a(ptr %object, i64 $FLOAT)
  %is.int = call i1 @is_a(ptr %object, i64 $INT)
  %is = or i1 %is.float, %is.int
  ret i1 %is
}

; Whether the content of a slot is NumPy's array. Empty slots are null.
define internal i1 @is_plain(ptr %content) nounwind alwaysinline {
  %is.empty = icmp eq ptr %content, null
  br i1 %is.empty, label %no, label %look
no:
  ret i1 false
look:
  %is = call i1 @is_a(ptr %content, i64 $PLAIN)
  ret i1 %is
}

; Whether an object is one of the objects from a place on.
define internal i1 @is_among(ptr %object, i64 %first, i64 %end) nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ %first, %entry ], [ %k.next, %next ]
  %wanted = call ptr @word(i64 %k)
  %is = icmp eq ptr %object, %wanted
  br i1 %is, label %yes, label %next
next:
  %k.next = add i64 %k, 1
  %is.over = icmp eq i64 %k.next, %end
  br i1 %is.over, label %no, label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an object is one of NumPy's scalars; the commonest classes come first.
define internal i1 @is_scalar(ptr %object) nounwind {
  %class = call ptr @slot(ptr %object, i64 $CLASS)
  %is = call i1 @is_among(ptr %class, i64 $SCALARS, i64 $SCALARS_END)
  ret i1 %is
}

define internal i32 @axes(ptr %array) nounwind alwaysinline {
  %at = getelementptr i8, ptr %array, i64 $ND
  %nd = load i32, ptr %at
  ret i32 %nd
}

; The elements of a part of an array: all along the axes from one on.
define internal i64 @elements(ptr %array, i32 %first) nounwind {
entry:
  %nd = call i32 @axes(ptr %array)
  %sizes = call ptr @slot(ptr %array, i64 $DIMENSIONS)
  br label %look
look:
  %k = phi i32 [ %first, %entry ], [ %k.next, %next ]
  %n = phi i64 [ 1, %entry ], [ %n.next, %next ]
  %more = icmp slt i32 %k, %nd
  br i1 %more, label %next, label %done
next:
  %at = getelementptr i64, ptr %sizes, i32 %k
  %size = load i64, ptr %at
  %n.next = mul i64 %n, %size
  %k.next = add i32 %k, 1
  br label %look
done:
  ret i64 %n
}

; Whether the elements are adjacent in memory, in the order of the axes.
define internal i1 @is_packed(ptr %array) nounwind alwaysinline {
  %flags.at = getelementptr i8, ptr %array, i64 $FLAGS
  %flags = load i32, ptr %flags.at
  %packed = and i32 %flags, $CONTIGUOUS
  %is = icmp ne i32 %packed, 0
  ret i1 %is
}

; NumPy's kind of a dtype: 102 for floats, 105 and 117 for integers, 98 for bools.
define internal i8 @kind(ptr %array) nounwind alwaysinline {
  %dtype = call ptr @slot(ptr %array, i64 $DESCR)
  %at = getelementptr i8, ptr %dtype, i64 $KIND
  %kind = load i8, ptr %at
  ret i8 %kind
}

; The character of a dtype: `d` for float64, `f` for float32.
define internal i8 @letter(ptr %array) nounwind alwaysinline {
  %dtype = call ptr @slot(ptr %array, i64 $DESCR)
  %at = getelementptr i8, ptr %dtype, i64 $LETTER
  %letter = load i8, ptr %at
  ret i8 %letter
}

; What a view shows of its root's content, if that is still the same; null otherwise. The reference is the view's.
define internal ptr @shown(ptr %x, i1 %to.write) nounwind {
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %none = call ptr @word(i64 $NONE)
  %is.view = icmp eq ptr %held, %none
  br i1 %is.view, label %view, label %no
view:
  %of = call ptr @slot(ptr %x, i64 $OF)
  %base = call ptr @slot(ptr %x, i64 $BASE)
  %has.base = icmp ne ptr %base, null
  br i1 %has.base, label %look, label %no
look:
  %now = call ptr @slot(ptr %base, i64 $HELD)
  %is.current = icmp eq ptr %now, %of
  %content = call ptr @elements_of(ptr %of, i1 %to.write)
  %is.ready = icmp ne ptr %content, null
  %seen = call ptr @slot(ptr %x, i64 $SEEN)
  %seen.plain = call i1 @is_plain(ptr %seen)
  %is.possible = and i1 %is.current, %is.ready
  %is.shown = and i1 %is.possible, %seen.plain
  br i1 %is.shown, label %yes, label %no
yes:
  ret ptr %seen
no:
  ret ptr null
}

; NumPy's array of a content: itself if it is plain, or that of a `Value` in host memory without an entry on a tape. To write that, nothing
; else may read the memory or replace the content (`guards.is_watched`). The reference is the content's.
define internal ptr @elements_of(ptr %content, i1 %to.write) nounwind {
  %is.plain = call i1 @is_plain(ptr %content)
  br i1 %is.plain, label %plain, label %other
plain:
  ret ptr %content
other:
  %is.empty = icmp eq ptr %content, null
  br i1 %is.empty, label %no, label %look
look:
  %is.value = call i1 @is_a(ptr %content, i64 $VALUE)
  br i1 %is.value, label %value, label %no
value:
  %none = call ptr @word(i64 $NONE)
  %host = call ptr @word(i64 $HOST)
  %entry = call ptr @slot(ptr %content, i64 $ENTRY)
  %device = call ptr @slot(ptr %content, i64 $DEVICE)
  %data = call ptr @slot(ptr %content, i64 $DATA)
  %is.unrecorded = icmp eq ptr %entry, %none
  %is.here = icmp eq ptr %device, %host
  %is.ready = call i1 @is_plain(ptr %data)
  %is.known = and i1 %is.unrecorded, %is.here
  %is = and i1 %is.known, %is.ready
  br i1 %is, label %ready, label %no
ready:
  br i1 %to.write, label %watched, label %yes
watched:
  %zero = call ptr @word(i64 $ZERO)
  %producer = call ptr @slot(ptr %content, i64 $PRODUCER)
  %sharing = call ptr @slot(ptr %content, i64 $SHARING)
  %writers = call ptr @slot(ptr %content, i64 $WRITERS)
  %is.settled = icmp eq ptr %producer, %none
  %is.unshared = icmp eq ptr %sharing, %none
  %is.left.alone = icmp eq ptr %writers, %zero
  %is.own = and i1 %is.settled, %is.unshared
  %is.free = and i1 %is.own, %is.left.alone
  br i1 %is.free, label %yes, label %no
yes:
  ret ptr %data
no:
  ret ptr null
}

; NumPy's array of an array's elements, a new reference: of a part it is contiguous, unless it has one axis and need not be `packed`. Null,
; without an error, if it cannot be read at once.
define internal ptr @content(ptr %x, i1 %packed) nounwind {
entry:
  %arguments = alloca ptr
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %is.whole = call i1 @is_plain(ptr %held)
  br i1 %is.whole, label %found, label %part
part:
  %seen = call ptr @shown(ptr %x, i1 false)
  %is.shown = icmp ne ptr %seen, null
  br i1 %is.shown, label %measure, label %no
measure:
  %size = call i64 @elements(ptr %seen, i32 0)
  %is.small = icmp slt i64 %size, $GAPS
  %kind.seen = call i8 @kind(ptr %seen)
  %is.number = icmp ne i8 %kind.seen, 86
  %is.wanted = and i1 %is.small, %is.number
  br i1 %is.wanted, label %look, label %no
look:
  %is.contiguous = call i1 @is_packed(ptr %seen)
  %nd = call i32 @axes(ptr %seen)
  %is.line = icmp slt i32 %nd, 2
  %may.have.gaps = xor i1 %packed, true
  %is.fine = and i1 %is.line, %may.have.gaps
  %as.it.is = or i1 %is.contiguous, %is.fine
  br i1 %as.it.is, label %found, label %copy
found:
  %array = phi ptr [ %held, %entry ], [ %seen, %look ]
  ; NumPy knows bfloat16 as a kind of records, and its scalars are not elements
  %kind = call i8 @kind(ptr %array)
  %is.known = icmp ne i8 %kind, 86
  br i1 %is.known, label %give, label %no
give:
  call void @Py_IncRef(ptr %array)
  ret ptr %array
copy:
  store ptr %seen, ptr %arguments
  %function = call ptr @word(i64 $COPIED)
  %copied = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 1, ptr null)
  %is.copied = icmp ne ptr %copied, null
  br i1 %is.copied, label %done, label %failed
done:
  ret ptr %copied
failed:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}

; What NumPy takes in place of an operand, a new reference; null if another function has to find out.
define internal ptr @operand(ptr %y, i1 %packed) nounwind {
  %is.array = call i1 @is_a(ptr %y, i64 $ARRAY)
  br i1 %is.array, label %array, label %other
array:
  %content = call ptr @content(ptr %y, i1 %packed)
  ret ptr %content
other:
  %is.number = call i1 @is_number(ptr %y)
  br i1 %is.number, label %found, label %element
element:
  %is.element = call i1 @is_a(ptr %y, i64 $ELEMENT)
  br i1 %is.element, label %raw, label %scalar
raw:
  %scalar.of = call ptr @slot(ptr %y, i64 $HELD)
  br label %found
scalar:
  %is.scalar = call i1 @is_scalar(ptr %y)
  br i1 %is.scalar, label %found, label %no
found:
  %value = phi ptr [ %y, %other ], [ %scalar.of, %raw ], [ %y, %scalar ]
  call void @Py_IncRef(ptr %value)
  ret ptr %value
no:
  ret ptr null
}

@kept = internal global [$KEPT x ptr] zeroinitializer
@kept.number = internal global i64 0
declare void @PyObject_GC_Track(ptr)

; A new object with empty slots.
define internal ptr @allocated(ptr %class) nounwind {
entry:
  %wanted = call ptr @word(i64 $ARRAY)
  %is.array = icmp eq ptr %class, %wanted
  %kept = load i64, ptr @kept.number
  %has.some = icmp ne i64 %kept, 0
  %is.kept = and i1 %is.array, %has.some
  br i1 %is.kept, label %take, label %make
take:
  %less = sub i64 %kept, 1
  store i64 %less, ptr @kept.number
  %place = getelementptr [$KEPT x ptr], ptr @kept, i64 0, i64 %less
  %x = load ptr, ptr %place
  store i64 1, ptr %x
  call void @Py_IncRef(ptr %class)
  call void @PyObject_GC_Track(ptr %x)
  ret ptr %x
make:
  %new = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  ret ptr %new
}

; The array or element that holds NumPy's result, and takes its reference. Null without an error if another function has to find out.
define internal ptr @made(ptr %result) nounwind {
  %is.array = call i1 @is_a(ptr %result, i64 $PLAIN)
  br i1 %is.array, label %make, label %scalar
scalar:
  %is.scalar = call i1 @is_scalar(ptr %result)
  br i1 %is.scalar, label %make, label %no
make:
  %which = phi i64 [ $ARRAY, %0 ], [ $ELEMENT, %scalar ]
  %class = call ptr @word(i64 %which)
  %new = call ptr @allocated(ptr %class)
  %is.made = icmp ne ptr %new, null
  br i1 %is.made, label %fill, label %no
fill:
  call void @put(ptr %new, i64 $HELD, ptr %result)
  ret ptr %new
no:
  call void @Py_DecRef(ptr %result)
  ret ptr null
}

; Whether an error is one after which another function finds a result or a better error: of these classes, and raised by NumPy, not by
; Python code (a handler of signals, say) that NumPy has called. It is cleared then.
define internal i1 @is_refused(i64 %classes) nounwind {
  %class.at = alloca ptr
  %error.at = alloca ptr
  %trace.at = alloca ptr
  call void @PyErr_Fetch(ptr %class.at, ptr %error.at, ptr %trace.at)
  %class = load ptr, ptr %class.at
  %error = load ptr, ptr %error.at
  %trace = load ptr, ptr %trace.at
  %is.direct = icmp eq ptr %trace, null
  br i1 %is.direct, label %look, label %keep
look:
  %wanted = call ptr @word(i64 %classes)
  %matches = call i32 @PyErr_GivenExceptionMatches(ptr %class, ptr %wanted)
  %is.one = icmp ne i32 %matches, 0
  br i1 %is.one, label %drop, label %keep
keep:
  call void @PyErr_Restore(ptr %class, ptr %error, ptr %trace)
  ret i1 false
drop:
  ; nulls are allowed in `PyErr_Restore`, which then drops what is there
  call void @PyErr_Restore(ptr %class, ptr %error, ptr null)
  call void @PyErr_Clear()
  ret i1 true
}

; What a method returns for NumPy's result, whose reference it takes, or for null and NumPy's error: `@words` if the replaced function has
; to find out.
define internal ptr @concluded(ptr %result) nounwind {
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %make, label %failed
make:
  %new = call ptr @made(ptr %result)
  %is.made = icmp ne ptr %new, null
  br i1 %is.made, label %give, label %not.made
not.made:
  %error = call ptr @PyErr_Occurred()
  %is.error = icmp ne ptr %error, null
  br i1 %is.error, label %give, label %leave
failed:
  %is.refused = call i1 @is_refused(i64 $REFUSED)
  br i1 %is.refused, label %leave, label %give
give:
  %found = phi ptr [ %new, %make ], [ null, %not.made ], [ null, %failed ]
  ret ptr %found
leave:
  ret ptr @words
}

; The function that a method has replaced, of one operand or two.
define internal ptr @by_python(i64 %function, ptr %self, ptr %other, i64 %count) nounwind noinline {
  %operands = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %self, ptr %operands
  store ptr %other, ptr %second
  %python = call ptr @word(i64 %function)
  %result = call ptr @PyObject_Vectorcall(ptr %python, ptr %operands, i64 %count, ptr null)
  ret ptr %result
}

; The memory of an array or view, to read or `%to.write`: then it is the cell's alone. The reference is the array's.
define internal ptr @memory(ptr %x, i1 %to.write) nounwind {
  %is.array = call i1 @is_a(ptr %x, i64 $ARRAY)
  br i1 %is.array, label %look, label %no
look:
  %held = call ptr @slot(ptr %x, i64 $HELD)
  %whole = call ptr @elements_of(ptr %held, i1 %to.write)
  %is.whole = icmp ne ptr %whole, null
  br i1 %is.whole, label %yes, label %view
yes:
  ret ptr %whole
view:
  %seen = call ptr @shown(ptr %x, i1 %to.write)
  ret ptr %seen
no:
  ret ptr null
}
