"""``mxnet.executor_manager``: the executors of several devices, as `FeedForward` drove them before there were modules."""

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from logging import Logger
from typing import Any

import numpy as np

from ..device import Device
from ..dtype import DTypeLike
from ..errors import InvalidValue, ParameterError
from ..executor.executor import Executor
from ..io.iterator import BatchLike, DataBatch, DataIter, describe
from ..metric.base import EvalMetric
from ..module.data_shapes import batch_size_of, split_rows
from ..module.device_group import DeviceGroup
from ..module.placement import GroupLayout
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import zeros
from ..symbol.symbol import Symbol
from . import executor_groups

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]

_ROOT = logging.getLogger()
_split_input_slice = split_rows


def _check_arguments(symbol: Symbol) -> None:
    """Raise a ValueError if two arguments or auxiliary states of a symbol share a name."""
    for what, names in (("argument", symbol.list_arguments()), ("auxiliary param", symbol.list_auxiliary_states())):
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            text = f'Find duplicated {what} name "{min(repeated)}"'
            raise InvalidValue(text, f"{what}s {', '.join(names)}", "give each variable a name of its own")


def _load_general(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copy whole arrays to the devices, whose targets are arrays, or pairs of rows and an array."""
    executor_groups._load_general(data, targets, [0] * len(data))


def _load_data(batch: DataBatch, targets: Sequence[Any]) -> None:
    """Copy the data of a batch to the devices."""
    _load_general(batch.data, targets)


def _load_label(batch: DataBatch, targets: Sequence[Any]) -> None:
    """Copy the labels of a batch to the devices."""
    _load_general(batch.label or (), targets)


def _bind_exec(
    sym: Symbol,
    ctx: Device,
    input_shapes: Mapping[str, tuple[int, ...]],
    param_names: Collection[str],
    need_grad: bool | set[str] = False,
    base_exec: Executor | None = None,
    shared_data_arrays: dict[str, NDArray] | None = None,
    input_types: Mapping[str, DTypeLike] | None = None,
    logger: Logger = _ROOT,
) -> Executor:
    """Bind a symbol on a device.

    Parameters
    ----------
    sym, ctx
        The symbol and the device.
    input_shapes, input_types
        Of data and labels by name.
    param_names
        The arguments that are parameters.
    need_grad
        Whether parameters have gradients, or a set of the names of those that have.
    base_exec
        An executor whose parameters, gradients and auxiliary states to use.
    shared_data_arrays
        Arrays of data by name, whose memory to use where it suffices; new arrays are entered.
    logger
        Told of arrays that are too small.

    Raises
    ------
    InvalidValue
        If shapes are missing, or differ from those of the other executor.
    """
    if not isinstance(need_grad, (bool, set)):
        raise InvalidValue("need_grad must be boolean or set.", type(need_grad).__name__, "pass one of them")
    shapes, _, aux_shapes = sym.infer_shape(**input_shapes)
    if shapes is None or aux_shapes is None:
        raise InvalidValue("_bind_exec: the shapes of data and labels do not determine all others", repr(input_shapes), "pass all of them")
    types: Any = sym.infer_type(**(dict.fromkeys(input_shapes, np.float32) if input_types is None else input_types))
    dtypes, _, aux_dtypes = types
    wanted = set(param_names) if need_grad is True else need_grad or set()
    args: dict[str, NDArray] = {}
    grads: dict[str, NDArray] = {}
    for name, shape, dtype in zip(sym.list_arguments(), shapes, dtypes, strict=True):
        if name not in param_names:
            args[name] = _shared_or_new(name, shape, dtype, ctx, shared_data_arrays, logger)
            continue
        args[name] = zeros(shape, ctx, dtype) if base_exec is None else _the_same(name, base_exec.arg_dict[name], shape, dtype)
        if name in wanted:
            theirs = None if base_exec is None else base_exec.grad_dict[name]
            grads[name] = zeros(shape, ctx, dtype) if theirs is None else theirs
    rows = zip(sym.list_auxiliary_states(), aux_shapes, aux_dtypes, strict=True)
    states = {n: zeros(s, ctx, d) if base_exec is None else _the_same(n, base_exec.aux_dict[n], s, d) for n, s, d in rows}
    requests = {name: "write" if name in grads else "null" for name in args}
    return sym.bind(ctx, args, grads or None, requests, states, shared_exec=base_exec)


def _the_same(name: str, array: NDArray, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """The array of another executor, which must be as this one needs it."""
    if array.shape != shape or array.dtype != dtype:
        raise InvalidValue(f"_bind_exec: {name} differs in base_exec", f"{array.shape} there, {shape} here", "pass another executor")
    return array


def _shared_or_new(
    name: str, shape: tuple[int, ...], dtype: DTypeLike, ctx: Device, shared: dict[str, NDArray] | None, logger: Logger
) -> NDArray:
    """An array of data in memory that executors share, if there is enough of it."""
    if shared is None:
        return zeros(shape, ctx, dtype)
    size, there = math.prod(shape), shared.get(name)
    if there is not None and there.size >= size:
        if there.dtype != dtype:
            raise InvalidValue(f"_bind_exec: the shared array {name} is of another dtype", str(there.dtype), f"pass one of {dtype}")
        return there.reshape(-1)[:size].reshape(shape)
    if there is not None:
        logger.warning(f"bucketing: data {name!r} of shape {shape} is larger than the shared array {there.shape}, which is replaced")
    shared[name] = zeros(shape, ctx, dtype)
    return shared[name]


class DataParallelExecutorGroup:
    """Executors of one symbol, one for each device.

    Parameters
    ----------
    sym
        The symbol.
    arg_names, param_names
        Its arguments, and the arguments that are parameters.
    ctx
        The devices.
    slices
        The rows of a batch that each device computes.
    train_data
        Describes the batches.
    shared_group
        A group on the same devices with which to share parameters.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Device],
        slices: Sequence[slice],
        train_data: DataIter,
        shared_group: "DataParallelExecutorGroup | None" = None,
    ) -> None:
        _check_arguments(sym)
        data, labels = describe(train_data.provide_data), describe(train_data.provide_label)
        inputs = {x.name for x in (*data, *labels)}
        params = [name for name in arg_names if name in param_names and name not in inputs]
        rows = [part.stop - part.start for part in slices]
        group_layout = GroupLayout(sym, ctx, rows, params, [x.name for x in data], [x.name for x in labels])
        self._group = DeviceGroup(group_layout, data, labels, None if shared_group is None else shared_group._group)
        self.slices, self.param_names, self.aux_names = list(slices), params, self._group.aux_names
        self.param_idx = [place for place, name in enumerate(arg_names) if name in params]

    @property
    def train_execs(self) -> list[Executor]:
        """The executors, one for each device."""
        return self._group.execs

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter its arrays on the devices."""
        return self._group.param_arrays

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """For each parameter its gradients on the devices."""
        return self._group.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """For each auxiliary state its arrays on the devices."""
        return self._group.aux_arrays

    def load_data_batch(self, data_batch: BatchLike) -> None:
        """Copy a batch to the devices."""
        self._group.load(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs of the batch that was loaded."""
        self._group.run(is_train)

    def backward(self) -> None:
        """Compute the gradients of the parameters. The outputs must be losses."""
        self._group.backward()

    def update_metric(self, metric: EvalMetric, labels: object, pre_sliced: bool = False) -> None:
        """Update a metric with labels (for each device if ``pre_sliced``) and the devices' outputs."""
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """Trains a symbol on several devices; with ``sym_gen`` a symbol for each bucket of batches.

    Parameters
    ----------
    symbol
        The symbol, or the default bucket's symbol if there are several.
    ctx
        The devices.
    train_data
        Describes the batches.
    arg_names, param_names, aux_names
        The symbol's arguments, the arguments that are parameters, and its auxiliary states; taken from the symbol if None.
    work_load_list
        The devices' shares of the work; equal if None.
    logger
        For messages; the root logger if None.
    sym_gen
        Function from a bucket's key to its symbol.

    Raises
    ------
    AssertionError
        If the number of shares is not that of devices.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Device],
        train_data: DataIter,
        arg_names: Sequence[str] | None = None,
        param_names: Sequence[str] | None = None,
        aux_names: Sequence[str] | None = None,
        work_load_list: Sequence[float] | None = None,
        logger: logging.Logger | None = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ) -> None:
        self.logger = logger or logging.getLogger()
        self.logger.info("Start training with %s", [str(device) for device in ctx])
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        if len(loads) != len(ctx):
            raise InvalidValue("Invalid settings for work load.", f"{len(loads)} for {len(ctx)} devices", "pass one for each device")
        described = describe(train_data.provide_data)
        inputs = {x.name for x in (*described, *describe(train_data.provide_label))}
        self.ctx, self.symbol, self.sym_gen = list(ctx), symbol, sym_gen
        self.slices = split_rows(batch_size_of(described), loads)
        self.arg_names = list(symbol.list_arguments() if arg_names is None else arg_names)
        self.param_names = [n for n in self.arg_names if n not in inputs] if param_names is None else list(param_names)
        self.aux_names = list(symbol.list_auxiliary_states() if aux_names is None else aux_names)
        self.execgrp = DataParallelExecutorGroup(symbol, self.arg_names, self.param_names, self.ctx, self.slices, train_data)
        self.curr_execgrp = self.execgrp
        self.execgrp_bucket = {} if sym_gen is None else {train_data.default_bucket_key: self.execgrp}  # type: ignore[attr-defined]  # iterators over buckets have it

    def install_monitor(self, monitor: Monitor) -> None:
        """Install a monitor on all executors.

        Raises
        ------
        ParameterError
            If there are several symbols: each would need a monitor of its own.
        """
        if self.sym_gen is not None:
            raise ParameterError("Monitoring is not implemented for bucketing", None, "leave out sym_gen, or use BucketingModule")
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and auxiliary states to all devices."""
        for executor in self.execgrp.train_execs:
            executor.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and auxiliary states, averaged over the devices, to the given arrays."""
        self.execgrp._group.get_params(arg_params, aux_params)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter its arrays on the devices."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """For each parameter its gradients on the devices."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """For each auxiliary state its arrays on the devices."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy a batch to the devices, to the executors of its bucket."""
        if self.sym_gen is not None:
            # each bucket has executors of its own, which share the parameters of the default one
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                symbol = self.sym_gen(key)
                self.execgrp_bucket[key] = DataParallelExecutorGroup(
                    symbol, symbol.list_arguments(), self.param_names, self.ctx, self.slices, data_batch, self.execgrp
                )
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs of the batch that was loaded."""
        self.curr_execgrp.forward(is_train)

    def backward(self) -> None:
        """Compute the gradients of the parameters. The outputs must be losses."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: EvalMetric, labels: object, pre_sliced: bool = False) -> None:
        """Update a metric with labels (for each device if ``pre_sliced``) and the devices' outputs."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
