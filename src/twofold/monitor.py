"""``mx.monitor``, ``mx.mon``: statistics of what an executor computes, gathered every few batches."""

import logging
import re
from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any

from . import ndarray as nd
from .ndarray.array import NDArray

__all__ = ["Monitor"]


class Monitor:
    """Statistics of outputs, parameters and auxiliary states: ``tic()`` before a batch's forward, ``toc()`` after it.

    Parameters
    ----------
    interval
        Gather in each so many batches.
    stat_func
        Function of an array to its statistic, an array, a number, or a list of these; the root of the mean square if None.
    pattern
        Regular expression that names begin with whose arrays count.
    sort
        Return statistics in the order of names.
    monitor_all
        Gather operators' inputs too, not only their outputs.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.stat_func = stat_func or _root_mean_square
        self.interval = interval
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Gather the statistic of an array; what executors call."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watch an executor.

        Parameters
        ----------
        exe
            The executor.
        """
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Start to gather, if it is this batch's turn; call it before forward."""
        if self.step % self.interval == 0:
            for _, array in self._arrays():
                array.wait_to_read()
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Stop to gather; call it after forward, or after backward.

        Returns
        -------
        list
            Number of the batch, name and statistic as text, of each array; empty if it was not this batch's turn.
        """
        if not self.activated:
            return []
        for name, array in self._arrays():
            self.stat_helper(name, array)
        self.activated = False
        gathered = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in gathered]

    def toc_print(self) -> None:
        """Stop to gather, and log the statistics."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)

    def _arrays(self) -> Iterable[tuple[str, NDArray]]:
        """Parameters and auxiliary states of all executors by name."""
        for exe in self.exes:
            yield from exe.arg_dict.items()
            yield from exe.aux_dict.items()


def _root_mean_square(array: NDArray) -> NDArray:
    return nd.norm(array) / sqrt(array.size)


def _text(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return "".join(f"{_number(each)}\t" for each in values)


def _number(value: Any) -> Any:
    if not isinstance(value, NDArray):
        return value
    return value.asscalar() if value.shape == (1,) else value.asnumpy()
