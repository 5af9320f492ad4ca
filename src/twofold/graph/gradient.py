"""The gradient of a graph, as a graph: rules applied in reverse. Broadcasting is undone, and contributions are cast and added, here only.

Reverse accumulation as in Griewank & Walther, "Evaluating Derivatives", SIAM 2008, chapter 3.

The gradient of a real number L with respect to a complex one z = a + ib is dL/da - i dL/db in these graphs. With this convention the rule
``dout * f'(z)`` holds for every holomorphic function f, unchanged, and only rules such as that of `abs` treat complex numbers specially.
Users pass and receive its conjugate, dL/da + i dL/db, the direction of steepest ascent; `imperative.backward` and `gradient` convert. An
operator whose rule is not known to hold for complex numbers (`Op.complex_gradient`) raises.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..dtype import COMPLEX
from ..errors import AutogradError, OperatorError
from ..opdef import sliced_shape
from ..opdef.rules import Rule
from ..ops.primitive_gather import index_add
from ..ops.primitive_shape import slice_add, slice_update
from .build import G, apply, check_methods, item
from .ir import AnyNode, Application, Leaf, Node, applies, const, fill_of, leaf, post_order, topological

Gradients = dict[Node, Node]


def sum_to(grad: Node, shape: tuple[int, ...]) -> Node:
    """Undo broadcasting: ``grad`` summed to the operand's shape (or, if smaller, broadcast to it)."""
    if grad.shape == shape:
        return grad
    # broadcasting added leading axes, and repeated axes of size 1: sum over both
    lead = len(grad.shape) - len(shape)
    if lead < 0:  # a rule may return a scalar, or fewer axes than the operand has
        return G.broadcast_to(grad, shape=shape)
    axes = (*range(lead), *(k + lead for k, n in enumerate(shape) if n == 1 and grad.shape[k + lead] != 1))
    return G.broadcast_to(G.reshape(G.sum(grad, axis=axes), shape=shape) if axes else grad, shape=shape)


def _fit(grad: Node | float, operand: Node) -> Node:
    """A contribution to a gradient, in the operand's shape and dtype."""
    fitting = sum_to(grad if isinstance(grad, Node) else const(grad), operand.shape)
    if fitting.dtype in COMPLEX and operand.dtype not in COMPLEX:
        fitting = G.real_part(fitting)  # a real operand has no other direction
    return G.cast_like(fitting, operand)


def input_gradients(node: Application, douts: Sequence[Node | None]) -> list[Node | None]:
    """One gradient per input of an application, in the input's shape and dtype; None for inputs without a gradient.

    Raises
    ------
    AutogradError
        For complex numbers, if the operator's rule is not known to hold for them.
    """
    op = node.bound_op.op
    if not op.differentiates_complex and (op.grad_rule is not None or not node.body or not op.differentiable):
        _check_real(node)
    # without a rule the operator's definition is differentiated
    if op.grad_rule is None:
        return _through_body(node, douts)
    try:
        got = rule_results(op.grad_rule, node, douts)
    # an array has fewer methods in a rule than outside of one; the error says which is meant
    except (AttributeError, TypeError) as error:
        check_methods(op, error)
        raise
    if any(grad is not None for grad in got[len(node.inputs) :]):
        what = f"{op.spoken}: its gradient rule returns more gradients than the operator has array inputs"
        raise OperatorError(what, f"{len(got)} for {len(node.inputs)}", "return one gradient for each input, in order")
    # a rule may leave out the last gradients: those inputs have none
    out: list[Node | None] = []
    for operand, grad in zip(node.inputs, [*got, *[None] * len(node.inputs)], strict=False):
        out.append(_fit(grad, operand) if operand is not None and grad is not None and operand.tracked else None)
    return out


def _check_real(node: Application) -> None:
    """Raise if a gradient with respect to complex numbers would pass through an operation."""
    operands = [i for i in node.inputs if i is not None and i.tracked]
    found = next((n.dtype for n in (*node.parts, *operands) if n.dtype in COMPLEX), None)
    if found is not None:
        raise AutogradError(
            f"{node.bound_op.op.title} has no gradient for complex numbers",
            f"a recorded array, and an operand or result of dtype {found}",
            "compute with the real and imaginary parts as two arrays, or pass x.detach() if the result is to be a constant",
        )


