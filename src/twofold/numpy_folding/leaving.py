"""Arrays that leave the program: NumPy's own array for each folding array, where code of others gets it.

`rewriting` compiles the program's code so that it asks here. The functions are built-in names there, as no module of the program could
import them.
"""

import builtins
import sys
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from enum import EnumType
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, TypeGuard
from weakref import WeakValueDictionary

import numpy as np

from .array import BEFORE_FIRST, NDARRAY, FoldingArray
from .importing import is_own
from .reasons import HANDED_OUT
from .rewriting import BUILT_IN, HARMLESS, UNFOLDED
from .sites import site

Holder = list[object] | tuple[object, ...] | dict[object, object]
#: Containers that are searched, one level deep.
HOLDERS = frozenset({list, tuple, dict})
#: Items of a container that are searched: so many large arrays do not fit into memory.
SEARCHED = 1000
#: Classes whose objects only store what they are given, or are NumPy's.
STORES = (
    list,
    tuple,
    dict,
    set,
    deque,
    defaultdict,
    OrderedDict,
    str,
    bytes,
    SimpleNamespace,
    ModuleType,
    FunctionType,
    NDARRAY,
    np.generic,
)
#: The endings of compiled modules' files.
COMPILED = tuple(EXTENSION_SUFFIXES)
#: An array of NumPy's class, for ``type(x)``.
EXACT = np.empty(0)
#: The arrays that others hold, by the ids of what they are views of.
_VIEWS: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()
ROOT = __name__.partition(".")[0]


def given(x: object, callee: object = None) -> object:
    """An argument, as a callee gets it: NumPy's arrays for folding ones, unless the callee is the program's own or NumPy's.

    Parameters
    ----------
    x
        The argument.
    callee
        What is called; None if it is not known.
    """
    if type(x) is FoldingArray:
        if callee is type:
            return EXACT
        return x if callee is not None and takes_folding(callee) else _left(x)
    if type(x) in HOLDERS and _holds(x) and (callee is None or not takes_folding(callee)):
        return _copied(x)
    return x


def returned(x: object) -> object:
    """A result of one of the program's functions, as its caller gets it."""
    if type(x) is FoldingArray:
        return _left(x) if _is_called_from_outside() else x
    if type(x) in HOLDERS and _holds(x) and _is_called_from_outside():
        return _copied(x)
    return x


def _is_called_from_outside() -> bool:
    """Whether code that is neither the program's nor NumPy's has called the function that asks `returned`."""
    frame = sys._getframe(2).f_back
    return frame is not None and not is_own(frame.f_globals) and not _is_numpys(frame.f_globals.get("__name__"))


def stored(x: object, owner: object = None) -> object:
    """A value that is stored in an object, as an attribute or under a key."""
    if type(x) is not FoldingArray or isinstance(owner, STORES) or (owner is not None and _is_programs(type(owner))):
        return x
    return _left(x)


def _left(x: FoldingArray) -> np.ndarray:
    """NumPy's array over the memory: the same one as long as others hold it, since libraries compare arrays by identity."""
    site().count(HANDED_OUT)
    shown = x.shown()
    found = _VIEWS.get(id(shown))
    if (
        found is None
        or (found.base is not shown and found.base is not shown.base)
        or found.__array_interface__ != shown.__array_interface__
    ):
        found = _VIEWS[id(shown)] = shown.view()
    return found


def _holds(x: object) -> TypeGuard[Holder]:
    """Whether a container holds a folding array."""
    if not isinstance(x, (list, tuple, dict)):
        return False
    items: Iterable[object] = x.values() if isinstance(x, dict) else x
    if len(x) > SEARCHED:
        items = islice(items, SEARCHED)
    found = False
    for y in items:  # a loop takes a third of the time of `any`
        found = found or type(y) is FoldingArray  # by `is`: the class of folding arrays equals NumPy's
    return found


def _copied(x: Holder) -> Holder:
    if isinstance(x, dict):
        return {k: _left(y) if type(y) is FoldingArray else y for k, y in x.items()}
    items = [_left(y) if type(y) is FoldingArray else y for y in x]
    return items if isinstance(x, list) else tuple(items)


def takes_folding(callee: Any) -> bool:
    """Whether a callee is the program's own, or NumPy's, or only looks at arrays."""
    kind = type(callee)
    if kind is FunctionType:
        return is_own(callee.__globals__) or _is_numpys(callee.__module__) or callee.__module__ in HARMLESS
    if kind is MethodType:
        return takes_folding(callee.__func__)
    if kind is BuiltinFunctionType:
        owner = callee.__self__
        if isinstance(owner, ModuleType):
            return _is_numpys(owner.__name__) or owner.__name__ in HARMLESS or (owner is builtins and callee.__name__ in BUILT_IN)
        return isinstance(owner, STORES) or _is_numpys(type(owner).__module__) or (isinstance(owner, type) and takes_folding(owner))
    if isinstance(callee, type):
        return _is_programs(callee) or callee in STORES or _is_numpys(callee.__module__)
    if kind is partial:
        return takes_folding(callee.func)
    if _is_numpys(kind.__module__):
        return True
    wrapped = getattr(callee, "__wrapped__", None)  # as `functools.lru_cache` makes it
    if wrapped is not None and kind.__module__ == "functools":
        return takes_folding(wrapped)
    return _is_programs(kind)


def _is_numpys(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] in ("numpy", ROOT)


def _is_programs(kind: type) -> bool:
    """Whether a class and all its bases are the program's own, or only store. Another metaclass may have made anything of the class."""
    if type(kind) not in (type, ABCMeta, EnumType) and not _is_programs(type(kind)):
        return False
    for base in kind.__mro__:
        if base is object or base is type or base in STORES or issubclass(base, BaseException):
            continue
        module = sys.modules.get(base.__module__)
        if base.__module__ not in ("typing", "abc") and (module is None or not _is_own_source(module)):
            return False
    return True


def _is_own_source(module: ModuleType) -> bool:
    """Whether a module is the program's, and Python's code: a package may have compiled modules, too."""
    return is_own(vars(module)) and not str(getattr(module, "__file__", "")).endswith(COMPILED)


#: What rewritten code calls these functions, and what it compares with.
NAMES: dict[str, Callable[..., object] | object] = {
    "__folding__": FoldingArray,
    "__holders__": HOLDERS,
    "__kind__": type,
    "__given__": given,
    "__returned__": returned,
    "__stored__": stored,
    UNFOLDED: True,
}


def install() -> None:
    """Give rewritten code its names."""
    for name, thing in NAMES.items():
        setattr(builtins, name, thing)
    BEFORE_FIRST.append(partial(setattr, builtins, UNFOLDED, False))
