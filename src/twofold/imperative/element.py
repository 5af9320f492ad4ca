"""Single elements as arrays: a NumPy scalar in a cell. Its arithmetic costs a tenth of the arithmetic of a 0-d array.

The cell holds the scalar until its content is needed. Then the cell changes to the ordinary class and holds a 0-d array as its plain
content, which may be written, recorded and captured like any other.
"""

from typing import Any, ClassVar

from ..dtype import NAME_OF, NUMPY
from .cell import HOST, Cell, Content

#: The classes of NumPy's scalars that are kept as scalars. The scalars of ml_dtypes have arithmetic of their own.
NATIVE = frozenset(dtype.type for dtype in NUMPY.values() if dtype.isbuiltin == 1)


class ElementMixin:
    """An array without axes that holds NumPy's scalar in place of a content."""

    __slots__ = ()
    #: The class that the cell turns into.
    _ordinary: ClassVar[Any]
    #: The scalar, in the slot of the content.
    _raw: Any = vars(Cell)["_content"]

    def __init_subclass__(cls) -> None:
        # users see one class of arrays, whatever holds their memory
        cls.__name__, cls.__qualname__ = cls._ordinary.__name__, cls._ordinary.__qualname__

    @property
    def _content(self) -> Any:
        content = HOST.as_array(self._raw)
        if self.__class__ is not self._ordinary:  # no call from here on, so that no thread overwrites another thread's update (see `Value`)
            self._raw = content
            self.__class__ = self._ordinary
        return self._content

    @_content.setter
    def _content(self, content: Content) -> None:
        self._raw = content
        self.__class__ = self._ordinary

    _operand = _content

    def __reduce__(self) -> Any:
        # by the class that users see: pickles refer to classes by their names
        self._content = self._content
        return self.__reduce__()

    @property
    def shape(self) -> tuple[int, ...]:
        """No axes."""
        return ()

    @property
    def _dtype(self) -> str:
        return NAME_OF[self._raw.dtype]
