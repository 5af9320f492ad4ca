"""``FoldingArray``: a large array of a NumPy script. It is either ready, a view of real memory, or pending, the result of a `ChainNode`.

This file has the states, indexing and Python's protocols. `folding_operators` and `methods` attach the rest.
"""

import copyreg
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex, final
from weakref import ref

import numpy as np

from ..assembly import attach_method
from ..config import SETTINGS
from ..origin import warn
from ..sequence_patterns import match_as_numpys
from .chain import ChainNode
from .memory import ArrayOperand, Memory, nobody
from .reasons import GATHERED, NEVER_JOINED, WRITTEN, of_dtype
from .rules import ArrayKind, is_foldable
from .sites import PATHS, Site, handed_out, ran_inline, site

#: Elements from which arrays fold.
LEAST = SETTINGS.fold_elements
NDARRAY = np.ndarray
#: Called before the first folding array is made.
BEFORE_FIRST: list[Callable[[], None]] = []


class _Empty:
    __slots__ = ("__weakref__",)

    def __sizeof__(self) -> int:
        return 0


#: Bytes that `sys.getsizeof` adds: the garbage collector's header and, from Python 3.13 on, that of weak references.
HEADERS = sys.getsizeof(_Empty())
new = object.__new__


class _Class(type):
    """The class of `FoldingArray`: ``type(x) == numpy.ndarray`` holds; ``is`` cannot."""

    __name__: Any = property(lambda cls: "ndarray")  # Python's messages use the class's own name.

    # Built-in functions: NumPy looks a class up while it has no reference to the object, which another thread could free if code in
    # Python ran. The tuple finds the class itself by asking this method again.
    __eq__: Any = (NDARRAY,).__contains__
    __hash__ = type.__hash__.__get__(NDARRAY)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, NDARRAY)  # ``isinstance(small, type(large))`` calls this.

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, NDARRAY) or type.__subclasscheck__(cls, subclass)


