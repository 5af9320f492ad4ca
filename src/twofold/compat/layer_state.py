"""The private state of layers, losses, hooks and scopes of blocks that libraries read; see `adopt`."""

from collections.abc import Callable

from ..gluon.hooks import HookHandle
from ..gluon.loss import SDMLLoss
from ..gluon.nn import GroupNorm, HybridLambda, Lambda, LayerNorm
from ..gluon.scope import BlockScope, _BlockPrefix
from ..gluon.signatures import Functions, Operand
from ..ndarray import NDArray
from ..symbol.naming import NameManager
from .array_state import adopt


def _called(block: Lambda | HybridLambda) -> Callable[..., object]:
    return block._called


def _set_called(block: Lambda | HybridLambda, function: Callable[..., object]) -> None:
    block._called = function


class LambdaState(Lambda):
    """State of `Lambda`."""

    #: The function.
    _func_impl = property(_called, _set_called)


class HybridLambdaState(HybridLambda):
    """State of `HybridLambda`."""

    _func = property(_called, _set_called)
    _func_name = property(lambda block: block._function_name)


class NormState(LayerNorm):
    """State of `LayerNorm` and `GroupNorm`."""

    #: Whether the layer adds a shift, and whether it multiplies by a scale.
    _center = property(lambda layer: layer._kwargs["center"])
    _scale = property(lambda layer: layer._kwargs["scale"])


class HandleState(HookHandle):
    """State of `HookHandle`."""

    #: The key of the hook, and a weak reference to the hooks.
    _id = property(lambda handle: handle._number)
    _hooks_dict_ref = property(lambda handle: handle._hooks)


class _CurrentScope:
    """The innermost scope of a block in this thread, as an attribute ``value``."""

    @property
    def value(self) -> BlockScope | None:
        """The scope; None outside all. Assigning one, or None, leaves the others, as programs do until they assign the former one."""
        return next((m.scope for m in reversed(NameManager._current.scopes) if isinstance(m, _BlockPrefix)), None)

    @value.setter
    def value(self, scope: BlockScope | None) -> None:
        # the managers that programs have entered themselves stay
        others = tuple(m for m in NameManager._current.scopes if not isinstance(m, _BlockPrefix))
        NameManager._current.scopes = others if scope is None else (*others, _BlockPrefix(scope))


class ScopeState(BlockScope):
    """State of the scopes of blocks."""

    _current = _CurrentScope()

    @property
    def _name_scope(self) -> _BlockPrefix | None:
        """The manager of the names of symbols inside, as long as the scope is entered."""
        return self._names[-1] if self._names else None

    @property
    def _old_scope(self) -> BlockScope | None:
        """The scope of the block around this one, from when it is entered."""
        manager = self._name_scope
        found = None if manager is None else manager._old_manager
        return found.scope if isinstance(found, _BlockPrefix) else None


class LossState(SDMLLoss):
    """Parts of `SDMLLoss`."""

    def _compute_distances(self, x1: NDArray, x2: NDArray) -> NDArray:
        """Squared distances (n, n) of the rows of two arrays."""
        return (x1.expand_dims(1) - x2.expand_dims(0)).square().sum(axis=2)

    def _compute_labels(self, F: Functions, batch_size: int) -> Operand:
        """Smoothed labels (n, n)."""
        is_pair = F.eye(batch_size)
        others = (1 - is_pair) * (self.smoothing_parameter / (batch_size - 1))
        return is_pair * (1 - self.smoothing_parameter) + others

    def _loss(self, F: Functions, x1: Operand, x2: Operand) -> Operand:
        """The loss (n,)."""
        return self.hybrid_forward(F, x1, x2)


for _cls, _state in (
    (Lambda, LambdaState),
    (HybridLambda, HybridLambdaState),
    (LayerNorm, NormState),
    (GroupNorm, NormState),
    (HookHandle, HandleState),
    (BlockScope, ScopeState),
    (SDMLLoss, LossState),
):
    adopt(_cls, _state)
