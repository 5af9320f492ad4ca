; Applies a matrix along both axes of the tiles of images with channels last: tile (image, row, column) is at its steps from the beginning, and
; its elements at %from.i and %from.j, or %to.i and %to.j, from each other. Steps are in bytes.
define void @kernel(ptr %to, ptr %from, ptr %numbers) nounwind {
entry:
$LOADED
  %whole = and i64 %channels, -$LANES
  %rest = sub i64 %channels, %whole
$REST
  %mask = icmp slt <$LANES x i64> <$LANE_NUMBERS>, %rest.all
  %has.rest = icmp ne i64 %rest, 0
  br label %image
image:
  %n = phi i64 [ 0, %entry ], [ %n.next, %image.done ]
  %n.from = mul i64 %n, %from.image
  %from.n = getelementptr i8, ptr %from, i64 %n.from
  %n.to = mul i64 %n, %to.image
  %to.n = getelementptr i8, ptr %to, i64 %n.to
  br label %row
row:
  %r = phi i64 [ 0, %image ], [ %r.next, %row.done ]
  %r.from = mul i64 %r, %from.row
  %from.r = getelementptr i8, ptr %from.n, i64 %r.from
  %r.to = mul i64 %r, %to.row
  %to.r = getelementptr i8, ptr %to.n, i64 %r.to
  br label %column
column:
  %t = phi i64 [ 0, %row ], [ %t.next, %column.done ]
  %t.from = mul i64 %t, %from.column
  %from.t = getelementptr i8, ptr %from.r, i64 %t.from
  %t.to = mul i64 %t, %to.column
  %to.t = getelementptr i8, ptr %to.r, i64 %t.to
  br label %channel.look
channel.look:
  %c = phi i64 [ 0, %column ], [ %c.next, %channel ]
  %from.c = getelementptr float, ptr %from.t, i64 %c
  %to.c = getelementptr float, ptr %to.t, i64 %c
  %more.channels = icmp ult i64 %c, %whole
  br i1 %more.channels, label %channel, label %rest.look
channel:
  call void @whole(ptr %to.c, ptr %from.c, i64 %from.i, i64 %from.j, i64 %to.i, i64 %to.j)
  %c.next = add i64 %c, $LANES
  br label %channel.look
rest.look:
  br i1 %has.rest, label %part, label %column.done
part:
  call void @part(ptr %to.c, ptr %from.c, i64 %from.i, i64 %from.j, i64 %to.i, i64 %to.j, <$LANES x i1> %mask)
  br label %column.done
column.done:
  %t.next = add i64 %t, 1
  %more.columns = icmp ult i64 %t.next, %columns
  br i1 %more.columns, label %column, label %row.done
row.done:
  %r.next = add i64 %r, 1
  %more.rows = icmp ult i64 %r.next, %rows
  br i1 %more.rows, label %row, label %image.done
image.done:
  %n.next = add i64 %n, 1
  %more.images = icmp ult i64 %n.next, %images
  br i1 %more.images, label %image, label %done
done:
  ret void
}
$FUNCTIONS
declare <$LANES x float> @llvm.fma.v${LANES}f32(<$LANES x float>, <$LANES x float>, <$LANES x float>)
declare <$LANES x float> @llvm.masked.load.v${LANES}f32.p0(ptr, i32 immarg, <$LANES x i1>, <$LANES x float>)
declare void @llvm.masked.store.v${LANES}f32.p0(<$LANES x float>, ptr, i32 immarg, <$LANES x i1>)
