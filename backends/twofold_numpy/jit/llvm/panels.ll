; Where the panels of a range of filters are: in the weight, if that is given in them, or else in scratch memory. They are packed into that
; at the begin of a range, unless those of the range are there.
define internal ptr @panels_of(i1 %is.new, i1 %is.given, ptr %scratch, ptr %weight, ptr %weights.first, i64 %weight.step, i64 %weight.inner, i64 %first, i64 %last, i64 %group, i64 %filters, i64 %taps) noinline nounwind {
entry:
  br i1 %is.given, label %given, label %plain
given:
  %above = add i64 %filters, $OTHERS
  %whole = and i64 %above, -$COLUMNS
  %before = mul i64 %group, %whole
  %filter = add i64 %before, %first
  %elements = mul i64 %filter, %taps
  %panels = getelementptr float, ptr %weight, i64 %elements
  ret ptr %panels
plain:
  br i1 %is.new, label %pack, label %packed
pack:
  %offset = mul i64 %first, %weight.step
  %from = getelementptr i8, ptr %weights.first, i64 %offset
  %lines = sub i64 %last, %first
  call void @pack(ptr %from, i64 %weight.step, i64 %weight.inner, i64 %lines, i64 %taps, ptr %scratch, i64 $COLUMNS)
  br label %packed
packed:
  ret ptr %scratch
}
