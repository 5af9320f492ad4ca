"""`Estimator`: trains and evaluates a network, calling handlers of events; `Training`: the state for a process that joins a training."""

import copy
import itertools
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import length_hint
from typing import Any

from .... import ndarray as nd
from ....context import cpu, gpu, num_gpus
from ....device import Device
from ....errors import ClusterError, InvalidValue, ParameterError
from ....metric import Accuracy, EvalMetric
from ....metric import Loss as LossMetric
from ....ndarray.array import NDArray
from ....origin import warn
from ....progress_bars import Epoch
from ...block import Block
from ...data import DataLoader
from ...loss import Loss, SoftmaxCrossEntropyLoss
from ...numpy_arrays import as_legacy
from ...parameter import Parameter
from ...signatures import InitializerLike
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .events import BatchBegin, BatchEnd, Counting, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd, by_priority, metric_list
from .handlers import GradientUpdateHandler, LoggingHandler, MetricHandler, StoppingHandler, ValidationHandler

Metrics = EvalMetric | Sequence[EvalMetric] | None
Handlers = EventHandler | Sequence[EventHandler] | None


class Estimator:
    """Trains and evaluates a network.

    Parameters
    ----------
    net
        The network, which is initialized if it is not.
    loss
        The loss of an output and a label.
    train_metrics
        Metrics of training; if None the loss, and for `SoftmaxCrossEntropyLoss` the accuracy.
    val_metrics
        Metrics of validation; copies of those of training if None.
    initializer
        The initializer of parameters that are not initialized; None for the default one.
    trainer
        The trainer; SGD with a learning rate of 0.001 if None.
    context
        A device or several; all GPUs, or the CPU if there are none, if None.
    val_net
        The network to evaluate; ``net`` if None.
    val_loss
        The loss of validation; ``loss`` if None.
    batch_processor
        Processes a batch; a `BatchProcessor` if None.

    Attributes
    ----------
    train_metrics, val_metrics : list
        The metrics, named ``training …`` and ``validation …``.
    max_epoch, max_batch : int or None
        How long the current call of `fit` trains.
    logger : logging.Logger
        Writes to standard output.

    Raises
    ------
    ParameterError
        If an argument is of another kind, or a device is not available.

    Examples
    --------
    >>> import twofold as mx
    >>> from twofold.gluon.contrib.estimator import Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.metric.Accuracy(), trainer=trainer, context=mx.cpu())
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0, 1], [1, 0]]), mx.nd.array([0, 1]))
    >>> estimator.logger.setLevel("WARNING")
    >>> estimator.fit(mx.gluon.data.DataLoader(data, batch_size=2), epochs=10)
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)
    """

    logger: logging.Logger = logging.getLogger(__name__)  # until the constructor makes one

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Metrics = None,
        val_metrics: Metrics = None,
        initializer: InitializerLike = None,
        trainer: Trainer | None = None,
        context: Device | Sequence[Device] | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: BatchProcessor | None = None,
    ) -> None:
        self.net = net
        self.loss = _checked_loss(loss)
        self._train_metrics = metric_list(train_metrics)
        self._val_metrics = metric_list(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.val_loss = self.loss if val_loss is None else _checked_loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self.logger = _console_logger()
        self.context = _devices(context)
        self.trainer = self._initialize(initializer, trainer)
        self.batch_processor = _checked_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            # only this loss is known to take scores of classes
            if isinstance(self.loss, SoftmaxCrossEntropyLoss):
                self._train_metrics.append(Accuracy())
            self._train_metrics.append(LossMetric(self.loss.name.rstrip("0123456789")))
        for metric in self._train_metrics:
            # `LoggingHandler` distinguishes training from validation by these names, as in MXNet
            metric.name = f"training {metric.name}"

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
            for metric in self._val_metrics:
                metric.name = metric.name.removeprefix("training ")
        for metric in self._val_metrics:
            metric.name = f"validation {metric.name}"

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation."""
        return self._val_metrics

    def _initialize(self, initializer: InitializerLike, trainer: Trainer | None) -> Trainer:
        """Initialize the parameters that are not initialized yet, and make a trainer if none was given."""
        params = self.net.collect_params()
        # a deferred parameter counts as initialized: its initializer is chosen, only its shape is not known yet
        if all(p._data is not None or p._deferred is not None for p in params.values()):
            if initializer is not None:
                warn(
                    "Network already fully initialized, skipping initialization. You don't need to pass initializer if you already "
                    "initialized your net. You can use net.initialize(init=your_initializer, force_reinit=True) to force re-initialize."
                )
        elif initializer is None:
            self.net.initialize(ctx=self.context)
        else:
            self.net.initialize(initializer, ctx=self.context)
        if trainer is None:
            warn("No trainer specified, default SGD optimizer with learning rate 0.001 is used.")
            return Trainer(params, "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ParameterError(
                f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}", None, "pass a gluon.Trainer"
            )
        return trainer

    def evaluate(self, val_data: Iterable[Any], batch_axis: int = 0, event_handlers: Handlers = None) -> None:
        """Evaluate the validation network; the results are in `val_metrics`.

        Parameters
        ----------
        val_data
            A `DataLoader` of data and labels.
        batch_axis
            The axis of samples.
        event_handlers
            A handler or a list; besides them the metrics are updated and logged.

        Raises
        ------
        ParameterError
            If the data is not a `DataLoader`, or an object among the handlers is not a handler.
        """
        _check_loader(val_data)
        self.batch_axis = batch_axis
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _call(handlers, EpochBegin, self)
        for batch in val_data:
            _call(handlers, BatchBegin, self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _call(handlers, BatchEnd, self, batch=batch, pred=pred, label=label, loss=loss)
        _call(handlers, EpochEnd, self)

    def fit(
        self,
        train_data: Iterable[Any],
        val_data: Iterable[Any] | None = None,
        epochs: int | None = None,
        event_handlers: Handlers = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train the network for a number of epochs or of batches, on a terminal or in a notebook with a bar; see `twofold.progress`.

        Parameters
        ----------
        train_data
            A `DataLoader` of data and labels.
        val_data
            Another one, which is evaluated after each epoch.
        epochs, batches
            How long to train: one of them.
        event_handlers
            A handler or a list. `StoppingHandler` is added, and unless there is one already `GradientUpdateHandler`, `MetricHandler`,
            `ValidationHandler` and `LoggingHandler`.
        batch_axis
            The axis of samples.

        Raises
        ------
        ParameterError
            If the data is not a `DataLoader`, an object among the handlers is not a handler, or not exactly one length is given.
        """
        _check_loader(train_data)
        # 0 counts as no limit, as in MXNet
        if bool(epochs) == bool(batches):
            raise ParameterError(
                "Fit only support exactly one type of iteration, train by number of epochs or number of batches.",
                f"epochs={epochs}, batches={batches}",
                "Please specify one and only one of: epochs or batches.",
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        _call(handlers, TrainBegin, self)
        for epoch in self._epochs(handlers):
            _call(handlers, EpochBegin, self)
            with Epoch(f"epoch {epoch}", self._batches_of(train_data), self._values_now, self.logger) as bar:
                self._train_epoch(train_data, handlers, bar)
            if _call(handlers, EpochEnd, self):
                break
        _call(handlers, TrainEnd, self)

    def _train_epoch(self, train_data: Iterable[Any], handlers: Sequence[EventHandler], bar: Epoch) -> None:
        batch_axis = self.batch_axis
        for batch in train_data:
            _call(handlers, BatchBegin, self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
            # The batch axis of a validation that ran in between may be another one.
            self.batch_axis = batch_axis
            is_over = _call(handlers, BatchEnd, self, batch=batch, pred=pred, label=label, loss=loss)
            bar.step()
            if is_over:
                break

    def _batches_of(self, train_data: Iterable[Any]) -> int | None:
        known = length_hint(train_data)
        return min(known, self.max_batch) if known and self.max_batch else known or None

    def _values_now(self) -> Iterable[tuple[str, object]]:
        pairs = itertools.chain.from_iterable(metric.get_global_name_value() for metric in self.train_metrics)
        return ((name.removeprefix("training "), value) for name, value in pairs)

    def _epochs(self, handlers: Sequence[EventHandler]) -> Iterable[int]:
        """Yield epoch numbers without end; between two epochs, spares may join the workers of the trainer's store."""
        store = self.trainer._store_of_workers()
        training = Training(self.net, self.trainer, handlers)
        return itertools.count() if store is None else store._epochs(0, None, training.give, training.take)

    def _prepare_default_validation_handlers(self, event_handlers: Handlers) -> list[EventHandler]:
        """The given handlers of a validation and those that are added to them."""
        handlers = _handler_list(event_handlers)
        _add_missing(handlers, MetricHandler, lambda: MetricHandler(self.val_metrics))
        _add_missing(handlers, LoggingHandler, lambda: LoggingHandler(metrics=self.val_metrics))
        return by_priority(handlers)

    def _prepare_default_handlers(self, val_data: Iterable[Any] | None, event_handlers: Handlers) -> list[EventHandler]:
        """The given handlers of a training and those that are added to them."""
        handlers = _handler_list(event_handlers)
        # always one of our own, with this call's limits: `Training` below counts by it
        handlers.append(StoppingHandler(self.max_epoch, self.max_batch))
        _add_missing(handlers, GradientUpdateHandler, GradientUpdateHandler)
        _add_missing(handlers, MetricHandler, lambda: MetricHandler(self.train_metrics))
        if val_data is not None:
            _check_loader(val_data)
            _add_missing(handlers, ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate))
        _add_missing(handlers, LoggingHandler, lambda: LoggingHandler(metrics=self.train_metrics))
        return by_priority(handlers)


def _call(handlers: Sequence[EventHandler], event: type[EventHandler], estimator: Estimator, **kwargs: object) -> bool:
    """Call all handlers of an event; return whether any of them returned True."""
    # an event class defines one method, which has the event's name
    method = next(name for name in vars(event) if not name.startswith("_"))
    # a list, not a generator: all handlers get the event, even after one has returned that training should stop
    answers = [getattr(handler, method)(estimator, **kwargs) for handler in handlers if isinstance(handler, event)]
    return any(answers)


def _add_missing(handlers: list[EventHandler], kind: type[EventHandler], make: Callable[[], EventHandler]) -> None:
    if not any(isinstance(handler, kind) for handler in handlers):
        handlers.append(make())


def _handler_list(handlers: Handlers) -> list[EventHandler]:
    given = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    if not all(isinstance(handler, EventHandler) for handler in given):
        what = f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}"
        raise ParameterError(what, None, "derive the handler from TrainBegin, EpochEnd or another event")
    return given


def _check_loader(data: object) -> None:
    if not isinstance(data, DataLoader):
        raise ParameterError(
            "Estimator only support input as Gluon DataLoader",
            type(data).__name__,
            "transform your DataIter or any NDArray into Gluon DataLoader, refer to gluon.data.DataLoader",
        )


def _checked_loss(loss: object) -> Loss:
    if not isinstance(loss, Loss):
        raise ParameterError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}", None, "pass gluon.loss.L2Loss(), for example")
    return loss


