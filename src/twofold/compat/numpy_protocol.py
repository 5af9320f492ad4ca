"""``mxnet.numpy_dispatch_protocol`` and ``mxnet.numpy_op_signature``: which functions of NumPy accept arrays, and operators by their names.

Arrays implement NumPy's protocols themselves, so nothing is registered here; tests of libraries read the lists.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .. import mxnet_numpy
from ..errors import InvalidValue
from ..mxnet_numpy import extension

__all__ = ["with_array_function_protocol", "with_array_ufunc_protocol"]

Decorated = TypeVar("Decorated", bound=Callable[..., object])


_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NUMPY_ARRAY_FUNCTION_LIST: list[str] = _LISTS["functions"].split()
_NUMPY_ARRAY_UFUNC_LIST: list[str] = _LISTS["ufuncs"].split()

#: The operators' prefixes, with the modules that have the functions and the middle parts that name modules inside.
_MODULES: dict[str, tuple[Any, list[str]]] = {
    "_np_": (mxnet_numpy, ["_random_", "_linalg_"]),
    "_npx_": (extension, ["_image_", "_random_"]),
}
_NP_OP_SUBMODULE_LIST, _NP_EXT_OP_SUBMODULE_LIST = (names for _, names in _MODULES.values())


def with_array_function_protocol(func: Decorated) -> Decorated:
    """The function itself: arrays always take part in NumPy's ``__array_function__``."""
    return func


def with_array_ufunc_protocol(func: Decorated) -> Decorated:
    """The function itself: arrays always take part in NumPy's ``__array_ufunc__``."""
    return func


def _find_duplicate(strs: Iterable[str]) -> str | None:
    """The first string that occurs twice, or None."""
    return next((text for text, count in Counter(strs).items() if count > 1), None)


def _get_op_submodule_name(op_name: str, op_name_prefix: str, submodule_name_list: Sequence[str]) -> str:
    """The part of an operator's name after the prefix that names a module, such as ``_linalg_``; empty for none."""
    return next((part for part in submodule_name_list if op_name.startswith(op_name_prefix + part)), "")


def _get_builtin_op(op_name: str) -> Callable[..., Any] | None:
    """The function of ``mx.np`` or ``mx.npx`` for an operator's name, such as ``_np_sum``; None for other operators.

    Raises
    ------
    InvalidValue
        If the module has no such function.
    """
    prefix = next((p for p in _MODULES if op_name.startswith(p)), None)
    if prefix is None:
        return None
    module, parts = _MODULES[prefix]
    part = _get_op_submodule_name(op_name, prefix, parts)
    name, inner = op_name.removeprefix(prefix + part), part.strip("_")
    found = getattr(getattr(module, inner) if inner else module, name, None)
    if found is None:
        where = ".".join(["mxnet.numpy" if prefix == "_np_" else "mxnet.numpy_extension", *filter(None, [inner])])
        raise InvalidValue(f"Cannot find operator {name} in module {where}", op_name, "see dir() of it")
    return found
