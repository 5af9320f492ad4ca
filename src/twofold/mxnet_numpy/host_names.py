"""Names of ``mx.np`` that MXNet takes from NumPy: constants, dtypes, and functions that run on the host, without a gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import OperatorError
from .array_functions import on_host

CONSTANTS: dict[str, Any] = {
    "NAN": np.nan, "NINF": -np.inf, "NZERO": -0.0, "NaN": np.nan, "PINF": np.inf, "PZERO": 0.0, "bool": bool, "bool_": np.bool_, "e": np.e,
    "finfo": np.finfo, "float16": np.float16, "float32": np.float32, "float64": np.float64, "inf": np.inf, "int32": np.int32,
    "int64": np.int64, "int8": np.int8, "nan": np.nan, "newaxis": None, "pi": np.pi, "uint8": np.uint8,
    "set_printoptions": np.set_printoptions,
}  # fmt: skip
#: Functions that MXNet computes with NumPy.
FALLBACKS = frozenset({
    "allclose", "alltrue", "apply_along_axis", "apply_over_axes", "argpartition", "argwhere", "array_equal", "array_equiv", "choose",
    "compress", "corrcoef", "correlate", "count_nonzero", "cov", "digitize", "divmod", "extract", "flatnonzero", "float_power", "frexp",
    "genfromtxt", "heaviside", "histogram2d", "histogram_bin_edges", "histogramdd", "i0", "in1d", "interp", "intersect1d", "isclose",
    "isin",
    "ix_", "lexsort", "min_scalar_type", "modf", "msort", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmedian",
    "nanmin", "nanpercentile", "nanprod", "nanquantile", "ndim", "packbits", "partition", "piecewise", "poly", "polyadd", "polydiv",
    "polyfit", "polyint", "polymul", "polysub", "positive", "promote_types", "ptp", "real", "result_type", "rollaxis", "roots",
    "searchsorted", "select", "setdiff1d", "setxor1d", "signbit", "size", "spacing", "take_along_axis", "trapz", "tril_indices_from",
    "trim_zeros", "triu_indices_from", "union1d", "unpackbits", "unwrap", "vander",
})  # fmt: skip
#: Functions that NumPy has under another name, or has removed.
_RENAMED: dict[str, Callable[..., Any]] = {
    "alltrue": np.all,
    "count_nonzero": lambda a, axis=None: int(np.count_nonzero(a)) if axis is None else np.count_nonzero(a, axis),
    "in1d": lambda *args, **options: np.isin(np.ravel(args[0]), *args[1:], **options),
    "msort": lambda a: np.sort(a, axis=0),
    "trapz": getattr(np, "trapezoid", None) or getattr(np, "trapz", np.sum),
}


def of_numpy(name: str) -> Any:
    """A function that MXNet computes with NumPy.

    Raises
    ------
    OperatorError
        If MXNet has no such name.
    """
    if name not in FALLBACKS:
        raise OperatorError(f"module 'mxnet.numpy' has no attribute {name!r}", None, "see dir() of it")
    return on_host(_RENAMED.get(name) or getattr(np, name), name)
