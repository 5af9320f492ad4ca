"""``mx.callback``: callbacks for the end of batches and epochs."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Protocol

from .checkpoint import BatchEndParam, save_checkpoint
from .extension_points import shown_as_text
from .ndarray.array import NDArray
from .symbol.symbol import Symbol

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]


Params = Mapping[str, NDArray]


class Saved(Protocol):
    """The members of a module that `module_checkpoint` needs."""

    def save_checkpoint(self, prefix: str | PathLike[str], epoch: int, save_optimizer_states: bool, /) -> None:
        """Write the module's files."""
        ...


def module_checkpoint(mod: Saved, prefix: str | PathLike[str], period: int = 1, save_optimizer_states: bool = False) -> Callable[..., None]:
    """An epoch-end callback that saves a module.

    Parameters
    ----------
    mod
        The module.
    prefix
        Prefix of the file names.
    period
        Number of epochs between saves.
    save_optimizer_states
        Whether to save the optimizer's states too.
    """
    period = max(1, int(period))

    def at_epoch_end(epoch: int, sym: object = None, arg: object = None, aux: object = None) -> None:
        if (epoch + 1) % period == 0:  # files count the epochs completed, callbacks from 0
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return at_epoch_end


def do_checkpoint(prefix: str | PathLike[str], period: int = 1) -> Callable[..., None]:
    """An epoch-end callback that saves the symbol and parameters.

    Parameters
    ----------
    prefix
        Prefix of the file names; see `model.save_checkpoint`.
    period
        Number of epochs between saves.
    """
    period = max(1, int(period))

    def at_epoch_end(epoch: int, sym: Symbol, arg: Params, aux: Params) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, sym, arg, aux)

    return at_epoch_end


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEndParam], None]:
    """A batch-end callback that logs the metric.

    Parameters
    ----------
    period
        Number of batches between log entries.
    auto_reset
        Whether to reset the metric's local sums after logging.
    """

    def at_batch_end(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return at_batch_end


class Sharing(Protocol):
    """What `Speedometer` needs of a store."""

    def share_figure(self, figure: float, /) -> list[float]:
        """Tell the first worker a figure; there, return those of all workers."""
        ...


class Speedometer:
    """A batch-end callback that logs the number of samples per second and the metric.

    Parameters
    ----------
    batch_size
        Number of samples in a batch.
    frequent
        Number of batches between log entries.
    auto_reset
        Whether to reset the metric's local sums after logging.
    kvstore
        A distributed store. Only its first worker logs: the sum of the last speeds of all workers, and the metric of the first.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True, kvstore: Sharing | None = None) -> None:
        self.batch_size = batch_size
        self.kvstore = kvstore
        self.frequent = frequent
        self.init = False
        self.tic = 0.0
        self.last_count = 0
        self.auto_reset = auto_reset

    __repr__ = shown_as_text("settings")

    def __call__(self, param: BatchEndParam) -> None:
        """Count a batch, and log if it is due."""
        count = param.nbatch
        if self.last_count > count:  # a new epoch: its first batch only starts the clock, as it may compile
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
        elif count % self.frequent == 0:
            speeds = [self._speed()] if self.kvstore is None else self.kvstore.share_figure(self._speed())
            if speeds:
                self._log(param, sum(speeds))
            self.tic = time.time()

    def _speed(self) -> float:
        elapsed = time.time() - self.tic
        return self.frequent * self.batch_size / elapsed if elapsed > 0 else math.inf

    def _log(self, param: BatchEndParam, speed: float) -> None:
        metric, count = param.eval_metric, param.nbatch
        if metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        pairs = metric.get_name_value()
        first = 0
        if self.auto_reset:
            metric.reset_local()
            first = count - self.frequent
        text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs)
        logging.info(text, param.epoch, first, count, speed, *(part for pair in pairs for part in pair))


class ProgressBar:
    """A batch-end callback that logs a progress bar of the epoch.

    Parameters
    ----------
    total
        Number of batches per epoch.
    length
        Length of the bar in characters.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    __repr__ = shown_as_text("settings")

    def __call__(self, param: BatchEndParam) -> None:
        """Log the bar after a batch."""
        share = param.nbatch / self.total
        filled = round(self.bar_len * share)
        logging.info("[%s] %s%%\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100.0 * share))


class LogValidationMetricsCallback:
    """A callback that logs the metric of an evaluation."""

    def __call__(self, param: BatchEndParam) -> None:
        """Log the metric."""
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
