"""Operands, parameters and NumPy references of the primitives that are not element-wise, for `backend_cases`."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtype import NUMPY

Sample = tuple[tuple[Any, ...], dict[str, Any], Callable[..., Any]]
_FLOATS = (-2.5, 1.0, -0.0, 0.5, 3.0, -1.0, 0.25, 7.0, 2.75, 0.0)
_INTEGERS = (-3, 1, 0, 2, 5, -1, 4, 3)
FULL = (None, None, None)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A few small numbers, repeated over a shape; their absolute values for unsigned integers and bools."""
    kind = NUMPY[dtype]
    values = np.array(_INTEGERS if kind.kind in "biu" else _FLOATS)
    return np.resize(np.abs(values) if kind.kind in "bu" else values, shape).astype(kind)


def distinct(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """0, 1, 2 … in a shape."""
    return np.arange(math.prod(shape)).reshape(shape).astype(NUMPY[dtype])


def _slices(key: Any) -> tuple[slice, ...]:
    return tuple(slice(*k) for k in key)


# shapes


def _views() -> Iterator[tuple[str, Sample]]:
    for shape, target in (((2, 6), (3, -1)), ((), (1, 1)), ((0, 3), (3, 0)), ((4,), (2, 2)), ((1,), ())):
        yield "reshape", ((distinct(shape),), {"shape": target}, lambda x, shape: x.reshape(shape))
    for shape, axes in (((2, 3, 4), (2, 0, 1)), ((2, 3), (-1, 0)), ((), ()), ((0, 2), (1, 0))):
        yield "permute_dims", ((distinct(shape),), {"axes": axes}, lambda x, axes: x.transpose(axes))
    for shape, target in (((3, 1), (2, 3, 4)), ((), (2,)), ((2, 2), (2, 2)), ((1,), (0,))):
        yield "broadcast_to", ((distinct(shape),), {"shape": target}, lambda x, shape: np.broadcast_to(x, shape))
    for key in ((FULL, (1, 5, 2)), ((None, None, -1), (4, 0, -2)), ((-3, None, None), (10, 20, None)), ((2, 2, None), (None, -7, -1))):
        yield "slice", ((distinct((5, 6)),), {"key": key}, lambda x, key: x[_slices(key)])
    yield "slice", ((distinct(()),), {"key": ()}, lambda x, key: x[()])
    for dtype in ("bool", "int8", "float16", "bfloat16"):
        yield "slice", ((numbers((3, 4), dtype),), {"key": ((1, None, None), (None, None, -2))}, lambda x, key: x[_slices(key)])


def _slice_update(x: np.ndarray, value: np.ndarray, key: Any) -> np.ndarray:
    out = x.copy()
    out[_slices(key)] = value
    return out


def _pad(x: np.ndarray, width: Any, value: float = 0.0) -> np.ndarray:
    return np.pad(x, width, constant_values=value) if x.ndim else x


def _joined() -> Iterator[tuple[str, Sample]]:
    key = (FULL, (3, None, -2))
    for value in (distinct((5, 2)) + 100, numbers((), "float32"), distinct((5, 1))):
        yield "slice_update", ((distinct((5, 4)), value), {"key": key}, _slice_update)
    yield "slice_update", ((numbers((3,), "int32"), numbers((), "int32")), {"key": ((5, 9, None),)}, _slice_update)
    for axis, shapes in ((0, [(1, 2), (3, 2)]), (-1, [(2, 1), (2, 0), (2, 2)]), (1, [(2, 3)])):
        yield "concat", (tuple(distinct(s) + k for k, s in enumerate(shapes)), {"axis": axis}, lambda *a, axis: np.concatenate(a, axis))
    mixed = numbers((2,), "int32"), numbers((3,), "float32")
    yield "concat", (mixed, {"axis": 0}, lambda *a, axis: np.concatenate(a, axis))
    yield "pad", ((distinct((2, 3)),), {"width": ((1, 0), (0, 2)), "value": -1.5}, _pad)
    yield "pad", ((distinct((2, 3), "int32"),), {"width": ((0, 0), (2, 1)), "value": 7}, _pad)
    yield "pad", ((distinct((0, 2)),), {"width": ((1, 1), (0, 0)), "value": 0.0}, _pad)
    for dtype in ("float32", "int64", "bool", "float16"):
        yield "full", ((), {"shape": (2, 0, 3), "value": 1, "dtype": dtype}, _full)
        yield "full", ((), {"shape": (2, 2), "value": 1, "dtype": dtype}, _full)
        yield "iota", ((), {"size": 2, "dtype": dtype}, lambda size, dtype: np.arange(size).astype(NUMPY[dtype]))
    yield "full", ((), {"shape": (), "value": math.inf, "dtype": "float64"}, _full)
    yield "iota", ((), {"size": 0, "dtype": "int64"}, lambda size, dtype: np.arange(size).astype(NUMPY[dtype]))
    yield "contiguous", ((distinct((2, 3)),), {}, np.copy)
    yield "contiguous", ((distinct(()),), {}, np.copy)


def _full(shape: tuple[int, ...], value: Any, dtype: str) -> np.ndarray:
    return np.full(shape, value, NUMPY[dtype])


def _unfold(x: np.ndarray, kernel: Any, stride: Any, dilate: Any) -> np.ndarray:
    n = len(kernel)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilate, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(x.ndim - n, x.ndim)))
    steps = (*[slice(None)] * (x.ndim - n), *[slice(None, None, s) for s in stride], *[slice(None, None, d) for d in dilate])
    return windows[steps]


