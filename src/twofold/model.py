"""``mx.model``: checkpoints, and `FeedForward`, the predecessor of modules."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, cast

import numpy as np

from . import metric as metrics
from . import optimizer as optimizers
from .callback import LogValidationMetricsCallback
from .checkpoint import BatchEndParam, load_checkpoint, load_params, save_checkpoint
from .device import CPU, devices_of
from .errors import DTypeError, InvalidValue, MXNetError, ParameterError, ShapeError
from .extension_points import shown_as_text
from .io.array_iterator import NDArrayIter
from .io.iterator import BatchSource, DataIter
from .metric.base import EvalMetric
from .metric.composite import MetricLike
from .module.base_module import BaseModule, call_all
from .module.bucketing_module import BucketingModule
from .module.interface import UNIFORM, Callbacks, Logger, Store
from .module.module import Contexts, Module
from .monitor import Monitor
from .ndarray.array import NDArray
from .symbol.symbol import Symbol

__all__ = ["BatchEndParam", "BatchEndParams", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

#: The name that MXNet's class has in pickles and messages.
BatchEndParams = BatchEndParam
Params = dict[str, NDArray]
#: Function from a bucket's key to a symbol.
Generator = Callable[..., Symbol]
#: An iterator over batches, or an array of rows.
Data = BatchSource | NDArray | np.ndarray
Labels = NDArray | np.ndarray | Sequence[float] | None
#: An iterator, or a pair of data and labels.
EvalData = BatchSource | tuple[Any, Any] | list[Any] | None
_VALIDATION = LogValidationMetricsCallback()


class FeedForward:
    """A symbol with its parameters, trained on NumPy arrays or iterators. `Module` is more capable.

    Parameters
    ----------
    symbol
        The symbol, or a function from a bucket's key to a symbol, for iterators over batches of different lengths.
    ctx
        A device or a list of them; the CPU if None.
    num_epoch
        The epoch to stop before.
    epoch_size
        Number of batches per epoch; one pass through the data if None.
    optimizer
        An optimizer, or the name of one. An optimizer given by name divides gradients by the batch size.
    initializer
        Initializer of parameters without an array.
    numpy_batch_size
        Batch size for data in NumPy arrays.
    arg_params, aux_params
        Parameters and auxiliary states by name.
    allow_extra_params
        Whether to ignore parameters that the symbol does not have.
    begin_epoch
        The first epoch.
    **kwargs
        Parameters of the optimizer.

    Raises
    ------
    ParameterError
        If two of the symbol's arguments have the same name.
    """

    def __init__(
        self,
        symbol: Symbol | Generator,
        ctx: Contexts | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = UNIFORM,
        numpy_batch_size: int = 128,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        self.symbol: Any = None if _is_generator(symbol) else symbol
        self.sym_gen: Any = symbol if _is_generator(symbol) else None
        self.ctx = [CPU] if ctx is None else devices_of(ctx, "ctx")
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.initializer, self.numpy_batch_size = optimizer, initializer, numpy_batch_size
        self.arg_params, self.aux_params, self.allow_extra_params = arg_params, aux_params, allow_extra_params
        self.kwargs = dict(kwargs)
        self._predictor: Module | None = None
        if self.symbol is not None:
            self._check_arguments()

    __repr__ = shown_as_text("settings")

    def _check_arguments(self) -> None:
        for what, names in (("argument", self.symbol.list_arguments()), ("auxiliary", self.symbol.list_auxiliary_states())):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ParameterError(
                    f'Find duplicated {what} name "{twice[0]}"', ", ".join(names), "use the same Variable, or give them different names"
                )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_predictor": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)

    # data

    def _init_iter(self, X: Data, y: Labels, is_train: bool) -> BatchSource:
        """An iterator over the given data.

        Raises
        ------
        ParameterError
            If labels are needed for training and missing.
        ShapeError
            If labels and rows differ in number, or labels have more than one axis.
        DTypeError
            If the data is neither an array nor an iterator.
        """
        if not isinstance(X, (np.ndarray, NDArray)):
            if not isinstance(X, Iterable) or isinstance(X, (list, tuple, str, Mapping)):
                raise DTypeError("X must be DataIter, NDArray or numpy.ndarray", type(X).__name__, "create an NDArrayIter")
            return X
        if y is None and is_train:
            raise ParameterError("y must be specified when X is numpy.ndarray", None, "pass the labels")
        labels = np.zeros(X.shape[0]) if y is None else y.asnumpy() if isinstance(y, NDArray) else np.asarray(y)
        if labels.shape[0] != X.shape[0]:
            raise ShapeError(
                "The numbers of data points and labels not equal", f"{X.shape[0]} and {labels.shape[0]}", "pass one label per row"
            )
        if labels.ndim == 2 and labels.size == labels.shape[0]:
            labels = labels.reshape(-1)
        if labels.ndim != 1:
            raise ShapeError("Label must be 1D or 2D (with 2nd dimension being 1)", f"shape {labels.shape}", "pass an iterator for others")
        size = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, labels, size, shuffle=is_train, last_batch_handle="roll_over" if is_train else "pad")

    def _init_eval_iter(self, eval_data: EvalData) -> BatchSource | None:
        if not isinstance(eval_data, (list, tuple)):
            return eval_data
        if len(eval_data) != 2:
            raise ParameterError("eval_data as a list is a pair of data and labels", f"{len(eval_data)} items", "pass both")
        data, label = eval_data
        if not isinstance(data, (np.ndarray, NDArray, list)):
            return data
        return self._init_iter(np.asarray(data) if isinstance(data, list) else data, label, is_train=True)

    # training

    def fit(
        self,
        X: Data,
        y: Labels = None,
        eval_data: EvalData = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Store = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Monitor | None = None,
        eval_end_callback: Callbacks = _VALIDATION,
        eval_batch_end_callback: Callbacks = None,
    ) -> None:
        """Train the model.

        Parameters
        ----------
        X
            An iterator over batches, or an array, whose rows are shuffled.
        y
            Labels, one per row of the array.
        eval_data
            An iterator over validation batches, or a pair of data and labels.
        eval_metric
            A metric, or anything that `metric.create` accepts.
        epoch_end_callback
            Called with the epoch, the symbol, the parameters and the auxiliary states; a function or a list of functions.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            Called with a `BatchEndParam`; functions or lists of functions. Training batches count from 1.
        kvstore
            See `Module.init_optimizer`.
        logger
            The logger for progress.
        work_load_list
            See `Module`.
        monitor
            A `Monitor` to install.

        Raises
        ------
        ParameterError
            If ``num_epoch``, or the labels for an array, are missing.
        """
        if self.num_epoch is None:
            raise InvalidValue("FeedForward.fit: please specify number of epochs", None, "pass num_epoch")
        logger = logging if logger is None else logger
        train_data, validation = self._init_iter(X, y, is_train=True), self._init_eval_iter(eval_data)
        metric = metrics.create(eval_metric)
        module = self._trainer(train_data, logger, work_load_list)
        logger.info("Start training with %s", str(self.ctx))
        self._prepare(module, train_data, monitor, kvstore)
        train_data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            start = time.time()
            self._train_epoch(epoch, module, train_data, metric, monitor, batch_end_callback, logger)
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
            # callbacks save what the devices have computed
            self._copy_params(module)
            call_all(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if validation is not None:
                module.score(validation, metric, None, eval_batch_end_callback, eval_end_callback, epoch=epoch)

    def _prepare(self, module: BaseModule, train_data: BatchSource, monitor: Monitor | None, kvstore: Store) -> None:
        """Bind a module, and give it this model's parameters and optimizer."""
        module.bind(train_data.provide_data, train_data.provide_label)
        if monitor is not None:
            module.install_monitor(monitor)
        module.init_params(self.initializer, self.arg_params, self.aux_params, allow_missing=True)
        batch_size = train_data.provide_data[0][1][0]
        optimizer, params = self._optimizer_of(batch_size)
        module.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=params)

    def _trainer(self, train_data: BatchSource, logger: Logger, work_load_list: Sequence[float] | None) -> BaseModule:
        """An unbound module for the names that an iterator provides."""
        data = [name for name, *_ in train_data.provide_data]
        label = [name for name, *_ in train_data.provide_label or ()]
        if self.sym_gen is None:
            return Module(self.symbol, data, label, logger, self.ctx, work_load_list)
        generate: Callable[[Any], Any] = self.sym_gen
        # the symbol of the default bucket has all parameters
        key = cast("DataIter", train_data).default_bucket_key
        self.symbol = generate(key)
        self._check_arguments()
        return BucketingModule(lambda k: (generate(k), data, label), key, logger, self.ctx, work_load_list)

    def _optimizer_of(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        if isinstance(self.optimizer, str) or not self.kwargs:
            return self.optimizer, self.kwargs
        if isinstance(self.optimizer, type) and issubclass(self.optimizer, optimizers.Optimizer):
            return self.optimizer(rescale_grad=1.0 / batch_size, **self.kwargs), {}
        raise ParameterError("FeedForward: the optimizer has been created already", ", ".join(self.kwargs), "pass its parameters to it")

    def _copy_params(self, module: BaseModule) -> None:
        """Copy a module's parameters, after averaging its devices' auxiliary states."""
        arg_params, aux_params = module.get_params()
        module.set_params(arg_params, aux_params)
        self.arg_params = {name: value.copy() for name, value in arg_params.items()}
        self.aux_params = {name: value.copy() for name, value in aux_params.items()}

    def _train_epoch(
        self,
        epoch: int,
        module: BaseModule,
        train_data: BatchSource,
        eval_metric: EvalMetric,
        monitor: Monitor | None,
        batch_end_callback: Callbacks,
        logger: Logger,
    ) -> None:
        """Train on ``epoch_size`` batches, resetting the data at its end, or on one pass through it."""
        eval_metric.reset()
        nbatch, passes = 0, 0
        while True:
            for data_batch in train_data:
                if monitor is not None:
                    monitor.tic()
                module.forward_backward(data_batch)
                module.update()
                if monitor is not None:
                    monitor.toc_print()
                module.update_metric(eval_metric, data_batch.label)
                # the count of batches goes on, up to `epoch_size`, when the data starts again
                nbatch += 1
                call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                if self.epoch_size is not None and nbatch >= self.epoch_size:
                    return
            logger.info("Epoch[%d] Resetting Data Iterator", epoch)
            train_data.reset()
            passes += 1
            # an epoch may begin at the end of the data; if a whole pass has no batch, there is no data
            if self.epoch_size is None or (nbatch == 0 and passes > 1):
                return

    # evaluation

    def _bind_predictor(self, data: BatchSource) -> Module:
        """A module for inference on an iterator's data, with the current parameters. It is bound again only for other shapes."""
        if self.arg_params is None or self.symbol is None:
            raise MXNetError("FeedForward: there are no parameters", None, "fit the model, load it, or pass arg_params")
        arguments, aux = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        shapes = [(name, tuple(shape)) for name, shape, *_ in data.provide_data]
        names = [name for name, _ in shapes]
        extra = [n for n in self.arg_params if n not in arguments] + [n for n in self.aux_params or () if n not in aux]
        if extra and not self.allow_extra_params:
            raise ParameterError(f'Find name "{extra[0]}" that is not in the arguments', None, "pass allow_extra_params=True")
        # arguments without data or parameters can only be labels, whose values inference does not read
        labels = [n for n in arguments if n not in names and n not in self.arg_params]
        unknown = [n for n in labels if not n.endswith("label")]
        if unknown:
            raise ParameterError("FeedForward: there is no parameter", ", ".join(unknown), "fit the model, or pass it in arg_params")
        module = self._predictor
        # binding compiles programs, so a module for the same shapes is reused
        if module is None or module.symbol is not self.symbol or [(x.name, x.shape) for x in module.data_shapes or ()] != shapes:
            module = self._predictor = Module(self.symbol, names, labels, context=self.ctx[0])
            module.bind(data.provide_data, for_training=False)
        module.init_params(None, self.arg_params, self.aux_params or {}, force_init=True, allow_extra=True)
        return module

    def predict(self, X: Data, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """Compute the outputs for data.

        Parameters
        ----------
        X
            An iterator over batches, or an array.
        num_batch
            Number of batches to use; all if None.
        return_data
            Whether to return data and labels too.
        reset
            Whether to reset the iterator first.

        Returns
        -------
        numpy.ndarray or list or tuple
            The output, or a list of outputs; with ``return_data`` a tuple of outputs, data and labels in this form.

        Raises
        ------
        MXNetError
            If there are no parameters.
        """
        data = self._init_iter(X, None, is_train=False)
        module = self._bind_predictor(data)
        rows: list[tuple[list[np.ndarray], ...]] = []
        for outputs, _, batch in module.iter_predict(data, num_batch, reset):
            size = batch.data[0].shape[0] - (batch.pad or 0)
            given = [[x[:size].asnumpy() for x in arrays or ()] if return_data else [] for arrays in (batch.data, batch.label)]
            rows.append(([out.asnumpy() for out in outputs], *given))
        found = tuple(_concatenate(column) for column in zip(*rows, strict=True))
        if not found:
            return ([], [], []) if return_data else []
        return found if return_data else found[0]

    def score(
        self,
        X: Data,
        eval_metric: MetricLike = "acc",
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        reset: bool = True,
    ) -> float | list[float]:
        """Evaluate a metric on data.

        Parameters
        ----------
        X
            An iterator over batches.
        eval_metric
            A metric, or anything that `metric.create` accepts.
        num_batch, reset
            See `predict`.
        batch_end_callback
            Called with a `BatchEndParam` after each batch; a function or a list of functions.

        Returns
        -------
        float or list
            The value, or a list of values for several metrics.

        Raises
        ------
        MXNetError
            If there are no parameters.
        """
        data, metric = self._init_iter(X, None, is_train=False), metrics.create(eval_metric)
        self._bind_predictor(data).score(data, metric, num_batch, batch_end_callback, reset=reset)
        return metric.get()[1]

    # files

    def save(self, prefix: str | PathLike[str], epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write the symbol and the parameters.

        Parameters
        ----------
        prefix
            Prefix of the file names, see `save_checkpoint`.
        epoch
            Epoch number in the name of the parameter file; ``num_epoch`` if None.
        remove_amp_cast
            Whether to remove the casts inserted for mixed precision.

        Raises
        ------
        ParameterError
            If the epoch is not known.
        MXNetError
            If there are no parameters.
        """
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise ParameterError("FeedForward.save: the number of the epoch is not known", None, "pass epoch")
        if self.arg_params is None:
            raise MXNetError("FeedForward.save: there are no parameters", None, "fit the model first")
        save_checkpoint(prefix, number, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast=remove_amp_cast)

    @staticmethod
    def load(prefix: str | PathLike[str], epoch: int, ctx: Contexts | None = None, **kwargs: Any) -> "FeedForward":
        """Load a model from a checkpoint; training continues with that epoch.

        Parameters
        ----------
        prefix, epoch
            See `save_checkpoint`.
        ctx, **kwargs
            See `FeedForward`.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Symbol | Generator,
        X: Data,
        y: Labels = None,
        ctx: Contexts | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = UNIFORM,
        eval_data: EvalData = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Store = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Callbacks = _VALIDATION,
        eval_batch_end_callback: Callbacks = None,
        **kwargs: Any,
    ) -> "FeedForward":
        """Create and train a model: `FeedForward` and `fit` in one call, with the parameters of both."""
        given = {name: value for name, value in locals().items() if name not in ("symbol", "X", "y", "kwargs")}
        of_model = {name: given.pop(name) for name in ("ctx", "num_epoch", "epoch_size", "optimizer", "initializer")}
        model = FeedForward(symbol, **of_model, **kwargs)
        model.fit(X, y, **given)  # the remaining arguments have the names of the optimizer's parameters
        return model


def _is_generator(symbol: object) -> bool:
    """Whether it is a function that generates symbols. Symbols are callable too, for composition."""
    return not isinstance(symbol, Symbol) and callable(symbol)


def _concatenate(parts: Any) -> Any:
    """Concatenate batches of arrays along their rows; a single array is not wrapped in a list."""
    arrays = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return arrays[0] if len(arrays) == 1 else arrays
