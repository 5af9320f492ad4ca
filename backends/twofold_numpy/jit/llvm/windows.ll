; Maxima or sums of windows, or a transpose of them, plane by plane. A plane goes to scratch memory, where the elements that neighboring
; windows read for one place of the kernel are neighbors; stages compute on runs there; and their result is copied out. The words begin like
; those of `pieces.ll`; the rest are named below, in their order. A table has records of four numbers, see `window_tables.py`.
define internal ptr @piece(ptr %words, ptr %arguments, i64 %count, i64 %piece) noinline nounwind {
entry:
  %index = and i64 %piece, 65535
  %pieces.at = getelementptr i64, ptr %words, i64 5
  %pieces = load i64, ptr %pieces.at
$WORDS
$ARRAYS
  %scratch.offset = mul i64 %index, %scratch.size
  %scratch = getelementptr $TYPE, ptr %scratch.all, i64 %scratch.offset
  %table = inttoptr i64 %table.address to ptr
  %to.copy = getelementptr [8 x i64], ptr %table, i64 %in.pairs
  %to.copy.given = getelementptr [8 x i64], ptr %to.copy, i64 %in.runs
  %stages.first = getelementptr [8 x i64], ptr %to.copy.given, i64 %given.runs
  %stages.second = getelementptr [8 x i64], ptr %stages.first, i64 %first.stages
  %to.join = getelementptr [8 x i64], ptr %stages.second, i64 %second.stages
  %to.copy.out = getelementptr [8 x i64], ptr %to.join, i64 %out.pairs
  %taps = getelementptr [8 x i64], ptr %to.copy.out, i64 %out.runs
  %begin.times = mul i64 %index, %planes
  %begin = udiv i64 %begin.times, %pieces
  %index.next = add i64 %index, 1
  %end.times = mul i64 %index.next, %planes
  %end = udiv i64 %end.times, %pieces
  %bytes = mul i64 %scratch.size, $ITEM
  call void @llvm.memset.p0.i64(ptr %scratch, i8 0, i64 %bytes, i1 false)
  %lowest.double = bitcast i64 %lowest to double
  %lowest.value = $LOWEST
  br label %fill.look
fill.look:
  %f = phi i64 [ %fill.begin, %entry ], [ %f.next, %fill ]
  %more.fill = icmp ult i64 %f, %fill.end
  br i1 %more.fill, label %fill, label %look
fill:
  %fill.at = getelementptr $TYPE, ptr %scratch, i64 %f
  store $TYPE %lowest.value, ptr %fill.at, align $ITEM
  %f.next = add i64 %f, 1
  br label %fill.look
look:
  %p = phi i64 [ %begin, %fill.look ], [ %p.next, %each ]
  %more = icmp ult i64 %p, %end
  br i1 %more, label %each, label %over
each:
  %image = udiv i64 %p, %blocks
  %block = urem i64 %p, %blocks
$PLACES
  call void @apart(ptr %in.p, ptr %scratch, ptr %table, i64 %in.pairs)
  call void @copied(ptr %in.p, ptr %scratch, ptr %to.copy, i64 %in.runs)
  call void @copied(ptr %given.p, ptr %scratch, ptr %to.copy.given, i64 %given.runs)
$STAGES
  call void @together(ptr %out.p, ptr %scratch, ptr %to.join, i64 %out.pairs)
  call void @copied.out(ptr %out.p, ptr %scratch, ptr %to.copy.out, i64 %out.runs)
  %p.next = add i64 %p, 1
  br label %look
over:
  ret ptr null
}
$FUNCTIONS
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
declare <$LANES x $TYPE> @llvm.masked.load.v$LANES$SUFFIX.p0(ptr, i32 immarg, <$LANES x i1>, <$LANES x $TYPE>)
declare void @llvm.masked.store.v$LANES$SUFFIX.p0(<$LANES x $TYPE>, ptr, i32 immarg, <$LANES x i1>)
