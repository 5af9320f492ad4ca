; The same by loads of whole vectors, of which only lanes inside the image are used.
near.look:
  %near.k = phi i64 [ 0, %block ], [ %near.k.next, %near ]
  %near.from = phi ptr [ %block.line, %block ], [ %near.from.next, %near ]
$NEAR_VALUES
  %near.nan = phi $KEPT_MASK [ zeroinitializer, %block ], [ %near.nan.all, %near ]
  %more.near = icmp ult i64 %near.k, %k.number
  br i1 %more.near, label %near, label %checked
near:
$NEAR
  %near.from.next = getelementptr $TYPE, ptr %near.from, i64 %width
  %near.k.next = add i64 %near.k, 1
  br label %near.look
