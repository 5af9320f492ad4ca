  ; what a window is given, if its maximum is at this tap
  %found.at = getelementptr i64, ptr %t.at, i64 1
  %found.offset = load i64, ptr %found.at
  %found.first = getelementptr $TYPE, ptr %scratch, i64 %found.offset
  %window.at = getelementptr i64, ptr %t.at, i64 2
  %window = load i64, ptr %window.at
  %window.v = sub i64 %v, %window
  %codes = getelementptr $CODE, ptr %found.first, i64 %window.v
  %found = load <$LANES x $CODE>, ptr %codes, align 1
  %own.at = getelementptr i64, ptr %t.at, i64 3
  %own = load i64, ptr %own.at
$OWN
  %is.own = icmp eq <$LANES x $CODE> %found, %own.all
  %sum = fadd <$LANES x $TYPE> %value, %x
  %value.next = select <$LANES x i1> %is.own, <$LANES x $TYPE> %sum, <$LANES x $TYPE> %value
  %code.next = add <$LANES x $INTEGER> %code, zeroinitializer
