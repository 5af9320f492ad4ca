"""Small test cases of every primitive with NumPy's results, against which adapters are checked.

The reference of a primitive is one expression of NumPy; of element-wise ones mostly the ufunc that their declaration names.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .. import ops  # noqa: F401  (registers the primitives)
from ..dtype import FLOATS, INTEGERS, NAME_OF, NUMPY, float_of, ufunc_result
from ..errors import DTypeError
from ..opdef.registry import primitives
from ..opdef.samples import samples_of
from ..opdef.spec import Op
from .backend_samples import LISTED, numbers
from .operands import make_operands

#: The dtypes an adapter is checked with, unless its library supports fewer.
REAL = ("bool", *INTEGERS, *FLOATS)
#: For zero divisors, negative integer powers and infinities, libraries differ, so these cases are left out.
DIVISIONS = ("floor_divide", "remainder", "fmod")
SMALL_POWERS = ("power", "left_shift", "right_shift")
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


def cases(name: str, dtypes: Sequence[str] = REAL) -> list[Case]:
    """All cases of a primitive whose operands and result have the given dtypes, or bool, int64 or uint64, which are mandatory."""
    op = primitives()[name]
    has = {*dtypes, "bool", "int64", "uint64"}
    listed = _elementwise(op) if op.elementwise else LISTED.get(name)
    found = [_case(name, o, p, reference) for o, p, reference in listed] if listed is not None else list(_from_samples(op))
    return [c for c in found if all(NAME_OF[a.dtype] in has for a in (*c.operands, c.want) if isinstance(a, np.ndarray))]


def _case(name: str, operands: tuple[Any, ...], params: dict[str, Any], reference: Callable[..., Any]) -> Case:
    with np.errstate(all="ignore"):
        return Case(name, params, operands, np.asarray(reference(*operands, **params)))


def _from_samples(op: Op) -> Iterator[Case]:
    """The samples of a declaration in single and double precision, with what its reference gives."""
    if op.reference is None:
        return
    for sample, dtype in product(samples_of(op), ("float32", "float64")):
        operands = tuple(a for a in make_operands(op, sample, dtype) if a is not None)
        params = op.sig(**sample.params).params
        with np.errstate(all="ignore"):
            found = op.reference(np, *operands, **params)
        if isinstance(found, (tuple, list)):
            yield from (Case(op.name, params, operands, np.asarray(part), k) for k, part in enumerate(found))
        else:
            yield Case(op.name, params, operands, np.asarray(found))


Sample = tuple[tuple[Any, ...], dict[str, Any], Callable[..., Any]]


def _elementwise(op: Op) -> Iterator[Sample]:
    if op.ufunc is None:
        yield from _OTHER.get(op, partial(_by_reference, op))()
    elif len(op.inputs) == 1:
        yield from _unary(op.ufunc)
    else:
        yield from _binary(op.ufunc)


def _by_reference(op: Op) -> Iterator[Sample]:
    """The samples of an element-wise primitive that is no ufunc, with its reference."""
    for case in _from_samples(op):
        yield case.operands, dict(case.params), lambda *operands, **params: op.reference(np, *operands, **params)  # type: ignore[misc]


def _takes(ufunc: str, *dtypes: str) -> bool:
    try:
        ufunc_result(ufunc, *dtypes)
    except DTypeError:
        return False
    return True


def _unary(ufunc: str) -> Iterator[Sample]:
    run = getattr(np, ufunc)
    for dtype in filter(lambda d: _takes(ufunc, d), REAL):
        yield (numbers((2, 4), dtype),), {}, run
        if dtype in FLOATS:
            yield (EXTREMES.astype(NUMPY[dtype]),), {}, run
    for shape in ((), (0, 3)):
        dtype = "float32" if _takes(ufunc, "float32") else "int32"
        yield (numbers(shape, dtype),), {}, run


def _right(ufunc: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A right operand without zero divisors or negative integer powers."""
    if dtype in FLOATS or ufunc not in (*DIVISIONS, *SMALL_POWERS):
        return numbers(shape, dtype)[..., ::-1].copy() if shape else numbers(shape, dtype)
    low = 1 if ufunc in DIVISIONS else 0
    return np.resize(np.arange(low, low + 3), shape).astype(NUMPY[dtype])


def _binary(ufunc: str) -> Iterator[Sample]:
    run = getattr(np, ufunc)
    for dtype in filter(lambda d: _takes(ufunc, d, d), REAL):
        yield (numbers((2, 4), dtype), _right(ufunc, (4,), dtype)), {}, run
        if dtype in FLOATS and ufunc not in DIVISIONS:
            yield (EXTREMES.astype(NUMPY[dtype]), EXTREMES.astype(NUMPY[dtype])[:, None]), {}, run
    for a, b in filter(lambda pair: _takes(ufunc, *pair), MIXED):
        yield (numbers((2, 4), a), _right(ufunc, (4,), b)), {}, run
    dtype = "float32" if _takes(ufunc, "float32", "float32") else "int32"
    for a, b in (((), ()), ((2, 1), (1, 4)), ((), (3,)), ((0, 4), (4,)), ((0, 1), (1, 0))):
        yield (numbers(a, dtype), _right(ufunc, b, dtype)), {}, run
    yield (numbers((4,), dtype), 2), {}, run
    if dtype == "float32":
        yield (numbers((4,), dtype), 0.5), {}, run
        yield (2.0, numbers((4,), dtype)), {}, run


