declare i32 @sched_getcpu()
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
; The core of this thread.
define internal i64 @core() noinline nounwind {
  %core = call i32 @sched_getcpu()
  %wide = sext i32 %core to i64
  ret i64 %wide
}
; Moves a helper off the core of this thread, where the system might wake it, or leave it, although other cores have less to do.
define internal void @move_off(ptr %board, ptr %slot, i64 %core) noinline nounwind {
entry:
  %mask = alloca [$MASK_WORDS x i64], align 8
  %id.at = getelementptr i64, ptr %slot, i64 4
  %id = load atomic i64, ptr %id.at monotonic, align 8
  %is.unknown = icmp eq i64 %id, 0
  %is.other = icmp uge i64 %core, $MOST_CORES
  %stays = or i1 %is.unknown, %is.other
  br i1 %stays, label %end, label %move
move:
  %cores = getelementptr i64, ptr %board, i64 $CORES
  call void @llvm.memcpy.p0.p0.i64(ptr %mask, ptr %cores, i64 $MASK_BYTES, i1 false)
  %word = lshr i64 %core, 6
  %bit = and i64 %core, 63
  %word.at = getelementptr i64, ptr %mask, i64 %word
  %allowed = load i64, ptr %word.at
  %only = shl i64 1, %bit
  %others = xor i64 %only, -1
  %left = and i64 %allowed, %others
  store i64 %left, ptr %word.at
  %id.32 = trunc i64 %id to i32
  %is.kept.at = getelementptr i64, ptr %slot, i64 5
  store atomic i64 1, ptr %is.kept.at monotonic, align 8
  %moved = call i32 @sched_setaffinity(i32 %id.32, i64 $MASK_BYTES, ptr %mask)
  br label %end
end:
  ret void
}
; Lets this helper run on all cores again, now that it runs.
define internal void @move_freely(ptr %board, ptr %slot) noinline nounwind {
entry:
  %is.kept.at = getelementptr i64, ptr %slot, i64 5
  %is.kept = load atomic i64, ptr %is.kept.at monotonic, align 8
  %is.free = icmp eq i64 %is.kept, 0
  br i1 %is.free, label %end, label %free
free:
  store atomic i64 0, ptr %is.kept.at monotonic, align 8
  %cores = getelementptr i64, ptr %board, i64 $CORES
  %freed = call i32 @sched_setaffinity(i32 0, i64 $MASK_BYTES, ptr %cores)
  br label %end
end:
  ret void
}
