"""The private state of modules, their executors and optimizers that libraries written on MXNet use; see `adopt`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..io.iterator import DataDesc
from ..module.data_shapes import Requests
from ..module.device_group import DeviceGroup
from ..module.executor_group import DataParallelExecutorGroup
from ..module.module import Module
from ..ndarray.array import NDArray
from ..optimizer import LAMB, LARS, NAG, SGD, Optimizer, Signum
from ..optimizer.base import Indices, State, Weights
from .array_state import adopt


class ModuleState(Module):
    """State of `Module`."""

    #: Whether the devices have newer parameters than `get_params` last returned. It always asks them, so there is nothing to mark.
    _params_dirty: bool = False

    @property
    def _grad_req(self) -> Requests | None:
        """The gradient requests that `bind` was called with; None before."""
        return None if self._exec_group is None else self._exec_group.group_layout.grad_req

    def _reset_bind(self) -> None:
        """Drop the executors; parameters stay."""
        if self.binded and self.params_initialized:
            self.get_params()
        self.binded, self._exec_group = False, None
        self._data_shapes = self._label_shapes = None

    def _sync_params_from_devices(self) -> None:
        """Copy the parameters from the devices."""
        self.get_params()


class GroupState(DeviceGroup):
    """State of the executors of a module."""

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


class OptimizerHooks(Optimizer):
    """Lets subclasses override what MXNet's optimizers call for both kinds of updates."""

    def __init_subclass__(cls, **options: object) -> None:
        _init_subclass(cls, **options)
        if "_update_impl" in vars(cls):
            # a class that defines these too calls the hook itself; Signum's hook is for single precision only
            both = {"update": _update, "update_multi_precision": _update_with_masters}
            for name, function in ({"update": _update_plain} if issubclass(cls, Signum) else both).items():
                if name not in vars(cls):
                    setattr(cls, name, function)


_init_subclass: Any = vars(Optimizer)["__init_subclass__"].__func__


def _update(self: Any, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
    self._update_impl(index, weight, grad, state, multi_precision=False)


def _update_plain(self: Any, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
    self._update_impl(index, weight, grad, state)


def _update_with_masters(self: Any, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
    first = weight[0] if isinstance(weight, (list, tuple)) else weight
    self._update_impl(index, weight, grad, state, multi_precision=self._has_master(first))


def _hook_of(kind: type[Optimizer]) -> Callable[..., None]:
    """The hook of one of MXNet's optimizers: its own update, which a subclass's hook may call."""

    def _update_impl(self: Optimizer, index: Indices, weight: Weights, grad: Weights, state: State, multi_precision: bool = False) -> None:
        # an update through float32 copies calls `update`, which must not lead to a subclass's hook again
        vars(self)["update"] = partial(kind.update, self)
        try:
            (kind.update_multi_precision if multi_precision else kind.update)(self, index, weight, grad, state)
        finally:
            del vars(self)["update"]

    return _update_impl


for _cls, _state in ((Module, ModuleState), (DeviceGroup, GroupState), (Optimizer, OptimizerHooks)):
    adopt(_cls, _state)
# a module's own group has what MXNet's class shows, of which it is the base here
for _name in ("arg_names", "for_training", "grad_req", "workload"):
    setattr(DeviceGroup, _name, vars(DataParallelExecutorGroup)[_name])
for _kind in (LAMB, LARS, NAG, SGD, Signum):
    adopt(_kind, type("Hook", (), {"_update_impl": _hook_of(_kind)}))
