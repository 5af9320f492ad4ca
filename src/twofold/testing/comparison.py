"""Comparison of arrays: tolerances by dtype, and assertions whose messages show where the largest errors are."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ..imperative.array import Array

#: A tolerance: one for every dtype, or one for each.
Tolerance = float | Mapping[Any, float] | None
Names = Sequence[str]

_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_DOUBLE = np.dtype("float64")


def _by_dtype(half: float, single: float, double: float) -> dict[np.dtype, float]:
    inexact = {"float16": half, "float32": single, "float64": double}
    return {np.dtype(name): value for name, value in (inexact | dict.fromkeys(_EXACT, 0)).items()}


def default_rtols() -> dict[np.dtype, float]:
    """The relative tolerance of each dtype; whole numbers must be equal."""
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[np.dtype, float]:
    """The absolute tolerance of each dtype; whole numbers must be equal."""
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[np.dtype, float]:
    """The step of finite differences for each dtype: a power of two, so that adding it rounds little."""
    return {np.dtype("float16"): 1 / 2**6, np.dtype("float32"): 1 / 2**9, np.dtype("float64"): 1 / 2**14}


def get_rtol(rtol: Any = None, dtype: np.dtype = _DOUBLE) -> Any:
    """``rtol``, or the default relative tolerance of a dtype if ``rtol`` is None."""
    return default_rtols()[dtype] if rtol is None else rtol


def get_atol(atol: Any = None, dtype: np.dtype = _DOUBLE) -> Any:
    """``atol``, or the default absolute tolerance of a dtype if ``atol`` is None."""
    return default_atols()[dtype] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """``etol``, the share of elements that may differ, or 0 if ``etol`` is None."""
    return 0 if etol is None else etol


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype that decides how precisely an array is compared: its own."""
    return np.dtype(dat.dtype)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """The tolerance for comparing an array.

    Parameters
    ----------
    dat
        The array.
    tol
        One tolerance, or one for each dtype; None for the default.
    default_tol
        Those of dtypes that ``tol`` lacks.
    """
    if isinstance(tol, Number):
        return tol  # type: ignore[return-value]  # numbers.Number says nothing of what a number can do
    dtype = effective_dtype(dat)
    given: Mapping[Any, float] = tol if isinstance(tol, Mapping) else {}
    return given[dtype] if dtype in given else default_tol[dtype]


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """The relative and the absolute tolerance for comparing two arrays or numbers: the larger of the two arrays' tolerances."""
    x, y = _array_of(x), _array_of(y)
    rtols, atols = default_rtols(), default_atols()
    return (
        max(get_tolerance(x, rtol, rtols), get_tolerance(y, rtol, rtols)),
        max(get_tolerance(x, atol, atols), get_tolerance(y, atol, atols)),
    )


def _array_of(x: Any) -> Any:
    return x if hasattr(x, "dtype") else np.array(x)


def _on_host(x: Any) -> Any:
    """An array of any front end as one of NumPy; scalars do not change, because messages show them."""
    if isinstance(x, Array) or hasattr(x, "asnumpy"):
        return x.asnumpy()
    return x if isinstance(x, (np.ndarray, np.generic, Number)) else np.array(x)


def checkShapes(a: Any, b: Any) -> None:
    """Assert that two arrays have the same shape."""
    if a.shape != b.shape:
        text = f"a.shape = {a.shape} and b.shape = {b.shape} are not equal"
        raise AssertionError(np.testing.build_err_msg([a, b], err_msg=text))


def same(a: object, b: object) -> bool:
    """Whether two arrays have the same shape and equal elements; NaN is equal to nothing.

    Parameters
    ----------
    a, b
        Arrays, of any library that NumPy reads.
    """
    return np.array_equal(_on_host(a), _on_host(b))


def almost_equal(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, use_broadcast: bool = True
) -> bool:
    """Whether two arrays are equal up to tolerances, by default those of float64.

    Parameters
    ----------
    a, b
        The arrays.
    rtol, atol
        ``|a - b| <= atol + rtol * |b|`` must hold.
    equal_nan
        Whether NaN is equal to NaN.
    use_broadcast
        Whether arrays of different shapes may be equal; otherwise an AssertionError says that the shapes differ.
    """
    a, b = _on_host(a), _on_host(b)
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def locationError(a: np.ndarray, b: np.ndarray, index: tuple[int, ...], names: Names, maxError: bool = False) -> str:
    """A text with the places where two arrays differ, and their elements there."""
    maximum = " maximum" if maxError else ""
    return f"Location of{maximum} error: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


