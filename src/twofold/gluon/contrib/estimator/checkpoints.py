"""A handler that saves the model, and resumes training from a saved model."""

import math
import os
import re
from typing import Any, Unpack

from ....errors import InvalidValue, ParameterError
from ....formats.checksums import checksum_beside, remove_with_checksum, warn_if_changed
from ....formats.files import folder_entries, join_path, make_folder
from ....metric import EvalMetric
from ...hybrid_block import HybridBlock
from .events import Batch, BatchEnd, Counting, EpochEnd, TrainBegin
from .improvement import comparison, value_of, worst


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd, Counting):
    """Saves parameters and the trainer's states regularly, and resumes from the last of these files.

    The files are ``prefix-epochEbatchB.params`` and ``.states``, of the best model ``prefix-best.params`` and ``.states``, and of a
    hybridized network ``prefix-symbol.json``. Beside local files of the first two kinds is their checksum, ``.FILE.sha256``; resuming warns
    of a file that is not the one that was written. The parameters are written last, so resuming passes over a checkpoint of an epoch or
    batch that was not finished.

    Parameters
    ----------
    model_dir
        The folder, which is created.
    model_prefix
        The prefix of the files' names.
    monitor
        One of the estimator's metrics, for the best model.
    verbose
        Whether to log each file that is saved.
    save_best
        Whether to save the model with the best value of the metric.
    mode
        ``"max"`` or ``"min"``: which value is better. ``"auto"`` is ``"max"`` and issues a warning, as in MXNet.
    epoch_period, batch_period
        How often to save, in epochs and in batches; None for never.
    max_checkpoints
        How many to keep, besides the best; older ones are removed.
    resume_from_checkpoint
        Whether to load the last checkpoint before training, which then lasts for the remaining epochs or batches only.

    Raises
    ------
    ParameterError
        If the best model should be saved but there is no metric.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        if save_best and not isinstance(monitor, EvalMetric):
            what = "To save best model only, please provide one of the metric objects from estimator.train_metrics and "
            raise ParameterError(f"{what}estimator.val_metrics as monitor.", repr(monitor), "pass the metric itself, not its name")
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir, self.model_prefix = os.fspath(model_dir), model_prefix
        self.save_best = save_best
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = self._finished = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        if save_best:
            self.monitor_op = comparison(monitor, mode)
            self.best = worst(self.monitor_op)
        make_folder(self.model_dir)

    # events

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Start counting, or resume."""
        self.current_batch = self.current_epoch = self._finished = 0
        if self.save_best:
            self.best = worst(self.monitor_op)
        if self.resume_from_checkpoint:
            by_epochs = bool(estimator.max_epoch)
            if bool(self.batch_period) == by_epochs or bool(self.epoch_period) != by_epochs:
                raise InvalidValue(
                    "To use resume from checkpoint, you must only specify the same type of period you used for training.",
                    f"epoch_period={self.epoch_period}, batch_period={self.batch_period}",
                    f"set {'batch_period' if by_epochs else 'epoch_period'} to None, and the other one to a number",
                )
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> None:
        """Save if it is time."""
        # after the first batch a hybridized network has its graph
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            # `current_batch` counts this batch below
            self._finished = self.current_batch + 1
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Save if it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._finished = self.current_batch
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # saving

    def _say(self, estimator: Any, text: str, *values: object) -> None:
        if self.verbose > 0:
            estimator.logger.info(f"[Epoch %d] CheckpointHandler: {text}", self.current_epoch, *values)

    def _path(self, name: str) -> str:
        return join_path(self.model_dir, name)

    def _save_symbol(self, estimator: Any) -> None:
        path, net = self._path(f"{self.model_prefix}-symbol.json"), estimator.net
        if isinstance(net, HybridBlock) and net._trace is not None:
            net._trace.symbol.save(path)
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to construct your model, and call net.hybridize() "
                "before passing to Estimator in order to save model architecture as %s.",
                path,
            )

    def _save_checkpoint(self, estimator: Any) -> None:
        """Save the parameters and the states of the trainer, and remove the oldest checkpoint if there are too many."""
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            # the handler counts from 0 in this run, and files go on from the run before
            epoch += self.trained_epoch + 1
            # The number counts finished batches in training by epochs, and is the index of the last one in training by batches.
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._say(estimator, "trained total %d batches, saving model at %s with prefix: %s", self._finished, self.model_dir, name)
        self._save_params_and_trainer(estimator, name)
        self.saved_checkpoints.append(name)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            # only checkpoints of this run: those of earlier runs are not the handler's to remove
            oldest = self.saved_checkpoints.pop(0)
            for suffix in ("params", "states"):
                remove_with_checksum(self._path(f"{oldest}.{suffix}"))
        if self.save_best:
            self._save_best(estimator)

    def _save_params_and_trainer(self, estimator: Any, file_prefix: str) -> None:
        params, states = (self._path(f"{file_prefix}.{suffix}") for suffix in ("params", "states"))
        # The parameters last: resuming looks for them, and a process may be killed, or the disk be full, between the two.
        with checksum_beside(states):
            estimator.trainer.save_states(states)
        with checksum_beside(params):
            estimator.net.save_parameters(params)

    def _save_best(self, estimator: Any) -> None:
        assert self.monitor is not None
        name, value = value_of(self.monitor, "Skipping save best because ")
        if math.isnan(value):
            return
        if not self.monitor_op(value, self.best):
            self._say(estimator, "%s did not improve from %.5f, skipping updating best model", name, self.best)
            return
        self._say(
            estimator,
            "%s improved from %.5f to %.5f, updating best model at %s with prefix: %s-best",
            *(name, self.best, value, self.model_dir, self.model_prefix),
        )
        self._save_params_and_trainer(estimator, f"{self.model_prefix}-best")
        self.best = value

    # resuming

    def _last(self) -> tuple[int, int]:
        """Epoch and batch of the last checkpoint in the folder; (-1, -1) without one."""
        pattern = re.compile(rf"{re.escape(self.model_prefix)}-epoch(0|[1-9][0-9]*)batch(0|[1-9][0-9]*)\.params")
        found = [pattern.fullmatch(name) for name in folder_entries(self.model_dir)]
        return max(((int(match[1]), int(match[2])) for match in found if match), default=(-1, -1))

    def _resume_from_checkpoint(self, estimator: Any) -> None:
        self.trained_epoch, self.trained_batch = self._last()
        # `fit` takes exactly one of the two limits
        unit, wanted = "epoch" if estimator.max_epoch else "batch", estimator.max_epoch or estimator.max_batch or 0
        if self.trained_epoch < 0:
            text = "CheckpointHandler: No checkpoint found, training from scratch for %d %s"
            estimator.logger.info(text, wanted, "epochs" if unit == "epoch" else "batches")
            return
        done = (self.trained_epoch if unit == "epoch" else self.trained_batch) + 1
        if done >= wanted:
            raise ParameterError(
                f"Found checkpoint with maximum number of {unit} {wanted} reached, please specify resume_from_checkpoint=False "
                "(default value) if you wan to train from scratch.",
            )
        # the limits count the whole training, and part of it is done
        left = wanted - done
        if unit == "epoch":
            estimator.max_epoch = left
        else:
            estimator.max_batch = left
        name = f"{self.model_prefix}-epoch{self.trained_epoch}batch{self.trained_batch}"
        params, states = (self._path(f"{name}.{suffix}") for suffix in ("params", "states"))
        warn_if_changed(params)
        estimator.net.load_parameters(params, ctx=estimator.context)
        warn_if_changed(states)
        estimator.trainer.load_states(states)
        text = "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %d %s"
        plural = "epochs" if unit == "epoch" else "batches"
        estimator.logger.info(text, self.trained_epoch, self.trained_batch, left, plural)
