"""The other methods and attributes of `FoldingArray`: NumPy's, called on the memory or on its lease."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import error_state
from .array import LEAST, NDARRAY, FoldingArray, looking, made_in, owned
from .calls import Given, with_target, with_targets
from .memory import LOCK
from .pending import operation
from .reasons import COPIED, KINDS, numpys
from .rules import CASTS, is_foldable
from .sites import ran_inline, site

#: Methods whose results are never views of the memory.
REDUCTIONS = ("sum", "prod", "mean", "std", "var", "min", "max", "any", "all")
FRESH = (
    "argmax", "argmin", "cumsum", "cumprod", "dot", "searchsorted", "argsort", "argpartition", "nonzero", "take", "repeat", "compress",
    "choose", "trace", "flatten", "round", "clip",
)  # fmt: skip
#: Methods whose results contain no arrays, so that a list of a million numbers is not searched for them.
LEAVING = ("tobytes", "tolist", "item", "tofile", "dump", "dumps")
#: Methods that write into the array.
WRITING = ["sort", "fill", "put", "partition", "byteswap", "setfield", "itemset"]
SKIPPED = {"flat", "__array_finalize__", "__array_prepare__", "__class_getitem__"}


def _reduction(name: str) -> Callable[..., object]:
    """A reduction. NumPy implements these in Python, so their warnings would name a line of NumPy."""
    function, general = getattr(NDARRAY, name), _fresh(name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        if len(args) > 1 or options.keys() - {"axis", "keepdims", "ddof"}:  # others, such as ``out``, may be arrays
            return general(self, *args, **options)
        ran_inline(name)
        found = function(self.ready(), *args, **options)
        return found if type(found) is not NDARRAY or found.size < LEAST else owned(found, site())

    return method


def _leaving(name: str) -> Callable[..., object]:
    function = getattr(NDARRAY, name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        if name != "item":
            ran_inline(name)
        return function(self.ready(), *args, **options)

    return method


def _fresh(name: str) -> Callable[..., object]:
    function = getattr(NDARRAY, name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        given = Given(True)
        where = site()
        where.count(numpys(name))
        if "out" in options:
            options = with_targets(options, given)
        operands = with_target((self, *args), name, given)
        found = error_state.call(function, given.plain(operands), given.plain(options), where)
        return given.folded(found, where)

    return method


def _writing(name: str) -> Callable[..., object]:
    function = getattr(NDARRAY, name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        given, where = Given(False), site()
        where.count(numpys(name))
        found = function(self.shown(), *given.plain(args), **given.plain(options))
        # ``byteswap(inplace=True)`` returns the array that it was called on.
        return self if found is self.leased else given.folded(found, where)

    return method


def _general(name: str) -> Callable[..., object]:
    """A method whose result may be a view of the memory."""
    function = getattr(NDARRAY, name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        given, where = Given(False), site()
        if not name.startswith("__"):
            where.count(numpys(name))
        return given.folded(function(given.plain(self), *given.plain(args), **given.plain(options)), where)

    return method


def _view(name: str) -> Callable[..., object]:
    """A method that returns a view where it can; a large view folds, over the memory, and needs no lease."""
    function = getattr(NDARRAY, name)

    def method(self: FoldingArray, *args: object, **options: object) -> object:
        return _viewed(self, function(self.ready(), *args, **options))

    return method


def _viewed(x: FoldingArray, found: np.ndarray) -> object:
    """A result of a method that may be a view of the array, or the array itself."""
    if found.size >= LEAST and found.base is x.memory.root and is_foldable(found.dtype):
        return looking(x.memory, found, x.site)
    given, where = Given(True), site()
    given.arrays.append((x, x.ready()))
    if found is not x.array and found.base is not x.memory.root:
        where.count(COPIED)
    return given.folded(found, where)


def _view_attribute(name: str) -> property:
    get = getattr(NDARRAY, name).__get__

    def put(self: FoldingArray, value: object) -> None:
        setattr(self.shown(), name, value)

    return property(lambda self: _viewed(self, get(self.ready())), put, doc=getattr(NDARRAY, name).__doc__)


def _attribute(name: str) -> property:
    """An attribute whose value is not an array."""
    return property(lambda self: getattr(self.shown().view(), name), lambda self, value: setattr(self.shown(), name, value))


def _copy(self: FoldingArray, order: Any = "C") -> Any:
    array, where = self.ready(), site()
    where.count(numpys("copy"))
    if order != "C":
        given = Given(True)
        given.plain(self)
        return given.folded(array.copy(order), where)
    return made_in(array.copy(), where)


def _astype(self: FoldingArray, dtype: Any, *args: object, **options: object) -> object:
    where, reason = site(), KINDS
    if not args and not options and self.dtype.kind in "fiub":
        kind = np.dtype(dtype)
        if kind in CASTS and kind != self.dtype:
            found = operation(kind, (self,), where)
            if type(found) is FoldingArray:
                return found
            reason = found
    where.count(reason)
    given = Given(True)
    return given.folded(error_state.call(NDARRAY.astype, (given.plain(self), dtype, *args), options, where), where)


def _base_view(self: FoldingArray, *args: object, **options: object) -> object:
    given = Given(True) if not args and not options else Given(False)
    return given.folded(given.plain(self).view(*args, **options), site())


def _resize(self: FoldingArray, *shape: Any, refcheck: bool = True) -> None:
    np.empty(0).resize(0, refcheck=refcheck)  # raises NumPy's error for a value that is no boolean
    array, memory = self.ready(), self.memory
    if array is not memory.owner:
        raise ValueError("cannot resize this array: it does not own its data")
    with LOCK:
        memory.settle()  # Resizing moves the memory, so the pending operations that read it are computed first.
        is_referenced = memory.is_shared() or not memory.revoke_own_leases()
    if refcheck and is_referenced:
        held = np.zeros(1)
        view = held[:]
        held.resize(2)  # NumPy's error, in its own words
        del view
    new = array.copy()
    new.resize(*shape, refcheck=False)
    self.replace(new)


def _flagged(x: FoldingArray) -> "tuple[np.ndarray, ...]":
    """NumPy's arrays whose flags are set for those of a folding array: the one over the memory, after what that is a view of."""
    array, memory = x.ready(), x.memory
    x.leased = None  # the next one is made with the new flags
    return (memory.root, array) if array is memory.owner else (array,)


