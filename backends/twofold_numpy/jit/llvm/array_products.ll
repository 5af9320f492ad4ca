; Products of small vectors and matrices of one dtype, float64 or float32: BLAS' functions are called as NumPy calls them for arrays without
; gaps. They do not tell of results that are too small: what `errstate(under=...)` asks for is left out.
declare double @llvm.fabs.f64(double)

; NumPy's scalar or array, a new reference. Null, without an error, for other operands, and for a result that is not finite, of which NumPy
; may warn.
define internal ptr @product(ptr %x, ptr %y) nounwind noinline {
  %a = call ptr @memory(ptr %x, i1 false)
  %b = call ptr @memory(ptr %y, i1 false)
  %has.a = icmp ne ptr %a, null
  %has.b = icmp ne ptr %b, null
  %are.ready = and i1 %has.a, %has.b
  br i1 %are.ready, label %sizes, label %no
sizes:
  %a.less = call i64 @elements_less_one(ptr %a)
  %b.less = call i64 @elements_less_one(ptr %b)
  %a.short = icmp ult i64 %a.less, $SHORT
  %b.short = icmp ult i64 %b.less, $SHORT
  %are.short = and i1 %a.short, %b.short
  %letter = call i8 @letter(ptr %a)
  %b.letter = call i8 @letter(ptr %b)
  %are.alike = icmp eq i8 %letter, %b.letter
  %are.possible = and i1 %are.alike, %are.short
  br i1 %are.possible, label %axes, label %no
axes:
  %a.nd = call i32 @axes(ptr %a)
  %b.nd = call i32 @axes(ptr %b)
  %kinds = shl i32 %a.nd, 4
  %kind = or i32 %kinds, %b.nd
  ; scalars have no sizes
  %have.axes = mul i32 %a.nd, %b.nd
  %are.sized = icmp ne i32 %have.axes, 0
  br i1 %are.sized, label %sized, label %no
sized:
  %a.sizes = call ptr @slot(ptr %a, i64 $DIMENSIONS)
  %b.sizes = call ptr @slot(ptr %b, i64 $DIMENSIONS)
  %a.first = load i64, ptr %a.sizes
  %b.first = load i64, ptr %b.sizes
  switch i32 %kind, label %no [ i32 17, label %vectors
                                i32 18, label %by.matrix
                                i32 33, label %by.vector
                                i32 34, label %matrices ]
vectors:
  %are.equal = icmp eq i64 %a.first, %b.first
  br i1 %are.equal, label %add, label %no
add:
  %sum = call ptr @inner(ptr %a, ptr %b, i64 %a.first, i8 %letter)
  ret ptr %sum
by.matrix:
  %b.columns = call i64 @columns(ptr %b.sizes)
  %b.straight = call i1 @is_straight(ptr %b, i8 %letter)
  br i1 %b.straight, label %multiply, label %no
by.vector:
  %a.columns = call i64 @columns(ptr %a.sizes)
  %a.straight = call i1 @is_straight(ptr %a, i8 %letter)
  br i1 %a.straight, label %multiply, label %no
matrices:
  %inner.a = call i64 @columns(ptr %a.sizes)
  %inner.b = call i64 @columns(ptr %b.sizes)
  br label %multiply
multiply:
  %m = phi i64 [ 1, %by.matrix ], [ %a.first, %by.vector ], [ %a.first, %matrices ]
  %k = phi i64 [ %a.first, %by.matrix ], [ %a.columns, %by.vector ], [ %inner.a, %matrices ]
  %n = phi i64 [ %b.columns, %by.matrix ], [ 1, %by.vector ], [ %inner.b, %matrices ]
  %fit = icmp eq i64 %k, %b.first
  ; NumPy multiplies a column by a row itself
  %are.several = icmp sgt i64 %k, 1
  %size = mul i64 %m, %n
  %is.short = icmp sle i64 %size, $SHORT
  %is.matrix = icmp sgt i64 %size, 1
  %fits = and i1 %fit, %are.several
  %is.fine = and i1 %is.short, %is.matrix
  %is.possible = and i1 %fits, %is.fine
  br i1 %is.possible, label %kinds.of.elements, label %no
kinds.of.elements:
  switch i8 %letter, label %no [ i8 100, label %double
                                 i8 102, label %float ]
double:
  %of.double = call ptr @multiplied_d(ptr %a, ptr %b, i64 %m, i64 %k, i64 %n, i32 %kind)
  ret ptr %of.double
float:
  %of.float = call ptr @multiplied_f(ptr %a, ptr %b, i64 %m, i64 %k, i64 %n, i32 %kind)
  ret ptr %of.float
no:
  ret ptr null
}

define internal i64 @elements_less_one(ptr %array) nounwind alwaysinline {
  %n = call i64 @elements(ptr %array, i32 0)
  %less = sub i64 %n, 1
  ret i64 %less
}

define internal i64 @columns(ptr %sizes) nounwind alwaysinline {
  %at = getelementptr i64, ptr %sizes, i64 1
  %columns = load i64, ptr %at
  ret i64 %columns
}

