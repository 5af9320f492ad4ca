"""Control flow as nodes with sub-graphs: ``foreach``, ``while_loop``, ``cond``. Their gradients are control flow too, to any order.

A sub-graph is made of interned nodes, so a loop is compiled once, whatever its trip count. Values that its body reads from outside
are passed in (``closure``), never captured.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..dtype import COMPLEX, WEAK, is_float
from ..errors import NoReverseMode, ShapeError
from ..opdef import Static, primitive
from ..opdef.vocabulary import LoopBody, LoopResults
from .build import G
from .gradient import accumulate
from .ir import AnyNode, Node, leaf
from .rewrite import substitute


def _is_tracked(dtype: str) -> bool:
    """Whether leaves of a dtype have gradients: Python's numbers have none."""
    return (is_float(dtype) or dtype in COMPLEX) and dtype not in WEAK


@dataclass(frozen=True)
class SubGraph:
    """A function as a graph: outputs computed from leaves."""

    leaves: tuple[Node, ...]
    outputs: tuple[Node, ...]

    @classmethod
    def of(cls, outputs: Sequence[Node], leaves: Sequence[Node], name: str) -> "SubGraph":
        """The sub-graph with its leaves renamed by number, so that equal bodies are the same structure."""
        # every leaf that may have a gradient is tracked, even if the caller wants no gradient for it: a body must not depend on its caller,
        # or the same loop would be compiled several times
        fresh = [leaf((name, k), n.shape, n.dtype, _is_tracked(n.dtype)) for k, n in enumerate(leaves)]
        return cls(tuple(fresh), tuple(substitute(outputs, dict(zip(leaves, fresh, strict=True)))))

    def call(self, arguments: Sequence[Node]) -> list[Node]:
        """The results for other arguments, as nodes."""
        return substitute(self.outputs, dict(zip(self.leaves, arguments, strict=True)))


def _types(nodes: Sequence[Node]) -> list[tuple[tuple[int, ...], str]]:
    return [(n.shape, n.dtype) for n in nodes]


def first_difference(first: Sequence[Node], second: Sequence[Node]) -> tuple[int, str, str] | None:
    """The place of the first two nodes that differ in dtype or shape, and their types as text; None if none do."""
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return k, f"{a.dtype}{a.shape}", f"{b.dtype}{b.shape}"
    return None


def _check_states(what: str, given: Sequence[Node], new: Sequence[Node]) -> None:
    if found := first_difference(given, new):
        k, old, other = found
        raise ShapeError(
            f"{what}: state {k} changes its type from one step to the next",
            f"{old} becomes {other}",
            "return states of the same types as the initial ones",
        )


# foreach: inputs are data (sliced along axis 0), states, closure; results are outputs (stacked), last states, states before each step


@primitive(outputs=lambda body, data, states: len(body.outputs) + states, run_by_program=True, complex_gradient=True)
def foreach(xp, *arrays, body: Static, data: int, states: int):
    """Run ``body(slices of data, states, closure) -> (outputs, new states)`` along axis 0 of the data."""


@foreach.type
def _(*arrays, body: SubGraph, data: int, states: int):
    steps = {a.shape[0] for a in arrays[:data]}
    if len(steps) != 1:
        raise ShapeError(
            "foreach: the data differ in the length of axis 0", ", ".join(map(str, sorted(steps))), "pass data of equal length"
        )
    count = len(body.outputs) - states
    _check_states(foreach.title, arrays[data : data + states], body.outputs[count:])
    n = steps.pop()
    stacked = [((n, *o.shape), o.dtype) for o in body.outputs[:count]]
    before = [((n, *s.shape), s.dtype) for s in arrays[data : data + states]]
    return [*stacked, *_types(body.outputs[count:]), *before]


@foreach.grad
def _(xp, dout, out, arrays, *, body: SubGraph, data: int, states: int):
    count = len(body.outputs) - states
    dout, before = _several(dout), _several(out)[count + states :]
    closure = arrays[data + states :]
    stacked = [*dout[:count], *dout[count + states :]]
    back, wanted = _body_gradient(body, data, states, [d is not None for d in stacked], "foreach back")
    # backward runs the steps from the last to the first: it is a `foreach` itself, over flipped data
    slices = [xp.flip(a, 0) for a in (*arrays[:data], *before, *[d for d in stacked if d is not None])]
    last = [_or_zeros(dout[count + k], body.outputs[count + k]) for k in range(states)]
    # the gradient of values that all steps read is a state that starts at zero
    sums = [xp.zeros(closure[k - data - states].shape, closure[k - data - states].dtype) for k in wanted if k >= data + states]
    results = apply_foreach(back, slices, [*last, *sums], closure)
    # results come in the order: data gradients, state gradients, closure sums
    data_count = sum(k < data for k in wanted)
    grads: list[Node | None] = [None] * len(arrays)
    for place, k in enumerate(k for k in wanted if k < data):
        grads[k] = xp.flip(results[place], 0)
    for k in range(states):
        grads[data + k] = results[data_count + k]
    for place, k in enumerate(k for k in wanted if k >= data + states):
        grads[k] = results[data_count + states + place]
    return tuple(grads)


