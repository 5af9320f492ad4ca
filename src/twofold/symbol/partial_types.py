"""Partially known types: shape and dtype of a value during inference, and how they are merged."""

from ..errors import DTypeError, InternalError, ShapeError

#: A shape during inference: None if nothing is known; None in place of an unknown size.
PartialShape = tuple[int | None, ...] | None


class PartialType:
    """The shape and dtype of a node's output, as far as they are known."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: PartialShape, dtype: str | None) -> None:
        self.shape, self.dtype = shape, dtype

    @property
    def is_shaped(self) -> bool:
        """Whether the whole shape is known."""
        return is_complete_shape(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, which must be known."""
        sizes = () if self.shape is None else tuple([n for n in self.shape if n is not None])
        if self.shape is None or len(sizes) < len(self.shape):
            raise InternalError("symbol: a shape is used before it is known", shape_text(self.shape), "report this")
        return sizes

    def learn_shape(self, shape: PartialShape, what: str) -> None:
        """Merge in a shape. ``what`` names the value in the error if it contradicts the known one.

        Raises
        ------
        ShapeError
            If it contradicts the known one.
        """
        self.shape = merge_shapes(self.shape, shape, what)

    def learn_dtype(self, dtype: str | None, what: str) -> None:
        """Merge in a dtype.

        Raises
        ------
        DTypeError
            If it contradicts the known one.
        """
        if dtype is not None and self.dtype not in (None, dtype):
            raise DTypeError(f"{what} has dtype {self.dtype}, where {dtype} is needed", None, "cast one of them")
        self.dtype = self.dtype or dtype


def is_complete_shape(shape: PartialShape) -> bool:
    """Whether every size is known."""
    return shape is not None and None not in shape


def shape_text(shape: PartialShape) -> str:
    """A shape as shown in messages, with ``?`` for unknown sizes."""
    if shape is None:
        return "?"
    return f"({', '.join('?' if n is None else str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


def merge_shapes(a: PartialShape, b: PartialShape, what: str) -> PartialShape:
    """Merge two partially known shapes of one value.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    if a is None or b is None or a == b:
        return b if a is None else a
    if len(a) != len(b) or any(m != n for m, n in zip(a, b, strict=True) if m is not None and n is not None):
        raise ShapeError(f"{what} has shape {shape_text(a)}, where {shape_text(b)} is needed", None, "pass shapes that agree")
    return tuple(n if m is None else m for m, n in zip(a, b, strict=True))
