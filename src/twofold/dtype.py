"""Data types by name: NumPy's dtypes, MXNet's type codes, bfloat16, and type promotion.

Inside the package a dtype is its name (``"float32"``), which is hashable, printable and the same for all backends. Two more names
exist only in graphs: ``"weakf"`` and ``"weaki"``, the types of Python floats and ints, which never widen an array of their kind.
"""

from collections.abc import Iterable
from functools import cache

import ml_dtypes
import numpy as np

from .errors import DTypeError, UnsupportedDType
from .suggestions import did_you_mean

WEAK = {"weakf": float, "weaki": int}
#: What `dtype_name` accepts: a name, a NumPy dtype or scalar class, or a Python type.
DTypeLike = str | type | np.dtype
FLOATS = ("float16", "bfloat16", "float32", "float64")
#: 16-bit floats: storage types only, as computations run in float32.
HALVES = ("float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: What counts: variables of these dtypes have gradients that are rounded, as in MXNet.
WHOLE = (*INTEGERS, "bool")
COMPLEX = ("complex64", "complex128")
NAMES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
RANGES = {name: range(np.iinfo(name).min, np.iinfo(name).max + 1) for name in INTEGERS}

#: MXNet's type codes, which its files contain; its functions refuse them, as NumPy's refuse integers.
MXNET_CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "int16": 8,
    "uint16": 9,
    "uint32": 10,
    "uint64": 11,
    "bfloat16": 12,
}
FROM_MXNET_CODE = {code: name for name, code in MXNET_CODES.items()}

#: NumPy dtype of each name, and the reverse (a dict, because ``dtype.name`` takes 1.5 µs).
NUMPY = {name: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in NAMES}
#: A kind of records to NumPy, which makes float32 of it beside a Python float; here it stays what it is.
BFLOAT16 = NUMPY["bfloat16"]
NAME_OF = {dtype: name for name, dtype in NUMPY.items()}
ITEMSIZE = {name: dtype.itemsize for name, dtype in NUMPY.items()} | {"weakf": 8, "weaki": 8, "object": 0}


def dtype_name(dtype: object) -> str:
    """The name of a dtype given as a name, a NumPy dtype or scalar class, or a Python type.

    Raises
    ------
    DTypeError
        If the dtype is unknown.
    """
    if isinstance(dtype, str) and dtype in NUMPY:
        return dtype
    found = NAME_OF.get(numpy_dtype(dtype))
    if found is None:
        raise _unknown(UnsupportedDType, dtype)
    return found


def numpy_dtype(dtype: object) -> np.dtype:
    """NumPy's dtype for a name, a scalar class or a Python type; also of text, objects and dates.

    Raises
    ------
    DTypeError
        If NumPy does not know it.
    """
    try:
        return np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        raise _unknown(DTypeError, dtype) from None


def _unknown(kind: type[DTypeError], dtype: object) -> DTypeError:
    code = FROM_MXNET_CODE.get(dtype) if type(dtype) is int else None
    todo = f"write {code!r}, whose code this is" if code else did_you_mean(str(dtype), NAMES, f"use one of {', '.join(NAMES)}")
    return kind("dtype: unknown data type", repr(dtype), todo)


def scalar_dtype(number: bool | int | float) -> str:
    """The dtype of a Python scalar: a weak one, but for bools, which have the dtype of arrays of them."""
    return "bool" if isinstance(number, bool) else "weakf" if isinstance(number, float) else "weaki"


def is_float(name: str) -> bool:
    """Whether a dtype, which may be weak, is a real floating-point type."""
    return name in FLOATS or name == "weakf"


def has_nan(name: str) -> bool:
    """Whether elements of a dtype can be NaN: real and complex floating-point types."""
    return is_float(name) or name in COMPLEX


def holds(dtype: str, value: int) -> bool:
    """Whether a dtype can hold an integer; floating-point dtypes can hold any."""
    return dtype not in RANGES or value in RANGES[dtype]


def keeps(dtype: str, value: int) -> bool:
    """Whether an operation with an array of a dtype takes a Python integer as it is, in the dtype of the result or as an ``int64``."""
    return value in RANGES.get(promote(dtype, "weaki"), RANGES["int64"])


@cache
def promote(*names: str) -> str:
    """The common dtype of operands by NumPy's rules, including weak Python scalars; float64 or int64 if all are weak.

    Raises
    ------
    DTypeError
        If NumPy has no common type (float16 with bfloat16).
    """
    strong = [NUMPY[n] for n in names if n not in WEAK]
    if not strong:
        return "float64" if "weakf" in names else "int64"
    try:
        common = NAME_OF[np.result_type(*strong)]
    except (TypeError, KeyError):
        raise DTypeError("promotion: these dtypes have no common type", ", ".join(names), "cast one of them with astype") from None
    if "weakf" in names and common not in FLOATS and common not in COMPLEX:
        return "float64"
    return "int64" if "weaki" in names and common == "bool" else common


@cache
def in_words(names: Iterable[str]) -> str:
    """Dtypes as errors name them: weak ones by the class of the Python scalar."""
    return ", ".join([WEAK[n].__name__ if n in WEAK else n for n in names])


@cache
def ufunc_result(ufunc: str, *names: str) -> str:
    """The result dtype of a NumPy ufunc for operand dtypes.

    Raises
    ------
    DTypeError
        If the ufunc has no loop for them.
    """
    common = promote(*names) if any(n in WEAK for n in names) else ""
    function = getattr(np, ufunc)
    given = tuple(NUMPY[common if n in WEAK else n] for n in names)
    try:
        return NAME_OF[function.resolve_dtypes((*given, *(None,) * function.nout))[-1]]
    except (TypeError, KeyError):
        raise DTypeError(f"{ufunc}: not defined for these dtypes", in_words(names), "cast the operands with astype") from None


@cache
def float_of(name: str) -> str:
    """The floating-point dtype that functions with real results, such as NumPy's ``exp``, return for a dtype."""
    return ufunc_result("exp", name)