# element-wise primitives that are no ufunc


def _floating(function: Callable[[float], float], values: Sequence[float]) -> Iterator[Sample]:
    """A function of the standard library on floats of all sizes, and on integers."""

    def run(x: np.ndarray, **params: Any) -> np.ndarray:
        wide = np.vectorize(function, otypes=[np.float64])(x.astype(np.float64))
        return wide.astype(NUMPY[float_of(NAME_OF[x.dtype])])

    for dtype in FLOATS:
        yield (np.array(values).astype(NUMPY[dtype]),), {}, run
    yield (np.array([0, 1], np.int32),) if function is not math.lgamma else (np.array([1, 2], np.int32),), {}, run
    yield (np.array(values[0], np.float32),), {}, run
    yield (np.empty((0, 2), np.float32),), {}, run


def erfinv_by_bisection(x: float) -> float:
    """The x in [-6, 6] at which erf has a given value; infinite for -1 and 1, NaN beyond."""
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < x else (low, middle)
    return high


def _polygamma() -> Iterator[Sample]:
    """At 1/2, 1 and 2: the values of NIST's Digital Library of Mathematical Functions, 5.4 and 5.15."""
    euler, zeta3 = 0.5772156649015329, 1.2020569031595942
    known = {
        0: (-euler - 2 * math.log(2), -euler, 1 - euler),
        1: (math.pi**2 / 2, math.pi**2 / 6, math.pi**2 / 6 - 1),
        2: (-14 * zeta3, -2 * zeta3, 2 - 2 * zeta3),
        3: (math.pi**4, math.pi**4 / 15, math.pi**4 / 15 - 6),
    }
    for dtype, order in product(FLOATS, known):
        want = np.array(known[order]).astype(NUMPY[dtype])
        yield (np.array([0.5, 1, 2]).astype(NUMPY[dtype]),), {"order": order}, lambda x, order, want=want: want


def _where() -> Iterator[Sample]:
    def run(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
        return np.where(condition != 0, x, y)

    mask = np.array([True, False, True, False])
    for dtype in REAL:
        yield (mask, numbers((2, 4), dtype), numbers((2, 1), dtype)), {}, run
        yield (numbers((4,), dtype), numbers((4,), "float32"), numbers((), "float32")), {}, run
    yield (mask, numbers((4,), "int32"), numbers((4,), "float32")), {}, run
    yield (np.array(False), numbers((), "float32"), numbers((0, 2), "float32")), {}, run
    yield (mask, numbers((4,), "float32"), 0), {}, run
    yield (mask, numbers((4,), "float32"), 0.5), {}, run


def _clip() -> Iterator[Sample]:
    for dtype in [d for d in REAL[1:] if d != "bfloat16"]:  # of which NumPy's function makes float32
        low, high = np.array(1).astype(NUMPY[dtype]), np.array(2).astype(NUMPY[dtype])
        yield (numbers((2, 4), dtype), low, high), {}, np.clip
    yield (np.array([math.nan, 3, -3], np.float32), np.array([-1, -2, -4], np.float32), np.array(2, np.float32)), {}, np.clip
    yield (numbers((2, 4), "float32"), -1, 1.5), {}, np.clip
    yield (numbers((2, 4), "int32"), 0, 2), {}, np.clip
    yield (numbers((0, 4), "float32"), 0.0, 2.0), {}, np.clip


def _astype() -> Iterator[Sample]:
    def run(x: np.ndarray, dtype: str) -> np.ndarray:
        return x.astype(NUMPY[dtype])

    for source, target in product(REAL, REAL):
        yield (np.array([0, 1, 2.75, 100]).astype(NUMPY[source]),), {"dtype": target}, run
    yield (np.array([math.nan, math.inf, -2.75], np.float32),), {"dtype": "bool"}, run
    yield (np.array([-2.75, 2.75], np.float32),), {"dtype": "int32"}, run
    yield (np.array(2.75, np.float32),), {"dtype": "float64"}, run
    yield (np.empty((0, 2), np.float32),), {"dtype": "int8"}, run


_CASES: dict[str, Callable[[], Iterator[Sample]]] = {
    "erf": lambda: _floating(math.erf, (-3, -0.75, -0.0, 1e-3, 0.5, 2, 7, math.inf, -math.inf, math.nan)),
    "erfinv": lambda: _floating(erfinv_by_bisection, (-1, -0.75, 0.03125, 0.5, 0.9375, 1, 2, math.nan)),
    "gammaln": lambda: _floating(math.lgamma, (-2.5, -0.5, 0.25, 1, 1.5, 2, 4.5, 30, math.inf, math.nan)),
    "polygamma": _polygamma,
    "where": _where,
    "clip": _clip,
    "astype": _astype,
    "stop_gradient": lambda: iter([((numbers((2, 4), d),), {}, np.copy) for d in REAL]),
}
_OTHER = {primitives()[name]: made for name, made in _CASES.items()}
