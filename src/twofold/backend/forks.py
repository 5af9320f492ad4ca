"""Locks that a process takes before it forks (see `imperative.window`), so that a child never finds shared state half modified."""

import threading

#: Held while a compiler runs for an adapter, and while an adapter imports further modules: the compiler and the import system have locks
#: that a child would otherwise inherit locked.
BUILDING, IMPORTING = threading.RLock(), threading.RLock()
#: All locks in the order in which a fork takes them, after the scheduler's lanes have been paused. They are reentrant, as a signal handler
#: or finalizer may interrupt the thread that holds one.
LOCKS = [BUILDING, IMPORTING]
