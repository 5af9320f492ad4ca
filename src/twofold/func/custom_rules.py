"""`custom_vjp` and `custom_jvp`: functions with derivatives of the user's.

A call that is differentiated traces the function and the rule, and becomes one operator: its definition is the function's graph, its
gradient rule that of the user. Both modes, batches and higher derivatives follow from these, as for any operator.
"""

import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import NamedTuple

from ..errors import AutogradError, ParameterError, ShapeError, WrongArgument
from ..graph.control_flow import SubGraph
from ..graph.gradient import accumulate
from ..graph.ir import Node, leaf, leaves_of
from ..graph.rewrite import substitute
from ..graph.tangent import zeros
from ..imperative.cell import Operand, wrap
from ..imperative.guards import is_tracked
from ..imperative.invoke import device_of
from ..imperative.trace import Trace
from ..opdef import BoundOp, Input, Op
from .pytree import Tree, flatten, shown
from .traced_calls import Arguments, Function, Result, arguments, called, cell_value, kept_operator, run, traced

#: How deep rules that call their own function are followed: the highest derivative of such a function.
DEEPEST = 4
#: The gradients of arguments, from nodes of these, of what the rule reads from outside, and of the gradients of the results.
Pull = Callable[[Sequence[Node], Sequence[Node], Sequence[Node]], Sequence[Node | None]]


class _Rule(NamedTuple):
    """A traced rule: what makes its graph, what determines that, and what it reads from outside."""

    make: Callable[[], Pull]
    key: Sequence[object]
    outside: Sequence[Operand]


class _Custom(ABC):
    """A function with a derivative of the user's."""

    _kind: str
    _define: str

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        self._fun, self._fixed = fun, tuple(nondiff_argnums)
        self._signature = inspect.signature(fun)
        # how many rules of this function are being traced, in each thread
        self._nesting = threading.local()
        self._name = getattr(fun, "__name__", "function")
        update_wrapper(self, fun)

    def __call__(self, *args: Tree, **options: Tree) -> Tree:
        bound = self._signature.bind(*args, **options)
        bound.apply_defaults()
        args = bound.args
        places = [k for k in range(len(args)) if k not in self._fixed]
        followed = arguments(self._kind, [args[k] for k in places])
        if not any(is_tracked(c._content) for c in followed.cells):
            return self._fun(*args)
        # with values where there are any: the function may branch on them, and its graph is part of the operator's key
        call = traced(self._kind, self._fun, args, {}, places, followed)
        made = call.results[0]
        depth = getattr(self._nesting, "depth", 0)
        self._nesting.depth = depth + 1
        try:
            rule = self._rule([args[k] for k in self._fixed], args, places, followed, made) if depth < DEEPEST else self._too_deep()
        finally:
            self._nesting.depth = depth
        count, inputs = call.arguments, call.trace.inputs
        ends = len(inputs)

        def make() -> BoundOp:
            body, pull = SubGraph.of(made.arrays, inputs, "custom"), rule.make()

            # what only the rule reads from outside follows the function's own arrays
            def definition(xp: object, *arrays: Node) -> list[Node]:
                return body.call(arrays[:ends])

            def gradients(xp: object, dout: Node | tuple[Node | None, ...], arrays: Sequence[Node]) -> list[Node | None]:
                douts = dout if isinstance(dout, tuple) else (dout,)
                # the user's rule takes a gradient of every output
                heads = [zeros(o) if d is None else d for o, d in zip(body.outputs, douts, strict=True)]
                return [*pull(arrays[:count], arrays[ends:], heads), *[None] * (len(arrays) - count)]

            return Op(
                f"{self._kind} {self._name}",
                definition,
                inputs=(Input("arrays"),),
                variadic=True,
                outputs=len(body.outputs),
                reverse_only=self._kind == "custom_vjp",
                grad_rule=gradients,
            ).bind()

        bound_op = kept_operator((self._kind, count, *made.arrays, "of", *inputs, "by", *rule.key), make)
        return made.tree(run(bound_op, [*call.trace.operands, *rule.outside]))

    @abstractmethod
    def _rule(self, fixed: Sequence[Tree], args: Sequence[Tree], places: Sequence[int], followed: Arguments, made: Result) -> _Rule:
        """The user's rule for a call.

        Parameters
        ----------
        fixed
            The arguments that it gets as they are.
        args, places, followed
            The call, and the arguments that are differentiated.
        made
            What the function has returned.
        """

    def _too_deep(self) -> _Rule:
        def make() -> Pull:
            return pull

        def pull(*_: object) -> Sequence[Node | None]:
            what = f"{self._kind}: {self._name} has no derivative of this order, as its rule calls the function itself"
            raise AutogradError(what, f"order {DEEPEST + 1}", "write the rule without the function")

        return _Rule(make, (), ())

    def _own(self, rule: Function | None) -> Function:
        """A rule that must have been defined.

        Raises
        ------
        ParameterError
            If it is not.
        """
        if rule is None:
            raise ParameterError(f"{self._kind}: {self._name} has no rule", None, f"call {self._define} first")
        return rule


