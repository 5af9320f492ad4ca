; Inner products of two small vectors of one dtype, float64 or float32: BLAS adds up, as NumPy has it do for vectors without gaps.
declare double @llvm.fabs.f64(double)

; NumPy's scalar, a new reference. Null, without an error, for other arrays, and for a sum that is not finite, of which NumPy may warn.
define internal ptr @inner(ptr %x, ptr %y) nounwind noinline {
  %left = alloca [$SHORT x double]
  %right = alloca [$SHORT x double]
  %a = call ptr @memory(ptr %x, i1 false)
  %b = call ptr @memory(ptr %y, i1 false)
  %has.a = icmp ne ptr %a, null
  %has.b = icmp ne ptr %b, null
  %are.ready = and i1 %has.a, %has.b
  br i1 %are.ready, label %axes, label %no
axes:
  %a.nd = call i32 @axes(ptr %a)
  %b.nd = call i32 @axes(ptr %b)
  %both.nd = mul i32 %a.nd, %b.nd
  %are.vectors = icmp eq i32 %both.nd, 1
  br i1 %are.vectors, label %sizes, label %no
sizes:
  %n = call i64 @elements(ptr %a, i32 0)
  %b.n = call i64 @elements(ptr %b, i32 0)
  %letter = call i8 @letter(ptr %a)
  %b.letter = call i8 @letter(ptr %b)
  %are.alike = icmp eq i8 %letter, %b.letter
  %are.equal = icmp eq i64 %n, %b.n
  %less = sub i64 %n, 1
  %is.short = icmp ult i64 %less, $SHORT
  %fit = and i1 %are.equal, %is.short
  %is.possible = and i1 %are.alike, %fit
  br i1 %is.possible, label %kinds, label %no
kinds:
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
  %size = call double @llvm.fabs.f64(double %sum)
  %is.finite = fcmp olt double %size, 0x7FF0000000000000
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

; The elements of a vector next to each other: where they are, or copied to a buffer.
define internal ptr @without_gaps(ptr %vector, ptr %buffer, i64 %item) nounwind alwaysinline {
  %data = call ptr @slot(ptr %vector, i64 $ELEMENTS)
  %is.packed = call i1 @is_packed(ptr %vector)
  br i1 %is.packed, label %here, label %measure
here:
  ret ptr %data
measure:
  %n = call i64 @elements(ptr %vector, i32 0)
  %strides = call ptr @slot(ptr %vector, i64 $STRIDES)
  %step = load i64, ptr %strides
  br label %copy
copy:
  %k = phi i64 [ 0, %measure ], [ %k.next, %copied ]
  %gap = mul i64 %k, %step
  %from = getelementptr i8, ptr %data, i64 %gap
  %place = mul i64 %k, %item
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
  br i1 %is.over, label %done, label %copy
done:
  ret ptr %buffer
}
