define internal ${VECTOR} @${NAME}.beyond.${KIND}(${VECTOR} %x, ${VECTOR} %near, <${LANES} x i1> %far) noinline #0 {
entry:
  %bits = bitcast <${LANES} x i1> %far to i${LANES}
  %none = icmp eq i${LANES} %bits, 0
  br i1 %none, label %done, label %lanes
lanes:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %now = phi ${VECTOR} [ %near, %entry ], [ %new, %next ]
  %is.far = extractelement <${LANES} x i1> %far, i64 %k
  br i1 %is.far, label %call, label %next
call:
  %element = extractelement ${VECTOR} %x, i64 %k
  %result = call ${KIND} @${LIBRARY}(${KIND} %element)
  %changed = insertelement ${VECTOR} %now, ${KIND} %result, i64 %k
  br label %next
next:
  %new = phi ${VECTOR} [ %now, %lanes ], [ %changed, %call ]
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, ${LANES}
  br i1 %more, label %lanes, label %done
done:
  %all = phi ${VECTOR} [ %near, %entry ], [ %new, %next ]
  ret ${VECTOR} %all
}
