"""Python's garbage collector rests while modules are loaded, and while graphs are built and compiled.

Thousands of objects are made in a row and all stay alive: collections in between find nothing, and take a quarter of the time.
"""

import gc
import os
import threading


class _Rest:
    """A context in which the collector does not run. Contexts may be nested and overlap in several threads."""

    def __init__(self) -> None:
        # reentrant: a signal handler or finalizer may fork while this thread holds it
        self._lock, self._depth, self._was_on = threading.RLock(), 0, False
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
                gc.enable()


RESTING = _Rest()
