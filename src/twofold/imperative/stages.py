"""Results of a window in stages: tasks that read some of them run on other threads while the window still computes the rest.

The thread closes its window, submits the tasks, and then runs the window, whose program hands out each stage's results once they are
complete. Until the window is done it may still read these results, so they count as in use: they are not written in place, and their
memory is not taken. If the window fails, results already handed out are right, and every remaining stage fails with the window's error.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import get_ident

from ..backend.kernel import Array
from ..program.compile import Program
from ..scheduler.queue import QUEUE, interrupted
from ..scheduler.variable import compute_lane
from .cell import Value
from .pending import ProducerTask
from .window import HERE, LOCK, Window, close, run_closed


class Stage(ProducerTask):
    """Some results of a running window, as a task that is done once they are complete.

    Parameters
    ----------
    window
        The window, which this thread has closed.
    values
        The results.
    """

    __slots__ = ("_node_of", "_window")
    reports = False  # readers of the results find the error in their Values, as for a window

    def __init__(self, window: Window, values: Sequence[Value]) -> None:
        super().__init__(compute_lane(window.device), float("inf"), 0)
        #: The window becomes the results' producer after they are handed out, since its later steps may read them.
        self._window = window
        self._node_of = {v: v.producer[1] for v in values}
        # as `Queue.run_here` expects of a task that is never submitted: this thread alone runs it
        self.runner = get_ident()
        self.var.writer = self
        with LOCK:
            for v in values:
                v.producer = self, v.producer[1]

    @property
    def values(self) -> Sequence[Value]:
        """The results."""
        return list(self._node_of)

    def complete(self, arrays: Sequence[Array]) -> None:
        """Hand out the results, and start the tasks that wait for them."""
        self.function = partial(self._hand_out, arrays)
        QUEUE.run_here(self)

    def fail(self, error: BaseException) -> None:
        """Fail the tasks that wait for the results."""
        self.function = partial(_raise, error)
        QUEUE.run_here(self)

    def _hand_out(self, arrays: Sequence[Array]) -> None:
        with LOCK:
            for (v, node), data in zip(self._node_of.items(), arrays, strict=True):
                v.data = data
                v.producer = self._window, node  # the window may still read the Value


def _raise(error: BaseException) -> None:
    raise error


class WindowStages:
    """How a window runs in stages; see `Window.stages`."""

    def __init__(self, window: Window, groups: Sequence[Sequence[Value]]) -> None:
        self._stages = [Stage(window, values) for values in groups]

    def run(self, program: Program, arrays: Sequence[Array], numbers: dict[Value, int]) -> list[Array]:
        """Run the window's program.

        Parameters
        ----------
        program, arrays
            The program and its inputs.
        numbers
            The number of each Value's result.
        """
        groups = tuple([tuple([numbers[v] for v in stage.values]) for stage in self._stages])
        results = program.run_in_stages(arrays, groups, lambda k, found: self._stages[k].complete(found))
        for stage, group in zip(self._stages, groups, strict=True):
            if not stage.is_done:
                stage.complete([results[k] for k in group])
        return results

    def end(self, error: BaseException) -> None:
        """After the window has run, fail the remaining stages."""
        for stage in self._stages:
            if not stage.is_done:
                stage.fail(error)


@contextmanager
def in_stages(groups: Sequence[Sequence[Value]]) -> Iterator[None]:
    """A block that issues tasks which read pending results of this thread's window. The window runs at the end of the block.

    Without such results, or if other windows have some of them, this has no effect: `pending.issue` then computes the results that it
    needs.

    Parameters
    ----------
    groups
        The results that each task reads. Each task produces results of the same size.

    Raises
    ------
    MXNetError
        At the end of the block, if the window has failed to compute some of these results.
    """
    window, stages = _closed(groups)
    if window is None or stages is None:
        yield
        return
    try:
        yield
    finally:
        try:
            run_closed(window)
        finally:
            stages.end(window.error or interrupted(KeyboardInterrupt()))
    if window.error is not None and any(v.data is None for group in groups for v in group):
        raise window.error.with_traceback(None)


def _closed(groups: Sequence[Sequence[Value]]) -> tuple[Window | None, WindowStages | None]:
    """Close this thread's window that holds the results. Returns the window and its stages, or (None, None) if it runs as a whole."""
    with LOCK:
        staged: list[list[Value]] = []
        seen: set[Value] = set()
        for group in groups:
            own = [v for v in dict.fromkeys(group) if v.data is None and isinstance(v.producer[0], Window) and v not in seen]
            seen.update(own)
            if own:
                staged.append(own)
        window: Window | None = staged[0][0].producer[0] if staged else None
        if window is None or not window.device.is_host or HERE.by_device.get(window.device.serial) is not window:
            return None, None
        if any(v.producer[0] is not window or v.entry is not None for v in seen):
            return None, None
        # at the limit the thread would have to wait for a task that waits for this window
        if not QUEUE.has_room(len(groups), sum([v.producer[1].nbytes for v in seen])) or not close(window):
            return None, None
        window.stages = stages = WindowStages(window, staged)
        return window, stages