@final
class FoldingArray(metaclass=_Class):
    """An array of at least `LEAST` elements. To a program it is a ``numpy.ndarray``.

    Attributes
    ----------
    array
        The array over the memory, which is never handed out; None while it is pending.
    leased
        The same over the memory's lease, for indexing; None while a pending operation reads the memory.
    outside
        A weak reference to the view of `leased` that code outside the program got last (`leaving`).
    memory
        The memory, with its lease and its readers.
    pending
        The operation that will compute the content; None once it has.
    operand
        The array as an operand of operations that wait, once one has read it.
    kind
        Shape and dtype.
    site
        Where it was made.
    """

    __slots__ = ("__weakref__", "array", "kind", "leased", "memory", "operand", "outside", "pending", "site")
    __array_priority__ = 1000.0
    __hash__: Any = None

    array: np.ndarray | None
    leased: np.ndarray | None
    memory: Memory
    operand: ArrayOperand | None
    outside: "ref[np.ndarray]"
    pending: ChainNode | None
    kind: ArrayKind
    site: Site
    # attached by `methods`, `flat` and `face`
    copy: Callable[..., object]
    flat: Any
    __array_namespace__: Any

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """The result of ``type(x)(shape, …)``: NumPy's array."""
        return NDARRAY(*args, **options)

    __class__: Any = property(lambda self: NDARRAY)

    # states

    def ready(self) -> np.ndarray:
        """The array over the memory, computed first if it is pending; only for functions that keep no reference to it."""
        while (found := self.array) is None:
            pending = self.pending
            if pending is not None:  # else another thread is changing the state at this moment
                pending.compute()
                if self.array is None:  # `compute` gives the result to its owner, unless the cycle collector has cleared that reference
                    pending.hand_over(self)
        return found

    def shown(self) -> np.ndarray:
        """The array over the memory's lease, which other code may read and write: after this call no pending operation reads the memory."""
        found = self.leased
        if found is None:
            array = self.ready()
            memory = self.memory
            self.leased = found = over(memory.leased(), memory, array)
        return found

    def pinned(self) -> np.ndarray:
        """`shown`, for code that takes the memory's address: the lease then lives as long as the memory."""
        found = self.shown()
        self.memory.pin = self.memory.leased()
        return found

    def replace(self, array: np.ndarray) -> None:
        """Become another view of the same memory, or an array over new memory."""
        memory = self.memory
        if array.base is not memory.root:
            self.memory = memory = Memory(array)
            memory.add(self)
        self.array, self.leased, self.operand = array, None, None
        self.kind = array.shape, array.dtype

    # indexing

    def __getitem__(self, key: Any) -> Any:
        leased = self.leased
        if leased is None:
            return self._item(key)
        found = leased[key]
        if found.__class__ is not NDARRAY:
            return found
        if found.size < LEAST:
            if key.__class__ is NDARRAY and key.size >= LEAST:
                site().count(GATHERED)
            return found
        # NumPy bases the view on the lease; a large view folds, over the memory itself, so that it does not keep the lease alive
        if found.base is (leased.base if type(leased.base) is NDARRAY else leased):
            return looking(self.memory, self.ready()[key], self.site)
        return gathered(found, site())

    def _item(self, key: Any) -> Any:
        array = self.ready()
        key = index_of(key)
        found = array[key]
        if type(found) is not NDARRAY:
            if next(self.memory.readers(), None) is None:
                self.shown()  # the next element is one look-up
            return found
        # An index of integers and slices gives a view of the memory; an array as index gives new elements.
        if found.base is self.memory.root:
            return looking(self.memory, found, self.site) if found.size >= LEAST else self.shown()[key]
        return gathered(found, site()) if found.size >= LEAST or (type(key) is NDARRAY and key.size >= LEAST) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        leased = self.leased
        if leased is None:
            leased = self.shown()
        if type(value) is FoldingArray:
            array = value.ready()
            leased = self.shown()
            if value.memory is self.memory and is_place(leased[index_of(key)], array):
                return  # what ``x[key] += y`` writes back
            site().count(WRITTEN)
            value = array
        elif (
            key.__class__ is not int
            and key.__class__ is not tuple
            and (key.__class__ is not slice or key.stop is None)  # smaller writes take too little time to be worth counting
        ):
            self._count_writing(leased, key)
        leased[key] = value

    def _count_writing(self, leased: np.ndarray, key: Any) -> None:
        """Note that a number, or an array of NumPy's, is written to many elements."""
        if key.__class__ is slice:
            size = leased[key].size
        else:
            size = key.size if key.__class__ is NDARRAY else leased.size if key is Ellipsis else 0
        if size >= LEAST:
            site().count(WRITTEN)

    def __delitem__(self, key: Any) -> None:
        array: Any = self.ready()
        del array[key]  # NumPy's error

    def __iter__(self) -> Iterator[object]:
        if self.ndim > 1 and self.size // max(len(self), 1) >= LEAST:
            # Each row is large enough to fold.
            return (self[k] for k in range(len(self)))
        return iter(self.shown())

    # what is known before it is computed

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self.kind[0]

    @shape.setter
    def shape(self, value: object) -> None:
        self._set("shape", value)

    @property
    def dtype(self) -> np.dtype:
        """As NumPy's."""
        return self.kind[1]

    @dtype.setter
    def dtype(self, value: object) -> None:
        self._set("dtype", value)

    @property
    def strides(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self.ready().strides

    @strides.setter
    def strides(self, value: object) -> None:
        self._set("strides", value)

    def _set(self, name: str, value: object) -> None:
        array, memory = self.ready(), self.memory
        # On a new view: pending operations hold `array` as an operand, and rely on its shape and dtype.
        view = array.view()
        with warnings.catch_warnings(record=True) as issued:  # NumPy deprecates this from 2.5 on
            warnings.simplefilter("always")
            setattr(view, name, value)
        for each in issued:
            warn(str(each.message), each.category)
        self.replace(view)
        if array is memory.owner and name == "shape":
            memory.owner = view  # it still owns its memory

    @property
    def ndim(self) -> int:
        """As NumPy's."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """As NumPy's."""
        return math.prod(self.kind[0])

    @property
    def itemsize(self) -> int:
        """As NumPy's."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """As NumPy's."""
        return self.size * self.dtype.itemsize

    # views and addresses

    @property
    def base(self) -> object:
        """None for an array that covers its memory; else the array that owns the memory."""
        array = self.ready()
        owner = self.memory.owner
        if array is owner:
            return None
        # If the program still holds the array that owns the memory, ``view.base is owner`` must be true, as it is in NumPy.
        for r in self.memory.arrays:
            found = r()
            if found is not None and found.array is owner:
                return found
        return self.memory.leased()

    @property
    def data(self) -> memoryview:
        """As NumPy's."""
        return self.shown().view().data

    @property
    def ctypes(self) -> object:
        """As NumPy's; the lease lives as long as the memory from now on."""
        found: Any = self.pinned().view().ctypes
        found._arr = self  # what its pointers keep alive
        return found

    @property
    def __array_interface__(self) -> dict[str, object]:
        return self.pinned().__array_interface__

    @property
    def __array_struct__(self) -> object:
        return self.pinned().view().__array_struct__

    # Python's protocols

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        handed_out(0)
        if copy or (dtype is not None and dtype != self.dtype):
            return np.array(self.ready(), dtype, copy=copy)
        return self.shown().view()

    def __len__(self) -> int:
        shape = self.shape
        return shape[0] if shape else len(self.ready())

    def __contains__(self, value: object) -> bool:
        ran_inline("in")
        return value in self.ready()

    def __bool__(self) -> bool:
        return bool(self.ready())

    def __int__(self) -> int:
        return int(self.ready())

    def __float__(self) -> float:
        return float(self.ready())

    def __complex__(self) -> complex:
        return complex(self.ready())

    def __index__(self) -> int:
        return self.ready().__index__()

    def __repr__(self) -> str:
        return repr(self.ready())

    def __str__(self) -> str:
        return str(self.ready())

    def __format__(self, spec: str) -> str:
        return format(self.ready(), spec)

    def __sizeof__(self) -> int:
        return self.ready().__sizeof__() - HEADERS  # so that `sys.getsizeof` is NumPy's, whose arrays have no such headers

    def __bytes__(self) -> bytes:
        return self.ready().tobytes()

    def __reduce__(self) -> str | tuple[object, ...]:
        return self.shown().view().__reduce__()  # A pickle holds NumPy's array, so it loads in processes without Twofold.

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        return self.shown().view().__reduce_ex__(protocol)

    def __copy__(self) -> object:
        return self.copy("K")

    def __deepcopy__(self, memo: object) -> object:
        return self.copy("K")

    def __dir__(self) -> list[str]:
        return dir(NDARRAY)


# The interpreter's messages read this name, not the property of the metaclass, which hides it from assignment.
type.__dict__["__name__"].__set__(FoldingArray, "numpy.ndarray")
FoldingArray.__qualname__ = "ndarray"
FoldingArray.__module__ = "numpy"
match_as_numpys(FoldingArray)


def over(lease: np.ndarray, memory: Memory, array: np.ndarray) -> np.ndarray:
    """The same elements as ``array``, which is over the memory, in an array over the lease."""
    owner = memory.owner
    # The lease is in row-major order, and can be written. An owner in column-major order, one that was given another shape, and one that
    # is read-only need a view of the lease.
    if array is owner and lease.strides == owner.strides and lease.shape == owner.shape and owner.flags.writeable:
        return lease
    # By the constructor: NumPy would base a view of `array` on the memory, and it would not keep the lease alive.
    found = NDARRAY(array.shape, array.dtype, lease, offset_in(owner, array), array.strides)
    if not array.flags.writeable:
        found.flags.writeable = False
    return found


def offset_in(owner: np.ndarray, array: np.ndarray) -> int:
    """Bytes from the start of the memory to the first element."""
    return array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]


