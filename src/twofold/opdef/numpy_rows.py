"""Rows: functions of NumPy's namespaces that apply one operator, written as signatures in the operator's declaration.

``row="squeeze(a, axis=None, out=None)"`` makes ``mx.np.squeeze`` and ``mx.sym.np.squeeze``; the same name among ``numpy_names`` makes
``np.squeeze`` too. There may be synonyms (``"max, amax(a, …)"``), a dotted name is placed in a sub-namespace (``"linalg.inv(a)"``), and
``-> tuple`` says that several results are a tuple, not a list. The meaning of a row's parameter follows from the operator:

- The first ones are its arrays, whatever their names (``*arys`` and ``seq`` of a variadic operator: any number, or a sequence of them). If
  the operator has a parameter of the first one's name, numbers or arrays are accepted there, as by samplers.
- ``axis: dim1`` passes the argument as the operator's parameter ``dim1``. A parameter is passed if it differs from the row's default, and
always if it is among the operator's ``writes``. - ``out`` is written to, ``ctx`` and ``device`` name a device, ``order`` must be ``"C"``
unless the operator has it, and ``**kwargs`` takes
  the options of NumPy's ufuncs, which have no effect.
"""

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import OperatorError
from ..syntax_trees import syntax_tree
from .params import AXIS, SHAPE
from .spec import Op

#: Parameters of rows that need not be the operator's: the front end gives them a meaning.
COMMON = ("out", "ctx", "device", "order", "kwargs")


class Parameter(NamedTuple):
    """A parameter of a row: its name, the operator's name for it, and the text of its default ("" without one)."""

    name: str
    passed_as: str
    default: str


class Row(NamedTuple):
    """A function that applies an operator."""

    op: Op
    #: The sub-namespace; empty for ``np`` itself.
    place: str
    name: str
    #: The parameters as Python writes them.
    head: str
    #: The names of the arrays, with the star of ``*arys``; and the names of the arrays that may be left out.
    arrays: tuple[str, ...]
    optional: tuple[str, ...]
    #: The parameters that are numbers, or arrays in place of the operator's inputs.
    mixed: tuple[str, ...]
    params: tuple[Parameter, ...]
    gives_tuple: bool

    def has(self, name: str) -> bool:
        """Whether there is a parameter of this name that is not the operator's: the front end gives it a meaning."""
        return any(p.name == name and p.passed_as not in self.op.params for p in self.params)

    def operands(self, convert: str) -> str:
        """The source text of the arrays, each converted by a function of that name and followed by a comma."""
        texts = [
            f"None if {name} is None else {convert}({name})" if name in self.optional else f"{convert}({name})" for name in self.arrays
        ]
        return "".join(f"{text}, " for text in texts)


def row_of(op: Op, name: str) -> Row:
    """The row of an operator that has one, under one of its names.

    Raises
    ------
    OperatorError
        If it is no signature, or names a parameter that the operator does not have.
    """
    _, paren, rest = op.front.row.partition("(")
    place, _, name = name.rpartition(".")
    try:
        (function,) = syntax_tree(f"def {name}{paren}{rest}: ...").body
    except SyntaxError as error:
        raise OperatorError(
            f"{op.spoken}: the row is not a signature ({error.msg})", op.front.row, "write row='name(a, axis=None)'"
        ) from None
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    # `ast` lists the defaults of the last arguments only
    defaults = [""] * (len(given.args) - len(given.defaults)) + [ast.unparse(d) for d in given.defaults]
    found = [Parameter(a.arg, ast.unparse(a.annotation) if a.annotation else a.arg, d) for a, d in zip(given.args, defaults, strict=True)]
    arrays, mixed = (f"*{given.vararg.arg}",) if given.vararg else (), ()
    count = len(op.arrays)
    # a sampler's number and its array have the same position, but MXNet's operators take the number as a parameter
    if not arrays and found and found[0].passed_as in op.params:
        mixed, found = tuple(p.name for p in found[:count]), found[count:]
    elif not arrays:
        arrays, found = tuple(p.name for p in found[:count]), found[count:]
    # annotations are names of the operator's parameters, which would be wrong types in the function's signature
    for inner in (*given.args, *([given.kwarg] if given.kwarg else [])):
        inner.annotation = None
    found += [Parameter("kwargs", "kwargs", "")] if given.kwarg else []
    unknown = [p.passed_as for p in found if p.name not in COMMON and p.passed_as not in op.params]
    unknown += [written for written in op.front.writes.split() if written not in op.params]
    if unknown:
        raise OperatorError(f"{op.spoken}: the row names no parameter", ", ".join(unknown), f"the operator has {', '.join(op.params)}")
    optional = tuple(a.arg for a, default in zip(given.args, defaults, strict=True) if default and a.arg in arrays)
    return Row(op, place, name, ast.unparse(given), arrays, optional, mixed, tuple(found), function.returns is not None)


def rows_of(ops: Iterable[Op]) -> list[Row]:
    """The rows of operators."""
    return [row_of(op, name) for op in ops if op.front.row for name in op.front.row.partition("(")[0].split(", ")]


def params_lines(row: Row) -> list[str]:
    """Statements that gather the operator's parameters in ``params``; parameters that are left out at their defaults come last."""
    op, always, lines = row.op, [], []
    for name, passed_as, default in row.params:
        if name in ("ctx", "device") or row.has(name):
            continue
        param = op.params[passed_as]
        value = f"sizes({name})" if param.kind.name.startswith((SHAPE.name, AXIS.name)) else name
        if not default or passed_as in op.front.writes.split():
            # None means the operator's own default, which files contain
            own = f"{param.default!r} if {name} is None else " if default == "None" and param.default is not None else ""
            always.append(f"{passed_as!r}: {own}{value}")
        else:
            test = {"None": f"{name} is not None", "False": name}.get(default, f"{value} != {default}")
            lines.append(f"    if {test}: params[{passed_as!r}] = {value}")
    return [f"    params = {{{', '.join(always)}}}", *lines]


def sizes(value: Any) -> Any:
    """A shape or axes as MXNet spells them: a number or a tuple."""
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's arrays and integers
    return tuple(value) if isinstance(value, list) else value
