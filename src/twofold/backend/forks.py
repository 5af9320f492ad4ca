"""Locks that a process takes before it forks (`imperative.window`), so that a child finds nothing that another thread left half done."""

import threading

#: Held while a library makes code for an adapter, and while an adapter imports modules that it did not need so far: both have locks of
#: their own, which a child would find taken.
BUILDING, IMPORTING = threading.RLock(), threading.RLock()
#: All of them, in the order in which a fork takes them, when no lane is at work any more. Each may be entered again by a signal handler or
#: finalizer of the thread that has it.
LOCKS = [BUILDING, IMPORTING]
