"""Operators whose result's shape depends on values: their rules run on arrays, operation by operation, and read what they need."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..device import Device, current_device
from ..graph.build import run_rule
from ..opdef import OPS, BoundOp, Op
from ..opdef.vocabulary import Derived
from .array import Array, adopted
from .cell import Cell, Content, wrap
from .invoke import Argument, device_of, host_of, invoke
from .storage import dense_array


class EagerNamespace(Derived):
    """``xp`` over cells: every primitive is an operation on them, recorded if they are.

    Parameters
    ----------
    device
        Where arrays from the host go.
    """

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        op = OPS.get(name)
        if op is None or not op.primitive:
            return super().__getattr__(name)
        return partial(self._apply, op)

    def _apply(self, op: Op, *inputs: Argument, **params: Any) -> Array | tuple[Array, ...]:
        """Cells of an operator's results."""
        # run-time parameters are operands of `invoke`, after the arrays
        scalars = [params.pop(name, op.params[name].default) for name in op.scalars]
        results = [wrap(Array, c) for c in invoke(op.bind(**params), [*inputs, *scalars], self._device)]
        return results[0] if len(results) == 1 else tuple(results)

    def composite(self, op: Op, inputs: Sequence[Argument], params: Mapping[str, object]) -> Array | tuple[Array, ...]:
        """Another operator, which has its own gradient rule here too."""
        return self._apply(op, *inputs, **params)

    def dtype_of(self, x: Any) -> str:
        """The name of an array's dtype."""
        return x._dtype

    def on_host(self, function: Callable[..., Any], *arrays: Array | None) -> Array | tuple[Array, ...]:
        """The results of ``function(np, *arrays)`` on NumPy arrays, of any shape. They have no gradient."""
        found = function(np, *[None if a is None else host_of(a) for a in arrays])
        # cells hold C-contiguous arrays only
        made = [adopted(Array, np.ascontiguousarray(f), self._device) for f in (found if isinstance(found, tuple) else (found,))]
        return tuple(made) if isinstance(found, tuple) else made[0]


def run_eagerly(bound_op: BoundOp, args: Sequence[Argument], device: Device | None = None) -> list[Content]:
    """Apply an operator with ``is_eager``; parameters as for `invoke.invoke`."""
    where = next((device_of(a._content) for a in args if isinstance(a, Cell)), None) or device or current_device()
    return [cell._content for cell in run_rule(EagerNamespace(where), bound_op, [dense_array(a) for a in args])]
