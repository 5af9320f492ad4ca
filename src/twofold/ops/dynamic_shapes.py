"""Operators whose result's shape depends on values: selection by a mask, positions of elements, distinct values, counts.

Their rules run on arrays only (see `imperative.dynamic_shapes`); a symbol that contains one is run in stages (see `symbol.segments`).
"""

from functools import partial
from typing import Annotated

from ..dtype import FLOATS
from ..errors import DTypeError, IndexingError, ShapeError
from ..opdef import Index, Input, Operand, normalized_axis, numpy_op, op


def _places(np, index):
    return np.flatnonzero(index)


def _sliced_axis(shape, axis):
    return normalized_axis(axis, len(shape), "boolean_mask: axis")


@op("_contrib_boolean_mask", "_npi_boolean_mask", dynamic_shape=True)
def boolean_mask(xp, data, index: Index, *, axis: int = 0):
    """The slices of an array along an axis where ``index`` (n,), one number for each, is not 0: (…, n, …) to (…, k, …)."""
    at = _sliced_axis(data.shape, axis)
    if index.shape != data.shape[at : at + 1]:
        given = f"index {index.shape} for axis {axis} of {data.shape}"
        raise ShapeError("boolean_mask: index needs one number for each slice", given, "pass a vector of that axis's size")
    return xp.take(data, xp.on_host(_places, index), axis=at)


@boolean_mask.infer
def _(shapes, results, *, axis):
    data, index = shapes
    if data is None:
        return shapes, results
    at = _sliced_axis(data, axis)
    # the index's length and the axis's size are equal: the known one gives the other
    size = index[0] if index else None
    data = (*data[:at], data[at] if size is None else size, *data[at + 1 :])
    return (data, (data[at],)), [(*data[:at], None, *data[at + 1 :])]


boolean_mask.sample(lambda draw: draw(draw.real((3, 2)), draw.integer((3,), 0, 2)))
boolean_mask.sample(lambda draw: draw(draw.real((2, 3)), draw.integer((3,), 0, 2), axis=1))


def _rows(np, x):
    return np.argwhere(np.atleast_1d(x))


@numpy_op("_npx_nonzero", "_npi_nonzero", dynamic_shape=True, differentiable=False)
def nonzero(xp, x):
    """The places of the elements that are not 0: one row (int64) for each, (k, number of axes). A number is an array (1,) here."""
    return xp.on_host(_rows, x)


nonzero.dtypes(lambda dtypes, **_: ["int64"])
nonzero.infer(lambda shapes, results: (shapes, [None if shapes[0] is None else (None, max(len(shapes[0]), 1))]))
nonzero.sample(lambda draw: draw(draw.integer((3, 4), 0, 2)))


def _distinct(np, data, axis, wanted):
    index, inverse, counted = wanted
    # always with counts: without any of the others NumPy finds integers by a table, which takes up to ten times as long as sorting
    *found, counts = np.unique(data, index, inverse, True, axis=axis)
    if inverse:  # NumPy 2 gives it the data's shape; MXNet's is a vector
        found[-1] = found[-1].ravel()
    return (*found, counts) if counted else tuple(found)


@numpy_op(
    "_npi_unique",
    dynamic_shape=True,
    differentiable=False,
    outputs=lambda return_index, return_inverse, return_counts, **_: 1 + return_index + return_inverse + return_counts,
)
def npi_unique(xp, data, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None):
    """The sorted distinct elements (or slices along an axis); on request their first places, places in them, and counts (int64)."""
    at = axis if axis is None else normalized_axis(axis, len(data.shape), "unique: axis")
    return xp.on_host(partial(_distinct, axis=at, wanted=(return_index, return_inverse, return_counts)), data)


@npi_unique.dtypes
def _(dtypes, *, return_index, return_inverse, return_counts, **_):
    return [dtypes[0], *["int64"] * (return_index + return_inverse + return_counts)]


@npi_unique.infer
def _(shapes, results, *, return_index, return_inverse, return_counts, axis):
    data = shapes[0]
    kept = (None,)
    if axis is not None:
        kept = None if data is None else tuple(None if k == axis % len(data) else n for k, n in enumerate(data))
    return shapes, [kept, *[(None,)] * (return_index + return_inverse + return_counts)]


@npi_unique.sample
def _(draw):
    both = draw(draw.integer((3, 2), 0, 3), return_index=True, return_inverse=True, return_counts=True)
    return [draw(draw.integer((3, 4), 0, 4)), both, draw(draw.integer((5, 2), 0, 2), axis=0)]


def _counts(np, data, weights, minlength):
    if data.size and data.min() < 0:
        raise IndexingError("bincount: input should be nonnegative number", f"{data.min()}", "pass integers from 0 on")
    return np.bincount(data.ravel(), None if weights is None else weights.ravel(), minlength).astype(
        data.dtype if weights is None else weights.dtype
    )


@numpy_op("_npi_bincount", dynamic_shape=True, differentiable=False)
def npi_bincount(
    xp,
    data: Index,
    weights: Annotated[Operand | None, Input(own_dtype=True, present=("has_weights", True))] = None,
    *,
    minlength: int = 0,
    has_weights: bool = False,
):
    """How often each integer from 0 on occurs among (n,), in their dtype, or the sums of their weights (n,); ``minlength`` at least."""
    if xp.dtype_of(data) in FLOATS:
        raise DTypeError("bincount: Input data should be int type", xp.dtype_of(data), "cast it to an integer type")
    if weights is not None and weights.shape != data.shape:
        raise ShapeError("bincount: one weight for each number is needed", f"{weights.shape} for {data.shape}", "pass equal shapes")
    return xp.on_host(partial(_counts, minlength=minlength), data, weights)


npi_bincount.dtypes(lambda dtypes, *, has_weights, **_: [dtypes[1] if has_weights else dtypes[0]])
npi_bincount.infer(lambda shapes, results, **_: (shapes, [(None,)]))
npi_bincount.sample(lambda draw: draw(draw.integer((5,), 0, 4, "int32")))
npi_bincount.sample(lambda draw: draw(draw.integer((5,), 0, 4, "int32"), draw.real((5,)), has_weights=True, minlength=6))
