"""`ROOM`: how many pixels threads decode at once, besides the main one, so that a few large images do not exhaust the memory."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Condition, Lock, current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Room:
    """Pixels that threads may decode at the same time, besides the main one. An image of more is decoded while no other is.

    Parameters
    ----------
    most
        Their number.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.empty()

    def empty(self) -> None:
        """Nothing is being decoded: in a forked process, which has none of the threads that decode in its parent."""
        self._used = 0
        self._changed = Condition()
        # held by the thread that waits for room, so that small images do not overtake a large one forever
        self._turn = Lock()

    def of(self, pixels: int) -> AbstractContextManager[None]:
        """While it is entered, an image of so many pixels is decoded; waits until there is room for it, except in the main thread.

        Only the main thread gets Ctrl-C, and one between two lines here would leave less room for ever.
        """
        return nullcontext() if current_thread() is main_thread() else self._taken(pixels)

    @contextmanager
    def _taken(self, pixels: int) -> Iterator[None]:
        with self._turn, self._changed:
            self._changed.wait_for(lambda: not self._used or self._used + pixels <= self.most)
            self._used += pixels
        try:
            yield
        finally:
            with self._changed:
                self._used -= pixels
                self._changed.notify_all()


#: Room for five photographs of 24 million pixels, or one of Pillow's largest. Decoding takes 3 to 14 bytes for each pixel.
ROOM = Room(1 << 27)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ROOM.empty)
