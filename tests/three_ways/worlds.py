"""The ways in which a program runs, each beside NumPy: folding arrays, as `run --numpy` shows them, and `twofold.np`.

A *pair* is an array of NumPy and the array that stands for it in the way under test. NumPy's side of `twofold.np` differs from NumPy in one
documented point: new arrays are in row-major order.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy

import twofold.numpy as tnp
from twofold.dtype import NAME_OF
from twofold.errors import MXNetError
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as face

#: What sums and the functions that a library computes in another order or approximation may differ by, in units of the result's precision.
ULPS = 512


class Pair(NamedTuple):
    """NumPy's array, and the one under test."""

    want: Any
    have: Any


class Folding:
    """NumPy's functions on folding arrays: everything is NumPy's, bit by bit."""

    name, np = "run --numpy", face
    is_everything = True

    def array(self, values: numpy.ndarray) -> Pair:
        """A pair with these values."""
        return Pair(values.copy(order="K"), face.array(values))

    def plain(self, x: Any) -> numpy.ndarray:
        """The content, without handing it out."""
        return x.ready() if type(x) is FoldingArray else numpy.asarray(x)

    def is_waiting(self, x: Any) -> bool:
        """Whether reading it would compute it."""
        return type(x) is FoldingArray and x.array is None

    def normal(self, want: Any, operands: list[Any]) -> Any:
        """NumPy's result as this way gives it."""
        return want

    def check_kind(self, want: Any, have: Any) -> None:
        """Types, layouts and flags agree."""
        assert type(have) is type(want) or (type(have) is FoldingArray and type(want) is numpy.ndarray), (type(want), type(have))
        if isinstance(want, numpy.ndarray):
            assert have.flags.writeable == want.flags.writeable, "writeable"
            if not self.is_waiting(have):
                assert self.plain(have).strides == want.strides or 1 in want.shape or not want.size, (
                    want.strides,
                    self.plain(have).strides,
                )

    def check_error(self, want: Exception, have: Exception) -> None:
        """The same class, and the same text."""
        assert type(have) is type(want), (want, have)
        assert str(have) == str(want), (str(want), str(have))

    def exported(self, pair: Pair) -> Pair:
        """What C code sees of the memory."""
        return Pair(numpy.asarray(pair.want), numpy.asarray(memoryview(pair.have)))

    def address(self, x: Any) -> int:
        """Where the memory begins, for somebody who writes there."""
        return x.ctypes.data


class Twofold:
    """`twofold.np`: arrays with the same values and dtypes."""

    name, np = "twofold.np", tnp
    is_everything = False

    def array(self, values: numpy.ndarray) -> Pair:
        """A pair with these values."""
        return Pair(values.copy(order="C"), tnp.array(values, dtype=values.dtype))

    def plain(self, x: Any) -> numpy.ndarray:
        """The content, as a copy."""
        return x.asnumpy() if isinstance(x, tnp.ndarray) else numpy.asarray(x)

    def is_waiting(self, x: Any) -> bool:
        """Whether reading it would compute it: nobody can tell from outside."""
        return False

    def normal(self, want: Any, operands: list[Any]) -> Any:
        """NumPy's result, in row-major order if it is new."""
        if type(want) is numpy.ndarray and not any(numpy.may_share_memory(want, x) for x in operands):
            return numpy.ascontiguousarray(want).reshape(want.shape)
        return want

    def check_kind(self, want: Any, have: Any) -> None:
        """An array of NumPy's is one of `twofold.np`; so may be what is a scalar in NumPy."""
        assert not isinstance(want, numpy.ndarray) or isinstance(have, tnp.ndarray), (type(want), type(have))

    def check_error(self, want: Exception, have: Exception) -> None:
        """An error of Twofold's that is one of the same built-in class, with a text."""
        builtin = next(c for c in type(want).__mro__ if c.__module__ == "builtins")
        if isinstance(want, numpy.exceptions.AxisError):
            builtin = ValueError
        assert isinstance(have, builtin), (want, have)
        assert str(have), want

    def exported(self, pair: Pair) -> Pair:
        """What C code sees of the memory."""
        return Pair(pair.want.view(), numpy.from_dlpack(pair.have))

    def address(self, x: Any) -> int:
        """Where the memory begins, for somebody who writes there."""
        return numpy.from_dlpack(x).ctypes.data


def has_dtype(way: Folding | Twofold, dtype: numpy.dtype[Any]) -> bool:
    """Whether a way has arrays of a dtype."""
    return way.is_everything or (dtype in NAME_OF and dtype.isnative)


def write_bytes(address: int, content: bytes) -> None:
    """What compiled code does to memory that it was given."""
    ctypes.memmove(address, content, len(content))


def compare(way: Folding | Twofold, want: Any, have: Any, is_exact: bool) -> None:
    """Contents agree bit by bit, or to rounding where a sum or a function of another library is involved."""
    if type(want) is tuple or type(want) is list:
        assert len(want) == len(have)
        for a, b in zip(want, have, strict=True):
            compare(way, a, b, is_exact)
        return
    a, b = numpy.asarray(want), way.plain(have)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    if is_exact or a.dtype.kind not in "fc":
        assert same_bits(a, b), (a, b)
    else:
        tolerance = ULPS * float(numpy.finfo(a.dtype).eps)
        numpy.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance * (1.0 + float(numpy.nanmax(numpy.abs(a), initial=0.0))))


def same_bits(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    """Whether contents agree, also in the signs of zeros; which of all NaN it is does not count."""
    if a.dtype.kind == "O" or a.dtype.hasobject:
        return a.tolist() == b.tolist()
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind == "c":
        return same_bits(a.real.copy(), b.real.copy()) and same_bits(a.imag.copy(), b.imag.copy())
    if a.dtype.kind != "f":
        return False
    if a.dtype.char == "g":  # of which not all bytes are used
        return numpy.array_equal(a, b, equal_nan=True)
    nan = numpy.isnan(a)
    return bool((nan == numpy.isnan(b)).all()) and numpy.where(nan, 0, a).tobytes() == numpy.where(nan, 0, b).tobytes()


def outcome(function: Any, *operands: Any) -> tuple[Any, Exception | None]:
    """What a function gives, or its error."""
    try:
        return function(*operands), None
    except (MXNetError, ValueError, TypeError, IndexError, ArithmeticError, AttributeError, BufferError) as error:
        return None, error