def _or_zeros(grad: Node | None, like: Node) -> Node:
    return G.full(shape=like.shape, value=0, dtype=like.dtype) if grad is None else grad


def _body_gradient(body: SubGraph, data: int, states: int, have: Sequence[bool], name: str) -> tuple[SubGraph, list[int]]:
    """One step of backward: (data, states, given gradients; state gradients, closure sums; closure) → (data gradients; …).

    ``have`` says which gradients are given: of the outputs, then of the states before the step (which are results too). Returns
    the step and the indices of the body's leaves that get a gradient: data and closure that results depend on, and all states.
    """
    count = len(body.outputs) - states
    # backward reads a state as a stacked result of the loop, so a gradient of a gradient has a head for it too
    heads_before = {
        k: leaf((name, "before", k), n.shape, n.dtype) for k, n in enumerate(body.leaves[data : data + states]) if have[count + k]
    }
    heads_out = [leaf((name, "out", k), o.shape, o.dtype) for k, o in enumerate(body.outputs[:count]) if have[k]]
    # a new state is read by the next step, which backward runs before this one: its gradient is a state of the reversed loop
    heads_state = [leaf((name, "state", k), o.shape, o.dtype, _is_tracked(o.dtype)) for k, o in enumerate(body.outputs[count:])]
    # not strict, because `have` is longer: its further items are about the states before the steps, which the body does not output
    outputs = [o for o, h in zip(body.outputs[:count], have, strict=False) if h] + list(body.outputs[count:])
    pairs = [(o, h) for o, h in zip(outputs, [*heads_out, *heads_state], strict=True) if o.tracked]
    found = accumulate([o for o, _ in pairs], [h for _, h in pairs])
    closure = body.leaves[data + states :]
    # a state always gets a gradient, if necessary of zeros, which the reversed loop passes to the preceding step
    wanted = [k for k, n in enumerate(body.leaves) if data <= k < data + states or n in found]
    # all steps read the same closure, so its gradient is summed over the steps, as a further state
    sums = [leaf((name, "total", k), n.shape, n.dtype, True) for k, n in enumerate(closure) if n in found]
    totals = [s + found[n] for s, n in zip(sums, [n for n in closure if n in found], strict=True)]
    new_data = [found[n] for n in body.leaves[:data] if n in found]
    new_states = [_or_zeros(found.get(n), n) for n in body.leaves[data : data + states]]
    new_states = [s + heads_before[k] if k in heads_before else s for k, s in enumerate(new_states)]
    leaves = [*body.leaves[: data + states], *heads_out, *heads_before.values(), *heads_state, *sums, *closure]
    return SubGraph.of([*new_data, *new_states, *totals], leaves, name), wanted


def apply_foreach(body: SubGraph, data: Sequence[Node], states: Sequence[Node], closure: Sequence[Node]) -> tuple[Node, ...]:
    """The results of a loop as nodes: stacked outputs, last states (then the states before each step)."""
    return _several(G.foreach(*data, *states, *closure, body=body, data=len(data), states=len(states)))


def loop(body: LoopBody, data: Sequence[Node], states: Sequence[Node], shared: Sequence[Node]) -> LoopResults:
    """``xp.loop`` of nodes; see `opdef.vocabulary.Derived`."""
    types = [*[(d.shape[1:], d.dtype) for d in data], *_types(states), *_types(shared)]
    leaves = [leaf(("loop", k), shape, dtype, _is_tracked(dtype)) for k, (shape, dtype) in enumerate(types)]
    first, second = len(data), len(data) + len(states)
    outputs, new = body(list(leaves[:first]), list(leaves[first:second]), list(leaves[second:]))
    results = apply_foreach(SubGraph.of([*outputs, *new], leaves, "scan"), data, states, shared)
    count = len(outputs)
    return list(results[:count]), list(results[count : count + len(new)]), list(results[count + len(new) :])


G.make_loop = loop


def _several(results: AnyNode | tuple[AnyNode, ...]) -> tuple[AnyNode, ...]:
    """Results as a tuple; an operator with one result returns it bare."""
    return results if isinstance(results, tuple) else (results,)


# while_loop: inputs are loop variables and closure; results are outputs (padded with zeros), last variables, variables before each step,
# steps. Without a limit nothing of a step is kept: there are no outputs, and the results are the last variables


def _count_of_results(test: SubGraph, body: SubGraph, variables: int, limit: int | None) -> int:
    return variables if limit is None else len(body.outputs) + variables + 1


@primitive(outputs=_count_of_results, run_by_program=True, complex_gradient=True)
def while_loop(xp, *arrays, test: Static, body: Static, variables: int, limit: Static):
    """Run ``body(variables, closure) -> (outputs, new variables)`` while ``test(variables, closure)``, at most ``limit`` times."""


@while_loop.type
def _(*arrays, test: SubGraph, body: SubGraph, variables: int, limit: int | None):
    count = len(body.outputs) - variables
    _check_states(while_loop.title, arrays[:variables], body.outputs[count:])
    if limit is None:
        return _types(body.outputs)
    stacked = [((limit, *o.shape), o.dtype) for o in body.outputs[:count]]
    before = [((limit, *v.shape), v.dtype) for v in arrays[:variables]]
    return [*stacked, *_types(body.outputs[count:]), *before, ((), "int64")]


