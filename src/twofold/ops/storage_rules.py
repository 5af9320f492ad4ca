"""The storage rules that several operators share, by the form of a function: f(0) = 0, f(0, 0) = 0, f(0, y) = 0.

The storage types of results are those of MXNet 1.9.1. Values not stored are computed as zeros.
"""

from ..opdef import Sparse, stype_of


def zeros_stay(xp, dense, data, **params):
    """A function with f(0) = 0 is applied to the stored elements."""
    return data.with_values(dense(data.values))


def nothing_stored(xp, dense, data, **params):
    """Zeros in the storage type of the operand."""
    return xp.nothing(data)


def with_scalar(keeps):
    """The rule of a function f of an array and a scalar; ``keeps(scalar)`` says whether f(0, scalar) = 0."""

    def rule(xp, dense, data, *, scalar, **params):
        return data.with_values(dense(data.values)) if keeps(scalar) else None

    return rule


def stored_with_scalar(xp, dense, data, **params):
    """A function of an array and a scalar is applied to the stored elements only, whatever f(0, scalar) is."""
    return data.with_values(dense(data.values))


def of_pair(xp, dense, lhs, rhs):
    """The rule of a function of two arrays of one shape with f(0, 0) = 0: if both have one storage type, at the union of their places."""
    if stype_of(lhs) != stype_of(rhs):
        return _dense(xp, dense, lhs, rhs)
    return of_union(xp, dense, lhs, rhs) if lhs.shape == rhs.shape else None


def of_union(xp, dense, *arrays):
    """A function with f(0, …) = 0 of sparse arrays of one type and shape, at the places that any of them stores."""
    first = arrays[0]
    if all(a.indices is first.indices and a.indptr is first.indptr for a in arrays):  # computed from one another
        return first.with_values(dense(*[a.values for a in arrays]))
    indices, *rest = xp.union(*arrays)
    places, indptr = (rest, None) if first.indptr is None else (rest[1:], rest[0])
    count = indices.shape[0]
    key = (0, *[None] * (len(first.values.shape) - 1))
    # each array's values at the places of the union, with zeros at those that it does not store
    aligned = [
        xp.index_update(xp.filled_like(a.values, 0, (count, *a.values.shape[1:])), a.values, at, key=key)
        for a, at in zip(arrays, places, strict=True)
    ]
    found = Sparse(first.stype, first.shape, dense(*aligned), indices, indptr)
    # a csr result stores no elements that have cancelled out
    return xp.without_zeros(found) if first.stype == "csr" else found


def of_sum(xp, dense, *args):
    """The rule of a sum: row-sparse arrays give a row-sparse array, any others a dense one."""
    if all(stype_of(a) == "row_sparse" for a in args):
        return args[0].with_values(dense(args[0].values)) if len(args) == 1 else of_union(xp, dense, *args)
    return _dense(xp, dense, *args) if any(stype_of(a) == "default" for a in args) else None


def of_stored_rows(xp, dense, lhs, rhs):
    """A function of two arrays of one shape, computed in the rows that the row-sparse first operand stores."""
    if stype_of(lhs) != "row_sparse" or lhs.shape != rhs.shape:
        return _dense(xp, dense, lhs, rhs)
    return lhs.with_values(dense(lhs.values, stored_of(xp, xp.convert(rhs, "default") if isinstance(rhs, Sparse) else rhs, lhs)))


def _dense(xp, dense, *arrays):
    """The operator on its operands made dense. Where one of them is dense anyway, this is its form, without a warning."""
    return dense(*[xp.convert(a, "default") if isinstance(a, Sparse) else a for a in arrays])


def of_product(xp, dense, lhs, rhs, *, either=True):
    """The rule of a function with f(0, y) = 0 and, with ``either``, f(x, 0) = 0: one sparse operand suffices."""
    if stype_of(lhs) == stype_of(rhs):
        return of_pair(xp, dense, lhs, rhs)
    if stype_of(lhs) == "default":
        return rhs.with_values(dense(stored_of(xp, lhs, rhs), rhs.values)) if either and lhs.shape == rhs.shape else None
    if stype_of(rhs) == "default" and rhs.shape == lhs.shape:
        return lhs.with_values(dense(lhs.values, stored_of(xp, rhs, lhs)))
    return None


def of_quotient(xp, dense, lhs, rhs):
    """The rule of a broadcast product or quotient: a csr matrix stays one, whatever is broadcast to its shape."""
    if stype_of(lhs) != "csr" or stype_of(rhs) != "default" or len(rhs.shape) > 2:
        return None
    return lhs.with_values(dense(lhs.values, stored_of(xp, xp.broadcast_to(rhs, shape=lhs.shape), lhs)))


def stored_of(xp, x, like):
    """The elements of a dense array at the places that a sparse array stores."""
    if like.stype == "csr":
        return xp.index(x, xp.rows_of(like), like.indices, key=(0, 1))
    return xp.take(x, like.indices, axis=0)


def of_operator(keeps, pair, left=None):
    """The rule of a Python operator: for a number on the right (with ``left``, on the left) `with_scalar`; for two arrays ``pair``."""

    def rule(xp, dense, lhs, rhs):
        if isinstance(rhs, (bool, int, float)):
            return lhs.with_values(dense(lhs.values, rhs)) if keeps(rhs) else None
        if isinstance(lhs, (bool, int, float)):
            return rhs.with_values(dense(lhs, rhs.values)) if left is not None and left(lhs) else None
        return None if pair is None else pair(xp, dense, lhs, rhs)

    return rule


def times(xp, dense, lhs, rhs):
    """The rule of the Python product: MXNet's rule, except that a dense array on the left makes it dense."""
    if stype_of(lhs) == "csr" and stype_of(rhs) == "default" and lhs.shape != rhs.shape:
        return of_quotient(xp, dense, lhs, rhs)
    return of_product(xp, dense, lhs, rhs, either=False)


def _always(scalar):
    return True


def _zero(scalar):
    return scalar == 0


#: Formulas of an array and a scalar: for which scalars f(0, scalar) = 0.
KEEPS = {
    "add": _zero,
    "sub": _zero,
    # an infinite factor or a divisor 0 would make NaN of a zero; like MXNet, these rules keep elements that are not stored at 0
    "mul": _always,
    "div": _always,
    # of a comparison that is false for a 0 on the left
    "equal": lambda scalar: scalar != 0,
    "not_equal": _zero,
    "greater": lambda scalar: scalar >= 0,
    "lesser": lambda scalar: scalar <= 0,
    "greater_equal": lambda scalar: scalar > 0,
    "lesser_equal": lambda scalar: scalar < 0,
}
#: Rules of formulas of two arrays, of one shape and broadcast.
PAIRS = {"add": of_pair, "sub": of_pair, "mul": of_product, "hypot": of_pair, "maximum": of_pair}
BROADCAST = {"mul": of_quotient, "div": of_quotient}
#: Rules of Python's operators.
OPERATORS = {
    "add": of_operator(_zero, of_pair, _zero),
    "sub": of_operator(_zero, of_pair),
    "mul": of_operator(_always, times, _always),
    "div": of_operator(_always, of_quotient),
    **{name: of_operator(KEEPS[name], None) for name in ("equal", "not_equal", "greater", "lesser", "greater_equal", "lesser_equal")},
}


def rule_of(name, variant):
    """The storage rule of one of MXNet's operators of a formula; None if it has none."""
    if variant == "scalar" and name in KEEPS:
        return with_scalar(KEEPS[name])
    return {"pair": PAIRS, "broadcast": BROADCAST}.get(variant, {}).get(name)
