"""Functions along axes: sums, extrema, means, tests, places, sorting, percentiles, differences."""

from collections.abc import Sequence
from typing import Any

from ..ops import index_conversion, ordering
from ..ops import mxnet_numpy_reduction as ops
from .front import Front, Unsupported, without_none

__all__ = ["Reductions"]

Axis = int | tuple[int, ...] | None


class Reductions(Front):
    """Functions along axes."""

    def sum(
        self, a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: float | None = None, out: Any = None
    ) -> Any:
        """The sum of elements along axes, of all if None; bools are counted in int64, other integers keep their dtype."""
        return self.apply(ops.np_sum, (self.operand(a),), _given(axis, keepdims, dtype=dtype, initial=initial), out)

    def prod(self, a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The product of elements along axes, of all if None."""
        return self.apply(ops.np_prod, (self.operand(a),), _given(axis, keepdims, dtype=dtype), out)

    product = prod

    def max(self, a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        """The largest element along axes, of all if None."""
        return self.apply(ops.np_max, (self.operand(a),), _given(axis, keepdims), out)

    def min(self, a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        """The smallest element along axes, of all if None."""
        return self.apply(ops.np_min, (self.operand(a),), _given(axis, keepdims), out)

    amax, amin = max, min

    def all(self, a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        """Whether all elements along axes are not 0."""
        return self.apply(ops.np_all, (self.operand(a),), _given(axis, keepdims), out)

    def any(self, a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        """Whether any element along axes is not 0."""
        return self.apply(ops.np_any, (self.operand(a),), _given(axis, keepdims), out)

    sometrue = any

    def mean(self, a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The arithmetic mean along axes, of all elements if None; of integers in float32."""
        return self.apply(ops.npi_mean, (self.operand(a),), {"axis": axis, "keepdims": keepdims, **without_none(dtype=dtype)}, out)

    def var(self, a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The variance along axes; of integers in their dtype, unless another is given."""
        params = {"axis": axis, "ddof": ddof, "keepdims": keepdims, **without_none(dtype=dtype)}
        return self.apply(ops.npi_var, (self.operand(a),), params, out)

    def std(self, a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The standard deviation along axes; of integers in their dtype, unless another is given."""
        params = {"axis": axis, "ddof": ddof, "keepdims": keepdims, **without_none(dtype=dtype)}
        return self.apply(ops.npi_std, (self.operand(a),), params, out)

    def average(self, a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, out: Any = None) -> Any:
        """The weighted mean along axes; with ``returned`` also the sums of the weights."""
        arrays = (self.operand(a), None if weights is None else self.operand(weights))
        given = {"axis": axis, "returned": returned, **({"weighted": False} if weights is None else {})}
        return self.apply(ops.npi_average, arrays, given, out)

    def argmax(self, a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False) -> Any:
        """The index (int64) of the first largest element along an axis, in the flattened array if None."""
        return self.apply(ops.npi_argmax, (self.operand(a),), {"axis": axis, "keepdims": keepdims}, out)

    def argmin(self, a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False) -> Any:
        """The index (int64) of the first smallest element along an axis, in the flattened array if None."""
        return self.apply(ops.npi_argmin, (self.operand(a),), {"axis": axis, "keepdims": keepdims}, out)

    def cumsum(self, a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Cumulative sums along an axis, of the flattened array if None."""
        return self.apply(index_conversion.cumsum, (self.operand(a),), without_none(axis=axis, dtype=dtype), out)

    def sort(self, a: Any, axis: int | None = -1, kind: str | None = None, order: None = None) -> Any:
        """The elements sorted along an axis, flattened if None; the sort is stable, whatever the ``kind``."""
        _no_fields("sort", order)
        return self.apply(ordering.sort_axis, (self.operand(a),), {"axis": axis, "is_ascend": True})

    def argsort(self, a: Any, axis: int | None = -1, kind: str | None = None, order: None = None) -> Any:
        """The indices (int64) that sort along an axis, of the flattened array if None; the sort is stable, whatever the ``kind``."""
        _no_fields("argsort", order)
        return self.apply(ordering.argsort_axis, (self.operand(a),), {"axis": axis, "is_ascend": True, "dtype": "int64"})

    def percentile(
        self,
        a: Any,
        q: Any,
        axis: Axis = None,
        out: Any = None,
        overwrite_input: bool | None = None,
        interpolation: str = "linear",
        keepdims: bool = False,
    ) -> Any:
        """The percentiles ``q`` (a number or an array) along axes, of all elements if None. Nothing is written to the input."""
        params = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims, "q_scalar": self.number(q)}
        arrays = (self.operand(a), self.operand(q) if params["q_scalar"] is None else None)
        return self.apply(ops.npi_percentile, arrays, params, out)

    def quantile(
        self,
        a: Any,
        q: Any,
        axis: Axis = None,
        out: Any = None,
        overwrite_input: bool | None = None,
        interpolation: str = "linear",
        keepdims: bool = False,
    ) -> Any:
        """The quantiles ``q`` (a number or an array, from 0 to 1) along axes, of all elements if None."""
        return self.percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)

    def diff(self, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
        """The ``n``-th differences of neighbors along an axis, of the array with values before or after it."""
        parts = [p for p in (prepend, a, append) if p is not None]
        if len(parts) > 1:
            a = self.concatenate(parts, axis=axis)  # type: ignore[attr-defined]  # of another part of the front
        return self.apply(ops.npi_diff, (self.operand(a),), {"n": n, "axis": axis})

    def ediff1d(self, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
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


def _given(axis: Axis, keepdims: bool, **others: Any) -> dict[str, Any]:
    """Parameters of a reduction, with defaults left out, as MXNet writes them."""
    return without_none(axis=axis, **others) | ({"keepdims": True} if keepdims else {})


def _no_fields(name: str, order: Sequence[str] | None) -> None:
    if order is not None:
        raise Unsupported(f"{name}: arrays have no fields", f"order={order!r}", "leave order out")
