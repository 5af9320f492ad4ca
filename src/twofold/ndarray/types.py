"""Types of arguments in the signatures of ``mx.nd`` and ``mx.np``."""

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from .. import dtype
from ..device import Device

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:
    ArrayLike = object  # importing numpy.typing takes 1.5 ms

Scalar: TypeAlias = bool | int | float | complex | np.generic
#: Sizes of the axes, or the size of the only one.
Shape: TypeAlias = int | Sequence[int]
#: An axis, several axes, or all of them.
Axis: TypeAlias = int | Sequence[int] | None
#: A dtype's name, code or class, or the default.
DTypeLike: TypeAlias = dtype.DTypeLike | None
#: A device, its name, or the current one.
DeviceLike: TypeAlias = Device | str | None
#: What may stand between brackets.
Index: TypeAlias = ArrayLike | slice | EllipsisType | tuple[ArrayLike | slice | EllipsisType | None, ...] | None
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
Order: TypeAlias = Literal["C", "F", "A", "K"] | None
