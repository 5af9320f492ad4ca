"""How far results of one expression may differ between ways of running it."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.config import SETTINGS

#: Machine code rounds functions such as exponentials otherwise than NumPy's ufuncs, by so many units in the last place.
ULPS = 2


def assert_rounded_alike(got: Any, want: Any, what: str) -> None:
    """Shapes, dtypes and bits are equal; floats need only be close where kernels are compiled."""
    got, want = np.asarray(got), np.asarray(want)
    if SETTINGS.jit and want.dtype.kind == "f":
        limits = np.finfo(want.dtype)
        assert (got.shape, got.dtype) == (want.shape, want.dtype), what
        np.testing.assert_allclose(got, want, rtol=ULPS * float(limits.eps), atol=float(limits.smallest_normal), err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what, strict=True)