def _fold(x: np.ndarray, size: Any, kernel: Any, stride: Any, dilate: Any) -> np.ndarray:
    n = len(kernel)
    out = np.zeros((*x.shape[: x.ndim - 2 * n], *size), x.dtype)
    for place in np.ndindex(*x.shape[x.ndim - 2 * n :]):
        at = tuple(o * s + k * d for o, k, s, d in zip(place[:n], place[n:], stride, dilate, strict=True))
        out[(..., *at)] += x[(..., *place)]
    return out


def _windows() -> Iterator[tuple[str, Sample]]:
    flat = {"kernel": (3,), "stride": (2,), "dilate": (2,)}
    plane = {"kernel": (2, 3), "stride": (1, 2), "dilate": (2, 1)}
    yield "unfold", ((distinct((2, 9)),), flat, _unfold)
    yield "unfold", ((distinct((1, 2, 5, 6)),), plane, _unfold)
    yield "fold", ((distinct((2, 3, 3)),), {"size": (9,), **flat}, _fold)
    yield "fold", ((distinct((1, 2, 3, 2, 2, 3)),), {"size": (5, 6), **plane}, _fold)
    yield "fold", ((distinct((2, 2, 3), "int32"),), {"size": (8,), **flat}, _fold)


def _convolve(x: np.ndarray, w: np.ndarray, stride: Any, dilate: Any, pad: Any, groups: int) -> np.ndarray:
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
    windows = _unfold(x, w.shape[2:], stride, dilate)
    k, per = len(pad), len(w) // groups
    axes = ([1, *range(2 + k, 2 + 2 * k)], [1, *range(2, 2 + k)])
    parts = zip(np.split(windows, groups, 1), np.split(w, groups, 0) if per else [w] * groups, strict=True)
    return np.concatenate([np.moveaxis(np.tensordot(a, b, axes), -1, 1) for a, b in parts], 1).astype(np.result_type(x, w))


def _transposed(apply: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...], result: np.ndarray, kind: Any) -> np.ndarray:
    """The transpose of a linear function applied to an array, computed from unit arrays by definition."""
    out = np.zeros(shape, kind)
    for at in np.ndindex(*shape):
        unit = np.zeros(shape, result.dtype)
        unit[at] = 1
        out[at] = (apply(unit) * result).sum()
    return out


def _convolve_data(y: np.ndarray, w: np.ndarray, size: Any, groups: int, **params: Any) -> np.ndarray:
    shape = (len(y), w.shape[1] * groups, *size)
    return _transposed(lambda x: _convolve(x, w, groups=groups, **params), shape, y, np.result_type(y, w))


