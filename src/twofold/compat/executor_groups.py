"""The executors of a module as MXNet's private code and libraries see them: state, binding step by step, batches copied to the devices."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..device import Device
from ..executor.executor import Executor
from ..io.iterator import DataBatch, DataDesc, Shapes, describe
from ..module.data_shapes import batch_axis, batch_size_of, split_rows
from ..module.device_group import DeviceGroup
from ..module.executor_group import DataParallelExecutorGroup
from ..module.placement import Groups, groups_by_device
from ..ndarray.array import NDArray
from .array_state import adopt
from .overriding import dispatch

__all__: list[str] = []


class GroupState(DeviceGroup):
    """State of the executors of a module."""

    #: Executors that others share memory with: always None, as a group keeps those of some shapes.
    _default_execs = None
    #: The bytes that executors of the group share; 0, as MXNet counts none.
    _total_exec_bytes = 0

    @property
    def group2ctxs(self) -> list[Mapping[str, Device] | None]:
        """For each device, the devices of the groups; None without groups."""
        return list(self.group_layout.groups) or [None] * len(self.contexts)

    @property
    def shared_data_arrays(self) -> list[dict[str, NDArray]]:
        """For each device, its arrays of data and labels by name."""
        names = [*self.data_names, *(self.label_names or ())]
        return [{name: e.arg_dict[name] for name in names if name in e.arg_dict} for e in self.execs]

    @property
    def data_names(self) -> list[str]:
        """The names of the data."""
        return [description.name for description in self.data_shapes]

    @property
    def label_names(self) -> list[str] | None:
        """The names of the labels; None without labels."""
        return [description.name for description in self.label_shapes] or None

    @property
    def data_arrays(self) -> list[list[tuple[slice, NDArray]]]:
        """For each input, the rows of a batch that each device gets, with its array."""
        return [[(rows, e.arg_dict[name]) for rows, e in zip(self.slices, self.execs, strict=True)] for name in self.data_names]

    @property
    def label_arrays(self) -> list[list[tuple[slice, NDArray]]] | None:
        """The same for labels; None without labels."""
        names = self.label_names
        if names is None:
            return None
        return [[(rows, e.arg_dict[name]) for rows, e in zip(self.slices, self.execs, strict=True)] for name in names]

    @property
    def input_grad_arrays(self) -> list[list[NDArray | None]] | None:
        """For each input its gradients on the devices; None if they are not computed."""
        if not self.group_layout.inputs_need_grad:
            return None
        return [[e.grad_dict[name] for e in self.execs] for name in self.data_names]

    @property
    def state_names(self) -> list[str]:
        """The names of the states."""
        return list(self.group_layout.state_names)

    @property
    def state_arrays(self) -> list[list[NDArray]]:
        """The arrays of each state on the devices."""
        return [[e.arg_dict[name] for e in self.execs] for name in self.state_names]

    @property
    def fixed_param_names(self) -> list[str]:
        """The parameters without a gradient."""
        return list(self.group_layout.fixed_param_names)

    @property
    def label_layouts(self) -> list[int] | None:
        """The axis of the batch in each label; None without labels."""
        return [DataDesc.get_batch_axis(description.layout) for description in self.label_shapes] or None

    @property
    def inputs_need_grad(self) -> bool:
        """Whether gradients with respect to the data are computed."""
        return self.group_layout.inputs_need_grad

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self.symbol.list_outputs()

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.output_names)

    @property
    def output_layouts(self) -> list[int]:
        """The axis of the batch in each output."""
        return [DataDesc.get_batch_axis(output.attr("__layout__")) for output in self.symbol]

    @property
    def data_layouts(self) -> list[int]:
        """The axis of the batch in each input."""
        return [DataDesc.get_batch_axis(description.layout) for description in self.data_shapes]

    def decide_slices(self, data_shapes: Shapes) -> list[int]:
        """Set the rows of a batch that each device computes; returns the batch axis of each array."""
        described = describe(data_shapes)
        self.batch_size = batch_size_of(described)
        self.slices = split_rows(self.batch_size, self.group_layout.workload)
        return [batch_axis(x) for x in described]

    def bind_exec(
        self, data_shapes: Shapes, label_shapes: Shapes | None, shared_group: DeviceGroup | None = None, reshape: bool = False
    ) -> None:
        """Create the executors, or with ``reshape`` switch to batches of other shapes."""
        data, label = describe(data_shapes), describe(label_shapes or [])
        if reshape:
            self.reshape(data, label)
            return
        # a subclass that wants other executors drops those that there are
        assert not vars(self).get("execs"), "bind_exec: the group is bound; pass reshape=True"
        self.data_shapes, self.label_shapes = data, label
        parts = [(shapes, self.decide_slices(shapes)) for shapes in (data, label) if shapes]
        execs = []
        for k in range(len(self.contexts)):
            # only two: without labels the second is None
            on_device = [self._sliced_shape(shapes, k, axes) for shapes, axes in parts]
            execs.append(self._bind_ith_exec(k, on_device[0], on_device[1] if label else None, shared_group))
        self._take(execs)

    def _bind_ith_exec(self, i: int, data_shapes: Shapes, label_shapes: Shapes | None, shared_group: DeviceGroup | None) -> Executor:
        """The executor of a device, for the shapes there."""
        described = [x for x in (*describe(data_shapes), *describe(label_shapes or [])) if x.name in self._arguments]
        return self._bind(i, described, shared_group)


class BindingCalls(GroupState):
    """A group that is bound by these methods, one of which a subclass overrides."""

    def _bind_all(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc], shared: DeviceGroup | None) -> None:
        self.bind_exec(data_shapes, label_shapes or None, shared)


def _load_general(data: Sequence[NDArray], targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copy whole arrays to the devices, whose targets are arrays, or pairs of the slice along the batch axis and an array."""
    for source, target, axis in zip(data, targets, major_axis, strict=False):
        if isinstance(target, NDArray):
            source.astype(target.dtype).copyto(target)
            continue
        for rows, array in target:
            # -1: each device gets the whole array
            array[:] = source if axis == -1 else source.slice_axis(axis=axis, begin=rows.start, end=rows.stop)


def _load_data(batch: DataBatch, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copy the data of a batch to the devices; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch: DataBatch, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copy the labels of a batch to the devices."""
    _load_general(batch.label or (), targets, major_axis)


def _merge_multi_context(outputs: Sequence[Sequence[NDArray]], major_axis: Sequence[int]) -> list[NDArray]:
    """The devices' parts of each output joined along its batch axis, on the first device; the first part if the axis is -1."""
    return [
        parts[0] if len(parts) == 1 or axis == -1 else nd.concat(*(part.as_in_context(parts[0].context) for part in parts), dim=axis)
        for parts, axis in zip(outputs, major_axis, strict=True)
    ]


def _prepare_group2ctxs(group2ctxs: Groups | None, ctx_len: int) -> Sequence[Mapping[str, Device] | None]:
    """For each device of a module, the devices of the groups; None without groups."""
    return groups_by_device(group2ctxs, ctx_len) if group2ctxs else [None] * ctx_len


adopt(DeviceGroup, GroupState)
# a module's own group has what MXNet's class shows, of which it is the base here
for _name in ("arg_names", "for_training", "grad_req", "workload"):
    setattr(DeviceGroup, _name, vars(DataParallelExecutorGroup)[_name])
dispatch(DataParallelExecutorGroup, ("bind_exec", "decide_slices", "_bind_ith_exec", "_sliced_shape"), BindingCalls)
