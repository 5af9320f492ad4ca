"""Primitives that read or write at computed places: take, index, their accumulating transposes, checks; and random bits."""

import math

from ..opdef.declare import primitive
from ..opdef.params import Shape, Static
from ..opdef.shapes import broadcast_shapes


@primitive(moves=True)
def take(xp, data, index, *, axis: int):
    """Elements at integer places along an axis: (…, n, …) by an index of shape s to (…, *s, …). Places must be in [0, n)."""
    return xp.take(data, index, axis=axis)


@take.type
def _(data, index, *, axis):
    at = axis % len(data.shape)
    return (*data.shape[:at], *index.shape, *data.shape[at + 1 :]), data.dtype


@take.grad
def _(xp, dout, data, index, *, axis):
    at = axis % len(data.shape)
    key = (*[None] * at, 0, *[None] * (len(data.shape) - at - 1))
    return xp.index_add(xp.zeros(data.shape, dout.dtype), dout, index, key=key), None


@primitive(moves=True)
def take_along_axis(xp, data, index, *, axis: int):
    """``data[…, index[…, k, …], …]`` along an axis; index and data agree (or broadcast) on the other axes. Places in [0, n)."""
    return xp.take_along_axis(data, index, axis=axis)


@take_along_axis.type
def _(data, index, *, axis):
    at = axis % len(data.shape)
    open_ = [1 if k == at else n for k, n in enumerate(data.shape)]
    shape = list(broadcast_shapes("take_along_axis", [tuple(open_), tuple(1 if k == at else n for k, n in enumerate(index.shape))]))
    shape[at] = index.shape[at]
    return tuple(shape), data.dtype


@take_along_axis.grad
def _(xp, dout, data, index, *, axis):
    at = axis % len(data.shape)
    places = []
    for k, n in enumerate(dout.shape):
        column = tuple(n if j == k else 1 for j in range(len(dout.shape)))
        places.append(index if k == at else xp.reshape(xp.iota(size=n, dtype="int64"), shape=column))
    zeros = xp.zeros(tuple(dout.shape[k] if k != at else n for k, n in enumerate(data.shape)), dout.dtype)
    return xp.index_add(zeros, dout, *places, key=tuple(range(len(places)))), None


def indexed_shape(shape, arrays, key):
    """Shape of ``data[key]`` where ``key[k]`` is the number of the index array for axis k, or None for the whole axis.

    The broadcast index stands where NumPy puts it: at the first indexed axis if they are adjacent, else in front.
    """
    index = broadcast_shapes("index", [a.shape for a in arrays])
    rest = [n for k, n in enumerate(shape) if key[k] is None]
    at = index_axis(key)
    return (*rest[:at], *index, *rest[at:])


def index_axis(key):
    """The axis of ``data[key]`` at which the broadcast index stands (see `indexed_shape`)."""
    used = [k for k, place in enumerate(key) if place is not None]
    return used[0] if used == list(range(used[0], used[0] + len(used))) else 0


@primitive(moves=True)
def index(xp, data, *arrays, key: Static):
    """``data[key]`` with integer index arrays: ``key[k]`` numbers the array for axis k, None takes the whole axis. Places in range."""
    return xp.index(data, *arrays, key=key)


@index.type
def _(data, *arrays, key):
    return indexed_shape(data.shape, arrays, key), data.dtype


@index.grad
def _(xp, dout, data, arrays, *, key):
    return (xp.index_add(xp.zeros(data.shape, dout.dtype), dout, *arrays, key=key), *[None] * len(arrays))


@primitive(packed=True)
def index_add(xp, data, value, *arrays, key: Static):
    """``data`` with ``value`` added at index arrays; places that occur several times add up."""
    return xp.index_add(data, value, *arrays, key=key)


index_add.type(lambda data, value, *arrays, key: (data.shape, data.dtype))


@index_add.grad
def _(xp, dout, value, arrays, *, key):
    return (dout, xp.index(dout, *arrays, key=key), *[None] * len(arrays))


@primitive()
def index_update(xp, data, value, *arrays, key: Static):
    """``data`` with the elements at index arrays replaced by ``value``; of places that occur several times the last wins."""
    return xp.index_update(data, value, *arrays, key=key)


index_update.type(lambda data, value, *arrays, key: (data.shape, data.dtype))


@index_update.grad
def _(xp, dout, value, arrays, *, key):
    through = xp.where(survives(xp, dout.shape, arrays, key), xp.index(dout, *arrays, key=key), 0)
    return (xp.index_update(dout, 0, *arrays, key=key), through, *[None] * len(arrays))


def survives(xp, shape, arrays, key):
    """Which elements of the value of `index_update` are in its result: of those written to one place only the last.

    The same primitive writes the elements' numbers, so this agrees with what the adapter's update did. Whole axes are not
    numbered: the result broadcasts against the value.
    """
    used = [k for k, place in enumerate(key) if place is not None]
    order = tuple(key[k] for k in used)
    extent = broadcast_shapes("index", [a.shape for a in arrays])
    numbers = xp.reshape(xp.iota(size=math.prod(extent), dtype="int64"), shape=extent)
    holders = xp.index_update(xp.zeros(tuple(shape[k] for k in used), "int64"), numbers, *arrays, key=order)
    last = xp.equal(xp.index(holders, *arrays, key=order), numbers)
    return xp.reshape(last, shape=(*extent, *[1] * (len(key) - len(used) - index_axis(key))))


@primitive(differentiable=False)
def checked_index(xp, index, *, size: int, negative: bool):
    """Places of an axis in [0, size), negative ones counted from the end if ``negative``; any other is an error when it is computed."""
    return xp.checked_index(index, size=size, negative=negative)


checked_index.type(lambda index, *, size, negative: (index.shape, index.dtype))


@primitive(differentiable=False)
def random_bits(xp, key, *, shape: Shape):
    """Uniform 64-bit words of Philox4x64-10 (uint64), counter and key given by ``key``: 6 words (counter 4, key 2), uint64.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the words that ``numpy.random.Philox`` draws.
    """
    return xp.random_bits(key, shape=shape)


random_bits.type(lambda key, *, shape: (shape, "uint64"))
