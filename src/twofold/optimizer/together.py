"""Updates weights in place by an operator, several of them by one program: what a call costs is then paid once for all."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..graph.build import run_rule
from ..imperative.cell import PLAIN, Value
from ..imperative.invoke import device_of, invoke
from ..imperative.record import tls
from ..ndarray.array import NDArray
from ..ndarray.namespace import delivered
from ..op.registry import NAMES
from ..op.spec import Op, Sig, unregistered

__all__ = ["are_independent", "update_together"]


def are_independent(weights: Sequence[NDArray]) -> bool:
    """Whether weights may be updated at once: different arrays of one device, no views, not recorded."""
    if len({id(w) for w in weights}) < len(weights) or tls.tape is not None:
        return False
    return all(w.__class__ is NDArray for w in weights) and len({device_of(w._v) for w in weights}) == 1


def update_together(name: str, operands: Sequence[Sequence[NDArray]], scalars: Sequence[tuple[float, ...]], **params: Any) -> None:
    """Apply an update operator to each of one or several weights, in place. Several must be independent.

    Parameters
    ----------
    name
        The operator's registered name; its result is the new weight.
    operands
        For each weight its arrays, in the operator's order: the weight, its gradient, its states.
    scalars
        For each weight the values of the operator's run-time parameters, in order.
    **params
        The other parameters, the same for all.

    Raises
    ------
    ShapeError, DTypeError
        If a gradient or a state does not fit its weight.
    """
    op = NAMES[name]
    shared = scalars.count(scalars[0]) == len(scalars)  # as they are where no weight has a rate of its own: then they are given once
    arguments: list[Any] = [a for group in operands for a in group]
    for group in scalars[:1] if shared else scalars:
        arguments += group
    results = invoke(_several(op.sig(True, **params), len(operands), len(operands[0]), shared), arguments)
    width = 1 + len(op.mutates)
    for k, group in enumerate(operands):
        _replace(op, group[0], results[k * width])
        for place, new in zip(_places(op), results[k * width + 1 : (k + 1) * width], strict=True):
            group[place]._rebind(new)


def _replace(op: Op, weight: NDArray, new: Any) -> None:
    """Put a result where a weight is: what `delivered` does, in short where nobody else sees the weight's memory."""
    v = weight._v
    old = v.data if v.__class__ is Value else v
    alone = weight.__class__ is NDArray and (v.__class__ is not Value or not v.pinned)
    if alone and new.__class__ is PLAIN and new.dtype is old.dtype and new.shape == old.shape:
        weight._rebind(new)
    else:
        delivered(op, [new], weight)


@cache
def _places(op: Op) -> list[int]:
    """Where among an operator's arrays its states stand."""
    names = [i.name for i in op.inputs]
    return [names.index(state) for state in op.mutates]


@cache
def _several(sig: Sig, count: int, each: int, shared: bool) -> Sig:
    """The operator that applies another one to so many groups of arrays, whose scalars, or those of all, stand after all arrays."""
    width = len(sig.op.scalars)

    def rule(xp: Any, *inputs: Any) -> tuple[Any, ...]:
        arrays, scalars = inputs[: count * each], inputs[count * each :]
        own = [scalars if shared else scalars[k * width : (k + 1) * width] for k in range(count)]
        groups = [(*arrays[k * each : (k + 1) * each], *own[k]) for k in range(count)]
        return tuple(result for group in groups for result in run_rule(xp, sig, group))

    inputs = count * each + (width if shared else count * width)
    return unregistered(f"{sig.op.name} of {count}", rule, inputs, count * (1 + len(sig.op.mutates)))
