; Adds the rows of a dense array (k, n), each times an element of a csr matrix (m, ...), to rows of an array: the product, or that of the
; transpose. Returns 1, and has added nothing, if the parts of the matrix do not fit together or to the arrays.
declare ptr @PyLong_FromSsize_t(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @kernel(ptr %self, ptr %arguments, i64 %count) nounwind {
entry:
$LOADED
  %most.sizes.at = getelementptr i8, ptr %values.object, i64 $SIZES
  %most.sizes = load ptr, ptr %most.sizes.at
  %most = load i64, ptr %most.sizes
  %index.sizes.at = getelementptr i8, ptr %indices.object, i64 $SIZES
  %index.sizes = load ptr, ptr %index.sizes.at
  %most.indices = load i64, ptr %index.sizes
  %pointer.sizes.at = getelementptr i8, ptr %pointers.object, i64 $SIZES
  %pointer.sizes = load ptr, ptr %pointer.sizes.at
  %pointers.count = load i64, ptr %pointer.sizes
  %m = sub i64 %pointers.count, 1
  %dense.sizes.at = getelementptr i8, ptr %dense.object, i64 $SIZES
  %dense.sizes = load ptr, ptr %dense.sizes.at
  %dense.rows = load i64, ptr %dense.sizes
  %n.at = getelementptr i64, ptr %dense.sizes, i64 1
  %n = load i64, ptr %n.at
  %out.sizes.at = getelementptr i8, ptr %out.object, i64 $SIZES
  %out.sizes = load ptr, ptr %out.sizes.at
  %out.rows = load i64, ptr %out.sizes
  ; each number of a column names a row of what has columns, and each row of the matrix one of the other
  %many.rows = icmp sgt i64 %m, %$BY_ROW.rows
  br i1 %many.rows, label %refuse, label %first
first:
  %start = load i64, ptr %pointers.data
  %is.below = icmp slt i64 %start, 0
  br i1 %is.below, label %refuse, label %pointer
pointer:
  %p = phi i64 [ 0, %first ], [ %p.next, %pointer.one ]
  %p.last = phi i64 [ %start, %first ], [ %p.value, %pointer.one ]
  %more.pointers = icmp slt i64 %p, %m
  br i1 %more.pointers, label %pointer.one, label %pointers.done
pointer.one:
  %p.next = add i64 %p, 1
  %p.at = getelementptr i64, ptr %pointers.data, i64 %p.next
  %p.value = load i64, ptr %p.at
  %decreases = icmp slt i64 %p.value, %p.last
  br i1 %decreases, label %refuse, label %pointer
pointers.done:
  %many.values = icmp sgt i64 %p.last, %most
  %many.indices = icmp sgt i64 %p.last, %most.indices
  %many = or i1 %many.values, %many.indices
  br i1 %many, label %refuse, label %column
column:
  %c = phi i64 [ %start, %pointers.done ], [ %c.next, %column.one ]
  %more.columns = icmp slt i64 %c, %p.last
  br i1 %more.columns, label %column.one, label %fits
column.one:
  %c.at = getelementptr i64, ptr %indices.data, i64 %c
  %c.value = load i64, ptr %c.at
  %c.next = add i64 %c, 1
  %is.column = icmp ult i64 %c.value, %$BY_COLUMN.rows
  br i1 %is.column, label %column, label %refuse
refuse:
  %one = call ptr @PyLong_FromSsize_t(i64 1)
  ret ptr %one
fits:
  %work = mul i64 %p.last, %n
  %is.short = icmp slt i64 %work, $RELEASE_FROM
  br i1 %is.short, label %held, label %release
held:
  call void @multiply(ptr %values.data, ptr %indices.data, ptr %pointers.data, ptr %dense.data, ptr %out.data, i64 %m, i64 %n)
  br label %return
release:
  %thread = call ptr @PyEval_SaveThread()
  call void @multiply(ptr %values.data, ptr %indices.data, ptr %pointers.data, ptr %dense.data, ptr %out.data, i64 %m, i64 %n)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %return
return:
  %zero = call ptr @PyLong_FromSsize_t(i64 0)
  ret ptr %zero
}

define internal void @multiply(ptr %values, ptr %indices, ptr %pointers, ptr %dense, ptr %out, i64 %m, i64 %n) nounwind {
entry:
  %whole = and i64 %n, -$LANES
  %is.long = icmp sgt i64 %whole, 0
  %is.over = icmp slt i64 %whole, %n
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %element ]
  %more.rows = icmp slt i64 %i, %m
  br i1 %more.rows, label %row.begin, label %done
row.begin:
  %i.next = add i64 %i, 1
  %begin.at = getelementptr i64, ptr %pointers, i64 %i
  %begin = load i64, ptr %begin.at
  %end.at = getelementptr i64, ptr %pointers, i64 %i.next
  %end = load i64, ptr %end.at
  br label %element
element:
  %j = phi i64 [ %begin, %row.begin ], [ %j.next, %element.next ]
  %more.elements = icmp slt i64 %j, %end
  br i1 %more.elements, label %element.begin, label %row
element.begin:
  %value.at = getelementptr $TYPE, ptr %values, i64 %j
  %value = load $TYPE, ptr %value.at, align $ITEM
$SPREAD
  %column.at = getelementptr i64, ptr %indices, i64 %j
  %column = load i64, ptr %column.at
  %from.elements = mul i64 %$FROM, %n
  %from = getelementptr $TYPE, ptr %dense, i64 %from.elements
  %to.elements = mul i64 %$TO, %n
  %to = getelementptr $TYPE, ptr %out, i64 %to.elements
  br i1 %is.long, label %vector, label %rest
vector:
  %k = phi i64 [ 0, %element.begin ], [ %k.next, %vector ]
  %from.k = getelementptr $TYPE, ptr %from, i64 %k
  %to.k = getelementptr $TYPE, ptr %to, i64 %k
  %x = load <$LANES x $TYPE>, ptr %from.k, align $ITEM
  %y = load <$LANES x $TYPE>, ptr %to.k, align $ITEM
  %xs = fmul <$LANES x $TYPE> %x, %value.all
  %sum = fadd <$LANES x $TYPE> %y, %xs
  store <$LANES x $TYPE> %sum, ptr %to.k, align $ITEM
  %k.next = add i64 %k, $LANES
  %more.vectors = icmp slt i64 %k.next, %whole
  br i1 %more.vectors, label %vector, label %rest
rest:
  br i1 %is.over, label %one, label %element.next
one:
  %l = phi i64 [ %whole, %rest ], [ %l.next, %one ]
  %from.l = getelementptr $TYPE, ptr %from, i64 %l
  %to.l = getelementptr $TYPE, ptr %to, i64 %l
  %x.l = load $TYPE, ptr %from.l, align $ITEM
  %y.l = load $TYPE, ptr %to.l, align $ITEM
  %xs.l = fmul $TYPE %x.l, %value
  %sum.l = fadd $TYPE %y.l, %xs.l
  store $TYPE %sum.l, ptr %to.l, align $ITEM
  %l.next = add i64 %l, 1
  %more.ones = icmp slt i64 %l.next, %n
  br i1 %more.ones, label %one, label %element.next
element.next:
  %j.next = add i64 %j, 1
  br label %element
done:
  ret void
}