def is_place(at: object, array: np.ndarray) -> bool:
    """Whether two arrays are the same elements of memory, in the same order and of the same dtype."""
    return (
        type(at) is NDARRAY
        and at.dtype == array.dtype
        and at.shape == array.shape
        and at.strides == array.strides
        and at.__array_interface__["data"] == array.__array_interface__["data"]
    )


def index_of(key: object) -> Any:
    """An index with NumPy's arrays for folding ones."""
    if type(key) is FoldingArray:
        return key.ready()
    if type(key) is tuple:
        for k in key:
            if type(k) is FoldingArray:
                return tuple([k.ready() if type(k) is FoldingArray else k for k in key])
    return key


# new ones


def looking(memory: Memory, array: np.ndarray, where: Site) -> FoldingArray:
    """A folding array over (part of) another one's memory."""
    PATHS["view"] += bool(memory.arrays)
    made = new(FoldingArray)
    made.array, made.memory, made.site, made.outside = array, memory, where, nobody
    made.kind = array.shape, array.dtype
    made.leased = made.pending = made.operand = None
    memory.add(made)
    return made


def owned(array: np.ndarray, where: Site, owners: dict[int, Memory] | None = None) -> FoldingArray | np.ndarray:
    """A folding array for a large array that a function has just made, or the array itself if folding is impossible or does not pay.

    Parameters
    ----------
    array, where
        The array, whose memory no other code knows, and where it was made.
    owners
        The memories of other results of the same call, by the ids of their owners.
    """
    base = array.base
    owner = array
    if base is not None:
        # A view of a new array, such as one that ``reshape`` returned. Other bases are memory that other code may know.
        if type(base) is not NDARRAY or base.base is not None:
            return array
        owner = base
    can_fold = is_foldable(array.dtype)
    if not can_fold or where.is_retired():
        if where.is_own:
            where.count(NEVER_JOINED if can_fold else of_dtype(array.dtype))
        return array
    # A lease covers the owner as one contiguous block; memory that NumPy does not own may be written from outside.
    if not owner.flags.forc or not owner.flags.owndata:
        return array
    while BEFORE_FIRST:
        BEFORE_FIRST.pop()()
    memory = None if owners is None else owners.get(id(owner))
    if memory is None:
        memory = Memory(owner)
        if owners is not None:
            owners[id(owner)] = memory
    return looking(memory, array, where)