def _convolve_weight(x: np.ndarray, y: np.ndarray, kernel: Any, groups: int, **params: Any) -> np.ndarray:
    shape = (y.shape[1], x.shape[1] // groups, *kernel)
    return _transposed(lambda w: _convolve(x, w, groups=groups, **params), shape, y, np.result_type(x, y))


def _last(x: np.ndarray) -> np.ndarray:
    """A copy of (n, c, d…) as (n, d…, c)."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def _with_channels_last(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A reference of images (n, d…, c)."""

    def run(first: np.ndarray, second: np.ndarray, channels_last: bool, **params: Any) -> np.ndarray:
        first = np.moveaxis(first, -1, 1)
        if reference is _convolve_weight:
            return reference(first, np.moveaxis(second, -1, 1), **params)
        return np.moveaxis(reference(first, second, **params), 1, -1)

    return run


def _convolutions() -> Iterator[tuple[str, Sample]]:
    line: dict[str, Any] = {"stride": (2,), "dilate": (2,), "pad": (1,), "groups": 1}
    plane: dict[str, Any] = {"stride": (1, 2), "dilate": (1, 1), "pad": (1, 0), "groups": 2}
    dense: dict[str, Any] = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    cases: tuple[tuple[Any, Any, dict[str, Any], str], ...] = (
        ((2, 2, 7), (3, 2, 3), line, "float64"),
        ((1, 4, 4, 5), (2, 2, 3, 2), plane, "float32"),
        ((1, 2, 3, 4), (2, 2, 3, 3), dense, "float32"),
        ((1, 2, 3, 4), (2, 2, 1, 1), dense | {"pad": (0, 0)}, "int32"),
        ((0, 2, 3, 4), (2, 2, 3, 3), dense, "float32"),
    )
    for data, weight, params, dtype in cases:
        x, w = numbers(data, dtype), numbers(weight, dtype)
        y = _convolve(x, w, **params)
        result = numbers(y.shape, dtype)
        yield "convolve", ((x, w), params, _convolve)
        yield "convolve_data", ((result, w), params | {"size": data[2:]}, _convolve_data)
        yield "convolve_weight", ((x, result), params | {"kernel": weight[2:]}, _convolve_weight)
        moved = params | {"channels_last": True}
        yield "convolve", ((_last(x), w), moved, _with_channels_last(_convolve))
        yield "convolve_data", ((_last(result), w), moved | {"size": data[2:]}, _with_channels_last(_convolve_data))
        yield "convolve_weight", ((_last(x), _last(result)), moved | {"kernel": weight[2:]}, _with_channels_last(_convolve_weight))


# reductions

_AXES: tuple[tuple[Any, bool], ...] = ((None, False), (None, True), (1, False), (-1, True), ((0, 2), False), ((2, 0), True))


def _reductions() -> Iterator[tuple[str, Sample]]:
    for name in ("sum", "prod", "max", "min", "any", "all"):
        run = getattr(np, name)
        for axis, keepdims in _AXES:
            yield name, ((numbers((2, 3, 2), "float32"),), {"axis": axis, "keepdims": keepdims}, run)
        for dtype in ("bool", "int8", "int32", "uint8", "uint64", "float64"):
            yield name, ((numbers((2, 3), dtype),), {"axis": 0, "keepdims": False}, run)
        yield name, ((numbers((), "float32"),), {"axis": None, "keepdims": False}, run)
        yield name, ((np.empty((0, 2), np.float32),), {"axis": 1, "keepdims": False}, run)
        if name not in ("max", "min"):
            yield name, ((np.empty((0, 2), np.float32),), {"axis": 0, "keepdims": True}, run)
        yield name, ((np.array([1, math.nan, 2], np.float32),), {"axis": 0, "keepdims": False}, run)
    for name in ("argmax", "argmin"):
        run = getattr(np, name)
        for axis, keepdims in ((None, False), (1, False), (-1, True), (None, True)):
            yield name, ((np.array([[1, 3, 3], [2, 0, 0]], np.float32),), {"axis": axis, "keepdims": keepdims}, run)
        for dtype in ("bool", "int32"):
            yield name, ((numbers((5,), dtype),), {"axis": 0, "keepdims": False}, run)
    for name, run in (("cumulative_sum", np.cumsum), ("cumulative_prod", np.cumprod)):
        for dtype in ("bool", "int8", "uint8", "float32"):
            yield name, ((numbers((2, 4), dtype),), {"axis": 1}, run)
        yield name, ((numbers((2, 4), "float32"),), {"axis": -2}, run)


def _argsort(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis, kind="stable")


def _orders() -> Iterator[tuple[str, Sample]]:
    for dtype in ("float32", "int32", "bool", "uint8"):
        x = np.array([[3, 1, 3, 2, 1], [0, 0, 5, 1, 5]]).astype(NUMPY[dtype])
        for axis, descending in ((1, False), (-1, True), (0, True)):
            yield "argsort", ((x,), {"axis": axis, "descending": descending}, _argsort)


def _products() -> Iterator[tuple[str, Sample]]:
    shapes = (((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 2)))
    for a, b in shapes:
        yield "matmul", ((distinct(a), distinct(b) + 1), {}, np.matmul)
    for a, b in (("int32", "int32"), ("float32", "float64"), ("bool", "bool"), ("float16", "float16")):
        yield "matmul", ((numbers((2, 3), a), numbers((3, 2), b)), {}, np.matmul)
    terms: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("ij->ji", ((2, 3),)),
        ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))),
        ("i,j->ij", ((2,), (3,))),
        ("ij->", ((2, 3),)),
        ("ij,ij->i", ((2, 3), (2, 3))),
        ("ijk,kl,l->ij", ((2, 3, 2), (2, 4), (4,))),
    )
    for subscripts, kinds in terms:
        operands = tuple(distinct(s) - 2 for s in kinds)
        yield "einsum", (operands, {"subscripts": subscripts}, lambda *a, subscripts: np.einsum(subscripts, *a))


