"""Arrays that leave the program: NumPy's own array for each folding array, where code of others gets it.

`rewriting` compiles the program's code so that it asks here. The functions are built-in names there, as no module of the program could
import them.
"""

import builtins
import sys
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from enum import EnumType
from functools import lru_cache, partial
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, TypeGuard
from weakref import ref

import numpy as np

from .array import BEFORE_FIRST, NDARRAY, FoldingArray
from .guards import UNFOLDED, UNHELD
from .importing import is_own
from .module_names import APART, BUILT_IN, HARMLESS
from .reasons import HANDED_OUT
from .sites import site

Holder = list[object] | tuple[object, ...] | dict[object, object] | np.ndarray | np.void
#: Containers that are searched, one level deep; and NumPy's arrays, once there may be one whose elements are objects (`watch_objects`).
HOLDERS: set[type] = {list, tuple, dict}
#: Items of a container that are searched: so many large arrays do not fit into memory.
SEARCHED = 100
OBJECT_HOLDERS = (NDARRAY, np.void)
#: Levels of arrays in arrays of objects that are searched.
LEVELS = 3
#: Classes whose objects only store what they are given, or are NumPy's.
STORES = {
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
}
#: Modules of Python whose classes do the same.
STORING = {"collections", "contextvars", "queue", "_queue", "types", "weakref"}
#: The endings of compiled modules' files.
COMPILED = tuple(EXTENSION_SUFFIXES)
#: An array of NumPy's class, for ``type(x)``.
EXACT = np.empty(0)
ROOT = __name__.partition(".")[0]


def given(x: object, root: object = None, *path: str) -> object:
    """An argument, as a callee gets it: NumPy's arrays for folding ones, unless the callee is the program's own or NumPy's.

    Parameters
    ----------
    x
        The argument.
    root, *path
        What is called: an object, or an attribute of it, of an attribute of it …; None if it is not known.
    """
    if type(x) is FoldingArray:
        if root is type and not path:
            return EXACT
        return x if _keeps(root, path) else _left(x)
    if type(x) in HOLDERS and _holds(x) and not _keeps(root, path):
        return _unfolded(x)
    return x


def watch_objects() -> None:
    """Search NumPy's arrays, too, from now on: compiled code may take an array among an array's objects for NumPy's without a look."""
    HOLDERS.update(OBJECT_HOLDERS)
    setattr(builtins, UNHELD, False)


def _keeps(root: object, path: tuple[str, ...]) -> bool:
    """Whether what is called takes folding arrays."""
    callee = _found(root, path)
    return callee is not None and takes_folding(callee)


def _found(root: object, path: tuple[str, ...]) -> object:
    for name in path:
        root = getattr(root, name, None)
    return root


def returned(x: object) -> object:
    """A result of one of the program's functions, as its caller gets it."""
    if type(x) is FoldingArray:
        return _left(x) if _is_called_from_outside() else x
    if type(x) in HOLDERS and _holds(x) and _is_called_from_outside():
        return _unfolded(x)
    return x


def _is_called_from_outside() -> bool:
    """Whether code that is neither the program's nor NumPy's has called the function that asks `returned`."""
    frame = sys._getframe(2).f_back
    return frame is not None and not is_own(frame.f_globals) and not _is_numpys(frame.f_globals.get("__name__"))


def stored(x: object, root: object = None, *path: str) -> object:
    """A value that is stored in an object, as an attribute or under a key; parameters as for `given`."""
    if type(x) is not FoldingArray and not (type(x) in HOLDERS and _holds(x)):
        return x
    owner = _found(root, path)
    if owner is not None and _only_stores(owner):
        return x
    return _left(x) if type(x) is FoldingArray else _unfolded(x)


def _only_stores(owner: object) -> bool:
    """Whether an object only stores what it is given, or belongs to the program."""
    if isinstance(owner, ModuleType):
        return is_own(vars(owner))
    kind = type(owner)
    return kind in STORES or kind.__module__ in STORING or isinstance(owner, np.generic) or _is_programs(kind)


def _left(x: FoldingArray) -> np.ndarray:
    """NumPy's array over the memory: the same one as long as others hold it, since libraries compare arrays by identity."""
    site().count(HANDED_OUT)
    shown, found = x.shown(), x.outside()
    if found is None or not _is_view_of(shown, found):
        found = shown.view()
        x.outside = ref(found)
    return found


def _is_view_of(shown: np.ndarray, found: np.ndarray) -> bool:
    """Whether a view that others hold still shows the array as it is: they, or the program, may have set its shape or its flags."""
    return (
        (found.base is shown or found.base is shown.base)
        and found.shape == shown.shape
        and found.dtype is shown.dtype
        and found.strides == shown.strides
        and found.flags.writeable is shown.flags.writeable
    )


