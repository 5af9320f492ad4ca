"""`BaseModule`: `fit`, `score` and `predict`, built on the members that each kind of module defines."""

import time
from collections.abc import Iterable, Iterator
from operator import length_hint
from os import PathLike
from typing import Any, cast

import numpy as np

from .. import metric as metrics
from ..checkpoint import BatchEndParam
from ..errors import FormatError, InvalidValue, ParameterError, WrongType
from ..extension_points import shown_as_text, shown_in_notebooks
from ..initializer.base import Initializer
from ..io.iterator import BatchSource, DataBatch
from ..kvstore.base import KVStoreBase
from ..metric.base import EvalMetric
from ..metric.composite import MetricLike
from ..monitor import Monitor
from ..ndarray import concat
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import array
from ..ndarray.saving import load, save
from ..origin import warn
from ..progress_bars import Epoch
from ..symbol.symbol import Symbol
from .data_shapes import Batch, Labels
from .interface import LEARNING_RATE, UNIFORM, Callbacks, Kwargs, ModuleInterface, OptimizerLike, Params, RowIds, Store


def call_all(callbacks: Callbacks, *args: object) -> None:
    """Call a single callback, a list of them, or none."""
    if callbacks is None:
        return
    for callback in callbacks if isinstance(callbacks, Iterable) else [callbacks]:
        callback(*args)


def _and_bar(callbacks: Callbacks, bar: Epoch) -> Callbacks:
    """The callbacks, and where the bar is seen one more that moves it."""
    if not bar.is_seen:
        return callbacks
    given = callbacks if isinstance(callbacks, Iterable) else () if callbacks is None else (callbacks,)
    return [*given, lambda param: bar.step()]


