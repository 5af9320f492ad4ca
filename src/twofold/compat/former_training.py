"""The functions that trained `FeedForward` before there were modules, which training loops in scripts import from ``mxnet.model``."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import Logger

from ..callback import BatchEndParam
from ..device import Device
from ..errors import DTypeError
from ..io.iterator import DataBatch, DataIter
from ..kvstore.base import KVStoreBase
from ..kvstore.create import create
from ..metric.base import EvalMetric
from ..metric.composite import MetricLike
from ..metric.composite import create as create_metric
from ..module.base_module import call_all
from ..module.interface import Callbacks
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from ..optimizer.updater import get_updater
from ..symbol.symbol import Symbol
from .executor_manager import DataParallelExecutorManager
from .private_names import _initialize_kvstore, _update_params, _update_params_on_kvstore

__all__: list[str] = []


def _create_sparse_kvstore(kvstore: str | KVStoreBase) -> tuple[KVStoreBase, bool]:
    """The store that a training loop of ``row_sparse`` parameters uses, and True: the optimizer runs in it.

    Raises
    ------
    DTypeError
        If it is neither a store nor a kind of store.
    """
    if not isinstance(kvstore, (str, KVStoreBase)):
        text = f"Cannot create '{kvstore}' KVStore with row_sparse parameters. The type must be KVStore or str."
        raise DTypeError(text, None, "pass mx.kv.create(kind), or its kind")
    return create(kvstore) if isinstance(kvstore, str) else kvstore, True


def _multiple_callbacks(callbacks: Callable[..., object] | list[Callable[..., object]] | None, *args: object, **kwargs: object) -> None:
    """Call a callback, each of a list of them, or none."""
    for callback in callbacks if isinstance(callbacks, list) else [] if callbacks is None else [callbacks]:
        callback(*args, **kwargs)


def _train_multi_device(
    symbol: Symbol,
    ctx: Sequence[Device],
    arg_names: Sequence[str],
    param_names: Sequence[str],
    aux_names: Sequence[str],
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    begin_epoch: int,
    end_epoch: int,
    epoch_size: int | None,
    optimizer: Optimizer,
    kvstore: KVStoreBase | None,
    update_on_kvstore: bool,
    train_data: DataIter,
    eval_data: DataIter | None = None,
    eval_metric: MetricLike = "acc",
    epoch_end_callback: Callbacks = None,
    batch_end_callback: Callbacks = None,
    logger: Logger | None = None,
    work_load_list: Sequence[float] | None = None,
    monitor: Monitor | None = None,
    eval_end_callback: Callbacks = None,
    eval_batch_end_callback: Callbacks = None,
    sym_gen: Callable[[object], Symbol] | None = None,
) -> None:
    """Train a symbol on several devices. ``arg_params`` and ``aux_params`` are the initial parameters, and then the trained ones.

    Parameters
    ----------
    epoch_size
        Number of batches of an epoch; all of the iterator if None.
    kvstore, update_on_kvstore
        The store that sums gradients, or None; and whether the optimizer runs in it.
    sym_gen
        Gives the symbol of a bucket.
    """
    logger = logging.getLogger() if logger is None else logger
    manager = DataParallelExecutorManager(
        symbol,
        ctx,
        train_data,
        arg_names=arg_names,
        param_names=param_names,
        aux_names=aux_names,
        work_load_list=work_load_list,
        logger=logger,
        sym_gen=sym_gen,
    )
    if monitor is not None:
        manager.install_monitor(monitor)
    manager.set_params(arg_params, aux_params)
    update = _updates(manager, optimizer, kvstore, update_on_kvstore, len(ctx))
    if kvstore is not None:
        _initialize_kvstore(kvstore, manager.param_arrays, arg_params, manager.param_names, update_on_kvstore)
    metric = create_metric(eval_metric)
    train_data.reset()
    for epoch in range(begin_epoch, end_epoch):
        start = time.time()
        metric.reset()
        for count, batch in enumerate(_batches_of_an_epoch(train_data, epoch_size, epoch, logger), 1):
            _train_on(manager, batch, update, metric, monitor)
            call_all(batch_end_callback, BatchEndParam(epoch, count, metric, locals()))
        logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
        if epoch_end_callback or epoch + 1 == end_epoch:
            manager.copy_to(arg_params, aux_params)
        call_all(epoch_end_callback, epoch, symbol, arg_params, aux_params)
        if eval_data is not None:
            _evaluate(manager, eval_data, metric, epoch, eval_batch_end_callback, eval_end_callback)


def _updates(
    manager: DataParallelExecutorManager, optimizer: Optimizer, kvstore: KVStoreBase | None, update_on_kvstore: bool, devices: int
) -> Callable[[], None]:
    """A function that updates the weights with their gradients."""
    if update_on_kvstore and kvstore is not None:
        kvstore.set_optimizer(optimizer)
        return lambda: _update_params_on_kvstore(manager.param_arrays, manager.grad_arrays, kvstore, manager.param_names)
    updater = get_updater(optimizer)
    return lambda: _update_params(manager.param_arrays, manager.grad_arrays, updater, devices, kvstore, manager.param_names)


def _batches_of_an_epoch(data: DataIter, size: int | None, epoch: int, logger: Logger) -> Iterator[DataBatch]:
    """The batches of an epoch. One of ``size`` batches ends within the iterator's, or goes on with its first batch."""
    count = 0
    while True:
        for batch in data:
            yield batch
            count += 1
            if size is not None and count >= size:
                return
        logger.info("Epoch[%d] Resetting Data Iterator", epoch)
        data.reset()
        if size is None:
            return


def _train_on(
    manager: DataParallelExecutorManager, batch: DataBatch, update: Callable[[], None], metric: EvalMetric, monitor: Monitor | None
) -> None:
    """One step of training."""
    manager.load_data_batch(batch)
    if monitor is not None:
        monitor.tic()
    manager.forward(is_train=True)
    manager.backward()
    update()
    if monitor is not None:
        monitor.toc_print()
    manager.update_metric(metric, batch.label)


def _evaluate(
    manager: DataParallelExecutorManager, data: DataIter, metric: EvalMetric, epoch: int, batch_end: Callbacks, end: Callbacks
) -> None:
    """Measure the network on other data; batches count from 0."""
    metric.reset()
    data.reset()
    count = 0
    for count, batch in enumerate(data, 1):
        manager.load_data_batch(batch)
        manager.forward(is_train=False)
        manager.update_metric(metric, batch.label)
        call_all(batch_end, BatchEndParam(epoch, count - 1, metric, locals()))
    call_all(end, BatchEndParam(epoch, count, metric, locals()))
    data.reset()
