"""Python's garbage collector rests while modules are loaded, and while graphs are built and compiled.

Thousands of objects are made in a row and all stay alive: collections in between find nothing, and take a quarter of the time.
"""

import gc
import os
import threading
from contextlib import ContextDecorator

#: Objects made in a rest from which they go to the oldest generation at once.
MANY = 10_000
#: How many go there before the first full collection, which the first steps of most programs do not reach, and before each later one:
#: networks that were made and dropped refer to themselves, and hold their arrays until then.
FIRST, LATER = 400_000, 200_000


class _Rest(ContextDecorator):
    """A context in which the collector does not run, and a decorator. Contexts may be nested and overlap in several threads."""

    def __init__(self) -> None:
        # reentrant: a signal handler or finalizer may fork while this thread holds it
        self._lock, self._depth, self._was_on, self._left = threading.RLock(), 0, False, FIRST
        # a child is forked with one thread, which may be inside a context itself
        os.register_at_fork(before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release)

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                self._move()
                gc.enable()

    def _move(self) -> None:
        """Spare the next collection of the youngest generation the search through all that was made."""
        made = gc.get_count()[0]
        # nothing is frozen unless a program does it, and then it stays so
        if made < MANY or gc.get_freeze_count():
            return
        self._left -= made
        if self._left < 0:  # the collector does not count them, and would not look for what was dropped since
            self._left = LATER
            gc.collect()
        else:
            gc.freeze()
            gc.unfreeze()  # to the oldest generation


RESTING = _Rest()
