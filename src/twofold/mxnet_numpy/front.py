"""The base of the functions of MXNet's NumPy dialect: a front that applies operators to its own arrays.

The same methods serve arrays (`mxnet_numpy`) and symbols (`mx.sym.np`). A subclass for each defines what an array is and how an operator is
applied. So each function is written once, by the operator names of MXNet's files, and tests no flag.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import DTypeError
from ..ndarray.types import DeviceLike
from ..opdef import Op

#: The arrays of a front: `ndarray` or `NumpySymbol`.
Array = TypeVar("Array")
NUMBERS = (bool, int, float, np.generic)
#: Fronts by the class of their operands, for functions of arrays that are called with symbols. The module of a class enters its front.
FRONTS: "dict[type, Front]" = {}


class Unsupported(DTypeError, AssertionError):
    """An operand that is neither an array nor a number (MXNet raises a TypeError or an AssertionError)."""


def public_name(op: Op) -> str:
    """An operator's name in NumPy's namespaces, which begins the automatic names of its nodes."""
    for prefix in ("_npi_", "_npx_", "_np_"):
        for name in op.names:
            if name.startswith(prefix):
                return name.removeprefix(prefix)
    return op.title


def without_none(**params: object) -> dict[str, object]:
    """The parameters that are not None; MXNet leaves the others out of its files."""
    return {name: value for name, value in params.items() if value is not None}


class Front(ABC, Generic[Array]):
    """Applies operators to arrays or symbols."""

    @abstractmethod
    def apply(self, op: Op, arrays: Sequence[object], params: Mapping[str, Any] | None = None, out: Any = None, name: str = "") -> Any:
        """The result of an operator, or the list of its results.

        Parameters
        ----------
        op, arrays, params
            The operator, its arrays (None where one is omitted) and parameters.
        out
            An array for the result.
        name
            The beginning of automatic names of nodes, if not the operator's name.
        """

    @abstractmethod
    def is_array(self, value: object) -> bool:
        """Whether a value is an array of this front."""

    @abstractmethod
    def operand(self, value: object) -> Array:
        """A value as an array of this front.

        Raises
        ------
        Unsupported
            If it cannot be one.
        """

    @abstractmethod
    def context_name(self, ctx: DeviceLike) -> DeviceLike:
        """A device as a parameter of creating operators."""

    def known_elements(self, value: object) -> np.ndarray | None:
        """The elements of an operand if they are at hand: computed, and in the memory of the host."""
        return None

    def operands(self, values: Iterable[object]) -> list[Array]:
        """Several values as arrays."""
        return [self.operand(v) for v in values]

    def created(self, op: Op, ctx: DeviceLike, out: Array | None = None, **params: object) -> Array:
        """An array that an operator creates on a device."""
        return self.apply(op, (), {**params, "ctx": self.context_name(ctx)}, out)

    def number(self, value: object) -> float | None:
        """A value as a Python number; None if it is an array."""
        if isinstance(value, np.generic) and not self.is_array(value):
            value = value.item()
        return value if isinstance(value, (bool, int, float)) else None
