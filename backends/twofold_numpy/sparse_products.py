"""Products of csr matrices: in machine code, by SciPy, if it is installed, or by the portable references. All add in the same order."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import REFERENCES
from twofold.config import ON_CHANGE

from .scatter import is_worth_machine_code

#: Called with the data, indices and indptr of a csr matrix, a dense one, and memory to which the product is added, all contiguous and
#: indices int64; whether the parts did not fit together: then nothing has been added.
AddProduct = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], bool]
#: Functions from the adapter that return what adds products of a dtype, of the matrix or of its transpose, in machine code; or None if
#: kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[np.dtype[np.generic], bool], AddProduct | None]] = []


@cache
def _csr_array() -> Any:
    """SciPy's class; None without SciPy. Looked up at the first product, since the import takes 0.1 s."""
    with IMPORTING:
        try:
            from scipy.sparse import csr_array
        except ImportError:
            return None
    return csr_array


def csr_matmul(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """A csr matrix times a dense one; see `ops.primitive_sparse`."""
    found = _in_machine_code(data, indices, indptr, dense, indptr.size - 1, False)
    if found is not None:
        return found
    csr = _csr_array()
    if csr is None:
        return REFERENCES["csr_matmul"].function(np, data, indices, indptr, dense)
    return csr((data, indices, indptr), shape=(indptr.size - 1, dense.shape[0])) @ dense


def csr_transposed_matmul(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dense: np.ndarray, columns: int) -> np.ndarray:
    """The transpose of a csr matrix times a dense one."""
    found = _in_machine_code(data, indices, indptr, dense, columns, True)
    if found is not None:
        return found
    csr = _csr_array()
    if csr is None:
        return REFERENCES["csr_transposed_matmul"].function(np, data, indices, indptr, dense, columns=columns)
    return np.ascontiguousarray(csr((data, indices, indptr), shape=(indptr.size - 1, columns)).T @ dense)


def _in_machine_code(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dense: np.ndarray, rows: int, is_transposed: bool
) -> np.ndarray | None:
    """A product with so many rows; None without machine code for it, and if the parts do not fit together, for which SciPy has errors."""
    if data.dtype != dense.dtype or dense.ndim != 2 or not is_worth_machine_code(data.dtype, data.size * dense.shape[1]):
        return None
    add = _code(data.dtype, is_transposed)
    if add is None:
        return None
    out = np.zeros((rows, dense.shape[1]), data.dtype)
    places, pointers = np.ascontiguousarray(indices, np.int64), np.ascontiguousarray(indptr, np.int64)
    return None if add(np.ascontiguousarray(data), places, pointers, np.ascontiguousarray(dense), out) else out


@cache
def _code(dtype: np.dtype[np.generic], is_transposed: bool) -> AddProduct | None:
    return next(filter(None, (make(dtype, is_transposed) for make in IN_MACHINE_CODE)), None)


ON_CHANGE.append(_code.cache_clear)  # the setting ``jit``
