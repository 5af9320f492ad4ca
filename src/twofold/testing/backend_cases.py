"""Small test cases of every primitive with NumPy's results, against which adapters are checked.

Cases are declared with the primitives (`Op.cases`); those of a ufunc, and of a primitive with samples and a reference, are derived here.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any, NamedTuple

import numpy
import numpy as np

from .. import ops  # noqa: F401  (registers the primitives)
from ..dtype import COMPLEX, FLOATS, INTEGERS, NAME_OF, NUMPY, float_of, ufunc_result
from ..errors import DTypeError
from ..opdef import Op, primitives, samples_of
from .operands import make_operands

#: The dtypes an adapter is checked with, unless its library supports fewer.
REAL = ("bool", *INTEGERS, *FLOATS)
EXTREMES = np.array([math.nan, math.inf, -math.inf])
MIXED = (
    ("float32", "float64"),
    ("int32", "float32"),
    ("uint8", "int8"),
    ("bool", "int32"),
    ("int64", "float32"),
    ("int64", "uint64"),
    ("uint64", "int64"),
)


#: An array, or a Python scalar.
Operand = np.ndarray | float
_FLOATS = (-2.5, 1.0, -0.0, 0.5, 3.0, -1.0, 0.25, 7.0, 2.75, 0.0)
_INTEGERS = (-3, 1, 0, 2, 5, -1, 4, 3)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A few small numbers, repeated over a shape; their absolute values for unsigned integers and bools."""
    kind = NUMPY[dtype]
    values = np.array(_INTEGERS if kind.kind in "biu" else _FLOATS)
    return np.resize(np.abs(values) if kind.kind in "bu" else values, shape).astype(kind)


class Case(NamedTuple):
    """A primitive with operands and its result.

    Attributes
    ----------
    op, params
        The primitive and its parameters.
    place
        Which of its results, if it has several.
    operands
        NumPy arrays, and Python scalars for weak operands.
    want
        The expected result, including its dtype and shape.
    """

    op: str
    params: dict[str, Any]
    operands: tuple[Any, ...]
    want: np.ndarray
    place: int | None = None

    @property
    def is_weak(self) -> bool:
        """Whether a Python scalar is among the operands."""
        return not all(isinstance(a, np.ndarray) for a in self.operands)

    def __str__(self) -> str:
        given = [f"{NAME_OF[a.dtype]}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in self.operands]
        return f"{self.op}({', '.join([*given, *[f'{k}={v!r}' for k, v in self.params.items()]])})"


@dataclass(frozen=True)
class CaseMaker:
    """Makes operands and cases for rules of `Op.cases`: called with a case's operands, parameters and function, it makes the case."""

    op: Op
    np: ModuleType = numpy
    #: All dtypes.
    dtypes: tuple[str, ...] = REAL

    def __call__(self, *operands: Operand, want: Callable[..., Any] | None = None, **params: Any) -> Case:
        """The case with the expected result ``want(*operands, **params)``, by default that of the primitive's reference."""
        if want is None:
            assert self.op.execution.reference is not None
            want = partial(self.op.execution.reference, self.np)
        with np.errstate(all="ignore"):
            return Case(self.op.name, params, operands, np.asarray(want(*operands, **params)))

    def numbers(self, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
        """See `numbers`."""
        return numbers(shape, dtype)

    def distinct(self, shape: tuple[int, ...], dtype: str = "float32") -> numpy.ndarray:
        """0, 1, 2 … in a shape."""
        return np.arange(math.prod(shape)).reshape(shape).astype(NUMPY[dtype])

    def kind(self, dtype: str) -> numpy.dtype:
        """NumPy's dtype of a name."""
        return NUMPY[dtype]

    def array(self, values: Any, dtype: str) -> numpy.ndarray:
        """Values as an array."""
        return np.array(values).astype(NUMPY[dtype])

    def windows(self, x: numpy.ndarray, kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int]) -> numpy.ndarray:
        """The windows over the trailing axes, of shape (…, windows…, kernel…)."""
        n = len(kernel)
        # a dilated window spans the gaps between its elements too
        reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilate, strict=True))
        found = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(x.ndim - n, x.ndim)))
        return found[(*[slice(None)] * (x.ndim - n), *[slice(None, None, s) for s in (*stride, *dilate)])]

    def of_floats(self, function: Callable[[float], float], values: Sequence[float], integers: Sequence[int]) -> Iterator[Case]:
        """Cases of a function of the standard library on floats of all sizes, and on integers."""

        def want(x: numpy.ndarray) -> numpy.ndarray:
            wide = np.vectorize(function, otypes=[np.float64])(x.astype(np.float64))
            return wide.astype(NUMPY[float_of(NAME_OF[x.dtype])])

        for dtype in FLOATS:
            yield self(self.array(values, dtype), want=want)
        for x in (self.array(integers, "int32"), self.array(values[0], "float32"), np.empty((0, 2), np.float32)):
            yield self(x, want=want)


