; For one position in the tile, the products of some tiles and the kernels of some channels, in registers; they are added to the sums that
; are there if the filters have earlier channels.
define void @kernel(ptr %tiles, i64 %tiles.group, ptr %kernels, i64 %channels, ptr %sums, i1 %adds) nounwind {
entry:
  br label %group
group:
  %tiles.g = phi ptr [ %tiles, %entry ], [ %tiles.next, %group.done ]
  %kernels.g = phi ptr [ %kernels, %entry ], [ %kernels.next, %group.done ]
  %left = phi i64 [ %channels, %entry ], [ %left.next, %group.done ]
$GROUP_SUMS
  %now = call i64 @llvm.umin.i64(i64 %left, i64 $CHANNELS)
  br label %channel
channel:
  %c = phi i64 [ 0, %group ], [ %c.next, %channel ]
$CHANNEL_SUMS
  %tiles.c = getelementptr float, ptr %tiles.g, i64 %c
  %kernels.c = getelementptr [$FILTERS x float], ptr %kernels.g, i64 %c
$MULTIPLIED
  %c.next = add i64 %c, 1
  %more = icmp ult i64 %c.next, %now
  br i1 %more, label %channel, label %group.done
group.done:
  %tiles.next = getelementptr i8, ptr %tiles.g, i64 %tiles.group
  %kernels.next = getelementptr [$FILTERS x float], ptr %kernels.g, i64 $CHANNELS
  %left.next = sub i64 %left, %now
  %more.groups = icmp ne i64 %left.next, 0
  br i1 %more.groups, label %group, label %end
end:
$STORED
  ret void
}
