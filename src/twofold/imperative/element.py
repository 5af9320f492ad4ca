"""Single elements as arrays: NumPy's scalar in a cell, whose arithmetic costs a tenth of that of an array without axes.

The scalar is the content only until the content is needed. Then the cell becomes one of the ordinary class, with an array
without axes as its plain content, which may be written, recorded and captured as any other.
"""

from typing import Any, ClassVar

from ..dtype import NAME_OF, NUMPY
from .cell import HOST, Cell

#: The classes of NumPy's scalars that are kept. Those of ml_dtypes compute in their own way.
NATIVE = frozenset(dtype.type for dtype in NUMPY.values() if dtype.isbuiltin == 1)


class ElementMixin:
    """An array without axes that holds NumPy's scalar in place of a content."""

    __slots__ = ()
    #: The class that the cell turns into.
    _ordinary: ClassVar[Any]
    #: The scalar, in the slot of the content.
    _raw: Any = vars(Cell)["_content"]

    @property
    def _content(self) -> Any:
        content = HOST.as_array(self._raw)
        if self.__class__ is not self._ordinary:  # no call from here on: no thread overwrites what another one has written (see `Value`)
            self._raw = content
            self.__class__ = self._ordinary
        return self._content

    @_content.setter
    def _content(self, content: Any) -> None:
        self._raw = content
        self.__class__ = self._ordinary

    _operand = _content

    @property
    def shape(self) -> tuple[int, ...]:
        """No axes."""
        return ()

    @property
    def _dtype(self) -> str:
        return NAME_OF[self._raw.dtype]
