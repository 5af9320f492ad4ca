"""Stable orders by NumPy's unstable sorts, which are vectorized: several times as fast as its stable ones on large arrays."""

import numpy as np

#: Elements of a row and of an array from which it pays, and the bytes of the smallest that NumPy does not sort stably by their digits.
LONG, MANY, WIDE = 64, 2048, 4
#: How many times as long a row has to be as what is asked of its order, so that it is not sorted whole.
FEW = 16
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


def first_places(x: np.ndarray, axis: int, count: int, descending: bool) -> np.ndarray | None:
    """The first of the indices that sort along an axis, in the order of `stable_order`, also of descending elements.

    Parameters
    ----------
    x, axis
        An array of at least one axis, and one of these.
    count, descending
        How many, and whether the largest elements come first.

    Returns
    -------
    ndarray or None
        None where it takes less time to sort everything: if there are few elements, or many among the first or equal to the last of these;
        and where some are NaN.
    """
    x, n = comparable(x), x.shape[axis]
    if x.size < MANY or count * FEW > n or count < 1 or x.dtype.kind not in "iuf":
        return None
    moved = np.moveaxis(x, axis, -1)
    rows = np.ascontiguousarray(moved).reshape(-1, n)
    if rows.dtype.kind == "f" and np.isnan(rows.max()):
        return None
    place = n - count if descending else count - 1
    last = np.partition(rows, place, -1)[:, place, None]
    found = np.flatnonzero(rows >= last if descending else rows <= last)
    if found.size * FEW > 2 * x.size:
        return None
    row, values = found // n, rows.reshape(-1)[found]
    # by rows, then by values; equal ones keep their order, for which descending ones are sorted from the end
    order = found.size - 1 - np.lexsort((values[::-1], -row[::-1]))[::-1] if descending else np.lexsort((values, row))
    begins = np.searchsorted(row, np.arange(len(rows)))
    places = found[order[begins[:, None] + np.arange(count)]] % n
    return np.ascontiguousarray(np.moveaxis(places.reshape(*moved.shape[:-1], count), -1, axis))


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
