"""Multi-tensor updates: one program updates several weights in place, so that the cost of a call is paid once."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..errors import ShapeError
from ..graph.build import run_rule
from ..imperative.invoke import device_of, invoke
from ..imperative.row_updates import update_stored
from ..imperative.storage import is_sparse_array
from ..imperative.tape import tls
from ..imperative.transfer import store_all
from ..imperative.views import owner_of
from ..ndarray.array import NDArray
from ..opdef import BoundOp, Op, unregistered


class Independent(tuple[NDArray, ...]):
    """Weights that one program may update: distinct arrays on one device that are not views."""

    __slots__ = ()


def independent(weights: Sequence[NDArray]) -> Sequence[NDArray]:
    """The weights as `Independent` if they are, else as a tuple. The same array twice would need the first update before the second."""
    devices = {device_of(w._content) for w in weights}
    distinct = len({id(owner_of(w)) for w in weights}) == len(weights)
    # parameters that users see as arrays of ``mx.np`` are whole views of these
    dense = all((w.__class__ is NDArray and w._held is not None) or owner_of(w) is not w for w in weights)
    return Independent(weights) if distinct and len(devices) == 1 and dense else tuple(weights)


def are_independent(weights: Sequence[NDArray]) -> bool:
    """Whether one program may update the weights. Not inside `record`: a tape needs a record per weight."""
    # `Independent` marks weights that were checked when an updater grouped them
    return tls.tape is None and isinstance(weights if isinstance(weights, Independent) else independent(weights), Independent)


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
    first = scalars[0]
    shared = scalars.count(first) == len(scalars)  # the usual case: no weight has its own rate, so pass the scalars once
    passed = scalars[:1] if shared else scalars
    fixed: tuple[tuple[int, int], ...] = ()
    for k, value in _idle(op):
        if first[k] == value and (shared or all(group[k] == value for group in passed)):
            fixed += ((k, value),)
    # a program for each combination of the facts that are part of its structure; numbers are its inputs
    bound_op, written = _several(op, tuple(params.items()), len(operands), len(operands[0]), shared, fixed)
    arguments: list[Any] = []
    targets: list[NDArray] = []
    for group in operands:
        arguments += group
        for k in written:
            w = group[k]
            targets.append(w if w._held is not None else owner_of(w))
    for numbers in passed:
        kept = list(numbers)
        # from the end, so that the positions before stay right
        for k, _ in reversed(fixed):
            del kept[k]
        arguments += kept
    if any(map(is_sparse_array, arguments)):
        dense: list[int] = []
        for k, group in enumerate(operands):
            if any(map(is_sparse_array, group)):  # one weight at a time: the rows that gradients store differ
                update_stored(op.bind(True, **params), [*group, *scalars[k]])
            else:
                dense.append(k)
        if dense:
            update_weights(op, [operands[k] for k in dense], [scalars[k] for k in dense], **params)
    else:
        store_all(targets, invoke(bound_op, arguments))


#: Run-time parameters that have no effect at these values. Most optimizers use them, and the program then omits the parameter.
IDLE = {"wd": 0, "rescale_grad": 1}


@cache
def _idle(op: Op) -> tuple[tuple[int, int], ...]:
    """The positions of an operator's parameters in `IDLE`, with the values at which they have no effect."""
    return tuple([(k, IDLE[name]) for k, name in enumerate(op.scalars) if name in IDLE])


@cache
def _several(
    op: Op, params: tuple[tuple[str, Any], ...], count: int, each: int, shared: bool, fixed: tuple[tuple[int, int], ...]
) -> tuple[BoundOp, tuple[int, ...]]:
    """An operator that applies ``op`` to ``count`` groups of ``each`` arrays; the places in a group of the arrays that it writes.

    Its inputs are all arrays, then the scalars: one set if ``shared``, else one set per group. ``fixed`` lists the scalars that are
    literals of the program, as (position, value).
    """
    bound_op, width = op.bind(True, **dict(params)), len(op.scalars) - len(fixed)

    # The rule applies the operator's own rule to each group, so several updates are one graph, fused as one.
    def rule(xp: Any, *inputs: Any) -> tuple[Any, ...]:
        arrays, scalars = inputs[: count * each], inputs[count * each :]
        groups = []
        for k in range(count):
            own = list(scalars if shared else scalars[k * width : (k + 1) * width])
            # literals are back in the positions where the rule expects them, and are folded when it is compiled
            for place, value in fixed:
                own.insert(place, value)
            groups.append((*arrays[k * each : (k + 1) * each], *own))
        return tuple(result for group in groups for result in _checked(bound_op, group, run_rule(xp, bound_op, group)))

    inputs = count * each + (width if shared else count * width)
    # not in the registry: no user calls it, and its name appears in errors
    several = unregistered(f"{op.name} of {count}", rule, inputs, count * bound_op.count)
    return several, (0, *bound_op.written)


def _checked(bound_op: BoundOp, group: Sequence[Any], results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of one update; the first must fit the weight. Runs once per structure, as it concerns types only."""
    weight, new = group[0], results[0]
    if new.shape != weight.shape:
        raise ShapeError(
            f"{bound_op.op.spoken}: the gradient is larger than the weight", f"{new.shape} for {weight.shape}", "pass one that fits"
        )
    return results
