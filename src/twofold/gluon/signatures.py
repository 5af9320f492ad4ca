"""Shared parts of the signatures of Gluon's classes: their types, and docstrings that are completed from a template."""

from collections.abc import Callable
from types import ModuleType
from typing import NotRequired, TypeAlias, TypedDict, TypeVar

from .. import ndarray as nd
from .. import symbol as sym
from ..dtype import DTypeLike
from ..errors import InvalidValue
from ..imperative.array import Array
from ..initializer import Initializer
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..symbol.symbol import Symbol

#: The module whose functions a computation applies: `twofold.nd` to arrays, `twofold.sym` to symbols.
Functions: TypeAlias = ModuleType
#: An operand of a computation. All operands of one computation are of the same kind.
Operand = TypeVar("Operand", NDArray, ndarray, Symbol)
#: An initializer, its name, or None for the model's.
InitializerLike: TypeAlias = Initializer | str | None
#: Called before or after a block's forward; what it returns is ignored.
Hook: TypeAlias = Callable[..., object]
#: Called with the name, the operator and the value of each inner output of a graph.
OpHook: TypeAlias = Callable[[str, str, NDArray], object]


class Given:
    """The modules that computations get as ``F``.

    `twofold.compat.mxnet_alias` replaces them by those that a program knows as ``mx.nd`` and ``mx.sym``, with which it may compare ``F``.
    """

    nd: Functions = nd
    sym: Functions = sym


def functions_for(value: Array | Symbol) -> Functions:
    """The module whose functions apply to a value."""
    return Given.sym if isinstance(value, Symbol) else Given.nd


class StateInfo(TypedDict):
    """Shape, layout and dtype of a state of a recurrent cell or layer."""

    shape: tuple[int, ...]
    __layout__: str
    dtype: NotRequired[DTypeLike]


def extend_docstring(cls: type, template: str, **fields: object) -> None:
    """Append a filled-in template to a class's docstring: classes of one family describe their parameters in one place."""
    if cls.__doc__ is not None:  # it is under `python -OO`
        cls.__doc__ += template.format(**fields)


def check_dtype_source(cast_dtype: bool, dtype_source: str) -> None:
    """Check that ``dtype_source`` is ``"current"`` or ``"saved"``.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if cast_dtype and dtype_source not in ("current", "saved"):
        raise InvalidValue("dtype_source must be one of 'current' and 'saved'", repr(dtype_source), "use one of these")