def same(x: object, y: object) -> bool:
    """``x is y`` as a program would see it with NumPy alone.

    What others got for a folding array is that one, and so is the base of their views of it; the face is the module that it stands for.
    """
    if type(y) is not FoldingArray:
        x, y = y, x
    if x is y:
        return True
    if type(y) is FoldingArray:
        is_base = y.array is not None and y.array is y.memory.owner and x is y.memory.lease()
        return type(x) is NDARRAY and (x is y.outside() or is_base)
    return isinstance(x, ModuleType) and isinstance(y, ModuleType) and x.__name__ == y.__name__ == "numpy"


def _holds(x: object) -> TypeGuard[Holder]:
    """Whether a container holds a folding array."""
    if type(x) in OBJECT_HOLDERS:
        return _holds_objects(x)
    if not isinstance(x, (list, tuple, dict)):
        return False
    items: Iterable[object] = x.values() if isinstance(x, dict) else x
    if len(x) > SEARCHED:
        items = islice(items, SEARCHED)
    found = False
    for y in items:  # a loop takes a third of the time of `any`
        found = found or type(y) is FoldingArray  # by `is`: the class of folding arrays equals NumPy's
    return found


def _unfolded(x: Holder) -> Holder:
    """A container with NumPy's arrays for folding ones: the same one if it can be written, since others may hold or write it."""
    if isinstance(x, (np.ndarray, np.void)):
        return _unfolded_objects(x)
    if isinstance(x, tuple):
        return tuple([_left(y) if type(y) is FoldingArray else y for y in x])
    if isinstance(x, dict):
        x.update({k: _left(y) for k, y in x.items() if type(y) is FoldingArray})
    else:
        x[:] = [_left(y) if type(y) is FoldingArray else y for y in x]
    return x


def _objects(x: Any) -> Iterator[tuple[Any, object, object]]:
    """The objects in an array or a record: what each is stored in, under which key, and the object."""
    if type(x) is np.void:
        yield from [(x, name, x[name]) for name in x.dtype.names or ()]
    elif x.dtype.names is not None:
        for name in x.dtype.names:
            yield from _objects(x[name])
    elif x.dtype.hasobject:
        yield from [(x.flat, k, y) for k, y in enumerate(islice(x.flat, SEARCHED))]


def _holds_objects(x: object, levels: int = LEVELS) -> TypeGuard[np.ndarray | np.void]:
    """Whether an array or a record has a folding array among its objects, or one of its objects is an array that has."""
    if not isinstance(x, (np.ndarray, np.void)) or not x.dtype.hasobject:
        return False
    return any(type(y) is FoldingArray or (levels > 1 and _holds_objects(y, levels - 1)) for _, _, y in _objects(x))


def _unfolded_objects(x: np.ndarray | np.void, levels: int = LEVELS) -> np.ndarray | np.void:
    """An array or a record with NumPy's arrays for the folding ones among its objects: the same one, if it can be written."""
    found = x if x.flags.writeable else x.copy()
    for holder, key, y in _objects(found):
        if type(y) is FoldingArray:
            holder[key] = _left(y)
        elif levels > 1 and _holds_objects(y, levels - 1):
            holder[key] = _unfolded_objects(y, levels - 1)
    return found


def takes_folding(callee: Any) -> bool:
    """Whether a callee is the program's own, or NumPy's, or only looks at arrays."""
    kind = type(callee)
    if kind is FunctionType:
        return is_own(callee.__globals__) or _is_numpys(f"{callee.__module__}.{callee.__name__}") or callee.__module__ in HARMLESS
    if kind is MethodType:
        return takes_folding(callee.__func__)
    if kind is BuiltinFunctionType:
        owner = callee.__self__
        if isinstance(owner, ModuleType):
            return _is_numpys(owner.__name__) or owner.__name__ in HARMLESS or (owner is builtins and callee.__name__ in BUILT_IN)
        if owner is None:  # of a compiled module
            return False
        return _only_stores(owner) or _is_numpys(type(owner).__module__) or (isinstance(owner, type) and takes_folding(owner))
    if isinstance(callee, type):
        return _is_programs(callee) or callee in STORES or callee.__module__ in STORING or _is_numpys(callee.__module__)
    if kind is partial:
        return takes_folding(callee.func)
    if _is_numpys(kind.__module__):
        return True
    if kind.__module__ == "functools" and hasattr(callee, "__wrapped__"):  # as `lru_cache` makes it
        return takes_folding(callee.__wrapped__)
    return _is_programs(kind)


@lru_cache(256)
def _is_numpys(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] in ("numpy", ROOT) and not f"{name}.".startswith(APART)


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
    "__same__": same,
    UNFOLDED: True,
    UNHELD: True,
}


def install() -> None:
    """Give rewritten code its names."""
    for name, thing in NAMES.items():
        setattr(builtins, name, thing)
    setattr(builtins, UNHELD, NDARRAY not in HOLDERS)
    BEFORE_FIRST.append(partial(setattr, builtins, UNFOLDED, False))
