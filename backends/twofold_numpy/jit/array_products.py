"""Products of small vectors and matrices for the methods of arrays in machine code: BLAS is called without NumPy."""

import ctypes
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ..blas import blas
from .llvm_text import llvm_text

#: The most elements of operands and results. Beyond, the time that NumPy's own call takes matters less.
SHORT = 512
#: The numbers of ``tp_alloc`` in CPython's limited API, and of ``PyArray_Empty`` in NumPy's C API.
ALLOC, EMPTY = 47, 184
_type_slot = ctypes.pythonapi.PyType_GetSlot
_type_slot.restype, _type_slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, [ctypes.py_object, ctypes.c_char_p]


def called_functions(head: int) -> dict[str, int]:
    """The addresses of functions that the code calls for products, by the words for their places; 0 for one that there is not."""
    library = blas()
    products = {} if library is None else library.products
    named = {f"{what.upper()}_{letter.upper()}": products.get(f"{what} {letter}", 0) for what in ("dot", "gemv", "gemm") for letter in "df"}
    # where NumPy's scalars have their value, and how they are made
    scalars = {ctypes.c_double: np.float64(1.25), ctypes.c_float: np.float32(1.25)}
    are_known = all(kind.from_address(id(scalar) + head).value == 1.25 for kind, scalar in scalars.items())
    new = {_type_slot(type(scalar), ALLOC) or 0 for scalar in scalars.values()}
    return {**named, "NEW_SCALAR": new.pop() if are_known and len(new) == 1 else 0, "NEW_ARRAY": _of_numpy(EMPTY)}


def product_words(called: Mapping[str, int]) -> dict[str, str | int]:
    """What the text of products leaves open."""
    library = blas()
    integer = 64 if library is None else library.integer
    casts = {f"CAST_{n.upper()}": f"add i64 %{n}, 0" if integer == 64 else f"trunc i64 %{n} to i{integer}" for n in "mkn"}
    return {"SHORT": SHORT if all(called.values()) else 0, "INTEGER": integer, **casts}


def products_text(words: Mapping[str, Any]) -> Iterator[str]:
    """The text of products with matrices, for each type of elements."""
    for letter, real, item in (("d", "double", 8), ("f", "float", 4)):
        own = {what: words[f"{what}_{letter.upper()}"] for what in ("GEMV", "GEMM")}
        yield llvm_text("array_multiplied", **{**words, **own, "LETTER_OF": letter, "REAL": real, "ITEM": item})


def _of_numpy(number: int) -> int:
    """The address of a function of NumPy's C API, by its number in NumPy's headers."""
    capsule = getattr(import_module("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if capsule is None:
        return 0
    return ctypes.c_void_p.from_address(_pointer(capsule, None) + number * ctypes.sizeof(ctypes.c_void_p)).value or 0
