"""Eigenvalues and eigenvectors of recorded matrices, real or complex."""

import numpy as np

from ..dtype import COMPLEX
from ..errors import AutogradError
from ..imperative.cell import wrap
from ..imperative.invoke import host_of, invoke
from ..ops import eigenvalues
from ..ops.complex_numbers import WHOLE
from .array import ndarray


def eigenpairs(a: ndarray) -> list[ndarray]:
    """The eigenvalues and eigenvectors of matrices, as operations with a gradient; complex if NumPy's are, as far as values are known."""
    x = a.astype(WHOLE[a._dtype]) if a._dtype in WHOLE and _are_complex(a) else a
    op = eigenvalues.complex_eig if x._dtype in COMPLEX else eigenvalues.real_eig
    return [wrap(ndarray, v) for v in invoke(op.bind(), (x,))]


def _are_complex(a: ndarray) -> bool:
    """Whether NumPy's eigenvalues of real matrices are complex; False where the values are not known."""
    try:
        return np.iscomplexobj(np.linalg.eigvals(host_of(a)))
    except AutogradError:
        return False