def _checked_processor(processor: BatchProcessor | None) -> BatchProcessor:
    if processor is None:
        return BatchProcessor()
    if not all(callable(getattr(processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
        what = "Customized Batch Processor must contain fit_batch() and evaluate_batch() methods"
        raise ParameterError(what, repr(processor), "derive it from BatchProcessor")
    return processor


def _devices(context: Any) -> list[Device]:
    gpus = [gpu(k) for k in range(num_gpus())]
    if context is None:
        return gpus or [cpu()]
    given = list(context) if isinstance(context, (list, tuple)) else [context]
    if not given or not all(isinstance(device, Device) for device in given):
        what = "context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], refer to mxnet.Context:"
        raise ParameterError(f"{what}{context}", None, "pass mx.cpu()")
    missing = [device for device in given if device.device_type == "gpu" and device not in gpus]
    if missing:
        raise InvalidValue(f"{missing[0]} is not available", None, f"use one of {', '.join(map(str, [cpu(), *gpus]))}")
    return given


def _console_logger() -> logging.Logger:
    """A new logger that writes to the current standard output."""
    # not from `getLogger`: handlers would add up over estimators of the same name
    logger = logging.Logger("Estimator", logging.INFO)
    logger.addHandler(logging.StreamHandler(sys.stdout))
    return logger


#: The name of the array of counts: no parameter has it.
COUNTS = ":counts"


class Training:
    """The state of a call of `Estimator.fit` at the end of an epoch.

    Parameters
    ----------
    net, trainer
        The network and its trainer.
    handlers
        The handlers of events, with the `StoppingHandler` that counts.
    """

    def __init__(self, net: Block, trainer: Trainer, handlers: Sequence[EventHandler]) -> None:
        self._net, self._trainer, self._handlers = net, trainer, handlers
        self._stopping: StoppingHandler = next(h for h in reversed(handlers) if isinstance(h, StoppingHandler))

    def _params(self) -> dict[str, Parameter]:
        found = self._net._collect_params_with_prefix()
        return {name: p for name, p in found.items() if p._stype == "default"}  # others are in the store

    def give(self) -> dict[str, NDArray]:
        """The parameters with values, and counts and limits of epochs and batches."""
        stop = self._stopping
        counts = [stop.current_epoch, stop.current_batch, stop.max_epoch or 0, stop.max_batch or 0]
        values = {name: as_legacy(p.list_data()[0]) for name, p in self._params().items() if p._data is not None}
        return {**values, COUNTS: nd.array(counts, dtype="int64")}

    def take(self, newest: Mapping[str, NDArray]) -> None:
        """Continue from the state of the other workers.

        Raises
        ------
        ClusterError
            If they have other parameters.
        """
        own = self._params()
        if not set(newest) <= {*own, COUNTS}:
            given = f"{list(own)[:8]}, they have {list(newest)[:8]}"
            raise ClusterError("Estimator.fit in a spare: the workers that it joins have other parameters", given, "run the same program")
        values = {own[name]: value for name, value in newest.items() if name != COUNTS}
        for param, value in values.items():
            if param._data is None:  # its shape was not known yet
                param.set_data(value)
        self._trainer._prepare_store()  # now: it copies from the store what is older there, as moving statistics are
        for param, value in values.items():
            for array in param.list_data():  # in place: a store that was passed in cannot be made again
                value.copyto(as_legacy(array))
        self._count(*map(int, newest[COUNTS].asnumpy()))

    def _count(self, epochs: int, batches: int, max_epoch: int, max_batch: int) -> None:
        for handler in self._handlers:
            if isinstance(handler, Counting):
                handler.go_on(epochs, batches)
        self._stopping.max_epoch, self._stopping.max_batch = max_epoch or None, max_batch or None