def cases(name: str, dtypes: Sequence[str] = REAL) -> list[Case]:
    """All cases of a primitive whose operands and result have the given dtypes, or mandatory ones (bool, int64, uint64, complex)."""
    op = primitives()[name]
    # a backend may lack narrow dtypes, but not these
    has = {*dtypes, "bool", "int64", "uint64", *COMPLEX}
    return [c for c in _cases(op) if all(NAME_OF[a.dtype] in has for a in (*c.operands, c.want) if isinstance(a, np.ndarray))]


def _cases(op: Op) -> Iterator[Case]:
    make = CaseMaker(op)
    if op.execution.case_rule is not None:
        yield from op.execution.case_rule(make)
    elif op.ufunc is not None:
        yield from (_unary if len(op.inputs) == 1 else _binary)(make, op.ufunc)
    else:
        yield from _from_samples(op)


def _from_samples(op: Op) -> Iterator[Case]:
    """The samples of a declaration in single and double precision, with the reference's results."""
    if op.execution.reference is None:
        return
    for sample, dtype in product(samples_of(op), ("float32", "float64")):
        operands = tuple(a for a in make_operands(op, sample, dtype) if a is not None)
        params = op.bind(**sample.params).params
        with np.errstate(all="ignore"):
            found = op.execution.reference(np, *operands, **params)
        if isinstance(found, (tuple, list)):
            yield from (Case(op.name, params, operands, np.asarray(part), k) for k, part in enumerate(found))
        else:
            yield Case(op.name, params, operands, np.asarray(found))


def _takes(ufunc: str, *dtypes: str) -> bool:
    try:
        ufunc_result(ufunc, *dtypes)
    except DTypeError:
        return False
    return True


def _unary(make: CaseMaker, ufunc: str) -> Iterator[Case]:
    want = getattr(np, ufunc)
    for dtype in filter(lambda d: _takes(ufunc, d), REAL):
        yield make(numbers((2, 4), dtype), want=want)
        if dtype in FLOATS:
            yield make(EXTREMES.astype(NUMPY[dtype]), want=want)
    for shape in ((), (0, 3)):
        yield make(numbers(shape, "float32" if _takes(ufunc, "float32") else "int32"), want=want)


def _right(op: Op, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A right operand for which libraries agree."""
    if dtype in FLOATS or op.algebra.least_right is None:
        return numbers(shape, dtype)[..., ::-1].copy() if shape else numbers(shape, dtype)
    return np.resize(np.arange(op.algebra.least_right, op.algebra.least_right + 3), shape).astype(NUMPY[dtype])


def _binary(make: CaseMaker, ufunc: str) -> Iterator[Case]:
    want = getattr(np, ufunc)
    for dtype in filter(lambda d: _takes(ufunc, d, d), REAL):
        yield make(numbers((2, 4), dtype), _right(make.op, (4,), dtype), want=want)
        if dtype in FLOATS and not make.op.algebra.least_right:  # libraries differ in the quotients of zeros and infinities too
            yield make(EXTREMES.astype(NUMPY[dtype]), EXTREMES.astype(NUMPY[dtype])[:, None], want=want)
    for a, b in filter(lambda pair: _takes(ufunc, *pair), MIXED):
        yield make(numbers((2, 4), a), _right(make.op, (4,), b), want=want)
    dtype = "float32" if _takes(ufunc, "float32", "float32") else "int32"
    for a, b in (((), ()), ((2, 1), (1, 4)), ((), (3,)), ((0, 4), (4,)), ((0, 1), (1, 0))):
        yield make(numbers(a, dtype), _right(make.op, b, dtype), want=want)
    yield make(numbers((4,), dtype), 2, want=want)
    if dtype == "float32":
        yield make(numbers((4,), dtype), 0.5, want=want)
        yield make(2.0, numbers((4,), dtype), want=want)
