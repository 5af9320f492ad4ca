"""Multi-tensor updates: one program updates several weights in place, so that the cost of a call is paid once."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..graph.build import run_rule
from ..imperative.invoke import device_of, invoke, type_of
from ..imperative.record import tls
from ..imperative.transfer import store
from ..ndarray.array import NDArray
from ..ndarray.namespace import deliver
from ..opdef.spec import Op, Sig, unregistered

__all__ = ["are_independent", "update_weights"]


def are_independent(weights: Sequence[NDArray]) -> bool:
    """Whether one program may update the weights: distinct arrays on one device, none of them a view, outside `record`."""
    # the same array twice would need the first update before the second; a tape needs a record per weight
    if len({id(w) for w in weights}) < len(weights) or tls.tape is not None:
        return False
    return all(w.__class__ is NDArray for w in weights) and len({device_of(w._v) for w in weights}) == 1


def update_weights(op: Op, operands: Sequence[Sequence[NDArray]], scalars: Sequence[tuple[float, ...]], **params: Any) -> None:
    """Apply an update operator to each weight, in place. Several weights must be independent.

    Parameters
    ----------
    op
        The operator. Its result is the new weight.
    operands
        The arrays of each weight, in the operator's order: weight, gradient, states.
    scalars
        The run-time parameters of each weight, in the operator's order.
    **params
        The other parameters, common to all weights.

    Raises
    ------
    ShapeError, DTypeError
        If a gradient or state does not match its weight.
    """
    fixed = tuple([(k, IDLE[n]) for k, n in enumerate(op.scalars) if n in IDLE and all(group[k] == IDLE[n] for group in scalars)])
    idle = dict(fixed)
    shared = scalars.count(scalars[0]) == len(scalars)  # the usual case: no weight has its own rate, so pass the scalars once
    arguments: list[Any] = [a for group in operands for a in group]
    for group in scalars[:1] if shared else scalars:
        arguments += [x for k, x in enumerate(group) if k not in idle]
    results = invoke(_several(op.sig(True, **params), len(operands), len(operands[0]), shared, fixed), arguments)
    width = 1 + len(op.mutates)
    for k, group in enumerate(operands):
        _replace(op, group[0], results[k * width])
        for place, new in zip(_places(op), results[k * width + 1 : (k + 1) * width], strict=True):
            store(group[place], new)


def _replace(op: Op, weight: NDArray, new: Any) -> None:
    """Store a new weight: a short form of `deliver` for the usual case of a matching type."""
    if type_of(new) == type_of(weight._v):
        store(weight, new)
    else:
        deliver(op, [new], weight)


#: Run-time parameters that have no effect at these values. Most optimizers use them, and the program then omits the parameter.
IDLE = {"wd": 0, "rescale_grad": 1}


@cache
def _places(op: Op) -> list[int]:
    """The positions of an operator's states among its arrays."""
    names = [i.name for i in op.inputs]
    return [names.index(state) for state in op.mutates]


@cache
def _several(sig: Sig, count: int, each: int, shared: bool, fixed: tuple[tuple[int, int], ...]) -> Sig:
    """An operator that applies ``sig`` to ``count`` groups of ``each`` arrays.

    Its inputs are all arrays, then the scalars: one set if ``shared``, else one set per group. ``fixed`` lists the scalars that are
    literals of the program, as (position, value).
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