class custom_vjp(_Custom):
    """A function whose gradient is computed by a rule of yours. Use it as a decorator.

    Parameters
    ----------
    fun
        The function: takes and returns pytrees of arrays.
    nondiff_argnums
        Positions of arguments that have no gradient, and may be anything.

    Raises
    ------
    ParameterError
        If the function is differentiated before `defvjp` was called.
    WrongArgument, ShapeError
        If the rules return what does not fit the function.
    AutogradError
        In forward mode, which has no use for such a rule: see `custom_jvp`. Forward mode of a gradient works.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> @mx.func.custom_vjp
    ... def bounded(x):
    ...     return x
    >>> bounded.defvjp(lambda x: (x, None), lambda residuals, dout: (np.clip(dout, -1, 1),))
    >>> mx.func.grad(lambda x: (10 * bounded(x)).sum())(np.ones(2)).tolist()
    [1.0, 1.0]
    """

    _kind = "custom_vjp"
    _define = "defvjp"
    _forward: Function | None = None
    _backward: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Define the rule.

        Parameters
        ----------
        fwd
            Takes the arguments of the function. Returns its result and a pytree of residuals.
        bwd
            Takes the arguments without gradient, the residuals, and the gradient of the result: arrays without values. Returns a tuple of
            the gradients of the other arguments, each a pytree like the argument, or None for zeros.
        """
        self._forward, self._backward = fwd, bwd

    def _rule(self, fixed: Sequence[Tree], args: Sequence[Tree], places: Sequence[int], followed: Arguments, made: Result) -> _Rule:
        forward, backward = self._own(self._forward), self._own(self._backward)
        call = traced(self._kind, forward, args, {}, places, followed, "result, residuals")
        _check_like(self._kind, "fwd", call.results[0], made)
        saved = call.results[1]
        trace = Trace(self._kind)
        device = device_of(cell_value(followed.cells[0]))
        residuals, dout = [r.tree([trace.argument(None, n.shape, n.dtype, device) for n in r.arrays]) for r in (saved, made)]

        # the rule runs before there is a head gradient, so it has arrays without values
        def gradients(*given: Tree) -> Tree:
            return _matched(backward(*given), followed)

        (found,) = called(trace, gradients, [*fixed, residuals, dout], {})
        for g, cell in zip(found.nodes, followed.cells, strict=True):
            if g is not None and g.shape != cell.shape:
                raise ShapeError("custom_vjp: bwd returns a gradient of another shape", f"{g.shape} for {cell.shape}", "return one like it")
        inputs, count = call.trace.inputs, call.arguments
        own = len(inputs) - count
        outside = [*call.trace.operands[count:], *trace.operands[len(saved.arrays) + len(made.arrays) :]]

        def make() -> Pull:
            kept, graph = SubGraph.of(saved.arrays, inputs, "fwd"), SubGraph.of(found.arrays, trace.inputs, "bwd")

            def pull(arrays: Sequence[Node], closure: Sequence[Node], heads: Sequence[Node]) -> Sequence[Node | None]:
                grads = iter(graph.call([*kept.call([*arrays, *closure[:own]]), *heads, *closure[own:]]))
                return [None if n is None else next(grads) for n in found.nodes]

            return pull

        # where None stands is part of the structure, too
        places = [k for k, n in enumerate(found.nodes) if n is not None]
        return _Rule(make, [*saved.arrays, "of", *inputs, "then", *found.arrays, "at", *places, "of", *trace.inputs], outside)


def _matched(grads: Tree, followed: Arguments) -> list[Tree]:
    """The leaves of the gradients that a rule has returned; None for arguments without any.

    Raises
    ------
    WrongArgument
        If these are not nested like the arguments.
    """
    if not isinstance(grads, (tuple, list)) or len(grads) != len(followed.structures):
        given = f"{len(grads)} items" if isinstance(grads, (tuple, list)) else type(grads).__name__
        raise WrongArgument("custom_vjp: bwd returns no tuple of gradients", given, f"return {len(followed.structures)}, None for zeros")
    found: list[Tree] = []
    for grad, structure, tree in zip(grads, followed.structures, followed.trees(followed.cells), strict=True):
        leaves, own = flatten(grad)
        if grad is not None and own != structure:
            what = "custom_vjp: a gradient is not nested like its argument"
            raise WrongArgument(what, f"{shown(own)} for {shown(structure)}", "return one for each array")
        # a number stands for a gradient that is not there: it is no array
        found += leaves if grad is not None else [0] * len(flatten(tree)[0])
    return found


class custom_jvp(_Custom):
    """A function whose derivative in a direction is computed by a rule of yours. Use it as a decorator; both modes follow the rule.

    Parameters
    ----------
    fun, nondiff_argnums
        As for `custom_vjp`.

    Raises
    ------
    ParameterError
        If the function is differentiated before `defjvp` was called.
    WrongArgument, ShapeError
        If the rule returns what does not fit the function.
    AutogradError
        If the tangent that the rule returns is not linear in the given ones.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> @mx.func.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1 + np.exp(-x))
    >>> float(mx.func.grad(log1pexp)(np.array(800.0)))
    1.0
    """

    _kind = "custom_jvp"
    _define = "defjvp"
    _tangent: Function | None = None

    def defjvp(self, jvp: Function) -> Function:
        """Define the rule.

        Parameters
        ----------
        jvp
            Takes the arguments without derivative, then a tuple of the others and a tuple of directions like these. Returns the function's
            result and its tangent, which is linear in the directions.

        Returns
        -------
        callable
            The rule, so that this is a decorator.
        """
        self._tangent = jvp
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Define the rule by one function for each argument, None for one without influence.

        Parameters
        ----------
        *jvps
            Take a direction of the argument, the function's result and the arguments, and return a tangent of the result, an array.
        """

        def rule(*given: Tree) -> tuple[Tree, Tree]:
            *fixed, primals, tangents = given
            if len(jvps) != len(primals):
                raise WrongArgument(
                    "custom_jvp: defjvps got another number of rules", f"{len(jvps)} for {len(primals)}", "pass None for one"
                )
            out = self(*self._merged(fixed, primals))
            terms = [jvp(t, out, *primals) for jvp, t in zip(jvps, tangents, strict=True) if jvp is not None]
            return out, sum(terms[1:], terms[0]) if terms else out * 0

        self._tangent = rule

    def _merged(self, fixed: Sequence[Tree], others: Sequence[Tree]) -> list[Tree]:
        """All arguments in order."""
        given, rest = dict(zip(self._fixed, fixed, strict=True)), iter(others)
        return [given[k] if k in given else next(rest) for k in range(len(fixed) + len(others))]

    def _rule(self, fixed: Sequence[Tree], args: Sequence[Tree], places: Sequence[int], followed: Arguments, made: Result) -> _Rule:
        trace = Trace(self._kind)
        values = [cell_value(c) for c in followed.cells]
        primals = [wrap(c._kind, trace.argument(v, *v.type, v.device)) for c, v in zip(followed.cells, values, strict=True)]
        tangents = [wrap(c._kind, trace.argument(None, *v.type, v.device)) for c, v in zip(followed.cells, values, strict=True)]
        given = [*fixed, tuple(followed.trees(primals)), tuple(followed.trees(tangents))]
        del primals, tangents
        out, tangent = called(trace, self._own(self._tangent), given, {}, "result, tangent")
        _check_like(self._kind, "the rule", out, made)
        _check_like(self._kind, "the rule", tangent, made)
        count = len(values)

        def make() -> Pull:
            return _transposed(self._name, SubGraph.of(tangent.arrays, trace.inputs, "jvp"), count)

        return _Rule(make, [*tangent.arrays, "of", *trace.inputs], trace.operands[2 * count :])