def rule_results(rule: Rule, node: Application, douts: Sequence[Node | None]) -> list[Node | float | None]:
    """What a gradient rule returns for an application, given the head gradients of its results."""
    bound_op = node.bound_op
    op, count = bound_op.op, len(bound_op.op.inputs)
    single = len(node.parts) == 1
    arrays = node.inputs[: len(node.inputs) - len(op.scalars)]
    have: dict[str, object] = {"dout": _like(douts[0], node) if single else _visible(douts, node), "out": node if single else node.parts}
    if op.variadic:
        have |= dict(zip((i.name for i in op.inputs[:-1]), arrays[: count - 1], strict=True)) | {op.inputs[-1].name: arrays[count - 1 :]}
    else:
        # the last input may be a random key, which an operator that draws nothing is not given
        have |= dict(zip((i.name for i in op.inputs), (*arrays, None)[:count], strict=True))
    have |= dict(zip(op.scalars, node.inputs[len(arrays) :], strict=True))
    have |= bound_op.params
    # a rule names its inputs; forward need not save values that the gradient graph then does not contain
    wanted = _wanted(rule)
    if unknown := [name for name in (*wanted.positional, *wanted.keywords) if name not in have]:
        raise OperatorError(
            f"{op.spoken}: its gradient rule names an unknown argument", ", ".join(unknown), f"use some of {', '.join(have)}"
        )
    positional = [have[name] for name in wanted.positional]
    keywords = {name: have[name] for name in wanted.keywords}
    if wanted.everything:
        keywords |= {k: v for k, v in bound_op.params.items() if k not in wanted.positional}
    got = rule(G, *positional, **keywords)
    return list(got) if isinstance(got, (tuple, list)) else [got]


