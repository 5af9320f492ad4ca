"""`DeviceGroup`: one executor per device. Batches are split among them, outputs and gradients merged."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..device import CPU
from ..errors import InvalidValue, MXNetError, ParameterError, ShapeError
from ..executor.executor import Executor, head_gradients
from ..io.iterator import DataBatch, DataDesc, describe
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from .data_shapes import Arrays, Batch, NamedShapes, as_batch, batch_axis, batch_size_of, shapes_of_batch, split_rows
from .parameters import check_shared_arrays
from .placement import GroupLayout

__all__ = ["DeviceGroup"]

#: Number of sets of shapes whose executors are cached. It bounds memory; the smaller last batch of an epoch needs a second set.
MAX_CACHED_SHAPES = 4


class DeviceGroup:
    """Executors of one symbol on several devices.

    Parameters
    ----------
    layout
        The graph and the devices.
    data_shapes, label_shapes
        Descriptions of whole batches.
    shared
        A group on the same devices with which to share parameters and states.

    Attributes
    ----------
    execs
        The executors, one per device.
    slices
        The rows of a batch that each device computes.
    param_arrays, grad_arrays, aux_arrays
        For each parameter or auxiliary state, a list of its arrays on the devices. Gradients that are not needed are None.
    logger
        For messages of subclasses.
    """

    logger: Any = logging

    def __init__(
        self, layout: GroupLayout, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc], shared: "DeviceGroup | None" = None
    ) -> None:
        self.group_layout, self.symbol, self.contexts = layout, layout.symbol, list(layout.contexts)
        self.param_names, self.aux_names = list(layout.param_names), self.symbol.list_auxiliary_states()
        self._arguments = set(self.symbol.list_arguments())
        self._output_names = self.symbol.list_outputs()
        self._output_axes = [DataDesc.get_batch_axis(output.attr("__layout__")) for output in self.symbol]
        # kept for the executors of other shapes, which are made later
        self._monitors: list[Monitor] = []
        self._cache: dict[NamedShapes, list[Executor]] = {}
        self._bind_all(data_shapes, label_shapes, shared)

    def _bind_all(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc], shared: "DeviceGroup | None") -> None:
        """Create the executors."""
        self._set_shapes(data_shapes, label_shapes)
        self._take([self._bind(k, self._on_device(k), shared) for k in range(len(self.contexts))])

    def _take(self, execs: list[Executor]) -> None:
        """Compute with new executors."""
        # kept by the shapes: `reshape` comes back to them
        self.execs = self._cache[self._key()] = execs
        self._collect_arrays()

    def _collect_arrays(self) -> None:
        """Group the executors' arrays by parameter."""
        self.param_arrays = [[e.arg_dict[n] for e in self.execs] for n in self.param_names]
        self.grad_arrays = [[e.grad_dict[n] for e in self.execs] for n in self.param_names]
        self.aux_arrays = [[e.aux_dict[n] for e in self.execs] for n in self.aux_names]

    # shapes

    def _set_shapes(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc]) -> None:
        data, label = list(data_shapes), list(label_shapes)
        size = batch_size_of([*data, *label])
        slices = split_rows(size, self.group_layout.workload)
        self.data_shapes, self.label_shapes, self.batch_size, self.slices = data, label, size, slices

    def _key(self) -> NamedShapes:
        return tuple((x.name, x.shape) for x in (*self.data_shapes, *self.label_shapes))

    def _on_device(self, place: int) -> list[DataDesc]:
        """Descriptions of data and labels on one device, of those that the symbol has."""
        described = [x for x in (*self.data_shapes, *self.label_shapes) if x.name in self._arguments]
        return self._sliced_shape(described, place, [batch_axis(x) for x in described])

    def _sliced_shape(self, shapes: Sequence[DataDesc], i: int, major_axis: Sequence[int]) -> list[DataDesc]:
        """Descriptions of a device's rows of whole arrays, whose batch axes are given; -1 for an array that is not split."""
        rows = self.slices[i].stop - self.slices[i].start
        sizes = [x.shape if k == -1 else (*x.shape[:k], rows, *x.shape[k + 1 :]) for x, k in zip(shapes, major_axis, strict=True)]
        return [DataDesc(x.name, size, x.dtype, x.layout) for x, size in zip(shapes, sizes, strict=True)]

    def _bind(self, place: int, described: Sequence[DataDesc], shared: "DeviceGroup | None") -> Executor:
        dtypes = {x.name: x.dtype for x in described}
        shapes: dict[str, Any] = {x.name: x.shape for x in described}
        executor = self.symbol.simple_bind(
            self.contexts[place],
            grad_req=self.group_layout.requests(),
            type_dict=dtypes,
            group2ctx=self.group_layout.groups[place] if self.group_layout.groups else None,
            shared_arg_names=self.param_names if shared else None,
            shared_exec=shared.execs[place] if shared else None,
            **shapes,
        )
        if shared is not None:
            other = shared.execs[place]
            check_shared_arrays({n: executor.arg_dict[n] for n in self.param_names}, other.arg_dict)
            check_shared_arrays(executor.aux_dict, other.aux_dict)
        return executor

    def reshape(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc]) -> None:
        """Switch to batches of other shapes; parameters stay.

        Parameters
        ----------
        data_shapes, label_shapes
            Descriptions of whole batches.

        Raises
        ------
        ShapeError
            If parameters would have to change their shapes.
        """
        before = self.data_shapes, self.label_shapes
        self._set_shapes(data_shapes, label_shapes)
        key = self._key()
        try:
            # popped and entered again below: a dict keeps the order of entry, which makes it a queue by last use
            new = self._cache.pop(key, None) or self._reshape_executors()
        except MXNetError:  # the module stays usable with the shapes it had
            self._set_shapes(*before)
            raise
        self._cache[key] = self.execs = new
        self._list_current()
        while len(self._cache) > MAX_CACHED_SHAPES:  # the least recently used set is first
            del self._cache[next(iter(self._cache))]

    def _reshape_executors(self) -> list[Executor]:
        """Executors for the current shapes. Parameters are named explicitly to pin their shapes; other arguments may change theirs."""
        new = []
        for place, executor in enumerate(self.execs):
            params = {n: executor.arg_dict[n].shape for n in self.param_names}
            inputs = {x.name: x.shape for x in self._on_device(place)}
            new.append(executor.reshape(partial_shaping=True, allow_up_sizing=True, **params, **inputs))
        for monitor in self._monitors:
            for executor in new:
                monitor.install(executor)
        return new

    # inputs

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        Parameters
        ----------
        data_batch, is_train
            As for `load` and `run`.
        """
        self.load(data_batch)
        self.run(is_train)

    def load(self, batch: Batch) -> None:
        """Copy a batch to the devices.

        Parameters
        ----------
        batch
            The batch, or a list of one per device.

        Raises
        ------
        ShapeError
            If the batch does not match the symbol.
        ParameterError
            If the number of arrays differs from the bound number.
        """
        # as in MXNet only a list is one batch per device: a namedtuple of data is a batch
        if isinstance(batch, list):
            parts = [as_batch(part) for part in batch]
            self._adapt_to(self._join(parts))
            for place, executor in enumerate(self.execs):
                self._load(executor, parts[place], None)
            return
        whole = batch if isinstance(batch, DataBatch) else as_batch(batch)
        # Most batches have the shapes of the one before: then the descriptions stay, and one device needs no other check.
        if not (fits := self._fits(whole)):
            self._adapt_to(whole)
        if fits and len(self.execs) == 1:
            arrays = self.execs[0].arg_dict
            for descriptions, given in ((self.data_shapes, whole.data), (self.label_shapes, whole.label or ())):
                for x, array in zip(descriptions, given, strict=False):
                    if x.name in arrays:  # other labels are for metrics only
                        arrays[x.name][:] = array
            return
        for place, executor in enumerate(self.execs):
            self._load(executor, whole, self.slices[place])

    def run(self, is_train: bool | None = None) -> None:
        """Compute the outputs of the loaded batch. Each device has its part already, so that the devices compute side by side.

        Parameters
        ----------
        is_train
            Whether operators run in training mode; by default, whether the group is for training.
        """
        for executor in self.execs:
            executor.forward(is_train=self.group_layout.for_training if is_train is None else is_train)

    def _fits(self, batch: DataBatch) -> bool:
        """Whether a batch describes nothing itself, and has arrays of the shapes of the batch before."""
        if batch.provide_data or batch.provide_label:
            return False
        labels = batch.label or ()
        if len(batch.data) != len(self.data_shapes) or len(labels) != len(self.label_shapes):
            return False
        for descriptions, arrays in ((self.data_shapes, batch.data), (self.label_shapes, labels)):
            for x, array in zip(descriptions, arrays, strict=True):
                if x.shape != array.shape:
                    return False
        return True

    def _adapt_to(self, batch: DataBatch) -> None:
        """Reshape the executors if the shapes of a batch differ."""
        data, label = shapes_of_batch(batch, self.data_shapes, self.label_shapes)
        shapes = tuple((x.name, x.shape) for x in (*data, *label))
        if shapes != self._key():
            self.reshape(data, label)

    def _join(self, batches: Sequence[DataBatch]) -> DataBatch:
        """A description of the whole batch, given each device's part."""
        if len(batches) != len(self.execs):
            raise ParameterError("module: a list of batches needs one per device", f"{len(batches)} for {len(self.execs)}", "pass one each")
        first = batches[0]
        shapes = [[tuple(a.shape) for a in (*b.data, *(b.label or ()))] for b in batches]
        if any(s != shapes[0] for s in shapes):
            raise ShapeError("All data batches in a list need to have the same shape", repr(shapes), "split the batch evenly")

        def whole(descriptions: Sequence[DataDesc], arrays: Sequence[NDArray]) -> list[DataDesc]:
            out = []
            for x, a in zip(descriptions, arrays, strict=True):
                axis, shape = batch_axis(x), list(a.shape)
                if axis != -1:
                    shape[axis] *= len(batches)
                out.append(DataDesc(x.name, tuple(shape), x.dtype, x.layout))
            return out

        label = whole(self.label_shapes, first.label) if first.label and self.label_shapes else None
        return DataBatch(first.data, first.label, provide_data=whole(self.data_shapes, first.data), provide_label=label)

    def _load(self, executor: Executor, batch: DataBatch, rows: slice | None) -> None:
        pairs = [*zip(self.data_shapes, batch.data, strict=False)]  # `shapes_of_batch` has checked that there are enough
        pairs += zip(self.label_shapes, batch.label, strict=False) if batch.label and self.label_shapes else ()
        for x, array in pairs:
            target = executor.arg_dict.get(x.name)
            if target is None:  # a label that only metrics use
                continue
            part = array if rows is None else self._rows(array, rows, batch_axis(x))
            if tuple(part.shape) != target.shape:
                raise ShapeError(
                    f"module: the shape of {x.name} differs from its description", f"{part.shape} for {target.shape}", "reshape it"
                )
            target[:] = part

    def _rows(self, array: NDArray, rows: slice, axis: int) -> NDArray:
        """The rows of an array that belong to one device."""
        if len(self.execs) == 1 or axis == -1:
            return array
        return array[rows] if axis == 0 else nd.slice_axis(array, axis=axis, begin=rows.start, end=rows.stop)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute gradients.

        Parameters
        ----------
        out_grads
            Head gradients of the outputs of the whole batch; not needed if the outputs are losses.
        """
        if out_grads is None:
            for executor in self.execs:
                executor.backward()
            return
        heads = head_gradients(out_grads, len(self._output_axes))
        for place, executor in enumerate(self.execs):
            rows, device = self.slices[place], self.contexts[place]
            pairs = zip(heads, self._output_axes, strict=True)
            executor.backward(out_grads=[None if h is None else self._rows(h, rows, axis).as_in_context(device) for h, axis in pairs])

    # results

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> Arrays:
        """The outputs from the ``begin``-th on for the whole batch, or a list of the devices' parts of each."""
        parts = [list(column) for column in zip(*(e.outputs[begin:end] for e in self.execs), strict=True)]
        return self._merge(parts, self._output_axes[begin:end]) if merge_multi_context else parts

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the data for the whole batch, or a list of the devices' parts of each."""
        parts: list[list[Any]] = [[e.grad_dict[x.name] for e in self.execs] for x in self.data_shapes]
        return self._merge(parts, [batch_axis(x) for x in self.data_shapes]) if merge_multi_context else parts

    def _merge(self, parts: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
        """Arrays of the whole batch, on the first device; None for an input without a gradient."""
        home = self.contexts[0]
        out = []
        for arrays, axis in zip(parts, axes, strict=True):
            if len(arrays) == 1 or axis == -1 or arrays[0] is None:
                out.append(arrays[0])
            else:
                out.append(nd.concat(*(a.as_in_context(home) for a in arrays), dim=axis))
        return out

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) pairs of the outputs for the whole batch."""
        found = []
        for name, axis, output in zip(self._output_names, self._output_axes, self.execs[0].outputs, strict=True):
            shape = list(output.shape)
            if axis != -1 and shape:
                shape[axis] = self.batch_size
            found.append((name, tuple(shape)))
        return found

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Update a metric with the labels and outputs of each device.

        Parameters
        ----------
        eval_metric
            The metric.
        labels
            Labels of the whole batch, or a list of labels per device.
        pre_sliced
            Whether ``labels`` is split by device already.
        """
        descriptions = self.label_shapes or describe([(n, (self.batch_size,)) for n in self.group_layout.label_names])
        for place, executor in enumerate(self.execs):
            parts = labels
            if pre_sliced:
                parts = labels[place]
            elif len(self.execs) > 1:
                axes = [batch_axis(x) for x in descriptions] + [0] * len(labels)
                parts = [self._rows(label, self.slices[place], axis) for label, axis in zip(labels, axes, strict=False)]
            named = {}
            for k, part in enumerate(parts):
                named[descriptions[k].name if k < len(descriptions) else f"_{k}_label"] = part
            eval_metric.update_dict(named, executor.output_dict)

    # states and parameters

    def get_states(self) -> list[list[NDArray]]:
        """For each state a list of its arrays on the devices."""
        return [[e.arg_dict[n] for e in self.execs] for n in self.group_layout.state_names]

    def set_states(self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None) -> None:
        """Set the states to arrays in the form that `get_states` returns, or to a number."""
        if (states is None) == (value is None):
            raise InvalidValue("set_states: exactly one of states and value is needed", f"{states!r:.60}, {value!r}", "pass one of them")
        for k, name in enumerate(self.group_layout.state_names):
            for place, executor in enumerate(self.execs):
                new: Any = value if states is None else states[k][place]
                executor.arg_dict[name][:] = new

    def get_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and auxiliary states, averaged over the devices, to the given arrays."""
        blocks = [(n, b, arg_params) for n, b in zip(self.param_names, self.param_arrays, strict=True)]
        blocks += [(n, b, aux_params) for n, b in zip(self.aux_names, self.aux_arrays, strict=True)]
        for name, arrays, targets in blocks:
            total = arrays[0]
            if len(arrays) > 1:
                # parameters are equal on all devices; auxiliary states are not, as each device saw its own rows
                total = sum((a.as_in_context(CPU) for a in arrays[1:]), arrays[0].as_in_context(CPU)) / len(arrays)
            total.copyto(targets[name])

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray], allow_extra: bool = False) -> None:
        """Copy parameters and auxiliary states to all devices.

        Raises
        ------
        ParameterError
            For unknown names, unless ``allow_extra``.
        """
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor on all executors."""
        self._monitors.append(mon)
        for executors in self._cache.values():
            for executor in executors:
                mon.install(executor)
        self._list_current()

    def _list_current(self) -> None:
        """Have monitors list the arguments of the executors in use: those for other shapes have the same parameters."""
        own = {id(executor) for executors in self._cache.values() for executor in executors}
        for monitor in self._monitors:
            if hasattr(monitor, "exes"):
                monitor.exes = [executor for executor in monitor.exes if id(executor) not in own] + self.execs