# gathers


def _index(arrays: Any, key: Any) -> tuple[Any, ...]:
    return tuple(slice(None) if k is None else arrays[k] for k in key)


def _index_add(x: np.ndarray, value: np.ndarray, *arrays: np.ndarray, key: Any) -> np.ndarray:
    out = x.copy()
    np.add.at(out, _index(arrays, key), value)
    return out


def _index_update(x: np.ndarray, value: np.ndarray, *arrays: np.ndarray, key: Any) -> np.ndarray:
    out = x.copy()
    out[_index(arrays, key)] = value
    return out


def _gathers() -> Iterator[tuple[str, Sample]]:
    places = np.array([[1, 0], [2, 1]])
    for index, axis in (
        (places, 0),
        (places, 1),
        (places[0], -1),
        (np.array(1), 1),
        (np.empty((0,), np.int64), 0),
        (places.astype(np.int32), 0),
    ):
        yield "take", ((distinct((3, 4)), index), {"axis": axis}, lambda x, i, axis: np.take(x, i, axis))
    for shape, index, axis in (((2, 3), places, 1), ((3, 2), places, 0), ((1, 3), places, 1), ((2, 3), np.array([[2]]), -1)):
        yield "take_along_axis", ((distinct(shape), index), {"axis": axis}, lambda x, i, axis: np.take_along_axis(x, i, axis))
    row, column = np.array([0, 2, 0]), np.array([[1], [2]])
    keys: tuple[tuple[tuple[np.ndarray, ...], tuple[int | None, ...]], ...] = (
        ((row,), (0, None, None)),
        ((row,), (None, 0, None)),
        ((row, row), (0, 1, None)),
        ((row, row), (0, None, 1)),
        ((row, column), (None, 0, 1)),
        ((row, column, np.array(0)), (1, 2, 0)),
    )
    data = distinct((3, 4, 5))
    for arrays, key in keys:
        part = data[_index(arrays, key)]
        yield "index", ((data, *arrays), {"key": key}, lambda x, *a, key: x[_index(a, key)])
        yield "index_add", ((data, distinct(part.shape), *arrays), {"key": key}, _index_add)
        yield "index_update", ((data, distinct(part.shape) + 100, *arrays), {"key": key}, _index_update)
    yield "index_add", ((distinct((4,)), numbers((), "float32"), np.array([1, 1, 3])), {"key": (0,)}, _index_add)
    yield "index_update", ((distinct((4,)), distinct((3,)) + 10, np.array([1, 3, 1])), {"key": (0,)}, _index_update)


def _checks() -> Iterator[tuple[str, Sample]]:
    for negative, places in ((False, [[0, 3], [2, 0]]), (True, [[-4, 3], [-1, 0]]), (True, [])):
        params = {"size": 4, "negative": negative}
        yield "checked_index", ((np.array(places, np.int64),), params, lambda i, size, negative: np.where(i < 0, i + size, i))


def _random_bits(key: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.Philox(counter=key[:4], key=key[4:]).random_raw(math.prod(shape)).reshape(shape)


def _draws() -> Iterator[tuple[str, Sample]]:
    largest = 2**64 - 1
    for words in ((0,) * 6, (largest,) * 6, (1, 2, 3, 4, 5, 6), (largest, 0, 0, 0, 7, 0)):
        for shape in ((3, 4), (9,), (0,), ()):
            yield "random_bits", ((np.array(words, np.uint64),), {"shape": shape}, _random_bits)


def _listed() -> dict[str, list[Sample]]:
    out: dict[str, list[Sample]] = {}
    for family in (_views, _joined, _windows, _convolutions, _reductions, _orders, _products, _gathers, _checks, _draws):
        for name, sample in family():
            out.setdefault(name, []).append(sample)
    return out


#: Samples of each primitive: operands, parameters, reference.
LISTED = _listed()
