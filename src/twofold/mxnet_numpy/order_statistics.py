"""Functions along axes that need more than the row of an operator: weighted means, sorting, percentiles, differences."""

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..ndarray.types import Axis
from ..ops import mxnet_numpy_reduction as ops
from ..ops import ordering
from .front import Array, Unsupported
from .row_functions import Functions


class OrderStatistics(Functions[Array]):
    """Weighted means, sorting, percentiles and differences."""

    def average(self, a: object, axis: Axis = None, weights: object = None, returned: bool = False, out: Array | None = None) -> Any:
        """The weighted mean along axes; with ``returned`` also the sums of the weights."""
        arrays = (self.operand(a), None if weights is None else self.operand(weights))
        given = {"axis": axis, "returned": returned, **({"weighted": False} if weights is None else {})}
        return self.apply(ops.npi_average, arrays, given, out)

    def sort(self, a: object, axis: int | None = -1, kind: str | None = None, order: None = None) -> Array:
        """The elements sorted along an axis, flattened if None; the sort is stable, whatever the ``kind``."""
        _no_fields("sort", order)
        return self.apply(ordering.sort_axis, (self.operand(a),), {"axis": axis, "is_ascend": True})

    def argsort(self, a: object, axis: int | None = -1, kind: str | None = None, order: None = None) -> Array:
        """The indices (int64) that sort along an axis, of the flattened array if None; the sort is stable, whatever the ``kind``."""
        _no_fields("argsort", order)
        return self.apply(ordering.argsort_axis, (self.operand(a),), {"axis": axis, "is_ascend": True, "dtype": "int64"})

    def percentile(
        self,
        a: object,
        q: object,
        axis: Axis = None,
        out: Array | None = None,
        overwrite_input: bool | None = None,
        interpolation: str = "linear",
        keepdims: bool = False,
    ) -> Array:
        """The percentiles ``q`` (a number or an array) along axes, of all elements if None. Nothing is written to the input."""
        number = self.number(q)
        arrays = (self.operand(a), self.operand(q) if number is None else None)
        known = np.asarray(number) if number is not None else self.known_elements(arrays[1])
        if known is not None and not ((known >= 0) & (known <= 100)).all():
            raise ParameterError("percentile: percentiles must be from 0 to 100, and quantiles from 0 to 1", repr(q), "correct them")
        params = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims, "q_scalar": number}
        return self.apply(ops.npi_percentile, arrays, params, out)

    def quantile(
        self,
        a: object,
        q: Any,
        axis: Axis = None,
        out: Array | None = None,
        overwrite_input: bool | None = None,
        interpolation: str = "linear",
        keepdims: bool = False,
    ) -> Array:
        """The quantiles ``q`` (a number or an array, from 0 to 1) along axes, of all elements if None."""
        share = self.number(q)
        percents = self.multiply(self.operand(q), 100) if share is None else share * 100
        return self.percentile(a, percents, axis, out, overwrite_input, interpolation, keepdims)

    def diff(self, a: object, n: int = 1, axis: int = -1, prepend: object = None, append: object = None) -> Array:
        """The ``n``-th differences of neighbors along an axis, of the array with values before or after it."""
        x = self.operand(a)
        parts = [p if self.number(p) is None else self._slice_of(x, axis, p) for p in (prepend, x, append) if p is not None]
        joined = self.concatenate(parts, axis=axis) if len(parts) > 1 else x
        return self.apply(ops.npi_diff, (joined,), {"n": n, "axis": axis})

    def _slice_of(self, x: Array, axis: int, number: object) -> Array:
        """A slice of an array along an axis, filled with a number."""
        raise Unsupported("diff: a number before or after a symbol", repr(number), "pass a symbol")

    def ediff1d(self, ary: object, to_end: object = None, to_begin: object = None) -> Array:
        """The differences of neighbors in the flattened array, between numbers or arrays to begin and to end with."""
        begin, end = self.number(to_begin), self.number(to_end)
        arrays = [self.operand(p) for p, number in ((to_begin, begin), (to_end, end)) if p is not None and number is None]
        params = {
            "to_begin_arr_given": to_begin is not None and begin is None,
            "to_end_arr_given": to_end is not None and end is None,
            "to_begin_scalar": begin,
            "to_end_scalar": end,
        }
        return self.apply(ops.npi_ediff1d, (self.operand(ary), *arrays, *[None] * (2 - len(arrays))), params)


def _no_fields(name: str, order: object) -> None:
    if order is not None:
        raise Unsupported(f"{name}: arrays have no fields", f"order={order!r}", "leave order out")
