; A run of results of the filters in a panel. A tile begins so early that it ends with the run: what it computes again is the same.
; Two tiles fetch the next panel, which may come from memory, a cache line for each tap.
define internal void @block_panel(ptr %source, ptr %panel, ptr %table, i64 %taps, ptr %target, i64 %target.step, i64 %run, i64 %filters) noinline nounwind {
entry:
  %is.narrow = icmp ule i64 %filters, $LANES
  %latest.long = sub i64 %run, $LONG
  %latest.short = sub i64 %run, $SHORT
  %has.long = icmp uge i64 %run, $LONG
  %ahead.first = getelementptr [$COLUMNS x float], ptr %panel, i64 %taps
  %ahead.second = getelementptr [$LANES x float], ptr %ahead.first, i64 %taps
  br label %look
look:
  %place = phi i64 [ 0, %entry ], [ %next, %tile.done ]
  %left = sub i64 %run, %place
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %choose, label %done
choose:
  %is.over = icmp ugt i64 %left, $SHORT
  %is.long = and i1 %has.long, %is.over
  %latest = select i1 %is.long, i64 %latest.long, i64 %latest.short
  %size = select i1 %is.long, i64 $LONG, i64 $SHORT
  %now = call i64 @llvm.umin.i64(i64 %place, i64 %latest)
  %next = add i64 %now, %size
  %source.now = getelementptr float, ptr %source, i64 %now
  %target.now = getelementptr float, ptr %target, i64 %now
  %is.first = icmp eq i64 %place, 0
  %ahead = select i1 %is.first, ptr %ahead.first, ptr %ahead.second
  br i1 %is.long, label %long, label %short
$CALLS
tile.done:
  br label %look
done:
  ret void
}
