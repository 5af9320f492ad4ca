  ; the last tap that is larger than the maximum before it, which a NaN makes NaN: nothing is at least as large as that
  %is.larger = fcmp ult <$LANES x $TYPE> %value, %x
  %is.number = fcmp ord <$LANES x $TYPE> %value, %value
  %moves = and <$LANES x i1> %is.number, %is.larger
  %value.next = select <$LANES x i1> %moves, <$LANES x $TYPE> %x, <$LANES x $TYPE> %value
$TAP
  %code.next = select <$LANES x i1> %is.larger, <$LANES x $INTEGER> %tap.all, <$LANES x $INTEGER> %code
