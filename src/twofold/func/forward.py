"""Transforms by forward mode: Jacobian-vector products, linearization, Jacobians by columns, second derivatives in a direction."""

from collections.abc import Sequence

from ..errors import WrongArgument
from ..graph.build import G
from ..graph.ir import Leaf, Node, leaf
from ..graph.tangent import tangents as tangents_of
from ..imperative.cell import Operand
from .pytree import Tree, matching
from .reverse import ArgNums, at_unit_vectors, call_for, fitting, grad, jacobian_by, jacrev, made_by, split
from .traced_calls import Arguments, Function, Traced, operator_of, run


def _directions(what: str, call: Traced) -> list[Leaf]:
    """Leaves for the tangents of the arguments."""
    return [leaf((what, k), n.shape, n.dtype, True) for k, n in enumerate(call.wrt)]


def _given(what: str, given: Sequence[Tree], followed: Arguments, like: Sequence[Node]) -> list[Operand]:
    """The contents of the tangents of the arguments, one tree for each."""
    leaves = matching(what, list(given), (list, None, tuple(followed.structures)))
    return [fitting(what, value, node) for value, node in zip(leaves, like, strict=True)]


def _tangents(made: Sequence[Node], at: dict[Node, Node]) -> list[Node]:
    """The tangents of results, zeros where nothing depends on the arguments."""
    return [G.full(shape=n.shape, value=0, dtype=n.dtype) if t is None else t for n, t in zip(made, tangents_of(made, at), strict=True)]


def _check_are_several(what: str, **given: object) -> None:
    """Check that what a transform takes for all arguments is a tuple or list: an array would be taken for its rows.

    Raises
    ------
    WrongArgument
        If it is something else.
    """
    for name, value in given.items():
        if not isinstance(value, (tuple, list)):
            raise WrongArgument(f"{what}: {name} must be a tuple, an item for each argument", type(value).__name__, "pass (x,) for x")


def jvp(fun: Function, primals: Sequence[Tree], tangents: Sequence[Tree], has_aux: bool = False) -> tuple[Tree, ...]:
    """The result of a function, and its derivative in a direction.

    Parameters
    ----------
    fun
        Returns a pytree of arrays, or with ``has_aux`` a pair of that and any pytree.
    primals, tangents
        The arguments, and a direction for each: pytrees of floating-point arrays of the same shapes.

    Returns
    -------
    tuple
        ``(result, tangent)`` or ``(result, tangent, aux)``; the tangent has the structure, shapes and dtypes of the result.

    Raises
    ------
    DTypeError, AutogradError
        As `value_and_grad`; also for functions with gradients in code of the user's, which forward mode cannot use.
    ShapeError, WrongArgument
        If a direction differs from its argument in shape or structure, or ``primals`` or ``tangents`` is no tuple.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> y, dy = mx.func.jvp(lambda x: x**2, (np.array([1.0, 3.0]),), (np.array([1.0, 0.5]),))
    >>> y.tolist(), dy.tolist()
    ([1.0, 9.0], [2.0, 3.0])
    """
    _check_are_several("jvp", primals=primals, tangents=tangents)
    call, followed = call_for("jvp", fun, range(len(primals)), has_aux, primals, {})
    made = made_by("jvp", call)
    aux = call.results[1].arrays if has_aux else []
    directions = _directions("direction", call)
    values = _given("jvp", tangents, followed, call.wrt)

    def make() -> list[Node]:
        return [*made, *_tangents(made, dict(zip(call.wrt, directions, strict=True))), *aux]

    bound_op = operator_of(("jvp", len(directions), *made, "aux", *aux), [*call.trace.inputs, *directions], make)
    contents = run(bound_op, [*call.trace.operands, *values])
    count = len(made)
    outs, derivative = call.results[0].tree(contents[:count]), call.results[0].tree(contents[count : 2 * count])
    return (outs, derivative, call.results[1].tree(contents[2 * count :])) if has_aux else (outs, derivative)