def gathered(found: np.ndarray, where: Site) -> FoldingArray | np.ndarray:
    """The elements that an array as index selects."""
    where.count(GATHERED)
    return owned(found, where) if found.size >= LEAST else found


def made_in(array: np.ndarray, where: Site) -> FoldingArray | np.ndarray:
    """A result in memory that was allocated for it."""
    return array if array.size < LEAST or where.is_retired() else looking(Memory(array), array, where)


def waiting(pending: ChainNode) -> FoldingArray:
    """The array of a pending operation."""
    made = new(FoldingArray)
    # `memory` stays unset until the result is computed (`chain.ChainNode.give`).
    made.array = made.leased = made.operand = None
    made.kind, made.pending, made.site, made.outside = pending.kind, pending, pending.site, nobody
    pending.owner = ref(made)
    return made


class Exported(np.ndarray):
    """The memory as a buffer shows it, which keeps the folding array.

    NumPy holds no references to the elements of a list while it converts them, and another thread may change the list meanwhile.
    """

    __slots__ = ("of",)


# a pickle holds NumPy's class: ``type(x)``, which libraries write into their files, is this one
copyreg.pickle(_Class, lambda _: (type, (np.empty(0),)))


def exported(x: FoldingArray) -> np.ndarray:
    """A view of the memory for the buffer protocol, whose method called this."""
    handed_out(1)
    view = x.shown().view(Exported)
    view.of = x
    return view


if sys.version_info >= (3, 12):

    def _buffer(self: FoldingArray, flags: int) -> memoryview:
        return memoryview(exported(self))

    def _release_buffer(self: FoldingArray, view: memoryview) -> None:
        """Do nothing. The method must exist: without it NumPy's `frombuffer` keeps the array instead of the buffer."""

    attach_method(FoldingArray, "__buffer__", _buffer)
    attach_method(FoldingArray, "__release_buffer__", _release_buffer)
