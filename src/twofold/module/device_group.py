"""`DeviceGroup`: one executor for each device. Batches are divided among them, outputs and gradients joined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import ndarray as nd
from ..device import CPU, Device
from ..errors import MXNetError, ParameterError, ShapeError
from ..executor.executor import Executor
from ..io.iterator import DataBatch, DataDesc
from ..ndarray.array import NDArray
from .shapes import batch_axis, batch_size_of, described, divided, shapes_of_batch

__all__ = ["DeviceGroup", "Groups", "Plan", "groups_by_device"]

#: How many sets of shapes keep their executors; memory bounds it, and the last, smaller batch of an epoch needs two.
KEPT_SHAPES = 4

#: Devices of ``ctx_group`` s: by group, or such dicts for each device of a module.
Groups = Mapping[str, Any] | Sequence[Mapping[str, Device]]
Requests = str | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Plan:
    """What of a group does not change when shapes do.

    Attributes
    ----------
    symbol
        What is computed.
    contexts, workload
        The devices, and how much each does in proportion.
    param_names, data_names, label_names, state_names, fixed_param_names
        What the symbol's arguments are for; fixed parameters get no gradient.
    for_training, inputs_need_grad
        Whether gradients of parameters, and of data, are wanted.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``, for all, in the order of arguments, or by name.
    groups
        For each device, where nodes of each ``ctx_group`` run.
    """

    symbol: Any
    contexts: Sequence[Device]
    workload: Sequence[float]
    param_names: Sequence[str]
    data_names: Sequence[str]
    label_names: Sequence[str]
    state_names: Sequence[str] = ()
    fixed_param_names: Sequence[str] = ()
    for_training: bool = True
    inputs_need_grad: bool = False
    grad_req: Requests = "write"
    groups: Sequence[Mapping[str, Device]] = field(default=())

    def requests(self) -> dict[str, str]:
        """What is wanted of each argument's gradient.

        Raises
        ------
        ParameterError
            If ``grad_req`` is a list of another length than the arguments.
        """
        arguments = self.symbol.list_arguments()
        if not self.for_training:
            return dict.fromkeys(arguments, "null")
        if isinstance(self.grad_req, (list, tuple)):
            if len(self.grad_req) != len(arguments):
                raise ParameterError(
                    "module: grad_req has another length than the arguments",
                    f"{len(self.grad_req)}",
                    f"give one for {', '.join(arguments)}",
                )
            return dict(zip(arguments, self.grad_req, strict=True))
        wanted = {n for n in self.param_names if n not in self.fixed_param_names}
        wanted |= set(self.data_names) if self.inputs_need_grad else set()
        given = self.grad_req if isinstance(self.grad_req, Mapping) else {}
        default = self.grad_req if isinstance(self.grad_req, str) else "write"
        return {n: given.get(n, default if n in wanted else "null") for n in arguments}


class DeviceGroup:
    """Executors of one symbol on several devices.

    Parameters
    ----------
    plan
        What is computed where.
    data_shapes, label_shapes
        Descriptions of whole batches.
    shared
        A group on the same devices whose parameters and states this one uses too.

    Attributes
    ----------
    execs
        The executors, one for each device.
    slices
        The rows of a batch that each device does.
    param_arrays, grad_arrays, aux_arrays
        For each parameter, or auxiliary state, a list of its arrays on the devices; gradients are None where none is wanted.
    """

    def __init__(
        self, plan: Plan, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc], shared: "DeviceGroup | None" = None
    ) -> None:
        self.plan, self.symbol, self.contexts = plan, plan.symbol, list(plan.contexts)
        self.param_names, self.aux_names = list(plan.param_names), self.symbol.list_auxiliary_states()
        self._arguments = set(self.symbol.list_arguments())
        self._output_names = self.symbol.list_outputs()
        self._output_axes = [DataDesc.get_batch_axis(output.attr("__layout__")) for output in self.symbol]
        self._monitors: list[Any] = []
        self._kept: dict[Any, list[Executor]] = {}
        self._set_shapes(data_shapes, label_shapes)
        self.execs = [self._bound(k, shared) for k in range(len(self.contexts))]
        self._kept[self._key()] = self.execs
        self.param_arrays = [[e.arg_dict[n] for e in self.execs] for n in self.param_names]
        self.grad_arrays = [[e.grad_dict[n] for e in self.execs] for n in self.param_names]
        self.aux_arrays = [[e.aux_dict[n] for e in self.execs] for n in self.aux_names]

    # shapes

    def _set_shapes(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc]) -> None:
        data, label = list(data_shapes), list(label_shapes)
        size = batch_size_of([*data, *label])
        slices = divided(size, self.plan.workload)
        self.data_shapes, self.label_shapes, self.batch_size, self.slices = data, label, size, slices

    def _key(self) -> Any:
        return tuple((x.name, x.shape) for x in (*self.data_shapes, *self.label_shapes))

    def _shapes_on(self, place: int) -> dict[str, tuple[int, ...]]:
        """Shapes of data and labels on one device."""
        rows = self.slices[place].stop - self.slices[place].start
        found = {}
        for x in (*self.data_shapes, *self.label_shapes):
            axis = batch_axis(x)
            if x.name in self._arguments:
                found[x.name] = x.shape if axis == -1 else (*x.shape[:axis], rows, *x.shape[axis + 1 :])
        return found

    def _bound(self, place: int, shared: "DeviceGroup | None") -> Executor:
        dtypes = {x.name: x.dtype for x in (*self.data_shapes, *self.label_shapes) if x.name in self._arguments}
        return self.symbol.simple_bind(
            self.contexts[place],
            grad_req=self.plan.requests(),
            type_dict=dtypes,
            group2ctx=self.plan.groups[place] if self.plan.groups else None,
            shared_arg_names=self.param_names if shared else None,
            shared_exec=shared.execs[place] if shared else None,
            **self._shapes_on(place),
        )

    def reshape(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc]) -> None:
        """Go on with batches of other shapes; parameters stay.

        Parameters
        ----------
        data_shapes, label_shapes
            Descriptions of whole batches.

        Raises
        ------
        ShapeError
            If parameters would need other shapes.
        """
        before = self.data_shapes, self.label_shapes
        self._set_shapes(data_shapes, label_shapes)
        key = self._key()
        try:
            new = self._kept.pop(key, None) or self._reshaped()
        except MXNetError:
            self._set_shapes(*before)
            raise
        self._kept[key] = self.execs = new
        while len(self._kept) > KEPT_SHAPES:
            del self._kept[next(iter(self._kept))]

    def _reshaped(self) -> list[Executor]:
        """Executors for the shapes that were set. Parameters are named, so that they cannot change; what is left may."""
        new = []
        for place, executor in enumerate(self.execs):
            params = {n: executor.arg_dict[n].shape for n in self.param_names}
            new.append(executor.reshape(partial_shaping=True, allow_up_sizing=True, **params, **self._shapes_on(place)))
        for monitor in self._monitors:
            for executor in new:
                monitor.install(executor)
        return new

    # data in

    def forward(self, batch: DataBatch | Sequence[DataBatch], is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        Parameters
        ----------
        batch
            The batch; or a list of one for each device.
        is_train
            Whether operators run in training mode; whether the group is for training if None.

        Raises
        ------
        ShapeError
            If the batch does not fit the symbol.
        ParameterError
            If there are not as many arrays as were bound.
        """
        self._fit_to(batch)
        for place, executor in enumerate(self.execs):
            if isinstance(batch, DataBatch):
                self._load(executor, batch, self.slices[place])
            else:
                self._load(executor, batch[place], None)
        for executor in self.execs:
            executor.forward(is_train=self.plan.for_training if is_train is None else is_train)

    def _fit_to(self, batch: DataBatch | Sequence[DataBatch]) -> None:
        """Take over the shapes of a batch."""
        whole = batch if isinstance(batch, DataBatch) else self._joined(batch)
        data, label = shapes_of_batch(whole, self.data_shapes, self.label_shapes)
        shapes = tuple((x.name, x.shape) for x in (*data, *label))
        if shapes != self._key():
            self.reshape(data, label)

    def _joined(self, batches: Sequence[DataBatch]) -> DataBatch:
        """The descriptions of a batch of which each device is given its own part."""
        if len(batches) != len(self.execs):
            raise ParameterError("module: a list of batches needs one for each device", f"{len(batches)} for {len(self.execs)}", "add some")
        first = batches[0]
        shapes = [[tuple(a.shape) for a in (*b.data, *(b.label or ()))] for b in batches]
        if any(s != shapes[0] for s in shapes):
            raise ShapeError("All data batches in a list need to have the same shape", repr(shapes), "divide the batch evenly")

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
        pairs = [*zip(self.data_shapes, batch.data, strict=True)]
        pairs += zip(self.label_shapes, batch.label, strict=True) if batch.label and self.label_shapes else ()
        for x, array in pairs:
            target = executor.arg_dict.get(x.name)
            if target is None:  # a label that only metrics read
                continue
            part = array if rows is None else self._rows(array, rows, batch_axis(x))
            if tuple(part.shape) != target.shape:
                raise ShapeError(f"module: {x.name} has another shape than described", f"{part.shape} for {target.shape}", "reshape it")
            target[:] = part

    def _rows(self, array: Any, rows: slice, axis: int) -> Any:
        """The rows of one device."""
        if len(self.execs) == 1 or axis == -1:
            return array
        return array[rows] if axis == 0 else nd.slice_axis(array, axis=axis, begin=rows.start, end=rows.stop)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients.

        Parameters
        ----------
        out_grads
            Head gradients of the outputs of the whole batch; not needed where the outputs are losses.
        """
        heads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        for place, executor in enumerate(self.execs):
            if heads is None:
                executor.backward()
                continue
            parts = [self._rows(h, self.slices[place], axis) for h, axis in zip(heads, self._output_axes, strict=True)]
            executor.backward(out_grads=[p.as_in_context(self.contexts[place]) for p in parts])

    # results out

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """The outputs: of the whole batch, or for each a list of the devices' parts."""
        parts = [list(column) for column in zip(*(e.outputs for e in self.execs), strict=True)]
        return self._merged(parts, self._output_axes) if merge_multi_context else parts

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients with respect to the data: of the whole batch, or for each a list of the devices' parts."""
        parts = [[e.grad_dict[x.name] for e in self.execs] for x in self.data_shapes]
        return self._merged(parts, [batch_axis(x) for x in self.data_shapes]) if merge_multi_context else parts

    def _merged(self, parts: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
        """Arrays of the whole batch, on the first device."""
        home = self.contexts[0]
        out = []
        for arrays, axis in zip(parts, axes, strict=True):
            if len(arrays) == 1 or axis == -1:
                out.append(arrays[0])
            else:
                out.append(nd.concat(*(a.as_in_context(home) for a in arrays), dim=axis))
        return out

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs of the whole batch."""
        found = []
        for name, axis, output in zip(self._output_names, self._output_axes, self.execs[0].outputs, strict=True):
            shape = list(output.shape)
            if axis != -1 and shape:
                shape[axis] = self.batch_size
            found.append((name, tuple(shape)))
        return found

    def update_metric(self, metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Give a metric the labels and outputs of each device.

        Parameters
        ----------
        metric
            The metric.
        labels
            Labels of the whole batch; or a list of them for each device if ``pre_sliced``.
        pre_sliced
            See ``labels``.
        """
        descriptions = self.label_shapes or described([(n, (self.batch_size,)) for n in self.plan.label_names])
        for place, executor in enumerate(self.execs):
            if pre_sliced:
                parts = list(labels[place])
            else:
                axes = [batch_axis(x) for x in descriptions] + [0] * len(labels)
                parts = [self._rows(label, self.slices[place], axis) for label, axis in zip(labels, axes, strict=False)]
            names = [x.name for x in descriptions] + [f"_{k}_label" for k in range(len(descriptions), len(parts))]
            metric.update_dict(dict(zip(names, parts, strict=False)), executor.output_dict)

    # states and parameters

    def get_states(self) -> list[list[NDArray]]:
        """For each state a list of its arrays on the devices."""
        return [[e.arg_dict[n] for e in self.execs] for n in self.plan.state_names]

    def set_states(self, states: Sequence[Sequence[NDArray]] | None, value: float | None) -> None:
        """Write states, from arrays as `get_states` gives them, or from one number."""
        if (states is None) == (value is None):
            raise ParameterError("set_states: one of states and value is needed, and only one", f"{states!r:.60}, {value!r}", "give one")
        for k, name in enumerate(self.plan.state_names):
            for place, executor in enumerate(self.execs):
                executor.arg_dict[name][:] = value if states is None else states[k][place]

    def get_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and auxiliary states, averaged over the devices, into arrays by name."""
        blocks = [(n, b, arg_params) for n, b in zip(self.param_names, self.param_arrays, strict=True)]
        blocks += [(n, b, aux_params) for n, b in zip(self.aux_names, self.aux_arrays, strict=True)]
        for name, arrays, targets in blocks:
            total = arrays[0]
            if len(arrays) > 1:
                total = sum((a.as_in_context(CPU) for a in arrays[1:]), arrays[0].as_in_context(CPU)) / len(arrays)
            total.copyto(targets[name])

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray], allow_extra: bool = False) -> None:
        """Copy parameters and auxiliary states to all devices.

        Raises
        ------
        ParameterError
            For names that the symbol does not have, unless ``allow_extra``.
        """
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def install_monitor(self, monitor: Any) -> None:
        """Have a monitor watch all executors."""
        self._monitors.append(monitor)
        for executors in self._kept.values():
            for executor in executors:
                monitor.install(executor)


def groups_by_device(groups: Groups | None, count: int) -> list[dict[str, Device]]:
    """For each device where the groups run.

    Raises
    ------
    ParameterError
        If there is a list of another length than the devices.
    """
    if not groups:
        return []
    if not isinstance(groups, Mapping):
        found = [dict(each) for each in groups]
    else:
        columns = {name: [place] * count if isinstance(place, Device) else list(place) for name, place in groups.items()}
        columns = {name: column * count if len(column) == 1 else column for name, column in columns.items()}
        if any(len(column) != count for column in columns.values()):
            raise ParameterError("Module: group2ctxs has another length than context", repr(groups), f"give {count} devices for each group")
        found = [{name: column[k] for name, column in columns.items()} for k in range(count)]
    if len(found) != count:
        raise ParameterError("Module: group2ctxs has another length than context", f"{len(found)} for {count}", "give one dict each")
    return found