class BaseModule(ModuleInterface):
    """Base class of modules, including user-defined ones.

    Subclasses define `bind`, `init_params`, `init_optimizer`, `forward`, `backward`, `update`, `get_outputs`, `get_input_grads`,
    `get_params`, `update_metric`, `install_monitor` and the properties of names and shapes.

    Parameters
    ----------
    logger
        The logger for progress.

    Attributes
    ----------
    binded, for_training, inputs_need_grad, params_initialized, optimizer_initialized
        The state of the module.
    """

    __repr__ = shown_as_text("module")
    _repr_html_ = shown_in_notebooks("module")

    def forward_backward(self, data_batch: Batch) -> None:
        """`forward` in training mode, then `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def set_params(
        self,
        arg_params: Params | None,
        aux_params: Params | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states.

        Parameters
        ----------
        arg_params, aux_params
            Arrays by name.
        allow_missing
            Whether to keep the values of those without an array.
        force_init
            Whether to set them even if the parameters are initialized.
        allow_extra
            With ``allow_missing``, whether to ignore unknown names; without it they are always ignored.

        Raises
        ------
        ParameterError
            If a name is missing, or unknown and not ignored.
        """
        self.init_params(None, arg_params, aux_params, allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra)

    def save_params(self, fname: str | PathLike[str]) -> None:
        """Write parameters and auxiliary states to a file.

        Parameters
        ----------
        fname
            The file.
        """
        arg_params, aux_params = self.get_params()
        arrays = {f"arg:{name}": value for name, value in arg_params.items()}
        save(fname, arrays | {f"aux:{name}": value for name, value in aux_params.items()})

    def load_params(self, fname: str | PathLike[str]) -> None:
        """Read parameters and auxiliary states from a file written by `save_params`, `save_checkpoint` or MXNet.

        Parameters
        ----------
        fname
            The file.

        Raises
        ------
        FormatError
            If the file is damaged, or holds other arrays.
        """
        found: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
        arrays = load(fname)
        for key, value in arrays.items() if isinstance(arrays, dict) else enumerate(arrays):
            # the prefixes tell arguments from auxiliary states, which may share no names
            kind, _, name = str(key).partition(":")
            if not name or kind not in found:
                raise FormatError("Invalid param file", f"array {key}", "names must start with arg: or aux:", path=str(fname))
            found[kind][name] = value
        self.set_params(found["arg"], found["aux"])

    # evaluation

    def _evaluate(
        self, eval_data: BatchSource, num_batch: int | None, reset: bool, sparse_row_id_fn: RowIds | None
    ) -> Iterator[tuple[int, DataBatch]]:
        """Run `forward` in inference mode on the batches of an iterator, and yield each batch with its index."""
        self._require("forward", params=True)
        if reset:
            eval_data.reset()
        if num_batch == 0:  # the iterator may be used further, so it must not lose a batch
            return
        for nbatch, batch in enumerate(eval_data):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield nbatch, batch
            if nbatch + 1 == num_batch:
                return

    def score(
        self,
        eval_data: BatchSource,
        eval_metric: MetricLike,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: RowIds | None = None,
    ) -> list[tuple[str, float]]:
        """Evaluate a metric on data.

        Parameters
        ----------
        eval_data
            An iterator over batches.
        eval_metric
            A metric, or anything that `metric.create` accepts.
        num_batch
            Number of batches to use; all if None.
        batch_end_callback, score_end_callback
            Called with a `BatchEndParam` after each batch, and at the end; functions or lists of functions.
        reset
            Whether to reset the iterator first.
        epoch
            Epoch number passed to callbacks.
        sparse_row_id_fn
            See `prepare`.

        Returns
        -------
        list
            (name, value) pairs.

        Raises
        ------
        MXNetError
            If the module is not bound or has no parameters.
        """
        eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in self._evaluate(eval_data, num_batch, reset, sparse_row_id_fn):
            labels, sliced = _labels_of(eval_batch)
            self.update_metric(eval_metric, labels, **sliced)
            # callbacks of MXNet's programs read the loop's variables: `locals` is part of the interface, and so are their names
            call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch = nbatch + 1
        call_all(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(
        self,
        eval_data: BatchSource,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: RowIds | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Yield outputs batch by batch, without padding rows.

        Parameters
        ----------
        eval_data, num_batch, reset, sparse_row_id_fn
            See `score`.

        Yields
        ------
        tuple
            The outputs, the index of the batch, and the batch.
        """
        for nbatch, batch in self._evaluate(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(batch), nbatch, batch

    def _unpadded(self, batch: DataBatch) -> list[NDArray]:
        pad = batch.pad or 0
        return [out[: out.shape[0] - pad] if pad else out for out in self._merged_outputs()]

    def _merged_outputs(self) -> list[NDArray]:
        return cast("list[NDArray]", self.get_outputs())

    def predict(
        self,
        eval_data: BatchSource | NDArray | np.ndarray,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: RowIds | None = None,
    ) -> NDArray | Any:
        """Compute the outputs for data.

        Parameters
        ----------
        eval_data
            An iterator over batches, or a single batch as an array.
        num_batch, reset, sparse_row_id_fn
            See `score`.
        merge_batches
            Whether to concatenate the outputs of all batches.
        always_output_list
            Whether to return a list even for a single output.

        Returns
        -------
        NDArray or list
            The output, or a list if there are several; without ``merge_batches`` a list of such lists.

        Raises
        ------
        ParameterError
            If the outputs cannot be merged because their number varies between batches.
        DTypeError
            If the data is anything else.
        """
        if isinstance(eval_data, (NDArray, np.ndarray)):
            self._require("predict", params=True)
            # a batch without labels, as prediction needs none
            self.forward(DataBatch([array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data]), is_train=False)
            return self._merged_outputs()[0].copy()
        if not isinstance(eval_data, Iterable) or isinstance(eval_data, (list, tuple, str)):
            raise NotData("eval_data must be of type NDArray or DataIter", type(eval_data).__name__, "create an NDArrayIter")
        # copies: the next batch overwrites the executors' outputs
        found = [[out.copy() for out in outputs] for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)]
        if not found or not merge_batches:
            return found
        # a bucket's symbol may have other outputs than another one's
        if any(len(outputs) != len(found[0]) for outputs in found):
            raise ParameterError(
                "Cannot merge batches, as num of outputs is not the same in mini-batches",
                ", ".join(str(len(outputs)) for outputs in found),
                "pass merge_batches=False",
            )
        merged = [parts[0] if len(parts) == 1 else concat(*parts, dim=0) for parts in zip(*found, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # training

    def fit(
        self,
        train_data: BatchSource,
        eval_data: BatchSource | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Store = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Kwargs = LEARNING_RATE,
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Initializer | None = UNIFORM,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: "MetricLike | None" = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: RowIds | None = None,
    ) -> None:
        """Train the module, on a terminal or in a notebook with a bar for each epoch; see `twofold.progress`.

        Parameters
        ----------
        train_data
            An iterator over batches. As in MXNet, it is reset after each epoch, but not before the first; a warning says if that has none.
        eval_data
            An iterator over validation batches, evaluated after each epoch.
        eval_metric, validation_metric
            Metrics of training and validation, or anything that `metric.create` accepts. The latter defaults to the former.
        epoch_end_callback
            Called with the epoch, the symbol, the parameters and the auxiliary states; a function or a list of functions.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            Called with a `BatchEndParam`; functions or lists of functions.
        kvstore, optimizer, optimizer_params
            See `init_optimizer`.
        initializer, arg_params, aux_params, allow_missing, force_init
            See `init_params`.
        force_rebind
            Whether to rebind a bound module.
        begin_epoch, num_epoch
            The first epoch, and the epoch to stop before.
        monitor
            A `Monitor` to install.
        sparse_row_id_fn
            See `prepare`.

        Raises
        ------
        ParameterError
            If ``num_epoch`` is missing.
        """
        if num_epoch is None:
            raise InvalidValue("fit: please specify number of epochs", None, "pass num_epoch")
        if getattr(train_data, "provide_data", None) is None:
            raise NotData("fit: train_data must be an iterator over batches", type(train_data).__name__, "create an NDArrayIter")
        # a module that is already bound does not change, unless forced
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        # bound first: a BucketingModule has no symbol before
        arguments = self.symbol.list_arguments() if isinstance(self.symbol, Symbol) else ()
        wanted = [name for name in getattr(self, "_label_names", ()) if name in arguments]
        if wanted and not train_data.provide_label:
            given = f"an iterator without labels for a module with {', '.join(wanted)}"
            raise InvalidValue("fit: train_data has no labels", given, "pass labels too, as in NDArrayIter(data, label)")
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing=allow_missing, force_init=force_init)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        # the validation shares the object by default: its sums are reset before
        metric = metrics.create(eval_metric)
        validation_metric = metric if validation_metric is None else validation_metric
        batches, fit = length_hint(train_data) or None, dict(locals())  # callbacks of MXNet's programs read the arguments of `fit`
        for epoch in self._epochs(begin_epoch, num_epoch):
            fit["tic"] = start = time.time()
            with Epoch(f"epoch {epoch}", batches, metric.get_global_name_value, self.logger) as bar:
                values = self._train_epoch(epoch, train_data, metric, monitor, _and_bar(batch_end_callback, bar), sparse_row_id_fn, fit)
            batches = bar.done or batches  # from the second epoch on it is known for every kind of iterator
            self._log(epoch, "Train", values)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
            # each device has updated the auxiliary states from its own rows: average them
            arg_now, aux_now = self.get_params()
            self.set_params(arg_now, aux_now)
            call_all(epoch_end_callback, epoch, self.symbol, arg_now, aux_now)
            if eval_data is not None:
                # `set_params` has given the devices every row
                values = self.score(eval_data, validation_metric, None, eval_batch_end_callback, eval_end_callback, epoch=epoch)
                self._log(epoch, "Validation", values)
            train_data.reset()

    def _epochs(self, first: int, end: int) -> Iterable[int]:
        """The numbers of epochs, between which spares may join the workers of a store."""
        store = self._kvstore
        return store._epochs(first, end, lambda: self.get_params()[1], self._take) if isinstance(store, KVStoreBase) else range(first, end)

    def _take(self, aux_params: Params) -> None:
        """In a spare: continue with the auxiliary states of the workers that it joins, and with the parameters in the store."""
        arg_params, _ = self.get_params()
        for name, value in arg_params.items():
            # row-sparse parameters too, which `pull` leaves out by default
            self._kvstore.pull(name, value, ignore_sparse=False)
        self.set_params(arg_params, aux_params)

    def _log(self, epoch: int, what: str, values: list[tuple[str, float]]) -> None:
        for name, value in values:
            self.logger.info(f"Epoch[%d] {what}-%s=%f", epoch, name, value)

    def _train_epoch(
        self,
        epoch: int,
        train_data: BatchSource,
        eval_metric: EvalMetric,
        monitor: Monitor | None,
        batch_end_callback: Callbacks,
        sparse_row_id_fn: RowIds | None,
        fit: dict[str, Any],
    ) -> list[tuple[str, float]]:
        """Train for one epoch; return the (name, value) pairs of the metric. ``fit``: the arguments of `fit`, for callbacks."""
        eval_metric.reset()
        values: list[tuple[str, float]] = []
        batches = iter(train_data)
        data_batch, nbatch = next(batches, None), 0
        if data_batch is None:
            cause = "train_data was at its end, or has fewer rows than a batch"
            warn(f"fit: epoch {epoch} had no batches: {cause}; call its reset() before fit, which must start it again")
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            # between backward and metric: the outputs stay, and the devices go on while the metric is computed
            self.update()
            labels, sliced = _labels_of(data_batch)
            self.update_metric(eval_metric, labels, **sliced)
            # one batch ahead: `prepare` may bind the next batch's bucket, and the last batch is known before its callbacks
            next_data_batch = next(batches, None)
            if next_data_batch is None:
                values = eval_metric.get_global_name_value()  # now, as callbacks may reset the metric
            else:
                self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
            if monitor is not None:
                monitor.toc_print()
            end_of_batch = next_data_batch is None  # MXNet's name
            call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, fit | locals()))
            data_batch, nbatch = next_data_batch, nbatch + 1
        return values


class NotData(WrongType, ValueError):
    """Data that is neither an array nor an iterator over batches."""


def _labels_of(batch: DataBatch | list[DataBatch]) -> tuple[Labels, dict[str, bool]]:
    """The labels of a batch; for a list of batches also that they are split by device, which a user's `update_metric` may not take."""
    return ([b.label or () for b in batch], {"pre_sliced": True}) if isinstance(batch, list) else (batch.label, {})
