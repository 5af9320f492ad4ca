"""The graph of a batch, from that of one example: each value that depends on batched leaves gets the batch as its first axis.

Operators declare how (`opdef.facets.Algebra`): element-wise primitives and those over trailing axes take any leading ones; those with an
``axis`` take the next one; others have a rule (``@matmul.batch``). What has none runs in a loop over the batch, inside the program, with
one warning that names the operator.
"""

from collections.abc import Mapping, Sequence

from ..errors import ParameterError
from ..opdef import Input, Op, normalized_axes
from ..ops.primitive_gather import random_bits
from ..origin import warn
from .build import G, apply, item
from .control_flow import SubGraph, apply_foreach, cond, foreach, while_loop
from .gradient import input_gradients
from .ir import Application, Node, applies, leaf, topological
from .rewrite import lower, substitute
from .tangent import has_tangent, zeros

#: Titles of the operators that a loop has run, each of which has warned.
LOOPED: set[str] = set()


class Batch:
    """The batch of a graph.

    Parameters
    ----------
    size
        Number of examples.
    draws
        Whether each example draws random numbers of its own; None if none may be drawn.
    warns
        Whether an operator that runs in a loop gives a warning.
    """

    def __init__(self, size: int, draws: bool | None = False, warns: bool = True) -> None:
        self._size, self._draws, self._warns = size, draws, warns

    def of(self, outputs: Sequence[Node], given: Mapping[Node, Node]) -> list[Node]:
        """The batches of outputs, given those of leaves. What does not depend on these is the same for all examples.

        Raises
        ------
        ParameterError
            If random numbers are drawn and ``draws`` is None.
        """
        # an operator with a gradient of its own keeps it, so that a batch has the gradients of its examples
        # (a sampler's definition has the random words that examples draw)
        low = lower(outputs, keep=lambda op: op.differs_from_definition and not op.random)
        found = dict(given)
        for node in topological(low, until=found):
            if isinstance(node, Application) and not applies(node, item):
                results = zip(node.parts, self._results(node, found), strict=True)
                found |= {part: batch for part, batch in results if batch is not None}
        return [found[n] if n in found else self.repeated(n) for n in low]

    def repeated(self, node: Node) -> Node:
        """A value for every example."""
        return G.broadcast_to(node, shape=(self._size, *node.shape))

    def _results(self, node: Application, found: Mapping[Node, Node]) -> Sequence[Node | None]:
        """The batches of an application's results; None if they do not depend on the example."""
        op, params = node.bound_op.op, node.bound_op.params
        flags = tuple([i in found for i in node.inputs])
        if applies(node, random_bits) and not any(flags):
            return [self._drawn(node)]
        if not any(flags):
            return [None] * len(node.parts)
        inputs = [None if i is None else found.get(i, i) for i in node.inputs]
        # a composite that is kept has a gradient of its own, which the batch must keep as well
        if not op.primitive:
            return self._with_own_gradient(node, inputs, flags)
        if op is foreach:
            return self._loop(node, inputs, flags)
        if op is cond:
            return self._choice(node, inputs, flags)
        if op is while_loop and params["limit"] is None:
            return self._while(node, inputs, flags)
        # whatever works on trailing axes runs as it is, once the batch is the first axis of each operand
        if op.elementwise or op.algebra.batch == "leading":
            return apply(node.bound_op, self._aligned(node, inputs, flags)).parts
        # what has one axis in its parameters counts that from the other end of the shape
        if op.algebra.batch == "axis":
            return [_along_axis(node, inputs[0])]
        # all others declare a rule; where it declines, the batch is a loop over the examples
        rule = op.algebra.batch_rule
        got = None if rule is None else rule(G, self._size, flags, *inputs, **params)
        return self._by_loop(node, inputs, flags) if got is None else got if isinstance(got, tuple) else [got]

    def _drawn(self, node: Application) -> Node | None:
        if self._draws is None:
            todo = 'pass randomness="different" or randomness="same"'
            raise ParameterError("vmap: the function draws random numbers", None, todo)
        key, shape = node.operands[0], node.bound_op.params["shape"]
        return G.random_bits(key, shape=(self._size, *shape)) if self._draws else None

    def _aligned(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> tuple[Node | None, ...]:
        """Inputs that broadcast: the batch comes before as many axes as the example with the most has."""
        most = max(len(i.shape) for i in node.inputs if i is not None)
        aligned: list[Node | None] = []
        for example, i, is_batch in zip(node.inputs, inputs, flags, strict=True):
            if i is not None and example is not None and is_batch and len(example.shape) < most:
                i = G.reshape(i, shape=(self._size, *[1] * (most - len(example.shape)), *example.shape))
            aligned.append(i)
        return tuple(aligned)

    def _by_loop(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> Sequence[Node]:
        title = node.bound_op.op.title
        if self._warns and title not in LOOPED:
            LOOPED.add(title)
            warn(f"vmap: {title} has no rule for batches, and runs in a loop over the examples")
        examples = [None if i is None else leaf(("example", k), i.shape, i.dtype) for k, i in enumerate(node.inputs)]
        pairs = [(e, i, f) for e, i, f in zip(examples, inputs, flags, strict=True) if e is not None and i is not None]
        sliced, closed = [(e, i) for e, i, f in pairs if f], [(e, i) for e, i, f in pairs if not f]
        body = SubGraph.of(apply(node.bound_op, tuple(examples)).parts, [e for e, _ in (*sliced, *closed)], "example")
        return apply_foreach(body, [i for _, i in sliced], [], [i for _, i in closed])

    def _with_own_gradient(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> Sequence[Node]:
        """An operator whose definition and whose gradient are the batches of those of another."""
        op, count = node.bound_op.op, len(node.inputs)
        examples = [None if i is None else leaf(("example", k), i.shape, i.dtype, has_tangent(i)) for k, i in enumerate(node.inputs)]
        batches = [None if i is None else leaf(("batch", k), i.shape, i.dtype, has_tangent(i)) for k, i in enumerate(inputs)]
        single = apply(node.bound_op, tuple(examples))
        pairs = [(e, b, f) for e, b, f in zip(examples, batches, flags, strict=True) if e is not None and b is not None]
        given: dict[Node, Node] = {e: b for e, b, f in pairs if f}
        same: dict[Node, Node] = {e: b for e, b, f in pairs if not f}
        forward = substitute(self.of(single.body, given), same)

        def rule(xp: object, *arrays: Node | None) -> list[Node]:
            return substitute(forward, {b: a for b, a in zip(batches, arrays, strict=True) if b is not None and a is not None})

        def gradients(xp: object, dout: Node | tuple[Node | None, ...], arrays: Sequence[Node | None]) -> list[Node | None]:
            douts = dout if isinstance(dout, tuple) else (dout,)
            heads = [leaf(("head", k), p.shape, p.dtype) for k, p in enumerate(single.parts)]
            given_heads = [self.repeated(zeros(p)) if d is None else d for p, d in zip(single.parts, douts, strict=True)]
            grads = input_gradients(single, heads)
            own = [k for k, g in enumerate(grads) if g is not None]
            stand_ins = [leaf(("heads", k), d.shape, d.dtype) for k, d in enumerate(given_heads)]
            found = self.of([g for g in grads if g is not None], given | dict(zip(heads, stand_ins, strict=True)))
            at: dict[Node, Node] = dict(zip(stand_ins, given_heads, strict=True))
            at |= {b: a for b, a in zip(batches, arrays, strict=True) if b is not None and a is not None}
            out: list[Node | None] = [None] * count
            for k, g in zip(own, substitute(substitute(found, same), at), strict=True):
                # what all examples share has the sum of their gradients
                out[k] = g if flags[k] else G.sum(g, axis=0)
            return out

        grad_rule = gradients if op.grad_rule is not None else None
        made = Op(
            f"batch of {op.title}",
            rule,
            inputs=(Input("arrays"),),
            variadic=True,
            outputs=len(single.parts),
            differentiable=op.differentiable,
            reverse_only=op.reverse_only,
            grad_rule=grad_rule,
        )
        return apply(made.bind(), tuple(inputs)).parts

    def _loop(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> Sequence[Node]:
        """A ``foreach`` whose body runs a batch: of the data the examples' axis comes after that of the steps."""
        body, data, states = (node.bound_op.params[name] for name in ("body", "data", "states"))
        arrays = [G.moveaxis(i, 0, 1) if f and k < data else i for k, (i, f) in enumerate(zip(inputs, flags, strict=True)) if i is not None]
        # a state depends on the example from the second step on if anything does
        is_batch = [f or data <= k < data + states for k, f in enumerate(flags)]
        arrays[data : data + states] = [
            i if f else self.repeated(i) for i, f in zip(arrays[data : data + states], flags[data : data + states], strict=True)
        ]
        leaves = [
            leaf(("batch", k), (self._size, *n.shape) if b else n.shape, n.dtype, n.tracked)
            for k, (n, b) in enumerate(zip(body.leaves, is_batch, strict=True))
        ]
        pairs = list(zip(body.leaves, leaves, is_batch, strict=True))
        found = substitute(self.of(body.outputs, {e: n for e, n, b in pairs if b}), {e: n for e, n, b in pairs if not b})
        results = list(
            apply_foreach(SubGraph.of(found, leaves, "batch"), arrays[:data], arrays[data : data + states], arrays[data + states :])
        )
        last = range(len(body.outputs) - states, len(body.outputs))
        return [r if k in last else G.moveaxis(r, 1, 0) for k, r in enumerate(results)]

    def _while(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> Sequence[Node | None]:
        """A ``while_loop`` without a limit: if the test differs between examples, until no example goes on; one that has ended stays."""
        test, body, variables = (node.bound_op.params[name] for name in ("test", "body", "variables"))
        is_batch = list(flags)
        # a variable that is the same for all examples stays one, such as a counter: until nothing changes, since one reads the other
        while True:
            of_examples = _computed_from(
                [n for n, b in zip(body.leaves, is_batch, strict=True) if b], [*body.outputs, *test.call(body.leaves)]
            )
            ends_apart = test.call(body.leaves)[0] in of_examples
            now = [b or ends_apart or o in of_examples for b, o in zip(is_batch, body.outputs, strict=False)]
            if now == is_batch[:variables]:
                break
            is_batch[:variables] = now
        arrays = [
            self.repeated(i) if b and not f else i for i, f, b in zip([i for i in inputs if i is not None], flags, is_batch, strict=True)
        ]
        leaves = [leaf(("batch", k), i.shape, i.dtype, n.tracked) for k, (i, n) in enumerate(zip(arrays, body.leaves, strict=True))]
        pairs = list(zip(body.leaves, leaves, is_batch, strict=True))
        given, same = {e: n for e, n, b in pairs if b}, {e: n for e, n, b in pairs if not b}
        batches = substitute(self.of([o for o, b in zip(body.outputs, is_batch, strict=False) if b], given), same)
        found = iter(batches)
        new = [next(found) if b else o for o, b in zip(substitute(body.outputs, same), is_batch, strict=False)]
        (goes_on,) = substitute(self.of(test.call(body.leaves), given) if ends_apart else test.call(body.leaves), same)
        if ends_apart:
            # steps that an example no longer takes are computed, and dropped
            new = [
                G.where(G.reshape(goes_on, shape=(self._size, *[1] * (len(n.shape) - 1))), n, old)
                for n, old in zip(new, leaves, strict=False)
            ]
            goes_on = G.any(goes_on)
        results = G.while_loop(
            *arrays,
            test=SubGraph.of([goes_on], leaves, "batch test"),
            body=SubGraph.of(new, leaves, "batch"),
            variables=variables,
            limit=None,
        )
        parts = results if isinstance(results, tuple) else (results,)
        return [p if b else None for p, b in zip(parts, is_batch, strict=False)]

    def _choice(self, node: Application, inputs: Sequence[Node | None], flags: Sequence[bool]) -> Sequence[Node]:
        """A ``cond``: both branches and a selection if the predicate differs between examples."""
        predicate, *arrays = (i for i in inputs if i is not None)
        then, otherwise = node.bound_op.params["then"], node.bound_op.params["otherwise"]
        leaves = [leaf(("batch", k), i.shape, i.dtype, n.tracked) for k, (i, n) in enumerate(zip(arrays, then.leaves, strict=True))]
        branches = []
        for branch in (then, otherwise):
            pairs = list(zip(branch.leaves, leaves, flags[1:], strict=True))
            batch = self.of(branch.outputs, {e: n for e, n, f in pairs if f})
            branches.append(SubGraph.of(substitute(batch, {e: n for e, n, f in pairs if not f}), leaves, "batch"))
        if not flags[0]:
            got = G.cond(predicate, *arrays, then=branches[0], otherwise=branches[1])
            return got if isinstance(got, tuple) else [got]
        is_true = G.not_equal(predicate, 0)
        pairs = zip(branches[0].call(arrays), branches[1].call(arrays), strict=True)
        return [G.where(G.reshape(is_true, shape=(self._size, *[1] * (len(a.shape) - 1))), a, b) for a, b in pairs]


def _computed_from(given: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    """Some nodes, and those below outputs that are computed from them."""
    found = set(given)
    for n in topological(outputs):
        if not found.isdisjoint(n.inputs):
            found.add(n)
    return found


def _along_axis(node: Application, data: Node | None) -> Node:
    """An operator with an axis, applied along the next one; all axes of an example are those after the batch."""
    assert data is not None
    params, ndim = dict(node.bound_op.params), len(node.operands[0].shape)
    if params["axis"] is None:
        size = data.shape[0]
        if "keepdims" in params:
            params["keepdims"] = False
        found = apply(node.bound_op.op.bind(**(params | {"axis": 1})), (G.reshape(data, shape=(size, node.operands[0].size)),))
        return G.reshape(found, shape=(size, *node.shape))
    axes = tuple(a + 1 for a in normalized_axes(params["axis"], ndim))
    return apply(node.bound_op.op.bind(**(params | {"axis": axes if isinstance(params["axis"], tuple) else axes[0]})), (data,))
