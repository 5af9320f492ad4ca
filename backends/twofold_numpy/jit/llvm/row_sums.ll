; Adds rows of values (n, inner) that have the same number, one after the other. Each of the sorted keys has a number in its high bits, and
; in the low ones the place of its row. Writes the distinct numbers and a row for each, and returns how many there are.
define i64 @kernel(ptr %out, ptr %distinct, ptr %values, ptr %keys, ptr %numbers) nounwind {
entry:
$LOADED
  %whole = and i64 %inner, -$LANES
  %is.long = icmp sgt i64 %whole, 0
  %is.over = icmp slt i64 %whole, %inner
  %place.end = shl i64 1, %bits
  %place.mask = sub i64 %place.end, 1
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.next ]
  %last = phi i64 [ -1, %entry ], [ %number, %row.next ]
  %count = phi i64 [ 0, %entry ], [ %count.new, %row.next ]
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
