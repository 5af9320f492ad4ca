; A run of results of filters in panels, with a small L1 cache and narrow registers: it is computed by stretches of $STRETCH places, and
; these by ranges of $DEPTH taps, whose weights stay in the L2 cache for all tiles of a stretch. Between two ranges the sums are in memory.
; A tile of the image is copied if there are many filters: its lines are so far apart that the L1 cache would lose them.
; A tile begins so early that it ends with the run: what it computes again is the same.
define internal void @block_panel(ptr %source, ptr %panels, ptr %table, i64 %taps, ptr %target, i64 %target.step, i64 %run, i64 %filters, ptr %sums) noinline nounwind {
entry:
  %image = alloca [$DEPTH x [$LONG x float]], align 64
  %latest.long = sub i64 %run, $LONG
  %latest.short = sub i64 %run, $SHORT
  %has.long = icmp uge i64 %run, $LONG
  %copies = icmp uge i64 %filters, $COPIED
  br label %stretch
stretch:
  %begin = phi i64 [ 0, %entry ], [ %end, %stretch.done ]
  %stretch.end = add i64 %begin, $STRETCH
  %end = call i64 @llvm.umin.i64(i64 %stretch.end, i64 %run)
  br label %range
range:
  %tap = phi i64 [ 0, %stretch ], [ %tap.next, %range.done ]
  %taps.left = sub i64 %taps, %tap
  %taps.now = call i64 @llvm.umin.i64(i64 %taps.left, i64 $DEPTH)
  %tap.next = add i64 %tap, %taps.now
  %begins = icmp eq i64 %tap, 0
  %ends = icmp eq i64 %tap.next, %taps
  %table.now = getelementptr [2 x i32], ptr %table, i64 %tap
  br label %look
look:
  %place = phi i64 [ %begin, %range ], [ %next, %tile.done ]
  %sums.tile = phi ptr [ %sums, %range ], [ %sums.now, %tile.done ]
  %more = icmp ult i64 %place, %end
  br i1 %more, label %choose, label %range.done
choose:
  %left = sub i64 %run, %place
  %is.over = icmp ugt i64 %left, $SHORT
  %is.long = and i1 %has.long, %is.over
  %latest = select i1 %is.long, i64 %latest.long, i64 %latest.short
  %size = select i1 %is.long, i64 $LONG, i64 $SHORT
  %now = call i64 @llvm.umin.i64(i64 %place, i64 %latest)
  %next = add i64 %now, %size
  %source.now = getelementptr float, ptr %source, i64 %now
  %target.now = getelementptr float, ptr %target, i64 %now
  br i1 %copies, label %copy, label %ready
copy:
  br i1 %is.long, label %copy.long, label %copy.short
copy.long:
  call void @copy_$LONG(ptr %source.now, ptr %table.now, i64 %taps.now, ptr %image)
  br label %ready
copy.short:
  call void @copy_$SHORT(ptr %source.now, ptr %table.now, i64 %taps.now, ptr %image)
  br label %ready
ready:
  %x = select i1 %copies, ptr %image, ptr %source.now
  %offsets = select i1 %copies, ptr @adjacent, ptr %table.now
  br label %panel.look
panel.look:
  %filter = phi i64 [ 0, %ready ], [ %filter.next, %panel.done ]
  %sums.now = phi ptr [ %sums.tile, %ready ], [ %sums.next, %panel.done ]
  %filters.left = sub i64 %filters, %filter
  %more.filters = icmp sgt i64 %filters.left, 0
  br i1 %more.filters, label %multiply, label %tile.done
multiply:
  %panel.offset = mul i64 %filter, %taps
  %panel = getelementptr float, ptr %panels, i64 %panel.offset
  %weights = getelementptr [$COLUMNS x float], ptr %panel, i64 %tap
  %target.offset = mul i64 %filter, %target.step
  %target.filter = getelementptr i8, ptr %target.now, i64 %target.offset
  br i1 %is.long, label %long, label %short
long:
  call void @panel_${LONG}_1(ptr %x, ptr %weights, ptr %offsets, i64 %taps.now, ptr %target.filter, i64 %target.step, i64 %filters.left, ptr %sums.now, i1 %begins, i1 %ends)
  br label %panel.done
short:
  call void @panel_${SHORT}_1(ptr %x, ptr %weights, ptr %offsets, i64 %taps.now, ptr %target.filter, i64 %target.step, i64 %filters.left, ptr %sums.now, i1 %begins, i1 %ends)
  br label %panel.done
panel.done:
  %filter.next = add i64 %filter, $COLUMNS
  %sums.next = getelementptr [$LONG x [$COLUMNS x float]], ptr %sums.now, i64 1
  br label %panel.look
tile.done:
  br label %look
range.done:
  br i1 %ends, label %stretch.done, label %range
stretch.done:
  %more.run = icmp ult i64 %end, %run
  br i1 %more.run, label %stretch, label %done
done:
  ret void
}
$COPIES
; The bytes to the taps of a copied tile, like those of a convolution's table.
@adjacent = internal constant [$DEPTH x [2 x i32]] [ $ADJACENT ]
