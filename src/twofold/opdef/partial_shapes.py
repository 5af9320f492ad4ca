"""Shapes with unknown sizes (None), for rules that complete shapes from one another."""

import math
from collections.abc import Sequence

from .shapes import normalized_axis

#: A shape that may be unknown as a whole, or in some sizes.
Partial = tuple[int | None, ...] | None


def first_known(*sizes: int | None) -> int | None:
    """The first size that is known."""
    return next((n for n in sizes if n is not None), None)


def agreed(*shapes: Partial) -> Partial:
    """The common shape of all, from the known sizes of each; None if nothing is known or their numbers of axes differ."""
    known = [s for s in shapes if s is not None]
    if len({len(s) for s in known}) != 1:
        return None
    return tuple(first_known(*sizes) for sizes in zip(*known, strict=True))


def with_size(shape: Partial, axis: int, size: int | None) -> Partial:
    """A shape with the size of an axis filled in, if it is unknown."""
    if shape is None:
        return None
    at = normalized_axis(axis, len(shape))
    return (*shape[:at], first_known(shape[at], size), *shape[at + 1 :])


def without_axis(shape: Partial, axis: int) -> Partial:
    """A shape without one of its axes."""
    if shape is None:
        return None
    at = normalized_axis(axis, len(shape))
    return (*shape[:at], *shape[at + 1 :])


def size_at(shape: Partial, axis: int) -> int | None:
    """The size of an axis."""
    return None if shape is None else shape[normalized_axis(axis, len(shape))]


def product_of(sizes: Sequence[int | None]) -> int | None:
    """The number of elements; None unless every size is known."""
    known = [n for n in sizes if n is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def expected_shape(given: Partial, expected: Partial) -> Partial:
    """The expected shape of an input, unless it is given with another number of axes."""
    return given if given is not None and expected is not None and len(given) != len(expected) else expected


def along_axis(shapes: Sequence[Partial], axis: int) -> list[Partial]:
    """Shapes of data and of vectors along one of its axes."""
    data, *vectors = shapes
    size = first_known(size_at(data, axis), *[v[0] for v in vectors if v])
    return [with_size(data, axis, size), *[(size,)] * len(vectors)]


def same_count(shape: Partial, other: Partial) -> tuple[Partial, Partial]:
    """Two shapes of equally many elements, with one unknown size filled in."""
    if shape is None or other is None:
        return shape, other
    for known, open_, swapped in ((shape, other, False), (other, shape, True)):
        total, rest = product_of(known), [n for n in open_ if n is not None]
        # one unknown size is the quotient, unless another size is 0 or the numbers do not divide
        if total is not None and len(rest) == len(open_) - 1 and math.prod(rest) and total % math.prod(rest) == 0:
            filled = tuple(total // math.prod(rest) if n is None else n for n in open_)
            return (filled, known) if swapped else (known, filled)
    return shape, other


def reshaped(shape: Partial, result: Partial, codes: Sequence[int]) -> tuple[Partial, Partial]:
    """Shapes before and after MXNet's Reshape (see `shapes.reshape_codes`), each completed from the other."""
    if shape is None:
        given = None if any(c < -1 or c == 0 for c in codes) else tuple(None if c == -1 else c for c in codes)
        return None, agreed(result, given) or result
    before, after, copies = _applied(list(shape), list(codes))
    if result is not None and len(result) == len(after):
        after = [first_known(m, n) for m, n in zip(after, result, strict=True)]
    for here, there in copies:
        before[here] = after[there] = first_known(before[here], after[there])
    return same_count(tuple(before), tuple(after))


def _applied(before: list[int | None], codes: list[int]) -> tuple[list[int | None], list[int | None], list[tuple[int, int]]]:
    """(sizes before, sizes after, which of them are equal), as far as the codes determine them; the operator rejects invalid codes."""
    after: list[int | None] = []
    copies: list[tuple[int, int]] = []
    at = k = 0
    # the codes of `shapes.reshape_codes`: 0 and -2 copy sizes, -3 merges two axes, -4 splits one, -1 is any size
    while k < len(codes) and (at < len(before) or codes[k] > 0 or codes[k] in (-1, -2)):
        code = codes[k]
        if code in (0, -2):
            count = 1 if code == 0 else len(before) - at
            copies += [(at + j, len(after) + j) for j in range(count)]
            after += before[at : at + count]
            at += count
        elif code == -3:
            after.append(product_of(before[at : at + 2]))
            at += 2
        elif code == -4:
            before[at], split = _split(before[at], codes[k + 1 : k + 3])
            after += split
            at, k = at + 1, k + 2
        else:
            after.append(code if code > 0 else None)
            at += 1
        k += 1
    return before, after, copies


def _split(size: int | None, parts: Sequence[int]) -> tuple[int | None, list[int | None]]:
    """A size, and the two sizes that it is split into; one of the two may be -1."""
    known = [n for n in parts if n > 0]
    if len(known) == 2:
        return first_known(size, math.prod(known)), list(known)
    return size, [n if n > 0 else size // known[0] if size is not None and known else None for n in parts]


def permuted(shape: Partial, result: Partial, axes: Sequence[int]) -> tuple[Partial, Partial]:
    """Shapes before and after a permutation of axes."""
    back = None if result is None else tuple(result[list(axes).index(k)] for k in range(len(axes)))
    whole = agreed(shape, back)
    return whole, None if whole is None else tuple(whole[a] for a in axes)


def joined(shapes: Sequence[Partial], result: Partial, axis: int) -> tuple[list[Partial], Partial]:
    """Shapes of arrays and of their concatenation along an axis."""
    known = [s for s in (*shapes, result) if s is not None]
    if len({len(s) for s in known}) != 1:
        return list(shapes), result
    ndim = len(known[0])
    at = normalized_axis(axis, ndim, "Concat: dim")
    common = [first_known(*[s[k] for s in known]) for k in range(ndim)]
    sizes = [None if s is None else s[at] for s in shapes]
    total = size_at(result, at) if None in sizes else sum(n for n in sizes if n is not None)
    if total is not None and sizes.count(None) == 1:
        sizes[sizes.index(None)] = total - sum(n for n in sizes if n is not None)
    whole = [(*common[:at], n, *common[at + 1 :]) for n in sizes]
    return list(whole), (*common[:at], total, *common[at + 1 :])
