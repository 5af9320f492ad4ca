"""Updates weights in place by an operator, several of them by one program: what a call costs is then paid once for all."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..graph.build import run_rule
from ..imperative.cell import Value
from ..imperative.invoke import device_of, invoke, type_of
from ..imperative.record import tls
from ..ndarray.array import NDArray
from ..ndarray.namespace import delivered
from ..opdef.registry import NAMES
from ..opdef.spec import Op, Sig, unregistered

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
    fixed = tuple([(k, IDLE[n]) for k, n in enumerate(op.scalars) if n in IDLE and all(group[k] == IDLE[n] for group in scalars)])
    idle = dict(fixed)
    shared = scalars.count(scalars[0]) == len(scalars)  # as they are where no weight has a rate of its own: then they are given once
    arguments: list[Any] = [a for group in operands for a in group]
    for group in scalars[:1] if shared else scalars:
        arguments += [x for k, x in enumerate(group) if k not in idle]
    results = invoke(_several(op.sig(True, **params), len(operands), len(operands[0]), shared, fixed), arguments)
    width = 1 + len(op.mutates)
    for k, group in enumerate(operands):
        _replace(op, group[0], results[k * width])
        for place, new in zip(_places(op), results[k * width + 1 : (k + 1) * width], strict=True):
            group[place]._rebind(new)


def _replace(op: Op, weight: NDArray, new: Any) -> None:
    """Put a result where a weight is: what `delivered` does, in short where nobody else sees the weight's memory."""
    v = weight._v
    alone = weight.__class__ is NDArray and (v.__class__ is not Value or not v.pinned)
    if alone and type_of(new) == type_of(v) and device_of(new) is device_of(v):
        weight._rebind(new)
    else:
        delivered(op, [new], weight)


#: Run-time parameters that have no effect at a value which most optimizers keep: then they are left out of the program.
IDLE = {"wd": 0, "rescale_grad": 1}


@cache
def _places(op: Op) -> list[int]:
    """Where among an operator's arrays its states stand."""
    names = [i.name for i in op.inputs]
    return [names.index(state) for state in op.mutates]


@cache
def _several(sig: Sig, count: int, each: int, shared: bool, fixed: tuple[tuple[int, int], ...]) -> Sig:
    """The operator that applies another one to so many groups of arrays, whose scalars, or those of all, stand after all arrays.

    Scalars that are fixed, by their places, are part of it.
    """
    width = len(sig.op.scalars) - len(fixed)

    def rule(xp: Any, *inputs: Any) -> tuple[Any, ...]:
        arrays, scalars = inputs[: count * each], inputs[count * each :]
        groups = []
        for k in range(count):
            own = list(scalars if shared else scalars[k * width : (k + 1) * width])
            for place, value in fixed:
                own.insert(place, value)
            groups.append((*arrays[k * each : (k + 1) * each], *own))
        return tuple(result for group in groups for result in run_rule(xp, sig, group))

    inputs = count * each + (width if shared else count * width)
    return unregistered(f"{sig.op.name} of {count}", rule, inputs, count * (1 + len(sig.op.mutates)))
