; A piece of applying a matrix along both axes of the tiles of images with channels last: of all tiles its share. Tile (image, row, column) is
; at its steps from the beginning, and its elements at %from.i and %from.j, or %to.i and %to.j, from each other. The words begin like those of
; `pieces.ll`; the rest are named below. Steps are in bytes.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
$WORDS
$DATA
  %whole = and i64 %channels, -$LANES
  %rest = sub i64 %channels, %whole
$REST
  %mask = icmp slt <$LANES x i64> <$LANE_NUMBERS>, %rest.all
  %has.rest = icmp ne i64 %rest, 0
  %of.image = mul i64 %rows, %columns
  %tiles = mul i64 %images, %of.image
  %index.next = add i64 %index, 1
  %first.of.all = mul i64 %tiles, %index
  %first = udiv i64 %first.of.all, %shares.number
  %end.of.all = mul i64 %tiles, %index.next
  %end = udiv i64 %end.of.all, %shares.number
  br label %tile
tile:
  %t = phi i64 [ %first, %entry ], [ %t.next, %tile.done ]
  %more.tiles = icmp ult i64 %t, %end
  br i1 %more.tiles, label %tile.begin, label %done
tile.begin:
  %image = udiv i64 %t, %of.image
  %in.image = urem i64 %t, %of.image
  %row = udiv i64 %in.image, %columns
  %column = urem i64 %in.image, %columns
$TILE
  br label %channel.look
channel.look:
  %c = phi i64 [ 0, %tile.begin ], [ %c.next, %channel ]
  %from.c = getelementptr float, ptr %from.t, i64 %c
  %to.c = getelementptr float, ptr %to.t, i64 %c
  %more.channels = icmp ult i64 %c, %whole
  br i1 %more.channels, label %channel, label %rest.look
channel:
  call void @whole(ptr %to.c, ptr %from.c, i64 %from.i, i64 %from.j, i64 %to.i, i64 %to.j)
  %c.next = add i64 %c, $LANES
  br label %channel.look
rest.look:
  br i1 %has.rest, label %part, label %tile.done
part:
  call void @part(ptr %to.c, ptr %from.c, i64 %from.i, i64 %from.j, i64 %to.i, i64 %to.j, <$LANES x i1> %mask)
  br label %tile.done
tile.done:
  %t.next = add i64 %t, 1
  br label %tile
done:
  ret ptr null
}
$FUNCTIONS
