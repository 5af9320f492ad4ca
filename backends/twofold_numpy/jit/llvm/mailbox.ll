declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i32 @usleep(i32)
$PAUSE_DECLARED
define ptr @kernel(ptr %self, ptr %arguments, i64 %count) #0 {
entry:
  %own = getelementptr i8, ptr %self, i64 $CONTENT
  %none = load ptr, ptr %own
  %refused.at = getelementptr ptr, ptr %own, i64 2
  %refused = load ptr, ptr %refused.at
  %mailbox.at = getelementptr ptr, ptr %own, i64 $HEAD
  %mailbox = load ptr, ptr %mailbox.at
  %function.at = getelementptr i64, ptr %mailbox, i64 1
  %numbers.at = getelementptr i64, ptr %mailbox, i64 2
  %arguments.at = getelementptr i64, ptr %mailbox, i64 3
  %count.at = getelementptr i64, ptr %mailbox, i64 4
  %returned.at = getelementptr i64, ptr %mailbox, i64 5
