; Adds rows of values (n, inner) that have the same number, one after the other. Writes a row for each of the distinct numbers, and these
; numbers, in increasing order. Returns how many there are; -1 if the numbers increase already, and -2 if one is negative or too large for
; a key: both have written nothing.
declare ptr @PyLong_FromSsize_t(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @kernel(ptr %self, ptr %arguments, i64 %arguments.count) nounwind {
entry:
$LOADED
  %sizes.at = getelementptr i8, ptr %values.object, i64 $SIZES
  %sizes = load ptr, ptr %sizes.at
  %n = load i64, ptr %sizes
  %inner.at = getelementptr i64, ptr %sizes, i64 1
  %inner = load i64, ptr %inner.at
  %elements = mul i64 %n, %inner
  %is.short = icmp slt i64 %elements, $RELEASE_FROM
  br i1 %is.short, label %held, label %release
held:
  %found.held = call i64 @sum_rows(ptr %out.data, ptr %distinct.data, ptr %values.data, ptr %numbers.data, ptr %keys.data, i64 %n, i64 %inner)
  br label %return
release:
  %thread = call ptr @PyEval_SaveThread()
  %found.released = call i64 @sum_rows(ptr %out.data, ptr %distinct.data, ptr %values.data, ptr %numbers.data, ptr %keys.data, i64 %n, i64 %inner)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %return
return:
  %found = phi i64 [ %found.held, %held ], [ %found.released, %release ]
  %result = call ptr @PyLong_FromSsize_t(i64 %found)
  ret ptr %result
}

declare i64 @llvm.ctlz.i64(i64, i1)

define internal i64 @sum_rows(ptr %out, ptr %distinct, ptr %values, ptr %numbers, ptr %room, i64 %n, i64 %inner) nounwind {
entry:
  %counts = alloca [256 x i64]
  %whole = and i64 %inner, -$LANES
  %is.long = icmp sgt i64 %whole, 0
  %is.over = icmp slt i64 %whole, %inner
  %leading = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %bits = sub i64 64, %leading
  %place.end = shl i64 1, %bits
  %place.mask = sub i64 %place.end, 1
  %spare = getelementptr i64, ptr %room, i64 %n
  br label %look
look:
  ; the largest number, and whether each is larger than the one before
  %l = phi i64 [ 0, %entry ], [ %l.next, %look ]
  %before = phi i64 [ -1, %entry ], [ %number.l, %look ]
  %largest = phi i64 [ 0, %entry ], [ %largest.new, %look ]
  %increase = phi i1 [ true, %entry ], [ %increase.new, %look ]
  %number.l.at = getelementptr i64, ptr %numbers, i64 %l
  %number.l = load i64, ptr %number.l.at
  %key.high = shl i64 %number.l, %bits
  %key.new = or i64 %key.high, %l
  %key.new.at = getelementptr i64, ptr %room, i64 %l
  store i64 %key.new, ptr %key.new.at
  %is.larger = icmp ugt i64 %number.l, %largest
  %largest.new = select i1 %is.larger, i64 %number.l, i64 %largest
  %increases = icmp sgt i64 %number.l, %before
  %increase.new = and i1 %increase, %increases
  %l.next = add i64 %l, 1
  %more.l = icmp slt i64 %l.next, %n
  br i1 %more.l, label %look, label %looked
looked:
  ; a negative number is a large one without its sign
  %for.number = sub i64 62, %bits
  %too.much = lshr i64 %largest.new, %for.number
  %fits = icmp eq i64 %too.much, 0
  br i1 %fits, label %order, label %refuse
refuse:
  ret i64 -2
order:
  br i1 %increase.new, label %leave, label %digit
leave:
  ret i64 -1
digit:
  ; eight bits of the numbers at a time, the lowest first: rows of one number stay in the order of their places
  %keys = phi ptr [ %room, %order ], [ %sorted, %digit.next ]
  %sorted = phi ptr [ %spare, %order ], [ %keys, %digit.next ]
  %shift = phi i64 [ %bits, %order ], [ %shift.next, %digit.next ]
  %shift.of = sub i64 %shift, %bits
  %rest.of = lshr i64 %largest.new, %shift.of
  %is.left = icmp ne i64 %rest.of, 0
  ; a number has at most 62 bits, and no meaning is given to shifts by 64
  %is.digit = icmp ult i64 %shift.of, 62
  %more.digits = select i1 %is.digit, i1 %is.left, i1 false
  br i1 %more.digits, label %clear, label %row
clear:
  call void @llvm.memset.p0.i64(ptr align 8 %counts, i8 0, i64 2048, i1 false)
  br label %tally
tally:
  %t = phi i64 [ 0, %clear ], [ %t.next, %tally ]
  %t.at = getelementptr i64, ptr %keys, i64 %t
  %t.key = load i64, ptr %t.at
  %t.digits = lshr i64 %t.key, %shift
  %t.digit = and i64 %t.digits, 255
  %t.count.at = getelementptr i64, ptr %counts, i64 %t.digit
  %t.count = load i64, ptr %t.count.at
  %t.count.new = add i64 %t.count, 1
  store i64 %t.count.new, ptr %t.count.at
  %t.next = add i64 %t, 1
  %more.t = icmp slt i64 %t.next, %n
  br i1 %more.t, label %tally, label %begin
begin:
  %b = phi i64 [ 0, %tally ], [ %b.next, %begin ]
  %b.start = phi i64 [ 0, %tally ], [ %b.end, %begin ]
  %b.at = getelementptr i64, ptr %counts, i64 %b
  %b.count = load i64, ptr %b.at
  store i64 %b.start, ptr %b.at
  %b.end = add i64 %b.start, %b.count
  %b.next = add i64 %b, 1
  %more.b = icmp ult i64 %b.next, 256
  br i1 %more.b, label %begin, label %move
move:
  %m = phi i64 [ 0, %begin ], [ %m.next, %move ]
  %m.at = getelementptr i64, ptr %keys, i64 %m
  %m.key = load i64, ptr %m.at
  %m.digits = lshr i64 %m.key, %shift
  %m.digit = and i64 %m.digits, 255
  %m.place.at = getelementptr i64, ptr %counts, i64 %m.digit
  %m.place = load i64, ptr %m.place.at
  %m.place.new = add i64 %m.place, 1
  store i64 %m.place.new, ptr %m.place.at
  %m.to = getelementptr i64, ptr %sorted, i64 %m.place
  store i64 %m.key, ptr %m.to
  %m.next = add i64 %m, 1
  %more.m = icmp slt i64 %m.next, %n
  br i1 %more.m, label %move, label %digit.next
digit.next:
  %shift.next = add i64 %shift, 8
  br label %digit
row:
  %i = phi i64 [ 0, %digit ], [ %i.next, %row.next ]
  %last = phi i64 [ -1, %digit ], [ %number, %row.next ]
  %count = phi i64 [ 0, %digit ], [ %count.new, %row.next ]
  %more.rows = icmp slt i64 %i, %n
  br i1 %more.rows, label %row.begin, label %done
row.begin:
  %key.at = getelementptr i64, ptr %keys, i64 %i
  %key = load i64, ptr %key.at
  %number = lshr i64 %key, %bits
  %place = and i64 %key, %place.mask
  %is.first = icmp ne i64 %number, %last
  %one.more = zext i1 %is.first to i64
  %count.new = add i64 %count, %one.more
  %row.of = sub i64 %count.new, 1
  %distinct.at = getelementptr i64, ptr %distinct, i64 %row.of
  store i64 %number, ptr %distinct.at
  %from.elements = mul i64 %place, %inner
  %from = getelementptr $TYPE, ptr %values, i64 %from.elements
  %to.elements = mul i64 %row.of, %inner
  %to = getelementptr $TYPE, ptr %out, i64 %to.elements
  br i1 %is.long, label %vector, label %rest
vector:
  %k = phi i64 [ 0, %row.begin ], [ %k.next, %vector ]
  %from.k = getelementptr $TYPE, ptr %from, i64 %k
  %to.k = getelementptr $TYPE, ptr %to, i64 %k
  %x = load <$LANES x $TYPE>, ptr %from.k, align $ITEM
  %y = load <$LANES x $TYPE>, ptr %to.k, align $ITEM
  %sum = fadd <$LANES x $TYPE> %y, %x
  ; the first row of a number is copied: what is in its place is no number yet
  %new = select i1 %is.first, <$LANES x $TYPE> %x, <$LANES x $TYPE> %sum
  store <$LANES x $TYPE> %new, ptr %to.k, align $ITEM
  %k.next = add i64 %k, $LANES
  %more.vectors = icmp slt i64 %k.next, %whole
  br i1 %more.vectors, label %vector, label %rest
rest:
  br i1 %is.over, label %one, label %row.next
one:
  %j = phi i64 [ %whole, %rest ], [ %j.next, %one ]
  %from.j = getelementptr $TYPE, ptr %from, i64 %j
  %to.j = getelementptr $TYPE, ptr %to, i64 %j
  %x.j = load $TYPE, ptr %from.j, align $ITEM
  %y.j = load $TYPE, ptr %to.j, align $ITEM
  %sum.j = fadd $TYPE %y.j, %x.j
  %new.j = select i1 %is.first, $TYPE %x.j, $TYPE %sum.j
  store $TYPE %new.j, ptr %to.j, align $ITEM
  %j.next = add i64 %j, 1
  %more.ones = icmp slt i64 %j.next, %inner
  br i1 %more.ones, label %one, label %row.next
row.next:
  %i.next = add i64 %i, 1
  br label %row
done:
  ret i64 %count
}