class _Mismatches:
    """The elements of two arrays that differ by more than the tolerances, largest error first.

    An error is ``|a - b| / (atol + rtol * |b|)``, so an error of 1 is just tolerated. At most ``limit`` + 1 elements are looked for.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool, limit: int) -> None:
        wide_a, wide_b = (x.astype(np.float64) if x.dtype.kind in "biu" else x for x in (a, b))
        with np.errstate(all="ignore"):
            # with tolerance 0 every difference would be infinite; this tiny one keeps the errors' order
            self.errors = np.abs(wide_a - wide_b) / (atol + rtol * np.abs(wide_b) + 1e-20)
        tolerated = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        self.count = int(np.sum(~tolerated))
        # tolerated elements go last; a NaN error, from an infinity or NaN on one side, goes first
        ranked = np.where(tolerated, -1.0, np.where(np.isnan(self.errors), np.inf, self.errors)).ravel()
        # sorting is stable: of equal errors the first place is shown
        order = np.argsort(-ranked, kind="stable")[: min(self.count, limit + 1)]
        self.places = [tuple(map(int, np.unravel_index(at, self.errors.shape))) for at in order]
        self.least = self.count > limit
        self.share = len(self.places) / max(self.errors.size, 1)

    def report(self, a: np.ndarray, b: np.ndarray, names: Names, printed: int, tolerances: tuple[float, float]) -> None:
        print(f"\n*** Maximum errors for vector of size {self.errors.size}:  rtol={tolerances[0]}, atol={tolerances[1]}\n")
        for number, place in enumerate(self.places[:printed], 1):
            print(f"{number:3d}: Error {self.errors[place]:f}  {locationError(a, b, place, names)}")

    def percentage(self) -> str:
        return f" (mismatch {'at least ' if self.least else ''}{100 * self.share:f}%)"


def assert_almost_equal(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Assert that two arrays are equal up to tolerances; otherwise print the largest errors, and say where the largest is.

    Parameters
    ----------
    a, b
        Arrays of this library or of NumPy, lists, or numbers.
    rtol, atol
        ``|a - b| <= atol + rtol * |b|`` must hold. Each is a number or a dictionary by dtype; by default they are those of the arrays'
        dtypes (`default_rtols`, `default_atols`), whichever is larger. Arrays of bools must be equal.
    names
        Names of the arrays in messages.
    equal_nan
        Whether NaN is equal to NaN.
    use_broadcast
        Whether the shapes may differ.
    mismatches
        How many errors are printed, and how many are looked for.

    Examples
    --------
    >>> assert_almost_equal(np.float32([1, 2]), np.float32([1, 2.0001]))
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    _compare(_on_host(a), _on_host(b), (rtol, atol), names, equal_nan, use_broadcast, mismatches)


def _compare(
    a: object,
    b: object,
    tolerances: tuple[float, float],
    names: Names,
    equal_nan: bool,
    use_broadcast: bool,
    mismatches: tuple[int, int],
    share: float | None = None,
) -> None:
    rtol, atol = tolerances
    arrays = [np.asarray(x) for x in (a, b)]
    if not use_broadcast:
        checkShapes(*arrays)
    if np.allclose(*arrays, rtol=rtol, atol=atol, equal_nan=equal_nan):
        return
    # bools cannot be subtracted, and have no error of a size
    if all(x.dtype == bool for x in arrays):
        np.testing.assert_equal(arrays[0], arrays[1])
    # so that a place in the errors is a place in both arrays
    whole, desired = np.broadcast_arrays(*arrays)
    found = _Mismatches(whole, desired, rtol, atol, equal_nan, mismatches[1])
    if share is not None and found.count <= share * found.errors.size:
        return
    where, percentage = "", ""
    if whole.ndim:
        found.report(whole, desired, names, mismatches[0], tolerances)
        where, percentage = locationError(whole, desired, found.places[0], names, maxError=True), found.percentage()
    text = f"Error {found.errors[found.places[0]]:f} exceeds tolerance rtol={rtol:e}, atol={atol:e}{percentage}.\n{where}"
    with np.printoptions(threshold=4, suppress=True):
        raise AssertionError(np.testing.build_err_msg([a, b], err_msg=text))


def assert_allclose(a: object, b: object, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """`assert_almost_equal` with the defaults of NumPy's ``assert_allclose``.

    Parameters
    ----------
    a, b, rtol, atol, equal_nan
        As for `assert_almost_equal`.
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """`assert_almost_equal`, in which a share ``etol`` of the elements may differ by more than the tolerances."""
    tolerances = get_tols(a, b, rtol, atol)
    _compare(_on_host(a), _on_host(b), tolerances, names, equal_nan, True, mismatches, get_etol(etol) or None)


def assert_almost_equal_ignore_nan(a: object, b: object, rtol: Tolerance = None, atol: Tolerance = None, names: Names = ("a", "b")) -> None:
    """`assert_almost_equal` for the elements that are NaN in neither array."""
    a, b = np.array(_on_host(a)), np.array(_on_host(b))
    missing = np.isnan(a) | np.isnan(b)
    a[missing] = b[missing] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f: Callable[..., object], exception_type: type[BaseException], *args: object, **kwargs: object) -> None:
    """Assert that a function of the further arguments raises an exception of a type; others are passed on.

    Parameters
    ----------
    f
        The function to call.
    exception_type
        Class of the exception.
    *args, **kwargs
        What it is called with.
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """Assert that nested tuples of arrays are almost equal; None is equal to everything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for first, second in zip(t1, t2, strict=False):
            compare_ndarray_tuple(first, second, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)
