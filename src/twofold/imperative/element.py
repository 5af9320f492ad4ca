"""Totals as arrays: a NumPy scalar in a cell. Its arithmetic costs a tenth of the arithmetic of a 0-d array.

The cell holds the scalar until its content is needed. Then the cell changes to the ordinary class and holds a 0-d array as its plain
content, which may be written, recorded and captured like any other.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..dtype import NAME_OF, NUMPY
from .cell import HOST, Cell, Content

#: The classes of NumPy's scalars that are kept as scalars. The scalars of ml_dtypes have arithmetic of their own.
NATIVE = frozenset(dtype.type for dtype in NUMPY.values() if dtype.isbuiltin == 1)


class Absent:
    """Hides a member of a base class, whose name it is given."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")


def _number_of(array: Any) -> Any:
    return array.asnumpy()[()]


class ElementMixin:
    """An array without axes that holds NumPy's scalar in place of a content."""

    __slots__ = ()
    #: The class that the cell turns into.
    _ordinary: ClassVar[Any]
    _kind = property(attrgetter("_ordinary"))
    #: The scalar, in the slot of the content.
    _raw: Any = vars(Cell)["_held"]

    def __init_subclass__(cls) -> None:
        # users see one class of arrays, whatever holds their memory
        cls.__name__, cls.__qualname__ = cls._ordinary.__name__, cls._ordinary.__qualname__
        # what has begun for an element finds its number when another thread has made an ordinary array of it meanwhile
        cls._ordinary._raw = property(_number_of)

    @property
    def _held(self) -> Any:
        content = HOST.as_array(self._raw)
        if self.__class__ is not self._ordinary:  # no call from here on, so that no thread overwrites another thread's update (see `Value`)
            self._raw = content
            self.__class__ = self._ordinary
        return self._held

    @_held.setter
    def _held(self, content: Content) -> None:
        self._raw = content
        self.__class__ = self._ordinary

    _content = _operand = _held

    def __reduce__(self) -> Any:
        # by the class that users see: pickles refer to classes by their names
        self._held = self._held
        return self.__reduce__()

    @property
    def shape(self) -> tuple[int, ...]:
        """No axes."""
        return ()

    @property
    def _dtype(self) -> str:
        return NAME_OF[self._raw.dtype]


def elements_of(x: Any, root: Cell, of: np.ndarray, memory: np.ndarray) -> Iterator[Any]:
    """The elements of a vector, each as it is when it is asked for: NumPy's scalars, read without a call while that is possible.

    Parameters
    ----------
    x, root
        The array, and the one that owns its memory.
    of, memory
        The root's content, and the elements of ``x`` in it.
    """
    if memory.dtype.type in NATIVE:
        for k, scalar in enumerate(memory):
            if root._held is not of:  # recorded, or written in another place: no longer elements of this memory
                yield from map(x.__getitem__, range(k, len(memory)))
                return
            yield scalar
    else:
        yield from map(x.__getitem__, range(len(memory)))
