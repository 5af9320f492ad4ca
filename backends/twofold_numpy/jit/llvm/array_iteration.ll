; Iterators over arrays: objects that hold an array, null at the end, and the number of the next element.
declare ptr @PySequence_GetItem(ptr, i64)
declare i64 @PyObject_Size(ptr)
declare void @PyObject_Free(ptr)

define internal ptr @iterated(ptr %self, i64 %python) nounwind {
  %v = call ptr @memory(ptr %self, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %look, label %python.way
look:
  %nd = call i32 @axes(ptr %v)
  %has.axes = icmp ne i32 %nd, 0
  br i1 %has.axes, label %make, label %python.way
make:
  %class = call ptr @word(i64 $ITERATOR)
  %new = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %is.made = icmp ne ptr %new, null
  br i1 %is.made, label %fill, label %failed
fill:
  call void @share(ptr %new, i64 $ITERATED, ptr %self)
  ret ptr %new
failed:
  ret ptr null
python.way:
  %found = call ptr @by_python(i64 %python, ptr %self, ptr null, i64 1)
  ret ptr %found
}

; The next element as it is now: NumPy's scalar, or a view. Null without an error at the end.
define internal ptr @iterator_next(ptr %iterator) nounwind {
  %x = call ptr @slot(ptr %iterator, i64 $ITERATED)
  %is.going = icmp ne ptr %x, null
  br i1 %is.going, label %go, label %over
go:
  %number.at = getelementptr i8, ptr %iterator, i64 $NUMBER
  %k = load i64, ptr %number.at
  %next = add i64 %k, 1
  %v = call ptr @memory(ptr %x, i1 false)
  %is.ready = icmp ne ptr %v, null
  br i1 %is.ready, label %measure, label %ask
ask:
  ; recorded or pending meanwhile
  call void @Py_IncRef(ptr %x)
  %length = call i64 @PyObject_Size(ptr %x)
  call void @Py_DecRef(ptr %x)
  br label %compare
measure:
  %nd = call i32 @axes(ptr %v)
  %has.axes = icmp ne i32 %nd, 0
  br i1 %has.axes, label %sized, label %ask
sized:
  %sizes = call ptr @slot(ptr %v, i64 $DIMENSIONS)
  %size = load i64, ptr %sizes
  %is.vector = icmp eq i32 %nd, 1
  %kind = call i8 @kind(ptr %v)
  %is.known = icmp ne i8 %kind, 86
  %is.short.way = and i1 %is.vector, %is.known
  br label %compare
compare:
  %n = phi i64 [ %length, %ask ], [ %size, %sized ]
  %is.direct = phi i1 [ false, %ask ], [ %is.short.way, %sized ]
  %is.more = icmp slt i64 %k, %n
  br i1 %is.more, label %more, label %end
more:
  store i64 %next, ptr %number.at
  br i1 %is.direct, label %direct, label %by.index
direct:
  %scalar = call ptr @PySequence_GetItem(ptr %v, i64 %k)
  ret ptr %scalar
by.index:
  %key = call ptr @PyLong_FromSsize_t(i64 %k)
  %has.key = icmp ne ptr %key, null
  br i1 %has.key, label %read, label %over
read:
  ; a finalizer may run meanwhile, and end this iterator, which frees what it holds
  call void @Py_IncRef(ptr %x)
  %item = call ptr @getitem(ptr %x, ptr %key, i64 $GETITEM)
  call void @drop(ptr %key, ptr %x)
  ret ptr %item
end:
  call void @clear(ptr %iterator, i64 $ITERATED)
  br label %over
over:
  ret ptr null
}

define internal void @iterator_freed(ptr %iterator) nounwind {
  call void @clear(ptr %iterator, i64 $ITERATED)
  %class = call ptr @slot(ptr %iterator, i64 $CLASS)
  call void @PyObject_Free(ptr %iterator)
  call void @Py_DecRef(ptr %class)
  ret void
}
