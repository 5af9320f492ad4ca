"""NumPy's BLAS held to one thread while Twofold computes; `twofold.backend.workers` says how many threads Twofold uses.

* A large kernel, or a matrix product with enough work, is cut into pieces, by its sizes alone. So no result depends on the number of
threads, or on which thread computes which piece. * The thread that needs the result takes piece after piece, and helper threads do too
(`jit.handoff`; without machine code
  `twofold.backend.workers`). It waits for pieces that a helper has begun, never for a helper to begin: on a busy machine it computes
  everything itself.
* Meanwhile BLAS is held to one thread. BLAS's threads share a product evenly, so every product waits for the thread that gets its core
last. When the last product ends, the previous setting is restored for the rest of the process.
"""

import os
import threading
from collections.abc import Iterator

from twofold.backend.workers import available, count

from .blas import blas


def report() -> Iterator[tuple[str, str]]:
    """The threads and NumPy's BLAS, for ``twofold doctor``."""
    cores, number = available(), count()
    yield "threads", f"{number} for large kernels and matrix products, on {cores} {'core' if cores == 1 else 'cores'}"
    library = blas()
    if library is None:
        yield "BLAS of NumPy", "the number of its threads cannot be set: it divides matrix products itself"
    else:
        outside = library.get_threads()
        yield "BLAS of NumPy", f"{library.name}, {outside} {'thread' if outside == 1 else 'threads'}; 1 in Twofold's matrix products"


class Hold:
    """Holds BLAS to one thread within a ``with`` statement, on any number of threads. Machine code has its own (``jit/llvm/pieces.ll``).

    Attributes
    ----------
    before
        The number of threads of BLAS outside.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it
        self._holders = 0
        self.before = 1

    def __enter__(self) -> "Hold":
        library = blas()
        if library is not None:
            with self._lock:
                self._holders += 1
                if self._holders == 1:
                    self.before = library.get_threads()
                    if self.before != 1:
                        library.set_threads(1)
        return self

    def __exit__(self, *error: object) -> None:
        library = blas()
        if library is not None:
            with self._lock:
                self._holders -= 1
                # if the setting has been changed meanwhile, restoring the old value would undo that change
                if not self._holders and self.before != 1 and library.get_threads() == 1:
                    library.set_threads(self.before)

    def after_fork(self) -> None:
        """Give the setting back in a forked child, in which no other thread computes."""
        self._lock = threading.RLock()
        library = blas()
        if self._holders and self.before != 1 and library is not None:
            library.set_threads(self.before)
        self._holders = 0


#: The hold of products that NumPy computes.
HOLD = Hold()
os.register_at_fork(after_in_child=HOLD.after_fork)
