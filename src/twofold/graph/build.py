"""``G``, the namespace that builds nodes when rules run on them, and the typed application of operators."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..dtype import COMPLEX, FLOATS, WHOLE, float_of, is_float, promote, ufunc_result
from ..errors import DTypeError, MXNetError, NoSuchAxis, OperatorError, ParameterError, ShapeError
from ..opdef import OPS, BoundOp, Derived, Op, broadcast_shapes, primitive, primitives
from ..opdef.conventions import check_floats, check_kept_shape, check_legacy, finish_legacy
from ..opdef.vocabulary import LoopBody, LoopResults
from ..ops import primitive_arithmetic, primitive_math  # noqa: F401  (registers Python's operators)
from ..origin import called_function
from ..signal_handlers import unless_signalled
from .ir import Application, Constant, Node, Part, const, intern
from .tables import TABLES


@primitive(run_by_program=True)
def item(xp, results, *, place: int):
    """One of several results of an application."""


def apply(bound_op: BoundOp, inputs: tuple[Node | None, ...]) -> Application:
    """Apply an operator to nodes: a table look-up, or type inference once per structure.

    Raises
    ------
    MXNetError
        A `ShapeError` or `DTypeError` that names the operator, if the inputs do not fit.
    """
    node = bound_op.typed.get(inputs)  # without the lock: most calls end here
    if node is not None:
        return node
    with TABLES.lock:  # no generation is dropped half-way through a rule: equal nodes in its result must be one node
        try:
            return intern(bound_op, inputs, _new(bound_op, inputs))
        except MXNetError as error:
            _name_as_called(error, bound_op.op)
            raise


def apply_again(node: Application, inputs: tuple[Node | None, ...]) -> Application:
    """Apply a node's operator to other inputs: for those of the same types, a primitive's type is that of the node."""
    bound_op, before = node.bound_op, node.inputs
    found = bound_op.typed.get(inputs)
    if found is not None:
        return found
    # a primitive of one result, for which inputs count by their types alone
    if node.body or node.dtype == "several" or bound_op.op is item or len(inputs) != len(before):
        return apply(bound_op, inputs)
    tracked = node.tracked
    for new, old in zip(inputs, before, strict=True):
        if new is not old:
            if new is None or old is None or new.shape != old.shape or new.dtype != old.dtype:
                return apply(bound_op, inputs)
            if new.tracked != old.tracked:
                tracked = _carries(node.dtype, [i.dtype for i in inputs if i is not None and i.tracked])
    with TABLES.lock:
        return intern(bound_op, inputs, Application(bound_op, inputs, node.shape, node.dtype, tracked))


def _new(bound_op: BoundOp, inputs: tuple[Node | None, ...]) -> Application:
    op = bound_op.op
    if op is item:
        (owner,) = inputs
        part = owner.parts[bound_op.params["place"]] if owner is not None else None
        assert isinstance(part, Application)
        return part
    if op.floats is not FLOATS:
        check_floats(op, [None if i is None else i.dtype for i in inputs])
    if op.primitive and not bound_op.legacy:
        types = _primitive_types(bound_op, inputs)
        return _node(bound_op, inputs, types, ())
    # rules are written like NumPy code: their exceptions for wrong inputs become an error that names the operator
    try:
        body = run_rule(G, bound_op, inputs)
    except unless_signalled((ValueError, IndexError, TypeError, AttributeError)) as error:
        check_methods(op, error)
        if isinstance(error, AttributeError):
            raise
        if isinstance(error, MXNetError):
            named = _naming(error, op)
            try:
                raise named from named.__cause__ if named is error else error
            finally:
                del named  # its frames have this one among them: the cycle would keep the arrays of all of them until a collection
        if not inputs:
            raise ShapeError(f"{op.spoken}: there are no inputs", None, "pass at least one array") from error
        shapes = ", ".join("None" if i is None else str(i.shape) for i in inputs)
        raise ShapeError(
            f"{op.spoken}: the inputs do not match ({error})", f"shapes {shapes}, {bound_op}", "see the operator's documentation"
        ) from error
    if len(body) != bound_op.count:
        what = f"{op.spoken}: its rule returns a different number of results than declared"
        raise ParameterError(what, f"{len(body)} for {bound_op.count}", f"declare outputs={len(body)} where it is decorated")
    first = body[0] if len(body) == 1 else None
    if isinstance(first, Application) and first.bound_op.op is op and first.inputs == inputs:
        return first  # a primitive that the legacy convention does not change
    return _node(bound_op, inputs, [(b.shape, b.dtype) for b in body], body)


def check_methods(op: Op, error: Exception) -> None:
    """Raise an error with advice if a rule failed because it used a method of an array, or a function of NumPy, which calls one."""
    missing = error if isinstance(error, AttributeError) else error.__cause__
    if isinstance(missing, AttributeError) and isinstance(missing.obj, Node):
        what = f"{op.spoken}: arrays in a rule have no attribute {missing.name!r}, and NumPy's functions do not take them"
        raise OperatorError(what, None, f"use functions of xp, such as xp.{missing.name}") from error


def _naming(error: MXNetError, op: Op) -> MXNetError:
    """The error with the operator's name at the beginning, if an operator inside its definition raised it."""
    is_named = error.what.lower().startswith(op.spoken.lower())
    if type(error) not in (ShapeError, NoSuchAxis, DTypeError, ParameterError) or op.primitive or is_named:
        return error
    inner, _, what = error.what.partition(": ")
    # what is shorter than the user's name gives way: `broadcast_add` for `add`
    named = f"{op.spoken}: {what if what and op.spoken.endswith(inner) else error.what}"
    found = type(error)(named, error.given, error.todo)
    if isinstance(found, NoSuchAxis) and isinstance(error, NoSuchAxis):
        found.axis, found.ndim = error.axis, error.ndim
    return found


