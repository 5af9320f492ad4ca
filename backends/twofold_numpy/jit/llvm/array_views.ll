; Views of arrays and what is known of arrays without their elements; `array_objects` has what they call.
; The array that owns the memory of an array or view, and its content; new references, for views that are made of it. They are taken before
; memory is allocated: the collector of garbage may run code that changes the array.
define internal { ptr, ptr } @owner(ptr %self) nounwind {
  %held = call ptr @slot(ptr %self, i64 $HELD)
  %none = call ptr @word(i64 $NONE)
  %is.view = icmp eq ptr %held, %none
  %of = call ptr @slot(ptr %self, i64 $OF)
  %root = call ptr @slot(ptr %self, i64 $BASE)
  %base = select i1 %is.view, ptr %root, ptr %self
  %content = select i1 %is.view, ptr %of, ptr %held
  call void @Py_IncRef(ptr %base)
  call void @Py_IncRef(ptr %content)
  %first = insertvalue { ptr, ptr } undef, ptr %base, 0
  %both = insertvalue { ptr, ptr } %first, ptr %content, 1
  ret { ptr, ptr } %both
}

; The view of an array that shows NumPy's view of its memory. It takes the references to that and to the owner.
define internal ptr @view(ptr %self, ptr %key, ptr %seen, { ptr, ptr } %owner) nounwind {
  %base = extractvalue { ptr, ptr } %owner, 0
  %content = extractvalue { ptr, ptr } %owner, 1
  %class = call ptr @word(i64 $ARRAY)
  %new = call ptr @allocated(ptr %class)
  %is.made = icmp ne ptr %new, null
  br i1 %is.made, label %fill, label %no.memory
fill:
  %none = call ptr @word(i64 $NONE)
  call void @put(ptr %new, i64 $SEEN, ptr %seen)
  call void @put(ptr %new, i64 $BASE, ptr %base)
  call void @put(ptr %new, i64 $OF, ptr %content)
  call void @share(ptr %new, i64 $UNDER, ptr %self)
  call void @share(ptr %new, i64 $KEY, ptr %key)
  call void @share(ptr %new, i64 $HELD, ptr %none)
  call void @share(ptr %new, i64 $STEPS, ptr %none)
  call void @share(ptr %new, i64 $GRADIENT, ptr %none)
  ret ptr %new
no.memory:
  call void @Py_DecRef(ptr %seen)
  call void @drop(ptr %base, ptr %content)
  ret ptr null
}

; What an array or view gives for NumPy's result, whose reference it takes as well as the owner's: a view, one of NumPy's scalars, or null
; and the error. `@words` if the replaced function has to find out.
define internal ptr @part(ptr %self, ptr %key, ptr %result, { ptr, ptr } %owner) nounwind {
  %is.found = icmp ne ptr %result, null
  br i1 %is.found, label %found, label %failed
found:
  %is.array = call i1 @is_a(ptr %result, i64 $PLAIN)
  br i1 %is.array, label %array, label %element
array:
  %new = call ptr @view(ptr %self, ptr %key, ptr %result, { ptr, ptr } %owner)
  ret ptr %new
element:
  call void @drop_owner({ ptr, ptr } %owner)
  %is.scalar = call i1 @is_scalar(ptr %result)
  br i1 %is.scalar, label %done, label %other
done:
  ret ptr %result
other:
  call void @Py_DecRef(ptr %result)
  ret ptr @words
failed:
  call void @drop_owner({ ptr, ptr } %owner)
  %is.refused = call i1 @is_refused(i64 $REFUSED)
  %instead = select i1 %is.refused, ptr @words, ptr null
  ret ptr %instead
}

define internal void @drop_owner({ ptr, ptr } %owner) nounwind {
  %base = extractvalue { ptr, ptr } %owner, 0
  %content = extractvalue { ptr, ptr } %owner, 1
  call void @drop(ptr %base, ptr %content)
  ret void
}

