"""Types that the signatures of Gluon's classes share."""

from collections.abc import Callable
from types import ModuleType
from typing import NotRequired, TypeAlias, TypedDict, TypeVar

import numpy as np

from ..initializer import Initializer
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..symbol.symbol import Symbol

__all__ = ["DTypeLike", "Functions", "Hook", "InitializerLike", "OpHook", "Operand", "StateInfo"]

#: The module whose functions a computation applies: `twofold.nd` to arrays, `twofold.sym` to symbols.
Functions: TypeAlias = ModuleType
#: An operand of a computation, all of whose operands are of one kind.
Operand = TypeVar("Operand", NDArray, ndarray, Symbol)
#: A dtype as a name, a NumPy dtype or scalar class, a Python type, or MXNet's code.
DTypeLike: TypeAlias = str | type | np.dtype | int
#: An initializer, its name, or None for the model's.
InitializerLike: TypeAlias = Initializer | str | None
#: Called before or after a block's forward; what it returns is ignored.
Hook: TypeAlias = Callable[..., object]
#: Called with the name, the operator and the value of each inner output of a graph.
OpHook: TypeAlias = Callable[[str, str, NDArray], object]


class StateInfo(TypedDict):
    """Shape, layout and dtype of a state of a recurrent cell or layer."""

    shape: tuple[int, ...]
    __layout__: str
    dtype: NotRequired[DTypeLike]
