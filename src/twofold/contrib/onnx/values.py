"""The known facts about a value of an ONNX graph while it is read: its symbol, its type, and its elements if it is constant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from numpy import ndarray

from ...dtype import NAME_OF
from ...errors import FormatError
from ...symbol.symbol import Symbol

if TYPE_CHECKING:
    from onnx import GraphProto

    from .expansion import Expansion

Sizes = tuple[int | None, ...]


@dataclass(frozen=True)
class UnknownSize:
    """An unknown size by the name that ONNX gives it (or that of a value and an axis): sizes of one name are equal."""

    name: str


class NotConstant(FormatError):
    """An operand that decides about shapes is computed while the graph runs.

    Attributes
    ----------
    roots
        Names of the graph's inputs that it is computed from.
    """

    roots: tuple[str, ...] = ()


class Graph(Protocol):
    """The graph that is being read, as far as values and the functions of `operators` see it; see `graph_reader.GraphReader`."""

    place: str
    label: str | None
    outputs: int
    opset: int
    expansion: "Expansion"

    def variable(self, tensor: "Tensor") -> Symbol:
        """A variable for a constant, which becomes a parameter."""
        ...

    def constant(self, value: object, dtype: str | None = None) -> "Tensor":
        """An array of this package's own as a value of the graph."""
        ...

    def computed(self, name: str, symbol: Symbol, roots: frozenset[str]) -> "Tensor":
        """A value that a symbol computes from inputs, whose names are the ``roots``."""
        ...

    def body(self, graph: "GraphProto", arguments: Sequence["Tensor"]) -> list["Tensor"]:
        """The outputs of the body of control flow."""
        ...


class Tensor:
    """A value of an ONNX graph.

    Parameters
    ----------
    owner, name
        The graph, and the value's name in it.
    symbol
        How it is computed; None for a constant.
    array
        Its elements, if it is constant.
    shape, dtype
        Its type, None if unknown.
    roots
        Names of the graph's inputs that it depends on.

    Attributes
    ----------
    labels
        Names of unknown sizes, by axis; see `UnknownSize`.
    partial
        Of a computation of shapes in which some sizes are unknown: integers and `UnknownSize`, as an array of objects; else None.
    """

    __slots__ = ("_symbol", "array", "dtype", "labels", "name", "owner", "partial", "roots", "shape")

    def __init__(
        self,
        owner: Graph,
        name: str,
        symbol: Symbol | None = None,
        array: ndarray | None = None,
        shape: Sizes | None = None,
        dtype: str | None = None,
        roots: frozenset[str] = frozenset(),
    ) -> None:
        self.owner, self.name, self._symbol, self.array, self.roots = owner, name, symbol, array, roots
        self.partial: ndarray | None = None
        self.labels: dict[int, str] = {}
        # A constant knows its own type.
        self.shape: Sizes | None = shape if array is None else array.shape
        self.dtype: str | None = dtype if array is None else NAME_OF.get(array.dtype)

    @property
    def symbol(self) -> Symbol:
        """Its symbol; that of a constant is a variable."""
        if self._symbol is None and self.array is None:
            given = f"{self.name}, which is computed from sizes that are not known"
            raise FormatError(f"{self.owner.place}: an operand depends on unknown sizes", given, "give the inputs fixed sizes")
        if self._symbol is None:
            self._symbol = self.owner.variable(self)
        return self._symbol

    @property
    def np(self) -> Symbol:
        """Its symbol with NumPy's operators and methods."""
        return self.symbol.as_np_ndarray()

    @property
    def sizes(self) -> Sizes:
        """Its shape.

        Raises
        ------
        FormatError
            If the number of its axes is not known.
        """
        if self.shape is None:
            todo = "declare its shape in the file, for example by onnx.shape_inference"
            raise FormatError(f"{self.owner.place}: the shape of an operand is not known", self.name, todo)
        return self.shape

    def unknown(self, axis: int) -> UnknownSize:
        """The unknown size of an axis."""
        return UnknownSize(self.labels.get(axis) or f"{self.name}.{axis}")

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """Its shape, all of whose sizes are known.

        Raises
        ------
        FormatError
            If some are not.
        """
        found = tuple(n for n in self.sizes if n is not None)
        if len(found) != len(self.sizes):
            todo = "give the inputs fixed sizes, for example by onnx.tools.update_model_dims"
            raise FormatError(f"{self.owner.place}: a size of an operand is not known", f"{self.name} {self.sizes}", todo)
        return found

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.sizes)

    @property
    def constant(self) -> ndarray:
        """The elements of a constant.

        Raises
        ------
        NotConstant
            If they are computed.
        """
        if self.array is None:
            given = f"{self.name}, computed from {', '.join(sorted(self.roots)) or 'the graph'}"
            error = NotConstant(
                f"{self.owner.place}: an operand that decides about shapes must be constant", given, "make it an initializer"
            )
            error.roots = tuple(sorted(self.roots))
            raise error
        return self.array

    @property
    def integers(self) -> list[int]:
        """Its elements as integers.

        Raises
        ------
        FormatError
            If they are not integers, or more than 65,536.
        """
        found = self.constant
        if found.dtype.kind not in "iub" or found.size > 1 << 16:
            raise FormatError(f"{self.owner.place}: an operand must be a few integers", f"{self.name}: {found.dtype}{list(found.shape)}")
        return [int(n) for n in found.ravel()]

    @property
    def integer(self) -> int:
        """Its only element as an integer."""
        found = self.integers
        if len(found) != 1:
            raise FormatError(f"{self.owner.place}: an operand must be one number", f"{self.name}: {len(found)} numbers")
        return found[0]

    @property
    def number(self) -> float:
        """Its only element as a float."""
        found = self.constant
        if found.size != 1:
            raise FormatError(f"{self.owner.place}: an operand must be one number", f"{self.name}: {found.size} numbers")
        return float(found.ravel()[0])

    @property
    def is_float(self) -> bool:
        """Whether its elements are floating-point numbers; of an unknown dtype this is assumed."""
        return self.dtype is None or "float" in self.dtype

    def axis(self, axis: int) -> int:
        """An axis counted from the front.

        Raises
        ------
        FormatError
            If there is no such axis.
        """
        if not -self.ndim <= axis < max(self.ndim, 1):
            raise FormatError(f"{self.owner.place}: there is no such axis", f"{axis} of {self.ndim}")
        return axis % self.ndim if self.ndim else 0

    def axes(self, axes: Sequence[int] | None) -> tuple[int, ...]:
        """Axes counted from the front; all if None."""
        return tuple(range(self.ndim)) if axes is None else tuple(self.axis(a) for a in axes)

    def size(self, axis: int) -> int:
        """The size of an axis, which must be known."""
        found = self.sizes[self.axis(axis)]
        return self.known_sizes[axis] if found is None else found
