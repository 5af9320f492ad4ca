"""Primitives that read or write at computed indices: take, index, their accumulating transposes, bounds checks; and random bits."""

import math

from ..opdef import Integers, Shape, broadcast_shapes, primitive


@primitive(moves=True, picks=True, reference=lambda np, data, index, *, axis: np.take(data, index, axis))
def take(xp, data, index, *, axis: int):
    """Elements at indices along an axis: (…, n, …) and an index of shape s to (…, *s, …). Indices must be in [0, n)."""


@take.type
def _(data, index, *, axis):
    at = axis % len(data.shape)
    return (*data.shape[:at], *index.shape, *data.shape[at + 1 :]), data.dtype


@take.batched
def _(xp, size, flags, data, index, *, axis):
    if not flags[1]:
        return xp.take(data, index, axis=axis % (len(data.shape) - 1) + 1)
    if not flags[0]:
        return xp.moveaxis(xp.take(data, index, axis=axis), axis % len(data.shape), 0)
    at = axis % (len(data.shape) - 1)
    key = (*[None] * at, 0, *[None] * (len(data.shape) - at - 2))
    return batch_of_index(xp, size, flags, data, index, key=key)


@take.grad
def _(xp, dout, data, index, *, axis):
    at = axis % len(data.shape)
    # the transpose of a gather adds up: an index that occurs twice gets both gradients
    # the index is the array number 0 of `index_add`, used along this axis alone
    key = (*[None] * at, 0, *[None] * (len(data.shape) - at - 1))
    return xp.index_add(xp.zeros(data.shape, dout.dtype), dout, index, key=key), None


@take.cases
def _(make):
    places = make.array([[1, 0], [2, 1]], "int64")
    narrow, none, one = make.array([[1, 0], [2, 1]], "int32"), make.array([], "int64"), make.array(1, "int64")
    for index, axis in ((places, 0), (places, 1), (places[0], -1), (one, 1), (none, 0), (narrow, 0)):
        yield make(make.distinct((3, 4)), index, axis=axis, want=make.np.take)


@primitive(moves=True, picks=True, host_only=True, reference=lambda np, data, index, *, axis: np.take_along_axis(data, index, axis))
def take_along_axis(xp, data, index, *, axis: int):
    """``data[…, index[…, k, …], …]`` along an axis; index and data broadcast on the other axes. Indices must be in [0, n)."""


@take_along_axis.type
def _(data, index, *, axis):
    at = axis % len(data.shape)
    # the indexed axes are excluded from broadcasting: their sizes are unrelated
    open_ = [1 if k == at else n for k, n in enumerate(data.shape)]
    shape = list(broadcast_shapes("take_along_axis", [tuple(open_), tuple(1 if k == at else n for k, n in enumerate(index.shape))]))
    shape[at] = index.shape[at]
    return tuple(shape), data.dtype


@take_along_axis.batched
def _(xp, size, flags, data, index, *, axis):
    ndim = len(index.shape) - flags[1]
    both = [a if f else xp.expand_dims(a, 0) for a, f in zip((data, index), flags, strict=True)]
    return xp.take_along_axis(*both, axis=axis % ndim + 1)


take_along_axis.grad(lambda xp, dout, data, index, *, axis: (put_along_axis(xp, dout, index, axis, data.shape[axis]), None))


def put_along_axis(xp, dout, index, axis, size):
    """The transpose of `take_along_axis`: zeros, of a size along the axis, with ``dout`` added at indices along it."""
    at = axis % len(dout.shape)
    places = []
    for k, n in enumerate(dout.shape):
        column = tuple(n if j == k else 1 for j in range(len(dout.shape)))
        # along the other axes every element keeps its index
        places.append(index if k == at else xp.reshape(xp.iota(size=n, dtype="int64"), shape=column))
    zeros = xp.zeros(tuple(size if k == at else n for k, n in enumerate(dout.shape)), xp.dtype_of(dout))
    return xp.index_add(zeros, dout, *places, key=tuple(range(len(places))))


@take_along_axis.cases
def _(make):
    places = make.array([[1, 0], [2, 1]], "int64")
    for shape, index, axis in (((2, 3), places, 1), ((3, 2), places, 0), ((1, 3), places, 1), ((2, 3), make.array([[2]], "int64"), -1)):
        yield make(make.distinct(shape), index, axis=axis)


def indexed_shape(shape, arrays, key):
    """The shape of ``data[key]``, where ``key[k]`` is the number of the index array for axis k, or None for the whole axis.

    As in NumPy, the axes of the broadcast index are at the first indexed axis if the indexed axes are adjacent, otherwise first.
    """
    index = broadcast_shapes("index", [a.shape for a in arrays])
    rest = [n for k, n in enumerate(shape) if key[k] is None]
    at = index_axis(key)
    return (*rest[:at], *index, *rest[at:])