def _transposed(name: str, graph: SubGraph, count: int) -> Pull:
    """The transpose of a tangent's graph over ``count`` arguments, as many directions, and a closure.

    Raises
    ------
    AutogradError
        If the graph is not linear in the directions.
    """
    # constants in place of all but the directions: the gradient with respect to these is the transpose
    fixed = [leaf(("fixed", k), n.shape, n.dtype) for k, n in enumerate(graph.leaves)]
    moving = list(graph.leaves[count : 2 * count])
    tangents = graph.call([*fixed[:count], *moving, *fixed[2 * count :]])
    heads = [leaf(("head", k), n.shape, n.dtype, n.tracked) for k, n in enumerate(tangents)]
    pairs = [(n, h) for n, h in zip(tangents, heads, strict=True) if n.tracked]
    found = accumulate([n for n, _ in pairs], [h for _, h in pairs])
    places = [k for k, t in enumerate(moving) if t in found]
    grads = [found[moving[k]] for k in places]
    if set(leaves_of(grads)).intersection(moving):
        raise AutogradError("custom_jvp: the tangent is not linear in the given ones", name, "multiply these by the derivative")

    def pull(arrays: Sequence[Node], closure: Sequence[Node], douts: Sequence[Node]) -> Sequence[Node | None]:
        at: dict[Node, Node] = dict(zip([*fixed, *heads], [*arrays, *moving, *closure, *douts], strict=True))
        given = dict(zip(places, substitute(grads, at), strict=True))
        return [given.get(k) for k in range(count)]

    return pull


def _check_like(kind: str, rule: str, found: Result, made: Result) -> None:
    """Raise unless a rule returns arrays like those of its function.

    Raises
    ------
    WrongArgument, ShapeError
        If the structures differ, or the shapes.
    """
    if found.structure != made.structure or [n is None for n in found.nodes] != [n is None for n in made.nodes]:
        what = f"{kind}: {rule} returns another structure than the function"
        raise WrongArgument(what, f"{shown(found.structure)} for {shown(made.structure)}", "return results nested in the same way")
    for a, b in zip(found.arrays, made.arrays, strict=True):
        if a.shape != b.shape:
            raise ShapeError(
                f"{kind}: {rule} returns another shape than the function", f"{a.shape} for {b.shape}", "return one of its shape"
            )
