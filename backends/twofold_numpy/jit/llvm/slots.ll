; The memory of the thread that computes a piece, from the next cache line of %scratch on: the slots that are taken, and their memory. The
; owner of a task has the first slot, a helper the first that is free; helpers have the number of the task above that of the piece.
define internal ptr @take_slot(ptr %scratch, i64 %slots, i64 %size, i64 %piece, ptr %slot.at.to) noinline nounwind {
entry:
  %address = ptrtoint ptr %scratch to i64
  %above = add i64 %address, 63
  %aligned = and i64 %above, -64
  %taken = inttoptr i64 %aligned to ptr
  %task = lshr i64 %piece, 16
  %is.owner = icmp eq i64 %task, 0
  br i1 %is.owner, label %found, label %seek
seek:
  %k = phi i64 [ 1, %entry ], [ %k.next, %occupied ]
  %at = getelementptr i64, ptr %taken, i64 %k
  %taking = cmpxchg ptr %at, i64 0, i64 1 acquire monotonic, align 8
  %has.taken = extractvalue { i64, i1 } %taking, 1
  br i1 %has.taken, label %found, label %occupied
occupied:
  %k.after = add i64 %k, 1
  %is.last = icmp uge i64 %k.after, %slots
  %k.next = select i1 %is.last, i64 1, i64 %k.after
  br label %seek
found:
  %slot = phi i64 [ 0, %entry ], [ %k, %seek ]
  %slot.at = getelementptr i64, ptr %taken, i64 %slot
  store ptr %slot.at, ptr %slot.at.to
  %flags = shl i64 %slots, 3
  %flags.above = add i64 %flags, 63
  %flags.size = and i64 %flags.above, -64
  %first = getelementptr i8, ptr %taken, i64 %flags.size
  %offset = mul i64 %slot, %size
  %memory = getelementptr i8, ptr %first, i64 %offset
  ret ptr %memory
}
