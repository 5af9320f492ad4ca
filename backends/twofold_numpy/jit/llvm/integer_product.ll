; Rows times the rows of a weight (the columns of the result): tiles of $TILE by $TILE. %flip is xored with every byte of the rows. Where
; fewer rows or columns are left, a tile repeats others.
define void @kernel(ptr %rows, i64 %row.step, ptr %columns, i64 %column.step, ptr %out, i64 %out.step, i64 %m, i64 %n, i64 %k, i8 %flip) nounwind {
entry:
$SPREAD_FLIP
  %tail = and i64 %k, $BYTES_MASK
  %whole = sub i64 %k, %tail
  %has.tail = icmp ne i64 %tail, 0
$SPREAD_TAIL
  %mask = icmp ult <$BYTES x i64> <$NUMBERED>, %tail.all
  %m.last = sub i64 %m, 1
  %n.last = sub i64 %n, $TILE
  br label %column
column:
  %j = phi i64 [ 0, %entry ], [ %j.next, %column.done ]
  %more.columns = icmp slt i64 %j, %n
  br i1 %more.columns, label %column.start, label %done
column.start:
  %is.last = icmp sgt i64 %j, %n.last
  %j.at = select i1 %is.last, i64 %n.last, i64 %j
$COLUMNS
  br label %flipped
flipped:
  ; what the flipped bits add: their sums with the weights
  %p = phi i64 [ 0, %column.start ], [ %p.next, %flipped.do ]
$FLIPPED_SUMS
  %p.left = sub i64 %k, %p
  %more.flipped = icmp sgt i64 %p.left, 0
  br i1 %more.flipped, label %flipped.do, label %row.first
flipped.do:
  %is.full = icmp sge i64 %p.left, $BYTES
  %flipped.mask = select i1 %is.full, <$BYTES x i1> splat (i1 true), <$BYTES x i1> %mask
$FLIPPED
  %p.next = add i64 %p, $BYTES
  br label %flipped
row.first:
  br label %row
row:
  %i = phi i64 [ 0, %row.first ], [ %i.next, %row.done ]
  %more.rows = icmp slt i64 %i, %m
  br i1 %more.rows, label %row.start, label %column.done
row.start:
$ROWS
  br label %step
step:
  %q = phi i64 [ 0, %row.start ], [ %q.next, %step.do ]
$SUMS
  %more.steps = icmp slt i64 %q, %whole
  br i1 %more.steps, label %step.do, label %rest
step.do:
$STEP
  %q.next = add i64 %q, $BYTES
  br label %step
rest:
  br i1 %has.tail, label %rest.do, label %row.done
rest.do:
$REST
  br label %row.done
row.done:
$TOTALS
  %i.next = add i64 %i, $TILE
  br label %row
column.done:
  %j.next = add i64 %j, $TILE
  br label %column
done:
  ret void
}
$DOT
declare $BYTE_VECTOR @llvm.masked.load.v${BYTES}i8.p0(ptr, i32 immarg, <$BYTES x i1>, $BYTE_VECTOR)
