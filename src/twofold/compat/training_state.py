"""The private state of modules and optimizers that libraries written on MXNet use; see `adopt`."""

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import Any

from ..io.iterator import DataDesc
from ..kvstore.local import KVStore
from ..module.base_module import BaseModule
from ..module.bucketing_module import BucketingModule
from ..module.composed_modules import SequentialModule
from ..module.data_shapes import Requests
from ..module.module import Module
from ..monitor import Monitor
from ..ndarray import NDArray, norm
from ..numpy_extension import is_np_array
from ..optimizer import LAMB, LARS, LBSGD, NAG, SGD, Optimizer, Signum
from ..optimizer.base import Indices, State, Weights
from ..optimizer.layerwise import _Accumulated
from . import executor_groups  # noqa: F401  (completes the class of the executors of modules)
from .array_state import adopt


class ModuleState(Module):
    """State of `Module`."""

    @property
    def _grad_req(self) -> Requests | None:
        """The gradient requests that `bind` was called with; None before."""
        return None if self._exec_group is None else self._exec_group.group_layout.grad_req


class BaseState(BaseModule):
    """State of `BaseModule`."""

    #: The bytes of all executors; 0, as MXNet counts none.
    _total_exec_bytes = 0


class SequentialState(SequentialModule):
    """State of `SequentialModule`."""

    @property
    def _data_shapes(self) -> Sequence[DataDesc] | None:
        """Descriptions of the data; None before it is bound."""
        return self.data_shapes if self.binded else None


class BucketingState(BucketingModule):
    """State of `BucketingModule`."""

    @property
    def _params_dirty(self) -> bool:
        """Whether the devices have parameters that `get_params` would copy; see `Module._params_dirty`."""
        return self._default._params_dirty

    @property
    def _monitor(self) -> Monitor | None:
        """The monitor that was installed last."""
        return self._monitors[-1] if self._monitors else None


class _NumpyArrays:
    """Whether MXNet's switch for NumPy's arrays is on, unless a program has assigned an answer to an instance."""

    def __get__(self, optimizer: object, kind: type) -> bool:
        return is_np_array()


class OptimizerHooks(Optimizer):
    """Lets subclasses override what MXNet's optimizers call for both kinds of updates."""

    #: Updates work on arrays of both kinds, whatever it says.
    allow_np_array = _NumpyArrays()

    def __init_subclass__(cls, **options: object) -> None:
        _init_subclass(cls, **options)
        if "_update_impl" in vars(cls):
            # a class that defines these too calls the hook itself; Signum's hook is for single precision only
            both = {"update": _update, "update_multi_precision": _update_with_masters}
            for name, function in ({"update": _update_plain} if issubclass(cls, Signum) else both).items():
                if name not in vars(cls):
                    setattr(cls, name, function)


class LayerwiseState(LARS):
    """Methods of `LARS`."""

    def _l2norm(self, v: NDArray, rescale: bool = False) -> float:
        """The norm of an array, of a gradient times the optimizer's factor."""
        return norm(v * self.rescale_grad if rescale else v).asscalar()

    def _get_lars(self, i: int, weight: NDArray, g: NDArray, lr: float, wd: float) -> float:
        """The learning rate of a weight."""
        rate = self._rate(i, weight, g, lr, wd)
        return float(rate.asscalar()) if isinstance(rate, NDArray) else rate


class LargeBatchState(LBSGD):
    """Methods of `LBSGD`."""

    def _l2norm(self, v: NDArray) -> float:
        """The square of the norm of an array."""
        return norm(v).asscalar() ** 2

    def _get_lars(self, weight: NDArray, g: NDArray, wd: float) -> float:
        """The factor of the learning rate by the norms of weight and gradient."""
        return self._lars(weight, g, wd)

    def _get_lbmult(self, nup: int) -> float:
        """The factor of the learning rate after a number of updates."""
        length, highest = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        # without the exception of the first step, which the update itself makes
        share = {"linear": nup / length, "power2": (nup / length) ** 2, "sqrt": sqrt(nup / length)}.get(self.warmup_strategy, 0)
        return highest if nup >= length else 1 + (highest - 1) * share

    def _get_cum_gradient(self, index: int) -> _Accumulated | dict[str, NDArray]:
        """The sum of a weight's gradients, and their number; empty before the first one."""
        return self.cumgrads.get(index) or {}

    def _put_cum_gradient(self, index: int, cgrad: _Accumulated) -> None:
        """Set them."""
        self.cumgrads[index] = cgrad

    def _reset_cum_gradient(self, index: int) -> None:
        """Set the sum to 0."""
        self.cumgrads[index]["cum_grad"] = 0

    def _cumulate_gradient(self, grad: NDArray, index: int) -> _Accumulated:
        """Add a gradient; return the sum and the number."""
        found = self.cumgrads.get(index)
        total = grad + found["cum_grad"] if found else grad
        made: _Accumulated = {"cum_grad": total, "num_cums": found["num_cums"] + 1 if found else 1}
        self.cumgrads[index] = made
        return made


class StoreState(KVStore):
    """State of `KVStore`."""

    #: Whether it sends parts of arrays by their priority: none does.
    _is_p3 = False
    #: What is called with each pushed sum: the same for keys that are numbers and text.
    _updater_func = _str_updater_func = property(lambda store: store._updater)


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


for _cls, _state in (
    (BaseModule, BaseState),
    (Module, ModuleState),
    (BucketingModule, BucketingState),
    (SequentialModule, SequentialState),
    (Optimizer, OptimizerHooks),
    (LARS, LayerwiseState),
    (LBSGD, LargeBatchState),
    (KVStore, StoreState),
):
    adopt(_cls, _state)
for _kind in (LAMB, LARS, NAG, SGD, Signum):
    adopt(_kind, type("Hook", (), {"_update_impl": _hook_of(_kind)}))
