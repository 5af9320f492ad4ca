"""Eigenvalues and eigenvectors of recorded matrices, real or complex."""

import numpy as np

from ..dtype import COMPLEX
from ..errors import AutogradError
from ..imperative.cell import wrap
from ..imperative.invoke import host_of, invoke
from ..ops import eigenvalues
from ..ops.complex_numbers import WHOLE
from .array import ndarray

#: From NumPy 2.5 on eigenvalues of real matrices are complex numbers even if none has an imaginary part.
ALWAYS_COMPLEX = np.iscomplexobj(np.linalg.eigvals(np.eye(1)))


def eigenpairs(a: ndarray, *, always_complex: bool = ALWAYS_COMPLEX) -> list[ndarray]:
    """The eigenvalues and eigenvectors of matrices, as operations with a gradient.

    Parameters
    ----------
    a
        The matrices.
    always_complex
        Whether those of real matrices are complex numbers even if none has an imaginary part. Without it they are complex if one has, as
        far as values are known.
    """
    x = a.astype(WHOLE[a._dtype]) if a._dtype in WHOLE and (always_complex or _are_complex(a)) else a
    op = eigenvalues.complex_eig if x._dtype in COMPLEX else eigenvalues.real_eig
    return [wrap(ndarray, v) for v in invoke(op.bind(), (x,))]


def _are_complex(a: ndarray) -> bool:
    """Whether real matrices have complex eigenvalues; False where the values are not known."""
    try:
        return bool(np.imag(np.linalg.eigvals(host_of(a))).any())
    except AutogradError:
        return False
