; Decimal numbers in a text, each followed by a separator; see twofold_numpy/jit/numbers.py. The text ends with a newline.

declare double @strtod(ptr, ptr)

@powers = internal constant [23 x double] [$POWERS]

; The number of numbers, or -1 if something else was found.
define i64 @kernel(ptr noalias %text, i64 %size, ptr noalias %numbers, ptr noalias %separators) nounwind {
entry:
  %tail = alloca ptr
  br label %token
token:
  %at = phi i64 [ 0, %entry ], [ %at.after, %store ], [ %at.spaces, %space ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %store ], [ %count, %space ]
  %more = icmp ult i64 %at, %size
  br i1 %more, label %first, label %finished
finished:
  ret i64 %count
refused:
  ret i64 -1
first:
  %first.at = getelementptr i8, ptr %text, i64 %at
  %c = load i8, ptr %first.at
  switch i8 %c, label %unsigned [ i8 32, label %space i8 45, label %sign i8 43, label %sign ]
space:
  %at.spaces = add i64 %at, 1
  br label %token
sign:
  %at.signed = add i64 %at, 1
  br label %unsigned
unsigned:
  %begin = phi i64 [ %at, %first ], [ %at.signed, %sign ]
  br label %whole
whole:
  %w.at = phi i64 [ %begin, %unsigned ], [ %w.next, %whole.digit ]
  %w = phi i64 [ 0, %unsigned ], [ %w.more, %whole.digit ]
  %w.place = getelementptr i8, ptr %text, i64 %w.at
  %w.c = load i8, ptr %w.place
  %w.digit = sub i8 %w.c, 48
  %w.is = icmp ult i8 %w.digit, 10
  br i1 %w.is, label %whole.digit, label %whole.end
whole.digit:
  %w.wide = zext i8 %w.digit to i64
  %w.ten = mul i64 %w, 10
  %w.more = add i64 %w.ten, %w.wide
  %w.next = add i64 %w.at, 1
  br label %whole
whole.end:
  %w.count = sub i64 %w.at, %begin
  %has.point = icmp eq i8 %w.c, 46
  br i1 %has.point, label %point, label %mantissa
point:
  %f.begin = add i64 %w.at, 1
  br label %fraction
fraction:
  %f.at = phi i64 [ %f.begin, %point ], [ %f.next, %fraction.digit ]
  %f = phi i64 [ %w, %point ], [ %f.more, %fraction.digit ]
  %f.place = getelementptr i8, ptr %text, i64 %f.at
  %f.c = load i8, ptr %f.place
  %f.digit = sub i8 %f.c, 48
  %f.is = icmp ult i8 %f.digit, 10
  br i1 %f.is, label %fraction.digit, label %fraction.end
fraction.digit:
  %f.wide = zext i8 %f.digit to i64
  %f.ten = mul i64 %f, 10
  %f.more = add i64 %f.ten, %f.wide
  %f.next = add i64 %f.at, 1
  br label %fraction
fraction.end:
  %f.count = sub i64 %f.at, %f.begin
  br label %mantissa
mantissa:
  %m.at = phi i64 [ %w.at, %whole.end ], [ %f.at, %fraction.end ]
  %m = phi i64 [ %w, %whole.end ], [ %f, %fraction.end ]
  %m.c = phi i8 [ %w.c, %whole.end ], [ %f.c, %fraction.end ]
  %decimals = phi i64 [ 0, %whole.end ], [ %f.count, %fraction.end ]
  %digits = add i64 %w.count, %decimals
  %none = icmp eq i64 %digits, 0
  br i1 %none, label %refused, label %has.digits
has.digits:
  %lower = or i8 %m.c, 32
  %has.exponent = icmp eq i8 %lower, 101
  br i1 %has.exponent, label %exponent, label %scaled
exponent:
  %e.sign.at = add i64 %m.at, 1
  %e.sign.place = getelementptr i8, ptr %text, i64 %e.sign.at
  %e.sign = load i8, ptr %e.sign.place
  %e.minus = icmp eq i8 %e.sign, 45
  %e.plus = icmp eq i8 %e.sign, 43
  %e.has.sign = or i1 %e.minus, %e.plus
  %e.skip = zext i1 %e.has.sign to i64
  %e.begin = add i64 %e.sign.at, %e.skip
  br label %exponent.look
exponent.look:
  %e.at = phi i64 [ %e.begin, %exponent ], [ %e.next, %exponent.digit ]
  %e = phi i64 [ 0, %exponent ], [ %e.more, %exponent.digit ]
  %e.place = getelementptr i8, ptr %text, i64 %e.at
  %e.c = load i8, ptr %e.place
  %e.digit = sub i8 %e.c, 48
  %e.is = icmp ult i8 %e.digit, 10
  br i1 %e.is, label %exponent.digit, label %exponent.end
exponent.digit:
  %e.wide = zext i8 %e.digit to i64
  %e.ten = mul i64 %e, 10
  %e.more = add i64 %e.ten, %e.wide
  %e.next = add i64 %e.at, 1
  br label %exponent.look
exponent.end:
  %e.count = sub i64 %e.at, %e.begin
  %e.none = icmp eq i64 %e.count, 0
  %e.long = icmp ugt i64 %e.count, 4
  %e.wrong = or i1 %e.none, %e.long
  %e.negative = sub i64 0, %e
  %e.signed = select i1 %e.minus, i64 %e.negative, i64 %e
  br i1 %e.wrong, label %refused, label %scaled
scaled:
  %end = phi i64 [ %m.at, %has.digits ], [ %e.at, %exponent.end ]
  %end.c = phi i8 [ %m.c, %has.digits ], [ %e.c, %exponent.end ]
  %shift = phi i64 [ 0, %has.digits ], [ %e.signed, %exponent.end ]
  %power = sub i64 %shift, %decimals
  ; exact if the digits are, as a double, and the power of ten: then there is one rounding
  %short = icmp ule i64 %digits, 18
  %fits = icmp ule i64 %m, 9007199254740992
  %power.shifted = add i64 %power, 22
  %near = icmp ule i64 %power.shifted, 44
  %exact.digits = and i1 %short, %fits
  %exact = and i1 %exact.digits, %near
  br i1 %exact, label %quick, label %slow
quick:
  %m.double = uitofp i64 %m to double
  %is.down = icmp slt i64 %power, 0
  %power.negative = sub i64 0, %power
  %distance = select i1 %is.down, i64 %power.negative, i64 %power
  %power.at = getelementptr double, ptr @powers, i64 %distance
  %ten.power = load double, ptr %power.at
  br i1 %is.down, label %divide, label %multiply
divide:
  %quotient = fdiv double %m.double, %ten.power
  br label %signed
multiply:
  %product = fmul double %m.double, %ten.power
  br label %signed
signed:
  %size.of = phi double [ %quotient, %divide ], [ %product, %multiply ]
  %negated = fneg double %size.of
  %is.negative = icmp eq i8 %c, 45
  %quick.value = select i1 %is.negative, double %negated, double %size.of
  br label %separator
slow:
  %slow.value = call double @strtod(ptr %first.at, ptr %tail)
  %stop = load ptr, ptr %tail
  %end.place = getelementptr i8, ptr %text, i64 %end
  %as.scanned = icmp eq ptr %stop, %end.place
  br i1 %as.scanned, label %separator, label %refused
separator:
  %value = phi double [ %quick.value, %signed ], [ %slow.value, %slow ]
  br label %look
look:
  %s.at = phi i64 [ %end, %separator ], [ %s.following, %blank ]
  %s.c = phi i8 [ %end.c, %separator ], [ %s.next.c, %blank ]
  %after.blank = phi i1 [ false, %separator ], [ true, %blank ]
  switch i8 %s.c, label %other [
    i8 32, label %blank
    i8 13, label %return
    i8 10, label %take
    i8 44, label %take
    i8 58, label %take
  ]
blank:
  %s.following = add i64 %s.at, 1
  %s.next = getelementptr i8, ptr %text, i64 %s.following
  %s.next.c = load i8, ptr %s.next
  br label %look
return:
  %r.at = add i64 %s.at, 1
  %r.place = getelementptr i8, ptr %text, i64 %r.at
  %r.c = load i8, ptr %r.place
  %r.is = icmp eq i8 %r.c, 10
  %r.inside = icmp ult i64 %r.at, %size
  %r.ends = and i1 %r.is, %r.inside
  br i1 %r.ends, label %take, label %refused
other:
  ; a blank was the separator if a number follows
  br i1 %after.blank, label %store.blank, label %refused
store.blank:
  br label %store
take:
  %t.at = phi i64 [ %s.at, %look ], [ %s.at, %look ], [ %s.at, %look ], [ %r.at, %return ]
  %t.c = phi i8 [ %s.c, %look ], [ %s.c, %look ], [ %s.c, %look ], [ 10, %return ]
  %t.next = add i64 %t.at, 1
  br label %store
store:
  %at.after = phi i64 [ %s.at, %store.blank ], [ %t.next, %take ]
  %kept = phi i8 [ 32, %store.blank ], [ %t.c, %take ]
  %number.at = getelementptr double, ptr %numbers, i64 %count
  store double %value, ptr %number.at
  %separator.at = getelementptr i8, ptr %separators, i64 %count
  store i8 %kept, ptr %separator.at
  %count.next = add i64 %count, 1
  br label %token
}