def linearize(fun: Function, *primals: Tree, has_aux: bool = False) -> tuple[Tree, ...]:
    """The result of a function, and its derivative at that point as a linear function.

    Parameters
    ----------
    fun, *primals, has_aux
        As for `vjp`.

    Returns
    -------
    tuple
        ``(result, jvp_fun)``, or with ``has_aux`` ``(result, jvp_fun, aux)``. ``jvp_fun`` takes a direction for each argument and returns
        the tangent of the result. It may be called often: the function itself runs once.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> y, push = mx.func.linearize(np.sin, np.array([0.0, 1.0]))
    >>> push(np.array([2.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    call, followed = call_for("linearize", fun, range(len(primals)), has_aux, primals, {})
    result, made = call.results[0], made_by("linearize", call)
    directions = _directions("direction", call)
    contents, saved, pushed = split(call, _tangents(made, dict(zip(call.wrt, directions, strict=True))))

    def jvp_fun(*tangents: Tree) -> Tree:
        values = _given("linearize", tangents, followed, directions)
        bound_op = operator_of(("linearized", *pushed), [*directions, *saved.leaves], lambda: pushed)
        return result.tree(run(bound_op, [*values, *saved.operands]))

    out = result.tree(contents)
    return (out, jvp_fun, call.results[1].tree(contents[len(made) :])) if has_aux else (out, jvp_fun)


def jacfwd(fun: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """A function that computes the Jacobian by forward mode, one column for each element of the arguments. As `jacrev` in all else.

    Parameters
    ----------
    fun, argnums, has_aux
        As for `jacrev`.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> mx.func.jacfwd(lambda x: np.array([x[0] * x[1], x[1] ** 2]))(np.array([2.0, 3.0])).tolist()
    [[3.0, 2.0], [0.0, 6.0]]
    """

    def blocks_of(made: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
        by_argument = [columns(made, w) for w in wrt]
        return [of_argument[k] for k in range(len(made)) for of_argument in by_argument]

    return jacobian_by("jacfwd", fun, argnums, has_aux, blocks_of)


def columns(made: Sequence[Node], argument: Node) -> list[Node]:
    """The derivatives of nodes with respect to each element of one argument, on the last axes."""
    direction = leaf(("column", 0), argument.shape, argument.dtype, True)
    stacked = at_unit_vectors(_tangents(made, {argument: direction}), direction, made)
    # (elements of the argument, *result) to (*result, *argument)
    return [
        G.reshape(G.permute_dims(f, axes=(*range(1, len(f.shape)), 0)), shape=(*n.shape, *argument.shape))
        for f, n in zip(stacked, made, strict=True)
    ]


def hessian(fun: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    r"""A function that computes all second derivatives: the Jacobian, by forward mode, of the gradient. See `jacrev` for all else.

    Parameters
    ----------
    fun, argnums, has_aux
        As for `jacrev`; the function returns a scalar.

    Returns
    -------
    callable
        For a result of shape () and an argument of shape s, an array of shape (\*s, \*s); see `jacrev` for pytrees.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> mx.func.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0])).tolist()
    [[6.0, 2.0], [2.0, 0.0]]
    """
    return jacfwd(jacrev(fun, argnums, has_aux), argnums, has_aux)


def hvp(fun: Function, primals: Sequence[Tree], tangents: Sequence[Tree]) -> tuple[Tree, ...]:
    """The product of the second derivatives of a scalar function with a direction, without the matrix: forward over reverse mode.

    Parameters
    ----------
    fun
        As for `grad`.
    primals, tangents
        As for `jvp`.

    Returns
    -------
    tuple
        One pytree for each argument, like the argument.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> (product,) = mx.func.hvp(lambda x: x[0] ** 2 * x[1], (np.array([1.0, 3.0]),), (np.array([1.0, 0.0]),))
    >>> product.tolist()
    [6.0, 2.0]
    """
    _check_are_several("hvp", primals=primals, tangents=tangents)
    return jvp(grad(fun, argnums=range(len(primals))), primals, tangents)[1]
