"""Transforms by reverse mode: gradients, vector-Jacobian products, Jacobians and recomputation."""

import itertools
from collections.abc import Callable, Sequence
from functools import wraps

from ..dtype import is_float
from ..errors import DTypeError, ShapeError
from ..executor.operation import Operation
from ..graph.batch import Batch
from ..graph.build import G
from ..graph.control_flow import SubGraph, apply_foreach
from ..graph.gradient import gradient, ones_head
from ..graph.ir import Leaf, Node, depending_on, leaf, leaves_of
from ..graph.recompute import distinct_view
from ..graph.residuals import residuals, values_inside
from ..graph.rewrite import lower, substitute
from ..imperative.array import Array
from ..imperative.cell import Content, Operand, wrap
from ..imperative.invoke import invoke
from ..ops.primitive_arithmetic import astype
from ..symbol.naming import AttrScope
from ..symbol.symbol import Symbol
from .pytree import Tree, flatten, matching
from .traced_calls import (
    Arguments,
    Function,
    Result,
    Traced,
    arguments,
    as_array,
    as_value,
    cell_value,
    check_differentiable,
    operator_of,
    positions,
    run,
    traced,
)

#: What to do where a function returns a number.
NO_NUMBERS = "compute with functions of mx.np up to the end: float(x), x.item(), asnumpy() and the module math leave the arrays"
#: Positions of arguments: one, or several.
ArgNums = int | Sequence[int]
#: Rows or columns of a Jacobian are computed in a batch if none of its arrays has more elements than this, or else one by one.
MOST_AT_ONCE = 1 << 24


def call_for(
    what: str, fun: Function, argnums: ArgNums, has_aux: bool, args: Sequence[Tree], options: dict[str, Tree]
) -> tuple[Traced, Arguments]:
    """Trace a call for differentiation with respect to some arguments."""
    places = positions(what, argnums, args)
    followed = arguments(what, [args[k] for k in places])
    check_differentiable(what, followed)
    return traced(what, fun, args, options, places, followed, "result, aux" if has_aux else ""), followed


def made_by(what: str, call: Traced) -> list[Node]:
    """The nodes of a result that is differentiated.

    Raises
    ------
    ShapeError
        If a part of it is no array: a derivative of it would be lost.
    """
    result = call.results[0]
    if None in result.nodes:
        other = next(c for n, c in zip(result.nodes, result.classes, strict=True) if n is None)
        todo = f"{NO_NUMBERS}; return anything else as aux"
        raise ShapeError(f"{what}: the function must return arrays", f"{type(other).__name__} {other!r}", todo)
    return result.arrays


def _loss(what: str, result: Result) -> Node:
    """The node of a scalar result.

    Raises
    ------
    ShapeError
        If it is not a single array with one element.
    DTypeError
        If it is no real floating-point number.
    """
    if len(result.nodes) != 1 or result.structure != "leaf":
        todo = "return an array with one element, and others as aux"
        raise ShapeError(f"{what}: the function must return one scalar", f"{len(result.nodes)} values", todo)
    (node,) = result.nodes
    if node is None:
        # a number is a constant: what it was computed from is forgotten
        raise ShapeError(f"{what}: the function must return an array", "a number", NO_NUMBERS)
    if node.shape not in ((), (1,)):
        raise ShapeError(f"{what}: the function must return a scalar", f"shape {node.shape}", "reduce it, or use jacrev or vjp")
    if not is_float(node.dtype):
        raise DTypeError(f"{what}: the function must return a real floating-point number", node.dtype, "return one, or use vjp")
    return node