def _name_as_called(error: MXNetError, op: Op) -> None:
    """Put the name of the function that the user called in the place of the operator's, such as `vstack` for `concat`."""
    name, _, what = error.what.partition(": ")
    called = called_function(2) if what and name in (op.name, op.title, op.spoken) else None
    # a name with its module, such as `image.resize`, says more
    if called is not None and not name.endswith(f".{called}"):
        # an operator inside of this one may have been named so before
        error.what = f"{called}: {what.removeprefix(f'{called}: ')}"
        error.args = (error._message(),)


def _node(
    bound_op: BoundOp, inputs: tuple[Node | None, ...], types: Sequence[tuple[tuple[int, ...], str]], body: tuple[Node, ...]
) -> Application:
    below = [i.dtype for i in inputs if i is not None and i.tracked]
    if len(types) == 1:
        return Application(bound_op, inputs, *types[0], _carries(types[0][1], below), body)
    # The application of an operator with several results has no type of its own; each of its parts is an `item` of it, interned like any
    # other node, so that a rule that selects a result gets the part itself.
    node = Application(bound_op, inputs, (), "several", bool(below), body)
    node.results = tuple([Part(item.bind(place=k), node, shape, dtype, _carries(dtype, below)) for k, (shape, dtype) in enumerate(types)])
    return node


def _carries(dtype: str, below: Sequence[str]) -> bool:
    """Whether a result carries a gradient, given the dtypes of the inputs that do."""
    # integers and bools carry none, unless they are computed from variables that are integers or bools themselves
    return bool(below) and (is_float(dtype) or dtype in COMPLEX or (dtype in WHOLE and any(d in WHOLE for d in below)))


