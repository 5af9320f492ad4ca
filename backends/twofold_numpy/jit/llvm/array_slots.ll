; Slots of classes, which Python's operators call: they call methods. A class of Python's has functions in them that look for its methods.
define internal ptr @binary_slot(ptr %a, ptr %b, i64 %class, ptr %method, ptr %reflected) nounwind alwaysinline {
entry:
  %is.left = call i1 @is_instance(ptr %a, i64 %class)
  br i1 %is.left, label %left, label %right
left:
  %result = call ptr %method(ptr %a, ptr %b)
  %refusal = call ptr @word(i64 $NOT_IMPLEMENTED)
  %is.refused = icmp eq ptr %result, %refusal
  br i1 %is.refused, label %refused, label %done
done:
  ret ptr %result
refused:
  ; the operand on the right is asked if it is of another class with this slot
  %class.a = call ptr @slot(ptr %a, i64 $CLASS)
  %class.b = call ptr @slot(ptr %b, i64 $CLASS)
  %is.other = icmp ne ptr %class.a, %class.b
  br i1 %is.other, label %right, label %neither
right:
  %is.right = call i1 @is_instance(ptr %b, i64 %class)
  br i1 %is.right, label %reflect, label %neither
reflect:
  %last = call ptr %reflected(ptr %b, ptr %a)
  ret ptr %last
neither:
  %none = call ptr @word(i64 $NOT_IMPLEMENTED)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}

; A power with a modulus is nobody's.
define internal ptr @power_slot(ptr %a, ptr %b, ptr %modulus, i64 %class, ptr %method, ptr %reflected) nounwind alwaysinline {
  %none = call ptr @word(i64 $NONE)
  %is.plain = icmp eq ptr %modulus, %none
  br i1 %is.plain, label %plain, label %other
plain:
  %power = call ptr @binary_slot(ptr %a, ptr %b, i64 %class, ptr %method, ptr %reflected)
  ret ptr %power
other:
  %refusal = call ptr @word(i64 $NOT_IMPLEMENTED)
  call void @Py_IncRef(ptr %refusal)
  ret ptr %refusal
}

define internal ptr @compare_slot(ptr %a, ptr %b, i32 %how, ptr %lt, ptr %le, ptr %eq, ptr %ne, ptr %gt, ptr %ge) nounwind alwaysinline {
entry:
  switch i32 %how, label %found [ i32 1, label %second
                                  i32 2, label %third
                                  i32 3, label %fourth
                                  i32 4, label %fifth
                                  i32 5, label %sixth ]
second:
  br label %found
third:
  br label %found
fourth:
  br label %found
fifth:
  br label %found
sixth:
  br label %found
found:
  %method = phi ptr [ %lt, %entry ], [ %le, %second ], [ %eq, %third ], [ %ne, %fourth ], [ %gt, %fifth ], [ %ge, %sixth ]
  %result = call ptr %method(ptr %a, ptr %b)
  ret ptr %result
}

; Elements are written; to delete them is an error, like that of an object without such a method.
define internal i32 @setitem_slot(ptr %x, ptr %key, ptr %value, ptr %method) nounwind alwaysinline {
entry:
  %arguments = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %arguments, i64 1
  store ptr %key, ptr %arguments
  store ptr %value, ptr %second
  %deletes = icmp eq ptr %value, null
  br i1 %deletes, label %delete, label %write
delete:
  %name = call ptr @word(i64 $DELETE)
  %missing = call ptr @PyObject_GetAttr(ptr %x, ptr %name)
  br label %fail
write:
  %result = call ptr %method(ptr %x, ptr %arguments, i64 2)
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %done, label %fail
done:
  call void @Py_DecRef(ptr %result)
  ret i32 0
fail:
  ret i32 -1
}

define internal i64 @len_slot(ptr %x, ptr %method) nounwind alwaysinline {
  %result = call ptr %method(ptr %x, ptr null)
  %is.done = icmp ne ptr %result, null
  br i1 %is.done, label %done, label %fail
done:
  %size = call i64 @PyLong_AsSsize_t(ptr %result)
  call void @Py_DecRef(ptr %result)
  ret i64 %size
fail:
  ret i64 -1
}

; Frees an array: what the function for classes of Python's does, which looks for the slots of all base classes. An array may hold one that
; holds another …: beyond a depth they wait in a list, linked where they had their numbers of references, for the outermost one.
define internal void @dealloc(ptr %x) nounwind {
entry:
  call void @PyObject_GC_UnTrack(ptr %x)
  %weak = call ptr @slot(ptr %x, i64 $WEAK)
  %is.weakly.known = icmp ne ptr %weak, null
  br i1 %is.weakly.known, label %forget, label %look
forget:
  call void @PyObject_ClearWeakRefs(ptr %x)
  br label %look
look:
  %depth = load i64, ptr @depth
  %is.deep = icmp uge i64 %depth, $DEEPEST
  br i1 %is.deep, label %wait, label %now
wait:
  %others = load ptr, ptr @waiting
  store ptr %others, ptr %x
  store ptr %x, ptr @waiting
  ret void
now:
  %deeper = add i64 %depth, 1
  store i64 %deeper, ptr @depth
  call void @freed(ptr %x)
  br label %after
after:
  %depth.now = load i64, ptr @depth
  %before = sub i64 %depth.now, 1
  store i64 %before, ptr @depth
  %is.outermost = icmp eq i64 %before, 0
  %next = load ptr, ptr @waiting
  %is.some = icmp ne ptr %next, null
  %goes.on = and i1 %is.outermost, %is.some
  br i1 %goes.on, label %another, label %over
another:
  %rest = load ptr, ptr %next
  store ptr %rest, ptr @waiting
  store i64 0, ptr %next
  store i64 1, ptr @depth
  call void @freed(ptr %next)
  br label %after
over:
  ret void
}
@depth = internal global i64 0
@waiting = internal global ptr null

; Empties the slots of an array that nobody has, and gives its memory back; some of the class itself are kept to be used again.
define internal void @freed(ptr %x) nounwind {
$CLEARED
  %class = call ptr @slot(ptr %x, i64 $CLASS)
  %wanted = call ptr @word(i64 $ARRAY)
  %is.array = icmp eq ptr %class, %wanted
  %number = load i64, ptr @kept.number
  %has.room = icmp ult i64 %number, $KEPT
  %is.kept = and i1 %is.array, %has.room
  br i1 %is.kept, label %keep, label %free
keep:
  %place = getelementptr [$KEPT x ptr], ptr @kept, i64 0, i64 %number
  store ptr %x, ptr %place
  %more = add i64 %number, 1
  store i64 %more, ptr @kept.number
  br label %over
free:
  call void @PyObject_GC_Del(ptr %x)
  br label %over
over:
  call void @Py_DecRef(ptr %class)
  ret void
}
; Empties a slot.
define internal void @clear(ptr %x, i64 %offset) nounwind alwaysinline {
  %content = call ptr @slot(ptr %x, i64 %offset)
  %is.empty = icmp eq ptr %content, null
  br i1 %is.empty, label %done, label %drop
drop:
  call void @put(ptr %x, i64 %offset, ptr null)
  call void @Py_DecRef(ptr %content)
  br label %done
done:
  ret void
}
declare void @PyObject_GC_UnTrack(ptr)
declare void @PyObject_GC_Del(ptr)
declare void @PyObject_ClearWeakRefs(ptr)
