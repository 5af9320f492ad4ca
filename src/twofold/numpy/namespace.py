"""The names of ``twofold.np``: functions of this package, ufuncs, and everything else from NumPy; looked up on first use."""

import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..calls.row_functions import assembled_row
from ..errors import OperatorError
from ..ndarray.types import ArrayLike
from ..opdef import OPS, Op
from ..opdef.numpy_rows import Row, rows_of
from ..suggestions import missing_name
from . import archives, constructor, conversions, creation, fixed_sizes, linear, means, parts, reductions, selecting, shapes, sort_order
from .array import ndarray
from .attributes import attribute
from .creation import operands
from .fallback import guarded
from .short_calls import short_call, short_form
from .ufuncs import deliver, function_of

PACKAGE = __name__.rpartition(".")[0]


MODULES = (archives, constructor, conversions, creation, fixed_sizes, linear, means, parts, reductions, selecting, shapes, sort_order)


def functions_in(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a module defines under NumPy's names."""
    # not the functions that it imports: several modules import `sum`, for example
    named = {name: f for name, f in vars(module).items() if name in np.__all__ and isinstance(f, FunctionType)}
    return {name: f for name, f in named.items() if f.__globals__ is vars(module)}


#: Functions that create arrays, and those of arrays: NumPy's are called for dtypes that Twofold lacks.
MAKERS = functions_in(creation)
OWN = {name: f for module in MODULES if module is not creation for name, f in functions_in(module).items()}


def functions_of_rows(ops: Iterable[Op]) -> dict[str, Row]:
    """The rows of operators that make functions of this namespace."""
    named = {row.name: row for row in rows_of(ops) if row.name in row.op.front.numpy_names}
    # a ufunc has methods and options that the function of a row lacks: `ufuncs` makes it, and the row serves MXNet's dialect alone
    return {name: row for name, row in named.items() if not isinstance(getattr(np, name, None), np.ufunc)}


#: Functions that apply one operator, by its row.
ROWS = functions_of_rows(OPS.values())
#: Functions that are not NumPy's for small arrays either: memory is that of the cells, the order of equal elements is defined, products
#: are rounded alike in each mode, arrays without axes are scalars, and archives are written once only.
OWN_WAY = (
    shapes.VIEWS
    | functions_in(archives).keys()
    | functions_in(conversions).keys() - {"asanyarray"}
    | {"from_dlpack", "inner", "isscalar", "may_share_memory", "shares_memory", "tensordot", "vecdot"}
)
#: Functions that are NumPy's only as far as a template goes, and what that uses.
PARTLY: dict[str, dict[str, object]] = {"einsum": {"contract": linear.contract}}
VIEWS_BY_METHODS = ("permute_dims", "ravel", "reshape", "squeeze", "swapaxes", "transpose")
PARTLY |= {name: {} for name in ("asanyarray", "asarray", "diag", "frombuffer", *VIEWS_BY_METHODS)}
#: Functions that are NumPy's for large arrays too if these are ready: they only move, compare and count elements.
AT_ONCE = frozenset({
    "all", "amax", "amin", "any", "append", "argmax", "argmin", "argsort", "argwhere", "array", "astype", "column_stack", "concat",
    "concatenate", "copy", "count_nonzero", "delete", "diff", "dstack", "flatnonzero", "flatten", "hstack", "insert", "max", "min",
    "nonzero", "pad", "repeat", "resize", "roll", "row_stack", "searchsorted", "stack", "take", "tile", "tril", "triu", "unique",
    "vstack",
})  # fmt: skip
#: Functions that are not NumPy's for small views: a product with a transposed matrix is not one with its copy, to the last bit.
OWN_FOR_VIEWS = frozenset({"dot"})


def in_short(name: str, function: Callable[..., Any], numpys: Callable[..., Any]) -> Callable[..., Any]:
    """A function or method of this package that is NumPy's own for small arrays, as far as the tables above let the name."""
    if name in PARTLY:  # first: `reshape` and other views are in both tables
        return short_form(function, numpys, **PARTLY[name])
    if name in OWN_WAY:
        return function
    return short_call(function, numpys, of_views=name not in OWN_FOR_VIEWS, of_large=name in AT_ONCE, reads_first=True)


def function_of_row(row: Row) -> Callable[..., Any]:
    """The function of a row: it applies the operator to arrays, and writes to ``out`` if it has such a parameter.

    Raises
    ------
    OperatorError
        If the row creates arrays, on a device or from numbers that may be arrays too: `creation` and `random` do so here.
    """
    if refused := [*row.mixed, *[p.name for p in row.params if p.name in ("ctx", "device")]]:
        raise OperatorError(f"np.{row.name}: the row of a function of arrays", ", ".join(refused), "leave it out of numpy_names")
    arrays = f"*{row.arrays[0].lstrip('*')}" if row.op.variadic else ", ".join(row.arrays)
    found = f"run(op, *{'given' if row.optional else 'operands'}({arrays}), **params)"
    found = f"tuple({found})" if row.gives_tuple else found
    lines = [f"    return deliver({found}, out)" if row.has("out") else f"    return {found}"]
    return assembled_row(row, "", lines, {"deliver": deliver, "given": _given, "operands": operands, "run": reductions.run})


def _given(*values: ArrayLike | None) -> list[ndarray | None]:
    """The operands of an operator; None where one is left out."""
    found = iter(operands(*[v for v in values if v is not None]))
    return [None if v is None else next(found) for v in values]


def find_attribute(name: str) -> Any:
    """The attribute for one of NumPy's names.

    Raises
    ------
    AttributeError
        If neither NumPy nor a row has such a name.
    """
    if name not in np.__all__ and name not in vars(np) and name not in ROWS:
        raise missing_name(PACKAGE, name, np.__all__, "np")
    numpys: Any = getattr(np, name, None)
    if name in MAKERS:
        # what makes arrays of arrays returns NumPy's itself
        made = MAKERS[name] if name in ("array", "asarray") else guarded(MAKERS[name], numpys)
        found = in_short(name, made, numpys)
    elif name in OWN or name in ROWS:
        found = OWN.get(name) or function_of_row(ROWS[name])
        if numpys is not None:  # else a function of a newer NumPy than the one installed
            found = in_short(name, guarded(found, numpys), numpys)
    else:
        found = function_of(name) if isinstance(numpys, np.ufunc) else attribute(np, name)
    if isinstance(found, FunctionType) and found is not numpys:
        found.__module__, found.__qualname__ = PACKAGE, name  # pickles look for it there
    vars(sys.modules[PACKAGE])[name] = found  # later look-ups find it without calling the package's ``__getattr__``
    return found


def attribute_names() -> list[str]:
    """The names that `find_attribute` knows."""
    return sorted({*dir(np), *ROWS})


array = find_attribute("array")
