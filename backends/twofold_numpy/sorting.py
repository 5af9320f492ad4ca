"""Stable orders by NumPy's unstable sorts, which are vectorized: several times as fast as its stable ones on large arrays."""

import numpy as np

#: Elements of a row and of an array from which it pays, and the bytes of the smallest that NumPy does not sort stably by their digits.
LONG, MANY, WIDE = 64, 2048, 4
#: Places and ranks share the 64 bits of a signed integer.
PLACES = (1 << 32) - 1
MOST = 1 << 31


def comparable(x: np.ndarray) -> np.ndarray:
    """The elements with an order that puts NaN last: bfloat16, whose own comparison leaves NaN anywhere, as float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def stable_order(x: np.ndarray, axis: int) -> np.ndarray:
    """The indices that sort along an axis; equal elements, NaNs among them, keep their order.

    Parameters
    ----------
    x, axis
        An array of at least one axis, and one of these.
    """
    x, n = comparable(x), x.shape[axis]
    if n < LONG or x.size < MANY or n > MOST or x.itemsize < WIDE or x.dtype.kind not in "iuf":
        return np.argsort(x, axis, kind="stable")
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    order = _with_places(_ranks_of_bits(rows)) if x.itemsize == WIDE else _order_of_wide(rows)
    return np.ascontiguousarray(np.moveaxis(order, -1, axis))


def _order_of_wide(rows: np.ndarray) -> np.ndarray:
    """The order of rows of 64-bit elements: NumPy's, unless some are equal."""
    # a 64-bit element leaves no bits for its place: its rank among the sorted elements does
    order = np.argsort(rows, -1)
    ordered = rows[order] if rows.ndim == 1 else np.take_along_axis(rows, order, -1)
    differs = ordered[..., 1:] != ordered[..., :-1]
    if rows.dtype.kind == "f":
        differs &= ordered[..., :-1] == ordered[..., :-1]  # after a NaN there are only NaNs
    if differs.all():
        return order
    ranks = np.zeros(rows.shape, np.int64)
    np.cumsum(differs, -1, out=ranks[..., 1:])
    return _with_places(ranks, order)


def _ranks_of_bits(rows: np.ndarray) -> np.ndarray:
    """Signed integers of 32 bits in the order of 32-bit elements, equal for equal ones."""
    if rows.dtype.kind != "f":
        # unsigned integers are shifted to the range of signed ones
        return rows.astype(np.int64) - (MOST if rows.dtype.kind == "u" else 0)
    bits = (rows + np.float32(0)).view(np.int32)  # the sum has no negative zeros
    np.bitwise_xor(bits, (bits >> 31) & np.int32(0x7FFFFFFF), out=bits)  # negative numbers descend with their bits
    # all NaNs are equal and come last, as in NumPy, whatever their bits
    bits[rows != rows] = np.iinfo(np.int32).max
    return bits.astype(np.int64)


def _with_places(ranks: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """The places of elements sorted by rank, a signed integer of 32 bits, then by place: both are sorted as one integer."""
    # the place in the lower half makes all elements different, so that an unstable sort cannot reorder equal ones
    ranks <<= 32
    ranks |= np.arange(ranks.shape[-1]) if places is None else places
    ranks.sort(-1)
    ranks &= PLACES
    return ranks
