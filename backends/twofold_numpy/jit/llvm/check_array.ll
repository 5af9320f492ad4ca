  %class.at = getelementptr i8, ptr %array, i64 $CLASS
  %own = load i64, ptr %class.at
  %is.array = icmp eq i64 %own, %class
  br i1 %is.array, label %look, label %other
look:
  %nd.at = getelementptr i8, ptr %array, i64 $ND
  %nd = load i32, ptr %nd.at
  %dimensions.at = getelementptr i8, ptr %array, i64 $DIMENSIONS
  %dimensions = load ptr, ptr %dimensions.at
  %flags.at = getelementptr i8, ptr %array, i64 $FLAGS
  %flags = load i32, ptr %flags.at
  %have = and i32 %flags, $WANTED
  %well = icmp eq i32 %have, $WANTED
  %descr.at = getelementptr i8, ptr %array, i64 $DESCR
  %descr = load ptr, ptr %descr.at
  %word.at = getelementptr i8, ptr %descr, i64 $DTYPE
  %word = load i64, ptr %word.at
  %type = and i64 %word, $OF_TYPE
  %same.type = icmp eq i64 %type, %dtype
  %taken = and i1 %well, %same.type
  br i1 %taken, label %take, label %other
take:
  br label %axes