def value_and_grad(fun: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """A function that computes a scalar function's value and its gradient.

    Parameters
    ----------
    fun
        Returns an array with one element, or with ``has_aux`` a pair of that and any pytree. It may be called with arrays of
        ``twofold.np`` or ``mx.nd``, and use control flow, writes into its own arrays, and blocks.
    argnums
        The arguments to differentiate with respect to: pytrees of floating-point arrays. Others are passed as they are.
    has_aux
        Whether ``fun`` returns more than the scalar.

    Returns
    -------
    callable
        Takes the arguments of ``fun``. Returns ``(value, gradient)``, or ``((value, aux), gradient)``; the gradient has the structure,
        shapes and dtypes of the argument, and is a tuple of these if ``argnums`` is a sequence.

    Raises
    ------
    ShapeError, DTypeError
        If the result is not a scalar, or an argument is not floating-point.
    AutogradError
        If ``fun`` writes to an array from outside.

    Notes
    -----
    The gradient with respect to a complex number a + ib is dL/da + i dL/db, as everywhere in Twofold. States of blocks, such as the moving
    averages of `BatchNorm`, do not change.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> def loss(w, x):
    ...     return (w["scale"] * x + w["shift"]).sum()
    >>> w = {"scale": np.array([1.0, 2.0]), "shift": np.array([0.0, 1.0])}
    >>> value, gradient = mx.func.value_and_grad(loss)(w, np.array([3.0, 4.0]))
    >>> float(value), gradient["scale"].tolist(), gradient["shift"].tolist()
    (12.0, [3.0, 4.0], [1.0, 1.0])
    """
    return _differentiated("value_and_grad", fun, argnums, has_aux, lambda value, found, aux: ((value, aux) if has_aux else value, found))


def grad(fun: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """A function that computes a scalar function's gradient. See `value_and_grad` for parameters and errors.

    Parameters
    ----------
    fun, argnums, has_aux
        As for `value_and_grad`.

    Returns
    -------
    callable
        Takes the arguments of ``fun``. Returns the gradient, or with ``has_aux`` ``(gradient, aux)``.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> mx.func.grad(lambda x: (x**3).sum())(np.array([1.0, 2.0])).tolist()
    [3.0, 12.0]
    >>> second = mx.func.grad(mx.func.grad(lambda x: x**3))
    >>> float(second(2.0))
    12.0
    """
    return _differentiated("grad", fun, argnums, has_aux, lambda value, found, aux: (found, aux) if has_aux else found)


def _differentiated(what: str, fun: Function, argnums: ArgNums, has_aux: bool, pack: Callable[[Tree, Tree, Tree], Tree]) -> Function:
    @wraps(fun)
    def differentiated(*args: Tree, **options: Tree) -> Tree:
        call, followed = call_for(what, fun, argnums, has_aux, args, options)
        loss = _loss(what, call.results[0])
        aux = call.results[1].arrays if has_aux else []

        def make() -> list[Node]:
            return opened([loss, *gradient([loss], [ones_head(loss)], call.wrt), *aux])

        # the key has the arguments' number, as their leaves come first, and results of both kinds in order
        contents = run(operator_of(("grad", call.arguments, loss, *aux), call.trace.inputs, make), call.trace.operands)
        found = trees(followed, argnums, contents[1 : 1 + call.arguments])
        value = wrap(call.results[0].classes[0], contents[0])
        return pack(value, found, call.results[1].tree(contents[1 + call.arguments :]) if has_aux else None)

    return differentiated


def opened(nodes: Sequence[Node]) -> list[Node]:
    """Results of reverse mode, with the definitions of operators that have a gradient for reverse mode only: forward mode may follow."""
    return lower(nodes, keep=lambda op: not op.reverse_only)


def trees(followed: Arguments, argnums: ArgNums, contents: Sequence[Content]) -> Tree:
    """Gradients in the structures of the arguments: a tuple for several."""
    trees = followed.trees([wrap(c._kind, v) for c, v in zip(followed.cells, contents, strict=True)])
    return trees[0] if isinstance(argnums, int) else tuple(trees)


def vjp(fun: Function, *primals: Tree, has_aux: bool = False) -> tuple[Tree, ...]:
    """The result of a function, and its vector-Jacobian product.

    Parameters
    ----------
    fun
        Returns a pytree of arrays, or with ``has_aux`` a pair of that and any pytree.
    *primals
        Its arguments: pytrees of floating-point arrays.

    Returns
    -------
    tuple
        ``(result, vjp_fun)`` or ``(result, vjp_fun, aux)``. ``vjp_fun`` takes a pytree like the result, of the same shapes, and returns a
        tuple of gradients, one for each argument. It can be called several times; the function itself runs once.

    Raises
    ------
    DTypeError, AutogradError
        As `value_and_grad`.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> y, pull = mx.func.vjp(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> a_bar, b_bar = pull(np.array([1.0, 10.0]))
    >>> y.tolist(), a_bar.tolist(), b_bar.tolist()
    ([3.0, 8.0], [3.0, 40.0], [1.0, 20.0])
    """
    call, followed = call_for("vjp", fun, range(len(primals)), has_aux, primals, {})
    result, made = call.results[0], made_by("vjp", call)
    # an integer result has a head as well, which no gradient reads: cotangents are given for every array
    heads = [leaf(("head", k), n.shape, n.dtype) for k, n in enumerate(made)]
    grads = gradient([n for n in made if n.tracked], [h for n, h in zip(made, heads, strict=True) if n.tracked], call.wrt)
    contents, saved, pulled = split(call, opened(grads))

    def vjp_fun(cotangents: Tree) -> tuple[Tree, ...]:
        given = matching("vjp", cotangents, result.structure)
        values = [
            fitting("vjp", g, h) for g, h in zip((g for g, n in zip(given, result.nodes, strict=True) if n is not None), heads, strict=True)
        ]
        bound_op = operator_of(("vjp", *pulled), [*heads, *saved.leaves], lambda: pulled)
        return trees(followed, (), run(bound_op, [*values, *saved.operands]))

    outs = result.tree(contents)
    return (outs, vjp_fun, call.results[1].tree(contents[len(made) :])) if has_aux else (outs, vjp_fun)


class Saved:
    """What the second part of a computation reads of the first: leaves, and what they stand for."""

    def __init__(self, leaves: Sequence[Leaf], operands: Sequence[Operand]) -> None:
        self.leaves, self.operands = leaves, operands


def split(call: Traced, later: Sequence[Node]) -> tuple[list[Content], Saved, list[Node]]:
    """Run a traced function now, and save what nodes that are computed later read of it.

    Returns
    -------
    tuple
        The contents of the results, what was saved, and the nodes over the leaves of that.
    """
    inputs = call.trace.inputs
    made = [n for result in call.results for n in result.arrays]
    # forward mode reads values inside definitions, too
    read = residuals(values_inside([*made, *lower(made)], inputs), later, inputs)
    kept = [n for n in read if n not in inputs]
    bound_op = operator_of(("forward", *made, "saved", *kept), inputs, lambda: [*made, *kept])
    contents = run(bound_op, call.trace.operands)
    # leaves of their own names, so that equal functions of saved values are one operator whatever computed these
    at = {n: leaf(("saved", k), n.shape, n.dtype, n.tracked) for k, n in enumerate(read)}
    values = iter(contents[len(made) :])
    where: dict[Node, int] = {n: k for k, n in enumerate(inputs)}
    operands: list[Operand] = [call.trace.operands[where[n]] if n in where else as_value(next(values)) for n in read]
    return contents[: len(made)], Saved(list(at.values()), operands), substitute(later, at)


def fitting(what: str, value: object, like: Node) -> Operand:
    """A value as the content of an array that must have a node's shape; its dtype is converted.

    Raises
    ------
    ShapeError
        If the shapes differ.
    """
    cell = as_array(what, value)
    if cell.shape != like.shape:
        raise ShapeError(f"{what}: the shape differs", f"{cell.shape} for {like.shape}", "pass an array of the same shape")
    if cell._dtype == like.dtype:
        return cell_value(cell)
    return as_value(invoke(astype.bind(dtype=like.dtype), (cell,))[0])


def jacrev(fun: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    r"""A function that computes the Jacobian by reverse mode, one row for each element of the result.

    Parameters
    ----------
    fun
        Returns a pytree of floating-point arrays, or with ``has_aux`` a pair of that and any pytree.
    argnums, has_aux
        As for `value_and_grad`.

    Returns
    -------
    callable
        Takes the arguments of ``fun``. Returns the structure of the result, with the structure of the argument in place of each array (a
        tuple of several for a sequence of ``argnums``), of arrays of shape (\*shape of the result, \*shape of the argument).

    Raises
    ------
    DTypeError
        If an argument or a result is not real and floating-point.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> mx.func.jacrev(lambda x: np.array([x[0] * x[1], x[1] ** 2]))(np.array([2.0, 3.0])).tolist()
    [[3.0, 2.0], [0.0, 6.0]]
    """
    return jacobian_by("jacrev", fun, argnums, has_aux, lambda made, wrt: [row for n in made for row in opened(rows(n, wrt))])


def jacobian_by(
    what: str, fun: Function, argnums: ArgNums, has_aux: bool, blocks_of: Callable[[Sequence[Node], Sequence[Node]], list[Node]]
) -> Function:
    """A function that computes a Jacobian in blocks: for each result, one for each argument.

    Parameters
    ----------
    what, fun, argnums, has_aux
        The transform, and its parameters.
    blocks_of
        Makes the blocks from the nodes of the results and of the arguments.
    """

    @wraps(fun)
    def jacobian(*args: Tree, **options: Tree) -> Tree:
        call, followed = call_for(what, fun, argnums, has_aux, args, options)
        result, count, made = call.results[0], call.arguments, made_by(what, call)
        for n in (*made, *call.wrt):
            if not is_float(n.dtype):
                raise DTypeError(f"{what}: an argument or a result is not a real floating-point array", n.dtype, "use vjp or jvp")
        aux = call.results[1].arrays if has_aux else []
        bound_op = operator_of((what, count, *made, "aux", *aux), call.trace.inputs, lambda: [*blocks_of(made, call.wrt), *aux])
        contents = run(bound_op, call.trace.operands)
        blocks = [trees(followed, argnums, contents[k * count : (k + 1) * count]) for k in range(len(made))]
        found = result._replace(nodes=[None] * len(blocks), classes=blocks).tree(())
        return (found, call.results[1].tree(contents[len(made) * count :])) if has_aux else found

    return jacobian


def rows(node: Node, wrt: Sequence[Node]) -> list[Node]:
    """The derivatives of each element of a node, stacked, with respect to other nodes."""
    head = leaf(("row", 0), node.shape, node.dtype, True)
    body = gradient([node], [head], wrt) if node.tracked else [G.full(shape=w.shape, value=0, dtype=w.dtype) for w in wrt]
    stacked = at_unit_vectors(body, head, [node])
    return [G.reshape(f, shape=(*node.shape, *w.shape)) for f, w in zip(stacked, wrt, strict=True)]


def at_unit_vectors(body: Sequence[Node], head: Leaf, made: Sequence[Node]) -> list[Node]:
    """Linear functions of a leaf, of all unit vectors in its place, stacked along a first axis. ``made``: what has been computed before."""
    basis = G.reshape(unit_vectors(head.size, head.dtype), shape=(head.size, *head.shape))
    # what does not depend on the vector is computed once, whatever its size
    if head.size * max(n.size for n in depending_on(head, lower(body))) <= MOST_AT_ONCE:
        return Batch(head.size, warns=False).of(body, {head: basis})
    # a loop whose body reads what is computed once: the program has one body, whatever the number of vectors
    done = values_inside(lower(made))
    closure = residuals([n for n in done if n is not head], body, given=leaves_of(body))
    outside = [n for n in dict.fromkeys([*closure, *leaves_of(body)]) if n is not head]
    return list(apply_foreach(SubGraph.of(body, [head, *outside], "rows"), [basis], [], outside))


def unit_vectors(size: int, dtype: str) -> Node:
    """The unit vectors of a space as rows."""
    places = G.iota(size=size, dtype="int64")
    return G.astype(G.equal(G.reshape(places, shape=(size, 1)), places), dtype=dtype)


#: Numbers of the parts of blocks that are computed again.
_STAGES = itertools.count(1)


class _Recomputed(Operation):
    """A graph whose backward computes it again from its inputs."""

    def _gradients(self, xp: object, dout: Node | tuple[Node | None, ...], *inputs: Node) -> list[Node | None]:
        return super()._gradients(xp, dout, *[distinct_view(i) for i in inputs])


def checkpoint(fun: Function) -> Function:
    """A function whose inner values are not kept for backward: they are computed again from the arguments.

    Parameters
    ----------
    fun
        A function of pytrees of arrays (other arguments are passed as they are), or a block.

    Returns
    -------
    callable
        Computes the same. On a tape, in hybridized blocks and under the transforms of this module, backward takes the memory of the
        arguments and results only, and the time of one more forward.

    Raises
    ------
    AutogradError
        If ``fun`` writes to an array from outside.

    Notes
    -----
    Moving averages, such as those of `BatchNorm`, change once in backward, as without it.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> layer = mx.func.checkpoint(lambda x: np.sin(np.sin(x)))
    >>> mx.func.grad(lambda x: layer(x).sum())(np.zeros(2)).tolist()
    [1.0, 1.0]
    """

    @wraps(fun)
    def recomputed(*args: Tree, **options: Tree) -> Tree:
        if any(isinstance(value, Symbol) for value in flatten((args, options))[0]):
            # in a hybridized block, whose compiled graph computes what has one of these numbers again
            with AttrScope(force_mirroring="True", mirror_stage=str(next(_STAGES))):
                return fun(*args, **options)
        # numbers and other arguments are the function's own business
        places = [k for k, value in enumerate(args) if _has_arrays(value)]
        followed = arguments("checkpoint", [args[k] for k in places])
        call = traced("checkpoint", fun, args, options, places, followed)
        made = call.results[0].arrays
        bound_op = operator_of(("checkpoint", *made), call.trace.inputs, lambda: made, _Recomputed, call.trace.changes)
        return call.results[0].tree(run(bound_op, call.operands(followed)))

    return recomputed


def _has_arrays(tree: object) -> bool:
    leaves, _ = flatten(tree)
    return bool(leaves) and all(isinstance(value, Array) for value in leaves)