class _Wanted(NamedTuple):
    """What a gradient rule takes after the namespace.

    Attributes
    ----------
    positional, keywords
        The names that it takes by position and by name only.
    everything
        Whether it takes all other parameters of the operator too.
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    everything: bool


#: The parameters of rules: reading a signature takes as long as most rules. Programs that are operators have rules that do not last.
_WANTED: WeakKeyDictionary[Rule, _Wanted] = WeakKeyDictionary()


def _wanted(rule: Rule) -> _Wanted:
    found = _WANTED.get(rule)
    if found is None:
        _, *wanted = inspect.signature(rule).parameters.values()
        found = _WANTED[rule] = _Wanted(
            tuple([p.name for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD]),
            tuple([p.name for p in wanted if p.kind is p.KEYWORD_ONLY]),
            any(p.kind is p.VAR_KEYWORD for p in wanted),
        )
    return found


def _like(dout: Node | None, node: Node) -> Node:
    return G.full(shape=node.shape, value=0, dtype=node.dtype) if dout is None else dout


def _visible(douts: Sequence[Node | None], node: Application) -> tuple[Node | None, ...]:
    return tuple(douts) if douts else (None,) * len(node.parts)


def _through_body(node: Application, douts: Sequence[Node | None]) -> list[Node | None]:
    """Gradients for an operator without a rule: none for a primitive, otherwise those of its definition."""
    if not node.body or not node.bound_op.op.differentiable:
        return [None] * len(node.inputs)
    # a result that depends on no variable, or is without a head gradient and below it no loss, contributes nothing
    pairs = [(b, d) for b, d in zip(node.body, douts, strict=True) if b.tracked and (d is not None or _starts_gradient(node))]
    ends = [i for i in dict.fromkeys(node.inputs) if i is not None]
    found = accumulate([b for b, _ in pairs], [d for _, d in pairs], stop=ends)
    # an operand used twice has one gradient, the sum over both uses: return it for the first use only
    return [found.pop(i, None) if i is not None and i.tracked else None for i in node.inputs]


#: What `_starts_gradient` has found for composites.
_STARTS: WeakKeyDictionary[Node, bool] = WeakKeyDictionary()


def _starts_gradient(node: Application) -> bool:
    """Whether an application has a gradient even if nothing passes one to its results: a loss has, and a definition with a loss in it."""
    op = node.bound_op.op
    if op.grad_rule is not None or not node.body or not op.differentiable:
        return op.starts_gradient
    found = _STARTS.get(node)
    if found is None:
        found = _STARTS[node] = starts_below(node.body, [i for i in node.inputs if i is not None])
    return found


def starts_below(outputs: Sequence[Node], stop: Sequence[Node] = ()) -> bool:
    """Whether there is an operation below outputs at which a gradient starts, even if they have no head gradients."""
    return any(isinstance(n, Application) and _starts_gradient(n) for n in topological(outputs, until=stop))


def accumulate(outputs: Sequence[Node], heads: Sequence[Node | None], stop: Sequence[Node] = ()) -> Gradients:
    """Gradients of all nodes below outputs, given those of the outputs; the walk stops at the nodes in ``stop``.

    A loss, which has a gradient of its own, is passed even if no gradient flows to it: MXNet runs the backward of all operations below
    a head, and programs show a loss through ``BlockGrad`` or an ``argmax`` of it.
    """
    grads: dict[Node, Node] = {}
    several: dict[Node, list[Node | None]] = {}

    def add(node: Node, grad: Node) -> None:
        # the rule of an operator with several results runs once, given the gradients of all results: collect them at the operator's node
        if applies(node, item) and node not in ends:
            (owner,) = node.operands
            parts = several.setdefault(owner, [None] * len(owner.parts))
            at = node.bound_op.params["place"]
            before = parts[at]
            parts[at] = grad if before is None else _plus(before, grad)
        else:
            grads[node] = _plus(grads[node], grad) if node in grads else grad

    ends = set(stop)
    order = topological(outputs, until=ends)
    for output, head in zip(outputs, heads, strict=True):
        if head is not None:
            add(output, _fit(head, output))
    # users before their operands: when a node is reached, all contributions to its gradient have been added
    for node in reversed(order):
        if not isinstance(node, Application) or not node.tracked or node.bound_op.op is item:
            continue
        douts = several.get(node) if len(node.parts) > 1 else [grads[node]] if node in grads else None
        if douts is None:
            if not _starts_gradient(node):
                continue
            douts = [None] * len(node.parts)
        for operand, grad in zip(node.inputs, input_gradients(node, douts), strict=False):
            if operand is not None and grad is not None:
                add(operand, grad)
    return grads


def _plus(total: Node, grad: Node) -> Node:
    """The sum of two contributions.

    A contribution that is zero outside a slice, or outside one index array's selection, is added in place there, without its own array.
    """
    for whole, part in ((total, grad), (grad, total)):
        if whole.dtype != part.dtype or not (applies(part, slice_update) or applies(part, index_add)) or fill_of(part.operands[0]) != 0:
            continue
        _, value, *places = part.operands
        key = part.bound_op.params["key"]
        if 2 * value.size > part.size:  # a larger part stays an ordinary sum, which kernels fuse
            continue
        if not places and value.shape == sliced_shape(part.shape, key):
            return apply(slice_add.bind(key=key), (whole, value))
        if len(places) == 1:  # several index arrays may select one element per row, which kernels compute (see `rows`)
            return apply(part.bound_op, (whole, value, *places))
    return total + grad


def gradient(outputs: Sequence[Node], heads: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
    """Gradient of sum(outputs · heads) with respect to nodes, as users see it; zeros where nothing depends on them."""
    found = accumulate(outputs, [_conjugated(h) for h in heads])
    return [_conjugated(found[w]) if w in found else G.full(shape=w.shape, value=0, dtype=w.dtype) for w in wrt]


def _conjugated(grad: Node) -> Node:
    """A gradient in the other convention for complex numbers: that of users, or that of this module."""
    return G.conjugate(grad) if grad.dtype in COMPLEX else grad


def backward_order(heads: Iterable[AnyNode], inputs_of: Callable[[AnyNode], Sequence[AnyNode]]) -> list[AnyNode]:
    """The operations that a gradient passes through, in the order in which MXNet's backward runs them.

    States that several operations share (the moving averages of a layer called twice) are updated in this order.

    Parameters
    ----------
    heads
        The outputs to differentiate: operations or variables of any graph.
    inputs_of
        The inputs of a node through which gradients flow; none for a variable.
    """
    order = post_order(heads, inputs_of)
    # The gradient graph is visited depth first from each variable in turn; a node's gradient sums its uses, the last one first.
    uses: dict[AnyNode, list[AnyNode]] = {n: [] for n in order}
    for user in reversed(order):
        for i in dict.fromkeys(inputs_of(user)):
            uses[i].append(user)
    variables = [n for n in order if not inputs_of(n)]
    return [n for n in post_order(variables, uses.__getitem__) if inputs_of(n)]


def ones_head(node: Node) -> Node:
    """The head gradient of ones."""
    return G.full(shape=node.shape, value=1, dtype=node.dtype)


def stand_in(name: object, node: Node) -> Leaf:
    """A leaf of a node's type, to build a gradient graph independent of the node's own graph."""
    return leaf(name, node.shape, node.dtype, node.tracked)
