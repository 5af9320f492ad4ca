"""Guards, as syntax trees: tests that `rewriting` puts around the expressions whose values may leave the program."""

import ast
from itertools import islice

#: The functions of `leaving` that rewritten code calls.
ASKED = ("__given__", "__returned__", "__stored__", "__same__")
#: The name that is true until the first folding array is made: up to then, a test costs 4 ns.
UNFOLDED = "__unfolded__"
#: The name that is true until the program makes an array of objects, which may hold folding arrays.
UNHELD = "__unheld__"
#: Nodes of an expression that never stands in the code twice.
LONG = 30
#: Parts of expressions that make no arrays but by operators and slices. An attribute may be a property.
PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Subscript, ast.Slice, ast.Tuple, ast.expr_context)
#: Expressions that may be an array of objects, and those that never stand in the code twice.
MAY_HOLD = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
ONCE = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
#: Names and texts by which an expression makes an array of objects.
OBJECTS = {"object", "object_", "O", "frompyfunc", "vectorize"}
#: Expressions that are no arrays.
SCALARS = (ast.Constant, ast.JoinedStr, ast.GeneratorExp, ast.Lambda, ast.Slice)


def path_of(node: ast.expr) -> list[ast.expr]:
    """What an expression such as ``a.b.c`` is found by again: the name, and the attributes as texts. None for others.

    Reading a name has no effect; the attributes, which may be properties, are only read when an array folds.
    """
    attributes: list[ast.expr] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        attributes.insert(0, at(node, ast.Constant(inner.attr)))
        inner = inner.value
    return [name_of(inner.id, node), *attributes] if isinstance(inner, ast.Name) else [at(node, ast.Constant(None))]


def at(place: ast.AST, node: ast.expr) -> ast.expr:
    """A new node, with the place of another one in the program's text."""
    return ast.copy_location(node, place)


def name_of(name: str, place: ast.AST) -> ast.expr:
    """A name that is read, with the place of another node."""
    return at(place, ast.Name(name, ast.Load()))


def guarded(value: ast.expr, ask: str, *others: ast.expr, searched: bool = True) -> ast.expr:
    """An expression with a test of its value.

    Parameters
    ----------
    value
        The expression.
    ask, others
        The function of `leaving` that is called with the value and some other expressions if the value is a folding array.
    searched
        Whether also if it is a container, in which there may be one.
    """
    if isinstance(value, SCALARS) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)):
        return value
    if isinstance(value, (ast.Tuple, ast.List)):
        value.elts = [guarded(x, ask, *others) for x in value.elts]
        return value
    if isinstance(value, ast.Dict):
        value.values = [guarded(x, ask, *others) for x in value.values]
        return value
    if isinstance(value, ast.Starred):
        value.value = guarded(value.value, ask, *others)
        return value
    asked = at(value, ast.Call(name_of(ask, value), [value, *others], []))
    if isinstance(value, ast.Name):
        test = _compared(value, ast.IsNot(), "__folding__")
        if searched:
            test = at(value, ast.BoolOp(ast.And(), [test, _compared(value, ast.NotIn(), "__holders__")]))
        return at(value, ast.IfExp(at(value, ast.BoolOp(ast.Or(), [name_of(UNFOLDED, value), test])), value, asked))
    if _is_short(value):
        return at(value, ast.IfExp(name_of(UNFOLDED, value), value, asked))
    return asked


def guarded_for_objects(value: ast.expr, *owner: ast.expr) -> ast.expr:
    """A value that is written to an element or a part of something, with a test in programs that have made an array of objects."""
    asked = at(value, ast.Call(name_of("__stored__", value), [value, *owner], []))
    nodes = list(islice(ast.walk(value), LONG))
    words = {getattr(n, field, None) for n in nodes for field in ("id", "attr", "value")}
    if len(nodes) == LONG or not OBJECTS.isdisjoint(words) or any(isinstance(n, ONCE) for n in nodes):
        return asked
    return at(value, ast.IfExp(name_of(UNHELD, value), value, asked))


def guarded_identity(node: ast.Compare) -> ast.expr:
    """``a is b`` or ``a is not b``, with a test in programs in which an array has folded."""
    (right,) = node.comparators
    nodes = list(islice(ast.walk(node), LONG))
    # an attribute, too, may stand twice: only one of the two is read, and no array that it makes is one that there was before
    if len(nodes) == LONG or not all(isinstance(n, (*PLAIN, ast.Attribute, ast.Compare, ast.cmpop)) for n in nodes):
        return same(node)
    asked = same(node)
    if isinstance(node.left, ast.Name) and isinstance(right, ast.Name):
        folds = at(node, ast.BoolOp(ast.Or(), [_compared(x, ast.Is(), "__folding__") for x in (node.left, right)]))
        asked = at(node, ast.IfExp(folds, asked, node))
    return at(node, ast.IfExp(name_of(UNFOLDED, node), node, asked))


def same(node: ast.Compare) -> ast.expr:
    """``a is b``, or ``a is not b``, as `leaving` answers it."""
    asked = at(node, ast.Call(name_of("__same__", node), [node.left, *node.comparators], []))
    return at(node, ast.UnaryOp(ast.Not(), asked)) if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)) else asked


def _compared(value: ast.Name, how: ast.cmpop, name: str) -> ast.expr:
    """``type(value)`` compared with what a name stands for."""
    kind = at(value, ast.Call(name_of("__kind__", value), [value], []))
    return at(value, ast.Compare(kind, [how], [name_of(name, value)]))


def _is_short(value: ast.expr) -> bool:
    """Whether an expression may stand in the code twice: with a test, and without one for programs in which nothing has folded yet.

    It must not make the first folding array itself, as a call might.
    """
    nodes = list(islice(ast.walk(value), LONG))
    return len(nodes) < LONG and all(isinstance(n, PLAIN) for n in nodes)
