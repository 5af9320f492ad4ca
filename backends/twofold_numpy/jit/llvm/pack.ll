; Copies lines (rows of the left operand of a product, columns of the right one) to panels of a width. A last panel that they do not fill has
; copies of the last line up to whole vectors: nobody reads what is computed from them, but other numbers could slow the processor down.
define internal void @pack(ptr %from, i64 %line.step, i64 %inner.step, i64 %lines, i64 %inner, ptr %to, i64 %width) noinline nounwind {
entry:
  %are.neighbors = icmp eq i64 %line.step, 4
  %is.wide = icmp eq i64 %width, $COLUMNS
  %copies.rows = and i1 %are.neighbors, %is.wide
  %in.panel = sub i64 %width, 1
  %vector = call i64 @llvm.umin.i64(i64 %width, i64 $LANES)
  br label %look
look:
  %line = phi i64 [ 0, %entry ], [ %line.after.rows, %rows ], [ %line.next, %strip ]
  %left = sub i64 %lines, %line
  %panel.line = and i64 %line, %in.panel
  %panel = sub i64 %line, %panel.line
  %panel.offset = mul i64 %panel, %inner
  %panel.first = getelementptr float, ptr %to, i64 %panel.offset
  %is.whole = icmp sge i64 %left, $COLUMNS
  %is.copied = and i1 %is.whole, %copies.rows
  br i1 %is.copied, label %rows, label %strip
rows:
  %rows.offset = mul i64 %line, 4
  %rows.from = getelementptr i8, ptr %from, i64 %rows.offset
  call void @copy_columns(ptr %rows.from, i64 %inner.step, i64 %inner, ptr %panel.first)
  %line.after.rows = add i64 %line, $COLUMNS
  %more.rows = icmp ult i64 %line.after.rows, %lines
  br i1 %more.rows, label %look, label %end
strip:
  %strip.to = getelementptr float, ptr %panel.first, i64 %panel.line
  call void @strip(ptr %from, i64 %line.step, i64 %inner.step, i64 %line, i64 %lines, i64 %inner, ptr %strip.to, i64 %width)
  %line.next = add i64 %line, $ROWS
  %line.in.vector = urem i64 %line.next, %vector
  %ends.vector = icmp eq i64 %line.in.vector, 0
  %is.over = icmp uge i64 %line.next, %lines
  %is.end = and i1 %is.over, %ends.vector
  br i1 %is.end, label %end, label %look
end:
  ret void
}
; Copies $COLUMNS columns that are neighbors.
define internal void @copy_columns(ptr %from, i64 %inner.step, i64 %inner, ptr %to) noinline nounwind {
entry:
  br label %copy
copy:
  %p = phi i64 [ 0, %entry ], [ %p.next, %copy ]
  %offset = mul i64 %p, %inner.step
  %row = getelementptr i8, ptr %from, i64 %offset
  %row.to = getelementptr [$COLUMNS x float], ptr %to, i64 %p
  %values = load <$COLUMNS x float>, ptr %row, align 4
  store <$COLUMNS x float> %values, ptr %row.to, align 4
  %p.next = add i64 %p, 1
  %more = icmp ult i64 %p.next, %inner
  br i1 %more, label %copy, label %end
end:
  ret void
}
; Copies $ROWS lines side by side, into a panel of a width; beyond the last line that line again.
define internal void @strip(ptr %from, i64 %line.step, i64 %inner.step, i64 %first, i64 %lines, i64 %inner, ptr %to, i64 %width) noinline nounwind {
entry:
  %last = sub i64 %lines, 1
$LINES
  %left = sub i64 %lines, %first
  %is.whole = icmp sge i64 %left, $ROWS
  %are.neighbors = icmp eq i64 %line.step, 4
  %is.copied = and i1 %is.whole, %are.neighbors
  br i1 %is.copied, label %copy, label %other
copy:
  %c = phi i64 [ 0, %entry ], [ %c.next, %copy ]
  %c.offset = mul i64 %c, %inner.step
  %c.from = getelementptr i8, ptr %line.0, i64 %c.offset
  %c.values = load <$ROWS x float>, ptr %c.from, align 4
  %c.row = mul i64 %c, %width
  %c.to = getelementptr float, ptr %to, i64 %c.row
  store <$ROWS x float> %c.values, ptr %c.to, align 4
  %c.next = add i64 %c, 1
  %more.c = icmp ult i64 %c.next, %inner
  br i1 %more.c, label %copy, label %end
other:
  %is.run = icmp eq i64 %inner.step, 4
  %squares = and i64 %inner, -$ROWS
  %transposed = select i1 %is.run, i64 %squares, i64 0
  br label %square.look
square.look:
  %s = phi i64 [ 0, %other ], [ %s.next, %square ]
  %more.s = icmp ult i64 %s, %transposed
  br i1 %more.s, label %square, label %one.look
square:
  %s.row = mul i64 %s, %width
  %tile.to = getelementptr float, ptr %to, i64 %s.row
$SQUARE
  %s.next = add i64 %s, $ROWS
  br label %square.look
one.look:
  %p = phi i64 [ %transposed, %square.look ], [ %p.next, %one ]
  %more.p = icmp ult i64 %p, %inner
  br i1 %more.p, label %one, label %end
one:
  %p.offset = mul i64 %p, %inner.step
  %p.row = mul i64 %p, %width
  %p.to = getelementptr float, ptr %to, i64 %p.row
$ONE
  %p.next = add i64 %p, 1
  br label %one.look
end:
  ret void
}