def index_axis(key):
    """The position of the broadcast index's axes in ``data[key]``, see `indexed_shape`."""
    # NumPy's rule: the axes of index arrays that a slice separates come first
    used = [k for k, place in enumerate(key) if place is not None]
    return used[0] if used == list(range(used[0], used[0] + len(used))) else 0


def _key(arrays, key):
    """The key of NumPy's indexing."""
    return tuple(slice(None) if k is None else arrays[k] for k in key)


@primitive(moves=True, picks=True, host_only=True, reference=lambda np, data, *arrays, key: data[_key(arrays, key)])
def index(xp, data, *arrays, key: Integers):
    """``data[key]`` with integer index arrays: ``key[k]`` is the number of the array for axis k, or None. Indices must be in bounds."""


index.type(lambda data, *arrays, key: (indexed_shape(data.shape, arrays, key), data.dtype))


@index.batched
def batch_of_index(xp, size, flags, data, *arrays, key):
    """The selections of a batch. The batch is indexed as well, so that its axis is the first one of the index."""
    if not flags[0]:
        data = xp.broadcast_to(data, shape=(size, *data.shape))
    places, whole = batch_places(xp, size, flags[1:], arrays, key)
    found = xp.index(data, *places, key=whole)
    # (examples, *index, *rest), where NumPy's order may have axes of the rest before the index
    return xp.permute_dims(found, axes=_moved(len(found.shape), index_axis(key), _extent(arrays, flags[1:])))


def _extent(arrays, flags):
    """Number of axes of the broadcast index of an example."""
    return max(len(a.shape) - f for a, f in zip(arrays, flags, strict=True))


def _moved(ndim, at, extent):
    """The axes of (examples, *index, *rest) in an order in which ``at`` axes of the rest come before the index."""
    rest = range(1 + extent, ndim)
    return (0, *rest[:at], *range(1, 1 + extent), *rest[at:])


def batch_places(xp, size, flags, arrays, key):
    """Index arrays and a key that select from a batch: the examples' numbers, and the arrays of examples with axes that broadcast."""
    extent = _extent(arrays, flags)
    examples = xp.reshape(xp.iota(size=size, dtype="int64"), shape=(size, *[1] * extent))
    places = [
        xp.reshape(a, shape=(size, *[1] * (extent + 1 - len(a.shape)), *a.shape[1:])) if f else a
        for a, f in zip(arrays, flags, strict=True)
    ]
    return (examples, *places), (0, *[None if k is None else k + 1 for k in key])


def batch_of_update(write):
    """The rule of a primitive that writes at index arrays."""

    def rule(xp, size, flags, data, value, *arrays, key):
        data = data if flags[0] else xp.broadcast_to(data, shape=(size, *data.shape))
        places, whole = batch_places(xp, size, flags[2:], arrays, key)
        if value.shape:
            at, extent = index_axis(key), _extent(arrays, flags[2:])
            ndim = len(data.shape) - len([k for k in key if k is not None]) + extent
            lead = (size,) if flags[1] else (1,)
            example = value.shape[flags[1] :]
            value = xp.reshape(value, shape=(*lead, *[1] * (ndim - 1 - len(example)), *example))
            # (examples, *index, *rest): the axes of the rest that an example has before the index come after it
            value = xp.permute_dims(value, axes=(0, *range(1 + at, 1 + at + extent), *range(1, 1 + at), *range(1 + at + extent, ndim)))
        return getattr(xp, write)(data, value, *places, key=whole)

    return rule


@index.grad
def _(xp, dout, data, arrays, *, key):
    return (xp.index_add(xp.zeros(data.shape, dout.dtype), dout, *arrays, key=key), *[None] * len(arrays))


def _keys(make):
    """Index arrays and keys for an array of shape (3, 4, 5)."""
    row, column = make.array([0, 2, 0], "int64"), make.array([[1], [2]], "int64")
    return (
        ((row,), (0, None, None)),
        ((row,), (None, 0, None)),
        ((row, row), (0, 1, None)),
        ((row, row), (0, None, 1)),
        ((row, column), (None, 0, 1)),
        ((row, column, make.array(0, "int64")), (1, 2, 0)),
    )


@index.cases
def _(make):
    for arrays, key in _keys(make):
        yield make(make.distinct((3, 4, 5)), *arrays, key=key)


def _added(np, data, value, *arrays, key):
    out = data.copy()
    np.add.at(out, _key(arrays, key), value)
    return out


@primitive(complex_gradient=True, packed=True, host_only=True, reference=_added, linear="joint")
def index_add(xp, data, value, *arrays, key: Integers):
    """``data`` with ``value`` added at index arrays; duplicate indices accumulate."""