def run_rule(xp: Derived, bound_op: BoundOp, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run an operator's rule on arrays or nodes, under the convention of the bound operator; new values of mutated inputs come last."""
    op = bound_op.op
    count = len(inputs) - len(op.scalars)
    arrays, scalars = inputs[:count], dict(zip(op.scalars, inputs[count:], strict=True))
    if bound_op.legacy:
        check_legacy(op, [xp.dtype_of(a) for a in arrays if a is not None])
        kept = op.symbolic.keeps_shape
        if isinstance(kept, tuple) and not op.elementwise:
            check_kept_shape(op, kept, [None if a is None else a.shape for a in arrays])
    rule = partial(getattr(xp, op.name) if op.primitive else partial(op.rule, xp), **bound_op.params, **scalars)
    out = rule(*arrays)
    if bound_op.legacy and op.elementwise and not isinstance(out, (tuple, list)) and xp.dtype_of(out) == "float16":
        # NumPy has functions of integers of 8 bits in float16, which few of these have a place in; MXNet computes in float32
        out = rule(*[a if a is None or is_float(xp.dtype_of(a)) else xp.astype(a, dtype="float32") for a in arrays])
    if op.mutates:
        out, new = out
        out = (*(out if isinstance(out, tuple) else (out,)), *[new[name] for name in bound_op.mutated])
    if bound_op.legacy:
        out = finish_legacy(xp, bound_op, out, inputs)
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _primitive_types(bound_op: BoundOp, inputs: tuple[Node | None, ...]) -> list[tuple[tuple[int, ...], str]]:
    op = bound_op.op
    have = [i for i in inputs if i is not None]
    types = _declared_types(bound_op, have)
    for shape, _ in types:
        if shape and min(shape) < 0:
            raise ShapeError(f"{op.name}: a size of the result is negative", str(shape), "pass sizes of 0 or more")
    return types


def _declared_types(bound_op: BoundOp, have: Sequence[Node]) -> list[tuple[tuple[int, ...], str]]:
    op = bound_op.op
    if op.elementwise:
        return [(broadcast_shapes(op.name, [i.shape for i in have]), _elementwise_dtype(bound_op, [i.dtype for i in have]))]
    if op.type_rule is None:
        raise TypeError(f"primitive {op.name} has no typed inference")
    got = op.type_rule(*have, **bound_op.params)
    return got if isinstance(got, list) else [got]


def _elementwise_dtype(bound_op: BoundOp, dtypes: list[str]) -> str:
    op = bound_op.op
    if op.result == "bool":
        return "bool"
    if op.result == "dtype":
        return bound_op.params["dtype"]
    if op.result == "ufunc" and op.ufunc is not None:
        return ufunc_result(op.ufunc, *dtypes)
    if op.result == "first":
        return promote(dtypes[0])
    common = promote(*(dtypes[1:] if op.result == "tail" else dtypes))
    return float_of(common) if op.result == "float" else common


def _as_nodes(inputs: Sequence[Node | float | None], count: int) -> list[Node | None]:
    """Nodes of a rule's operands, with None for those that are omitted at the end."""
    given = [i if i is None or isinstance(i, Node) else const(i) for i in inputs]
    return given + [None] * (count - len(given)) if len(given) < count else given


def _builder(op: Op) -> Callable[..., Node | tuple[Node, ...]]:
    count = 0 if op.variadic else len(op.inputs)
    fold = op.algebra.fold

    def build(*inputs: Node | float | None, **params: object) -> Node | tuple[Node, ...]:
        given = _as_nodes(inputs, count)
        if fold is not None:
            numbers = [i.number for i in given if isinstance(i, Constant)]
            folded = fold(*numbers) if len(numbers) == len(given) else None
            if folded is not None:
                return const(folded)
        node = apply(op.bind(**params), tuple(given))
        return node if len(node.parts) == 1 else node.parts

    build.__name__ = op.name
    return build


class GraphNamespace(Derived):
    """``xp`` over nodes: every primitive returns a typed node."""

    #: Set by `control_flow`, which builds nodes with this namespace.
    make_loop: Callable[[LoopBody, Sequence[Any], Sequence[Any], Sequence[Any]], LoopResults]

    def __getattr__(self, name: str) -> Any:
        op = OPS.get(name)
        if op is None or not op.primitive:
            return super().__getattr__(name)
        build = _builder(op)
        # the next look-up finds it without this method
        setattr(self, name, build)
        return build

    def composite(self, op: Op, inputs: Sequence[Any], params: Mapping[str, Any]) -> Any:
        """The definition, or the operator whole if its gradient is another than the definition's."""
        if not op.differs_from_definition or op.mutates:
            return op.rule(self, *inputs, **params)
        arrays = _as_nodes(inputs, 0 if op.variadic else len(op.inputs))
        scalars = _as_nodes([params.get(name, op.params[name].default) for name in op.scalars], 0)
        node = apply(op.bind(**{k: v for k, v in params.items() if k not in op.scalars}), (*arrays, *scalars))
        return node if len(node.parts) == 1 else node.parts

    def loop(self, body: LoopBody, data: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]) -> LoopResults:
        """A ``foreach`` over the sub-graph that the body makes of leaves."""
        return self.make_loop(body, data, states, shared)


G = GraphNamespace()


def definition_of(node: Application) -> Node:
    """A primitive in terms of others, by the definition that its operator has."""
    rule = node.bound_op.op.execution.definition_rule
    assert rule is not None
    return rule(G, *node.operands, **node.bound_op.params)


def _install_operators() -> None:
    # not == and !=: nodes are compared by identity, since they are interned
    for op in [op for op in primitives().values() if op.python not in ("", "eq", "ne")]:
        setattr(Node, f"__{op.python}__", lambda *operands, _n=op.name: getattr(G, _n)(*operands))
        if len(op.inputs) == 2 and not op.algebra.compares:  # Python mirrors comparisons itself: 1 < x is x > 1
            setattr(Node, f"__r{op.python}__", lambda a, b, _n=op.name: getattr(G, _n)(b, a))


_install_operators()
