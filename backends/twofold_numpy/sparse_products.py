"""Products of csr matrices by SciPy, if it is installed; else by the portable references."""

from functools import cache
from typing import Any

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import REFERENCES


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
    csr = _csr_array()
    if csr is None:
        return REFERENCES["csr_matmul"].function(np, data, indices, indptr, dense)
    return csr((data, indices, indptr), shape=(indptr.size - 1, dense.shape[0])) @ dense


def csr_transposed_matmul(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dense: np.ndarray, columns: int) -> np.ndarray:
    """The transpose of a csr matrix times a dense one."""
    csr = _csr_array()
    if csr is None:
        return REFERENCES["csr_transposed_matmul"].function(np, data, indices, indptr, dense, columns=columns)
    return np.ascontiguousarray(csr((data, indices, indptr), shape=(indptr.size - 1, columns)).T @ dense)