index_add.batched(batch_of_update("index_add"))
index_add.type(lambda data, value, *arrays, key: (data.shape, data.dtype))
index_add.grad(lambda xp, dout, value, arrays, *, key: (dout, xp.index(dout, *arrays, key=key), *[None] * len(arrays)))


@index_add.cases
def _(make):
    data = make.distinct((3, 4, 5))
    for arrays, key in _keys(make):
        yield make(data, make.distinct(data[_key(arrays, key)].shape), *arrays, key=key)
    yield make(make.distinct((4,)), make.numbers((), "float32"), make.array([1, 1, 3], "int64"), key=(0,))


@index_add.rows
def _(xp, row_form, node):
    data, value, *arrays = node.operands
    key = node.bound_op.params["key"]
    others = row_form(data)
    # only additions to whole rows
    if key[0] is None or any(k is not None for k in key[1:]) or others is None:
        return None
    return [*others, ("rows", (value, arrays[0]))] if value.shape == (*arrays[0].shape, *data.shape[1:]) else None


def _updated(np, data, value, *arrays, key):
    out = data.copy()
    out[_key(arrays, key)] = value
    return out


@primitive(complex_gradient=True, host_only=True, reference=_updated, linear="joint")
def index_update(xp, data, value, *arrays, key: Integers):
    """``data`` with the elements at index arrays replaced by ``value``; of duplicate indices the last one wins."""


index_update.batched(batch_of_update("index_update"))
index_update.type(lambda data, value, *arrays, key: (data.shape, data.dtype))


@index_update.grad
def _(xp, dout, value, arrays, *, key):
    # a value that a later one has overwritten has no influence
    through = xp.where(survives(xp, dout.shape, arrays, key), xp.index(dout, *arrays, key=key), 0)
    return (xp.index_update(dout, 0, *arrays, key=key), through, *[None] * len(arrays))


@index_update.cases
def _(make):
    data = make.distinct((3, 4, 5))
    for arrays, key in _keys(make):
        yield make(data, make.distinct(data[_key(arrays, key)].shape) + 100, *arrays, key=key)
    yield make(make.distinct((4,)), make.distinct((3,)) + 10, make.array([1, 3, 1], "int64"), key=(0,))


def survives(xp, shape, arrays, key):
    """A mask of the elements of `index_update`'s value that are in its result: for duplicate indices only the last one is.

    The same primitive writes the elements' numbers, so the mask agrees with the adapter's choice. Axes taken whole are not
    numbered; the mask broadcasts against the value.
    """
    used = [k for k, place in enumerate(key) if place is not None]
    order = tuple(key[k] for k in used)
    extent = broadcast_shapes("index", [a.shape for a in arrays])
    numbers = xp.reshape(xp.iota(size=math.prod(extent), dtype="int64"), shape=extent)
    holders = xp.index_update(xp.zeros(tuple(shape[k] for k in used), "int64"), numbers, *arrays, key=order)
    last = xp.equal(xp.index(holders, *arrays, key=order), numbers)
    return xp.reshape(last, shape=(*extent, *[1] * (len(key) - len(used) - index_axis(key))))


@primitive(differentiable=False, batch="leading")
def checked_index(xp, index, *, size: int, negative: bool):
    """Indices as positions in [0, size); with ``negative``, indices below 0 count from the end. Others raise when the result is read."""


checked_index.type(lambda index, *, size, negative: (index.shape, index.dtype))


@checked_index.cases
def _(make):
    for negative, places in ((False, [[0, 3], [2, 0]]), (True, [[-4, 3], [-1, 0]]), (True, [])):
        places = make.array(places, "int64")
        yield make(places, size=4, negative=negative, want=lambda i, size, negative: make.np.where(i < 0, i + size, i))


def _words(np, key, *, shape):
    return np.random.Philox(counter=key[:4], key=key[4:]).random_raw(math.prod(shape)).reshape(shape)


@primitive(differentiable=False, host_only=True, reference=_words)
def random_bits(xp, key, *, shape: Shape):
    """Uniform 64-bit words (uint64) of Philox4x64-10; ``key`` holds 6 uint64 words, the counter's four and the key's two.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The words are those of ``numpy.random.Philox``.
    """


random_bits.type(lambda key, *, shape: (shape, "uint64"))


@random_bits.cases
def _(make):
    largest = 2**64 - 1
    for words in ((0,) * 6, (largest,) * 6, (1, 2, 3, 4, 5, 6), (largest, 0, 0, 0, 7, 0)):
        for shape in ((3, 4), (9,), (0,), ()):
            yield make(make.np.array(words, make.kind("uint64")), shape=shape)
