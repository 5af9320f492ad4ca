"""Small cases of every primitive with the result that NumPy gives: what an adapter's conformance is measured against.

The reference of a primitive is one expression of NumPy; of element-wise ones mostly the ufunc that their declaration names.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtype import FLOATS, INTEGERS, NAME_OF, NUMPY, float_of, promote, ufunc_result
from ..errors import DTypeError
from ..op.registry import primitives
from ..op.spec import Op
from . import backend_samples as samples

#: What an adapter is held to unless it says that its library has less.
REAL = ("bool", *INTEGERS, *FLOATS)


class Case(NamedTuple):
    """A primitive with operands and its result.

    Attributes
    ----------
    op, params
        The primitive and its parameters.
    operands
        NumPy arrays, and Python scalars where weak ones are meant.
    want
        The result; its dtype and shape count as well as its values.
    """

    op: str
    params: dict[str, Any]
    operands: tuple[Any, ...]
    want: np.ndarray

    def __str__(self) -> str:
        given = ", ".join(f"{NAME_OF[a.dtype]}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in self.operands)
        return f"{self.op}({', '.join([given, *[f'{k}={v!r}' for k, v in self.params.items()]])})"


def cases(name: str, dtypes: Sequence[str] = REAL) -> list[Case]:
    """All cases of a primitive whose operands and result have one of the dtypes."""
    op = primitives()[name]
    found = _elementwise(op, dtypes) if name in samples.UNARY_DOMAIN or op.ufunc is not None else _listed(name, dtypes)
    return [c for c in found if {NAME_OF[a.dtype] for a in (*c.operands, c.want) if isinstance(a, np.ndarray)} <= {*dtypes, "bool", "int64", "uint64"}]
