"""``mx.monitor``, ``mx.mon``: statistics of the arrays in an executor, collected every few batches."""

import logging
from collections.abc import Callable, Iterable
from math import sqrt

from . import ndarray as nd
from .executor.executor import Executor
from .extension_points import shown_as_text
from .ndarray.array import NDArray
from .patterns import compiled

__all__ = ["Monitor"]


class Monitor:
    """Statistics of outputs, gradients, parameters and auxiliary states: call ``tic()`` before a batch's forward, and ``toc()`` after it.

    Parameters
    ----------
    interval
        Number of batches between collections.
    stat_func
        Function from an array to its statistic, which is an array, a number, or a list of these; the root mean square if None.
    pattern
        Regular expression that names must match from their start.
    sort
        Whether to sort statistics by name.
    monitor_all
        Whether to monitor operators' inputs as well as outputs.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], object] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.stat_func = stat_func or _root_mean_square
        self.interval = interval
        self.activated = False
        self.queue: list[tuple[int, str, object]] = []
        self.step = 0
        self.exes: list[Executor] = []
        self.re_prog = compiled("Monitor: pattern", pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    __repr__ = shown_as_text("settings")

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Record the statistic of an array; called by executors."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Monitor an executor.

        Parameters
        ----------
        exe
            The executor.
        """
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        if isinstance(exe, Executor) and type(self).stat_helper is Monitor.stat_helper:
            exe._is_monitored = self._is_activated
        self.exes.append(exe)

    def tic(self) -> None:
        """Start collecting, if this batch is due. Call it before forward."""
        if self.step % self.interval == 0:
            for _, array in self._arrays():  # so that earlier batches do not count in the user's timing
                array.wait_to_read()
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Stop collecting. Call it after forward or backward.

        Returns
        -------
        list
            (batch number, name, statistic as text) of each array; empty if this batch was not due.
        """
        if not self.activated:
            return []
        for name, array in self._arrays():
            self.stat_helper(name, array)
        self.activated = False
        entries = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in entries]

    def toc_print(self) -> None:
        """Stop collecting, and log the statistics."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)

    def _is_activated(self) -> bool:
        return self.activated

    def _arrays(self) -> Iterable[tuple[str, NDArray]]:
        """Parameters and auxiliary states of all executors by name."""
        for exe in self.exes:
            yield from exe.arg_dict.items()
            yield from exe.aux_dict.items()


def _root_mean_square(array: NDArray) -> NDArray:
    return nd.norm(array) / sqrt(array.size)


def _text(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return "".join(f"{_number(each)!s}\t" for each in values)


def _number(value: object) -> object:
    if not isinstance(value, NDArray):
        return value
    return value.asscalar() if value.shape == (1,) else value.asnumpy()
