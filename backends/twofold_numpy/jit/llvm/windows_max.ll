  ; NumPy's maximum: a NaN stays
  %is.larger = fcmp ogt <$LANES x $TYPE> %value, %x
  %larger = select <$LANES x i1> %is.larger, <$LANES x $TYPE> %value, <$LANES x $TYPE> %x
  %is.nan = fcmp uno <$LANES x $TYPE> %value, %value
  %value.next = select <$LANES x i1> %is.nan, <$LANES x $TYPE> %value, <$LANES x $TYPE> %larger
  %code.next = add <$LANES x $INTEGER> %code, zeroinitializer