def _setflags(self: FoldingArray, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    for array in _flagged(self):
        array.setflags(write=write, align=align, uic=uic)


class Flags:
    """NumPy's flags of an array."""

    __slots__ = ("_array",)

    def __init__(self, array: FoldingArray) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> object:
        array = self._array
        # NumPy's array may be a view of memory from Twofold's pool; to the program it owns its memory.
        return array.base is None if name == "owndata" else getattr(array.ready().flags, name)

    def __setattr__(self, name: str, value: object) -> None:
        for array in _flagged(self._array):
            setattr(array.flags, name, value)

    def __getitem__(self, name: str) -> object:
        return self.owndata if name in ("O", "OWNDATA") else self._array.ready().flags[name]

    def __setitem__(self, name: Any, value: Any) -> None:
        for array in _flagged(self._array):
            array.flags[name] = value

    def __eq__(self, other: object) -> bool:
        theirs = other._array.ready().flags if isinstance(other, Flags) else other
        return self._array.ready().flags == theirs

    __hash__: Any = None

    def __repr__(self) -> str:
        text = repr(self._array.ready().flags)
        return text.replace("OWNDATA : False", f"OWNDATA : {self.owndata}").replace("OWNDATA : True", f"OWNDATA : {self.owndata}")


def attach() -> None:
    """Attach the methods and attributes that `array` and `folding_operators` do not define."""
    own = vars(FoldingArray)
    special: dict[str, object] = {
        "copy": _copy, "astype": _astype, "view": _base_view, "resize": _resize, "setflags": _setflags, "flags": property(Flags),
    }  # fmt: skip
    special |= {name: _fresh(name) for name in FRESH} | {name: _reduction(name) for name in REDUCTIONS}
    special |= {name: _leaving(name) for name in LEAVING}
    special |= {name: _writing(name) for name in WRITING if name in vars(NDARRAY)}
    special |= {name: _view(name) for name in ("reshape", "ravel", "transpose", "swapaxes", "squeeze")}
    special |= {name: _view_attribute(name) for name in ("T", "mT", "real", "imag")}
    for name in vars(NDARRAY):
        if name in special or name in own or name in SKIPPED:
            continue
        if name.startswith("__") and name not in ("__dlpack__", "__dlpack_device__", "__array_namespace__", "__array_wrap__"):
            continue
        attribute = getattr(NDARRAY, name)
        special[name] = _general(name) if callable(attribute) else _attribute(name)
    for name, value in special.items():
        if callable(value):
            value.__name__, value.__qualname__, value.__doc__ = name, f"ndarray.{name}", getattr(NDARRAY, name).__doc__
        setattr(FoldingArray, name, value)


attach()
