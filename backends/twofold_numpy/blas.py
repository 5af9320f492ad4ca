"""The BLAS that NumPy uses: which it is, its number of threads, and the addresses of its products."""

import ctypes
import importlib
import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

#: Prefixes and suffixes of OpenBLAS' functions, by build: NumPy's wheels, builds with 64-bit integers, distributions.
_BUILDS = tuple(itertools.product(("scipy_", ""), ("64_", "")))
#: BLAS' letters for NumPy's types.
_KINDS = dict(zip("fdFD", "sdcz", strict=True))
#: Other libraries: name, and the functions that set and get the number of threads, both of C integers.
_OTHERS = (
    ("MKL", "MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
    ("BLIS", "bli_thread_set_num_threads", "bli_thread_get_num_threads"),
)


class Blas(NamedTuple):
    """A BLAS library.

    Attributes
    ----------
    name
        The library's name, and for OpenBLAS the name of the kernels that it has chosen for this processor.
    set_threads, get_threads
        Its functions of C integers.
    products
        The addresses of ``cblas_?gemm``, ``cblas_?gemv`` and ``cblas_?dot`` (of complex numbers ``cblas_?dotu_sub``) by their last part and
        NumPy's type character, as in ``"gemm f"``; empty if the width of its integers is unknown.
    integer
        Bits of its integers.
    """

    name: str
    set_threads: Any
    get_threads: Any
    products: dict[str, int]
    integer: int


@cache
def blas() -> Blas | None:
    """The BLAS of NumPy; None if the number of its threads cannot be set, as in Apple's Accelerate."""
    try:
        # symbols are looked up in a library and in those it is linked with: this finds NumPy's BLAS, even if others are loaded
        library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    except OSError:
        return None
    return next(_found(library), None)


def _found(library: ctypes.CDLL) -> Iterator[Blas]:
    for prefix, suffix in _BUILDS:
        setter, getter = (_function(library, f"{prefix}openblas_{verb}_num_threads{suffix}") for verb in ("set", "get"))
        config, core = (_function(library, f"{prefix}openblas_get_{what}{suffix}") for what in ("config", "corename"))
        # a build of another name has none of the four
        if setter is None or getter is None or config is None or core is None:
            continue
        config.restype = core.restype = ctypes.c_char_p
        named = {
            f"{what} {char}": f"{prefix}cblas_{kind}{what}{suffix}" for char, kind in _KINDS.items() for what in ("gemm", "gemv", "dot")
        }
        # C has no portable way to return a complex number, so these write their result to memory
        named |= {f"dot {char}": f"{prefix}cblas_{_KINDS[char]}dotu_sub{suffix}" for char in "FD"}
        known = {what: address for what, name in named.items() if (address := _address(library, name)) is not None}
        yield Blas(f"OpenBLAS ({core().decode()})", setter, getter, known, 64 if b"USE64BITINT" in config() else 32)
    for name, setting, getting in _OTHERS:
        setter, getter = _function(library, setting), _function(library, getting)
        if setter is not None and getter is not None:
            # these libraries come in builds with 32-bit and 64-bit integers, which cannot be told apart: their products are called by NumPy
            # only
            yield Blas(name, setter, getter, {}, 32)


def _function(library: ctypes.CDLL, name: str) -> Any:
    """A function of a library, None if it has none of this name."""
    try:
        function = library[name]
    except AttributeError:
        return None
    if "set_num_threads" in name.lower():
        function.argtypes, function.restype = [ctypes.c_int], None
    return function


def _address(library: ctypes.CDLL, name: str) -> int | None:
    function = _function(library, name)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value