@while_loop.grad
def _(xp, dout, out, arrays, *, test: SubGraph, body: SubGraph, variables: int, limit: int | None):
    if limit is None:
        what = "a loop whose number of steps depends on values has no gradient in reverse mode"
        todo = "use func.scan or func.fori_loop with a fixed number of steps, or forward mode: jvp, jacfwd"
        raise NoReverseMode(what, "while_loop, or fori_loop with bounds that are arrays", todo)
    count = len(body.outputs) - variables
    before, steps = out[count + variables : count + 2 * variables], out[-1]
    closure = arrays[variables:]
    stacked = [*dout[:count], *dout[count + variables : count + 2 * variables]]
    step, wanted = _body_gradient(body, 0, variables, [d is not None for d in stacked], "while back")
    given = [d for d in stacked if d is not None]
    last = [_or_zeros(dout[count + k], body.outputs[count + k]) for k in range(variables)]
    # closures whose gradients are summed over the steps, as loop variables of the reversed loop
    summed = [k for k in wanted if k >= variables]
    sums = [xp.zeros(closure[k - variables].shape, closure[k - variables].dtype) for k in summed]
    back, test_back = _reversed_step(step, before, given, [*last, *sums], closure)
    # the forward loop may have stopped early: backward begins at the last step that ran, and the rows after it stay unread
    start = xp.subtract(steps, 1)
    found = G.while_loop(
        start, *last, *sums, *before, *given, *closure, test=test_back, body=back, variables=1 + variables + len(sums), limit=limit
    )
    grads: list[Node | None] = [None] * len(arrays)
    for k in range(variables):
        grads[k] = found[1 + k]
    for place, k in enumerate(summed):
        grads[k] = found[1 + variables + place]
    return tuple(grads)


def _reversed_step(
    step: SubGraph, before: Sequence[Node], given: Sequence[Node], carried: Sequence[Node], closure: Sequence[Node]
) -> tuple[SubGraph, SubGraph]:
    """A loop that runs backward: its variables are the step's index and the gradients; stacked values are read at that index."""
    at = leaf("while at", (), "int64")
    new = [leaf(("while carried", k), c.shape, c.dtype, _is_tracked(c.dtype)) for k, c in enumerate(carried)]
    stacks = [leaf(("while stack", k), s.shape, s.dtype, _is_tracked(s.dtype)) for k, s in enumerate([*before, *given])]
    outside = [leaf(("while outside", k), c.shape, c.dtype, _is_tracked(c.dtype)) for k, c in enumerate(closure)]
    # a `while_loop` slices nothing, so the values of a step are taken out of the stacks by its index
    rows = [G.take(s, at, axis=0) for s in stacks]
    results = step.call([*rows, *new, *outside])
    leaves = [at, *new, *stacks, *outside]
    body = SubGraph.of([G.subtract(at, 1), *results], leaves, "while back body")
    return body, SubGraph.of([G.greater_equal(at, 0)], leaves, "while back test")


# cond: inputs are the predicate and the closure of both branches


@primitive(outputs=lambda then, otherwise: len(then.outputs), run_by_program=True, complex_gradient=True)
def cond(xp, *arrays, then: Static, otherwise: Static):
    """``then(closure)`` if the predicate is non-zero, else ``otherwise(closure)``."""


@cond.type
def _(*arrays, then: SubGraph, otherwise: SubGraph):
    _check_states(cond.title, then.outputs, otherwise.outputs)
    return _types(then.outputs)


@cond.grad
def _(xp, dout, arrays, *, then: SubGraph, otherwise: SubGraph):
    douts = _several(dout)
    have = [d is not None for d in douts]
    # both branches must give the same gradients, so a branch gives zeros for a leaf that only the other one reads
    wanted = [k for k, n in enumerate(then.leaves) if n.tracked]
    branches = [_branch_gradient(b, have, wanted) for b in (then, otherwise)]
    given = [d for d in douts if d is not None]
    got = G.cond(*arrays, *given, then=branches[0], otherwise=branches[1])
    found = _several(got)
    grads: list[Node | None] = [None] * len(arrays)
    for k, g in zip(wanted, found, strict=True):
        grads[1 + k] = g
    return tuple(grads)


def _branch_gradient(branch: SubGraph, have: Sequence[bool], wanted: Sequence[int]) -> SubGraph:
    heads = [leaf(("cond head", k), o.shape, o.dtype, _is_tracked(o.dtype)) for k, o in enumerate(branch.outputs) if have[k]]
    pairs = [(o, h) for o, h in zip([o for o, y in zip(branch.outputs, have, strict=True) if y], heads, strict=True) if o.tracked]
    found = accumulate([o for o, _ in pairs], [h for _, h in pairs])
    grads = [_or_zeros(found.get(branch.leaves[k]), branch.leaves[k]) for k in wanted]
    return SubGraph.of(grads, [*branch.leaves, *heads], "cond back")