; Whether the elements of a matrix's rows are next to each other. A transposed matrix times a vector is the vector times the matrix, which
; may round in another way; the function for such products knows.
define internal i1 @is_straight(ptr %matrix, i8 %letter) nounwind alwaysinline {
  %strides = call ptr @slot(ptr %matrix, i64 $STRIDES)
  %step.at = getelementptr i64, ptr %strides, i64 1
  %step = load i64, ptr %step.at
  %is.double = icmp eq i8 %letter, 100
  %item = select i1 %is.double, i64 8, i64 4
  %is = icmp eq i64 %step, %item
  ret i1 %is
}

; The product of two vectors.
define internal ptr @inner(ptr %a, ptr %b, i64 %n, i8 %letter) nounwind {
  %left = alloca [$SHORT x double]
  %right = alloca [$SHORT x double]
  %n.int = $CAST_N
  switch i8 %letter, label %no [ i8 100, label %double
                                 i8 102, label %float ]
double:
  %a.double = call ptr @without_gaps(ptr %a, ptr %left, i64 8)
  %b.double = call ptr @without_gaps(ptr %b, ptr %right, i64 8)
  %ddot = call ptr @word(i64 $DOT_D)
  %sum.double = call double %ddot(i$INTEGER %n.int, ptr %a.double, i$INTEGER 1, ptr %b.double, i$INTEGER 1)
  br label %look
float:
  %a.float = call ptr @without_gaps(ptr %a, ptr %left, i64 4)
  %b.float = call ptr @without_gaps(ptr %b, ptr %right, i64 4)
  %sdot = call ptr @word(i64 $DOT_F)
  %sum.float = call float %sdot(i$INTEGER %n.int, ptr %a.float, i$INTEGER 1, ptr %b.float, i$INTEGER 1)
  %sum.of.float = fpext float %sum.float to double
  br label %look
look:
  %class.at = phi i64 [ $SCALARS, %double ], [ $SINGLE, %float ]
  %sum = phi double [ %sum.double, %double ], [ %sum.of.float, %float ]
  %magnitude = call double @llvm.fabs.f64(double %sum)
  %is.finite = fcmp olt double %magnitude, 0x7FF0000000000000
  br i1 %is.finite, label %make, label %no
make:
  %class = call ptr @word(i64 %class.at)
  %new = call ptr @word(i64 $NEW_SCALAR)
  %scalar = call ptr %new(ptr %class, i64 0)
  %is.made = icmp ne ptr %scalar, null
  br i1 %is.made, label %fill, label %failed
fill:
  %value.at = getelementptr i8, ptr %scalar, i64 $ELEMENTS
  %is.double = icmp eq i64 %class.at, $SCALARS
  br i1 %is.double, label %fill.double, label %fill.float
fill.double:
  store double %sum, ptr %value.at
  ret ptr %scalar
fill.float:
  %single = fptrunc double %sum to float
  store float %single, ptr %value.at
  ret ptr %scalar
failed:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}

; The elements of a vector or matrix next to each other: where they are, or copied to a buffer.
define internal ptr @without_gaps(ptr %array, ptr %buffer, i64 %item) nounwind {
  %data = call ptr @slot(ptr %array, i64 $ELEMENTS)
  %is.packed = call i1 @is_packed(ptr %array)
  br i1 %is.packed, label %here, label %measure
here:
  ret ptr %data
measure:
  %nd = call i32 @axes(ptr %array)
  %sizes = call ptr @slot(ptr %array, i64 $DIMENSIONS)
  %strides = call ptr @slot(ptr %array, i64 $STRIDES)
  %is.matrix = icmp eq i32 %nd, 2
  %last = zext i1 %is.matrix to i64
  %size.at = getelementptr i64, ptr %sizes, i64 %last
  %step.at = getelementptr i64, ptr %strides, i64 %last
  %n = load i64, ptr %size.at
  %step = load i64, ptr %step.at
  %first = load i64, ptr %sizes
  %row.step = load i64, ptr %strides
  %rows = select i1 %is.matrix, i64 %first, i64 1
  br label %row
row:
  %r = phi i64 [ 0, %measure ], [ %r.next, %ended ]
  %far = mul i64 %r, %row.step
  %row.from = getelementptr i8, ptr %data, i64 %far
  %before = mul i64 %r, %n
  br label %copy
copy:
  %k = phi i64 [ 0, %row ], [ %k.next, %copied ]
  %gap = mul i64 %k, %step
  %from = getelementptr i8, ptr %row.from, i64 %gap
  %number = add i64 %before, %k
  %place = mul i64 %number, %item
  %to = getelementptr i8, ptr %buffer, i64 %place
  %is.eight = icmp eq i64 %item, 8
  br i1 %is.eight, label %eight, label %four
eight:
  %long = load i64, ptr %from, align 1
  store i64 %long, ptr %to
  br label %copied
four:
  %short = load i32, ptr %from, align 1
  store i32 %short, ptr %to
  br label %copied
copied:
  %k.next = add i64 %k, 1
  %is.over = icmp eq i64 %k.next, %n
  br i1 %is.over, label %ended, label %copy
ended:
  %r.next = add i64 %r, 1
  %are.over = icmp eq i64 %r.next, %rows
  br i1 %are.over, label %done, label %row
done:
  ret ptr %buffer
}
