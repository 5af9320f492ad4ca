  %value.next = fadd <$LANES x $TYPE> %value, %x
  %code.next = add <$LANES x $INTEGER> %code, zeroinitializer
