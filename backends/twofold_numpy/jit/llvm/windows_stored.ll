  %to = getelementptr $TYPE, ptr %to.first, i64 %v
  store <$LANES x $TYPE> %value.next, ptr %to, align $ITEM
