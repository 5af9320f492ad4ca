  %to = getelementptr $TYPE, ptr %to.first, i64 %v
  store <$LANES x $TYPE> %value.next, ptr %to, align $ITEM
  %codes.to = getelementptr $TYPE, ptr %scratch, i64 %codes.offset
  %codes.v = getelementptr $CODE, ptr %codes.to, i64 %v
  %place = trunc <$LANES x $INTEGER> %code.next to <$LANES x $CODE>
  store <$LANES x $CODE> %place, ptr %codes.v, align 1