; The array with its axes reversed.
define internal ptr @transposed(ptr %self, i64 %python) nounwind {
  %one = alloca ptr
  %v = call ptr @memory(ptr %self, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %look, label %python.way
look:
  %nd = call i32 @axes(ptr %v)
  %has.axes = icmp ne i32 %nd, 0
  br i1 %has.axes, label %run, label %python.way
run:
  %owner = call { ptr, ptr } @owner(ptr %self)
  store ptr %v, ptr %one
  %function = call ptr @word(i64 $TRANSPOSE)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %one, i64 1, ptr null)
  %reversed = call ptr @word(i64 $REVERSED)
  %found = call ptr @part(ptr %self, ptr %reversed, ptr %result, { ptr, ptr } %owner)
  %is.left = icmp eq ptr %found, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %found
python.way:
  %by.python = call ptr @by_python(i64 %python, ptr %self, ptr null, i64 1)
  ret ptr %by.python
}

; `x.reshape(…)` and `x.ravel()` of adjacent elements: views, by NumPy's function of up to `%most` sizes.
define internal ptr @reshaped(ptr %self, ptr %arguments, i64 %count, ptr %names, i64 %python, i64 %function, i64 %most) nounwind {
entry:
  %all = alloca [8 x ptr]
  %is.plain = icmp eq ptr %names, null
  %are.few = icmp ule i64 %count, %most
  %is.possible = and i1 %is.plain, %are.few
  br i1 %is.possible, label %look, label %python.way
look:
  %v = call ptr @memory(ptr %self, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %order, label %python.way
order:
  %is.packed = call i1 @is_packed(ptr %v)
  br i1 %is.packed, label %copy, label %python.way
copy:
  store ptr %v, ptr %all
  br label %next
next:
  %k = phi i64 [ 0, %copy ], [ %k.next, %size ]
  %is.over = icmp eq i64 %k, %count
  br i1 %is.over, label %run, label %size
size:
  %from = getelementptr ptr, ptr %arguments, i64 %k
  %given = load ptr, ptr %from
  %k.next = add i64 %k, 1
  %to = getelementptr ptr, ptr %all, i64 %k.next
  store ptr %given, ptr %to
  br label %next
run:
  ; a size's own code may change the array
  call void @Py_IncRef(ptr %v)
  %owner = call { ptr, ptr } @owner(ptr %self)
  %with.self = add i64 %count, 1
  %callable = call ptr @word(i64 %function)
  %result = call ptr @PyObject_Vectorcall(ptr %callable, ptr %all, i64 %with.self, ptr null)
  call void @Py_DecRef(ptr %v)
  %key = call ptr @word(i64 $RESHAPED)
  %has.result = icmp ne ptr %result, null
  br i1 %has.result, label %axes, label %conclude
axes:
  %nd = call i32 @axes(ptr %result)
  %has.axes = icmp ne i32 %nd, 0
  br i1 %has.axes, label %conclude, label %scalar
scalar:
  call void @Py_DecRef(ptr %result)
  call void @drop_owner({ ptr, ptr } %owner)
  br label %python.way
conclude:
  %found = call ptr @part(ptr %self, ptr %key, ptr %result, { ptr, ptr } %owner)
  %is.left = icmp eq ptr %found, @words
  br i1 %is.left, label %python.way, label %done
done:
  ret ptr %found
python.way:
  %replaced = call ptr @word(i64 %python)
  %by.python = call ptr @with_names(ptr %replaced, ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %by.python
}

; `shape`, `size` and the like, of NumPy's array.
define internal ptr @attribute(ptr %self, i64 %python, i64 %name) nounwind {
  %v = call ptr @memory(ptr %self, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %read, label %python.way
read:
  %word = call ptr @word(i64 %name)
  %found = call ptr @PyObject_GetAttr(ptr %v, ptr %word)
  ret ptr %found
python.way:
  %by.python = call ptr @by_python(i64 %python, ptr %self, ptr null, i64 1)
  ret ptr %by.python
}
