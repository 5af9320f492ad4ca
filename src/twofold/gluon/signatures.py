"""Types that the signatures of Gluon's classes share."""

from types import ModuleType
from typing import TypeAlias, TypedDict, TypeVar

import numpy as np

from ..initializer import Initializer
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol

__all__ = ["DTypeLike", "Functions", "InitializerLike", "Operand", "StateInfo"]

#: The module whose functions a computation applies: `twofold.nd` to arrays, `twofold.sym` to symbols.
Functions: TypeAlias = ModuleType
#: An operand of a computation, which has either only arrays or only symbols.
Operand = TypeVar("Operand", NDArray, Symbol)
#: A dtype as a name, a NumPy dtype or scalar class, a Python type, or MXNet's code.
DTypeLike: TypeAlias = str | type | np.dtype | int
#: An initializer, the name of a registered one, or None for the model's.
InitializerLike: TypeAlias = Initializer | str | None


class StateInfo(TypedDict, total=False):
    """Shape, layout and dtype of a state of a recurrent cell or layer."""

    shape: tuple[int, ...]
    __layout__: str
    dtype: DTypeLike
