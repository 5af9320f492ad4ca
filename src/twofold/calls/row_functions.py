"""The functions of rows (`opdef.numpy_rows`): their text, and the parameters that mean the same in every front end.

These are ``order`` and ``**kwargs``. The front ends differ in their arrays, ``out`` and the device: each passes its own statements.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..assembly import assembled_text
from ..errors import DTypeError, NotSupported
from ..opdef.numpy_rows import Row, params_lines, sizes

#: The keywords of NumPy's ufuncs, with the values that MXNet accepts, and the advice for any other value.
UFUNC_OPTIONS = {
    "where": (True, "choose elements of the result by np.where"),
    "dtype": (None, "convert the result by astype"),
    "casting": ("same_kind", "omit it"),
    "order": ("K", "omit it"),
    "subok": (True, "omit it"),
}


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Raise for keywords of a ufunc that it would ignore.

    Raises
    ------
    DTypeError
        For one that NumPy's ufuncs do not have.
    NotSupported
        For one that would change the result.
    """
    for key, given in options.items():
        if key not in UFUNC_OPTIONS:
            raise DTypeError(f"{name}: {key} is an invalid keyword", repr(given)[:60], f"it has out, {', '.join(UFUNC_OPTIONS)}")
        neutral, todo = UFUNC_OPTIONS[key]
        # a mask is not compared: `==` would give an array instead of a truth value
        if given is not neutral and not (isinstance(given, (str, np.bool_)) and given == neutral):
            raise NotSupported(f"{name}: {key} is not supported", repr(given)[:60], todo)


def only_c(name: str, order: str) -> None:
    """Raise unless the order is the only one that arrays have."""
    if order != "C":
        raise NotSupported(f"{name}: arrays are in row-major order", f"order={order!r}", "leave order out")


def assembled_row(row: Row, receiver: str, lines: list[str], env: dict[str, Any]) -> Callable[..., Any]:
    """The function of a row.

    Parameters
    ----------
    row
        The row.
    receiver
        A first parameter; "" for none.
    lines
        The statements that apply ``op`` with ``params``.
    env
        The names that they use.
    """
    head = ", ".join(part for part in (receiver, row.head) if part)
    checks = [f"    only_c({row.name!r}, order)"] * row.has("order") + [f"    check_options({row.name!r}, kwargs)"] * row.has("kwargs")
    text = "\n".join([f"def {row.name}({head}):", *checks, *params_lines(row), *lines])
    known = {"__name__": __name__, "check_options": check_options, "only_c": only_c, "sizes": sizes, "op": row.op}
    function = assembled_text(text, row.name, {**known, **env})
    function.__doc__, function.__qualname__ = row.op.doc, row.name
    return function
