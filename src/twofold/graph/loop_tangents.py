"""Directional derivatives of control flow: a loop or a choice of tangents, beside the one that computes the values.

What a loop of steps has computed is read: the tangent of a step needs the states before it, which `foreach` returns. A `while_loop` without
a limit keeps none of them, so its states are computed again, together with their tangents.
"""

from collections.abc import Callable, Sequence

from .build import G
from .control_flow import SubGraph, apply_foreach
from .ir import Application, Leaf, Node, leaf, leaves_of

#: The tangents of outputs, given those of leaves; see `tangent.tangents`.
TangentsOf = Callable[[Sequence[Node], dict[Node, Node]], list[Node | None]]


class _Body:
    """The tangents of a sub-graph's outputs, some of which are the states of the next step.

    Attributes
    ----------
    at
        A leaf for the tangent of each of the body's leaves; None for one that has none.
    of
        The tangents of the outputs.
    """

    def __init__(self, body: SubGraph, given: Sequence[Node | None], states: range, tangents_of: TangentsOf) -> None:
        has = [t is not None for t in given]
        count = len(body.outputs) - len(states)
        while True:
            self.at: list[Leaf | None] = [
                # no leaf of the body's has a name of three parts, also not of a body that is a tangent itself
                leaf(("tangent", "given", k), n.shape, n.dtype, True) if h else None
                for k, (n, h) in enumerate(zip(body.leaves, has, strict=True))
            ]
            self.of = tangents_of(body.outputs, {n: t for n, t in zip(body.leaves, self.at, strict=True) if t is not None})
            # a state without a tangent may get one in the first step
            late = [k for k, t in zip(states, self.of[count:], strict=True) if t is not None and not has[k]]
            if not late:
                break
            for k in late:
                has[k] = True


def _zeros(node: Node) -> Node:
    return G.full(shape=node.shape, value=0, dtype=node.dtype)


def of_foreach(node: Application, given: Sequence[Node | None], tangents_of: TangentsOf) -> list[Node | None]:
    """The tangents of a loop's results: a loop over the tangents, the data and the states before each step."""
    body, data, states = (node.bound_op.params[name] for name in ("body", "data", "states"))
    count, arrays = len(body.outputs) - states, node.operands
    found = _Body(body, given, range(data, data + states), tangents_of)
    moving = [k for k in range(data, data + states) if found.at[k] is not None]
    outs = [k for k in range(count) if found.of[k] is not None]
    # in each step: the tangents of the outputs that have one, then those of the next states
    made = [t for t in found.of[:count] if t is not None]
    made += [t if (t := found.of[count + k - data]) is not None else _zeros(body.leaves[k]) for k in moving]
    used = leaves_of(made)
    # a slice costs in each step, so only what is read is sliced; at least one array says how many steps there are
    rows = [*zip(body.leaves[:data], arrays, strict=False), *zip(body.leaves[data:], node.parts[count + states :], strict=False)]
    rows += [(t, d) for t, d in zip(found.at[:data], given, strict=False) if t is not None and d is not None]
    rows = [(n, a) for n, a in rows if n in used] or rows[:1]
    # what all steps read, and the tangents of that
    closure = list(zip(body.leaves[data + states :], arrays[data + states :], strict=True))
    closure += [(t, d) for t, d in zip(found.at[data + states :], given[data + states :], strict=True) if t is not None and d is not None]
    closure = [(n, a) for n, a in closure if n in used]
    start = [t if (t := given[k]) is not None else _zeros(arrays[k]) for k in moving]
    leaves = [*[n for n, _ in rows], *[found.at[k] for k in moving], *[n for n, _ in closure]]
    step = SubGraph.of(made, [n for n in leaves if n is not None], "tangent")
    results = apply_foreach(step, [a for _, a in rows], start, [a for _, a in closure])
    # the results of `foreach`: outputs, last states, states before each step
    tangents: list[Node | None] = [None] * len(node.parts)
    for place, k in enumerate(outs):
        tangents[k] = results[place]
    for place, k in enumerate(moving):
        tangents[count + k - data] = results[len(outs) + place]
        tangents[count + states + k - data] = results[len(outs) + len(moving) + place]
    return tangents


def of_while_loop(node: Application, given: Sequence[Node | None], tangents_of: TangentsOf) -> list[Node | None]:
    """The tangents of the variables of a `while_loop` without a limit: those of a loop that has the tangents among its variables."""
    test, body, variables = (node.bound_op.params[name] for name in ("test", "body", "variables"))
    found, arrays = _Body(body, given, range(variables), tangents_of), node.operands
    moving = [k for k in range(variables) if found.at[k] is not None]
    made = [t if (t := found.of[k]) is not None else _zeros(body.leaves[k]) for k in moving]
    start = [t if (t := given[k]) is not None else _zeros(arrays[k]) for k in moving]
    outside = [(t, d) for t, d in zip(found.at[variables:], given[variables:], strict=True) if t is not None and d is not None]
    # the variables come first: their number tells them from what is read from outside
    leaves = [*body.leaves[:variables], *[t for k in moving if (t := found.at[k]) is not None], *body.leaves[variables:]]
    leaves += [t for t, _ in outside]
    results = G.while_loop(
        *arrays[:variables],
        *start,
        *arrays[variables:],
        *[d for _, d in outside],
        test=SubGraph.of(test.call(body.leaves), leaves, "tangent test"),
        body=SubGraph.of([*body.outputs, *made], leaves, "tangent"),
        variables=variables + len(moving),
        limit=None,
    )
    tangents: list[Node | None] = [None] * variables
    for place, k in enumerate(moving):
        tangents[k] = results[variables + place]
    return tangents


def of_cond(node: Application, given: Sequence[Node | None], tangents_of: TangentsOf) -> list[Node | None]:
    """The tangents of a choice: a choice between the tangents."""
    branches = [node.bound_op.params[name] for name in ("then", "otherwise")]
    both = [_Body(branch, given[1:], range(0), tangents_of) for branch in branches]
    wanted = [k for k in range(len(node.parts)) if any(b.of[k] is not None for b in both)]
    if not wanted:
        return [None] * len(node.parts)
    # both branches return the same types: zeros where only the other one has a tangent
    chosen = []
    for branch, b in zip(branches, both, strict=True):
        made = [t if (t := b.of[k]) is not None else _zeros(node.parts[k]) for k in wanted]
        chosen.append(SubGraph.of(made, [*branch.leaves, *[t for t in b.at if t is not None]], "tangent"))
    got = G.cond(*node.operands, *[d for d in given[1:] if d is not None], then=chosen[0], otherwise=chosen[1])
    results = iter(got if isinstance(got, tuple) else (got,))
    return [next(results) if k in wanted else None for k in range(len(node.parts))]
