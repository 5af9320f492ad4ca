"""Convolution, Deconvolution and Pooling match their definitions for any geometry."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd


def convolved(x, w, stride, pad, dilate, groups=1):
    """Cross-correlation by its definition."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
    kernel = w.shape[2:]
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilate, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    per, depth = w.shape[0] // groups, w.shape[1]
    for f, at in product(range(w.shape[0]), np.ndindex(*out)):
        for k in np.ndindex(*kernel):
            place = tuple(a * s + b * d for a, s, b, d in zip(at, stride, k, dilate, strict=True))
            channels = slice(f // per * depth, f // per * depth + depth)
            y[(slice(None), f, *at)] += (x[(slice(None), channels, *place)] * w[(f, slice(None), *k)]).sum(1)
    return y


GEOMETRIES = [
    ((7,), (3,), (2,), (1,), (2,), 1),
    ((5, 6), (3, 2), (1, 2), (1, 0), (1, 1), 1),
    ((6, 5), (2, 2), (3, 1), (0, 2), (2, 3), 2),
    ((3, 4, 3), (2, 1, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 2),
    ((4, 4), (1, 1), (1, 1), (0, 0), (1, 1), 4),
]


def settings(geometry):
    size, kernel, stride, pad, dilate, groups = geometry
    draw = np.random.default_rng(0)
    x, w = draw.standard_normal((2, 4, *size)), draw.standard_normal((4, 4 // groups, *kernel))
    return x, w, {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate, "num_filter": 4, "num_group": groups}


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_convolution_is_the_sum_over_the_window(geometry):
    x, w, params = settings(geometry)
    got = nd.Convolution(nd.array(x, dtype="float64"), nd.array(w, dtype="float64"), no_bias=True, **params).asnumpy()
    _, _, stride, pad, dilate, groups = geometry
    np.testing.assert_allclose(got, convolved(x, w, stride, pad, dilate, groups), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_deconvolution_is_the_transpose_of_convolution(geometry):
    x, w, params = settings(geometry)
    weight, data = nd.array(w, dtype="float64"), nd.array(x, dtype="float64")
    y = nd.Convolution(data, weight, no_bias=True, **params)
    head = nd.array(np.random.default_rng(1).standard_normal(y.shape), dtype="float64")
    back = nd.Deconvolution(head, weight, target_shape=x.shape[2:] if not any(geometry[3]) else (), **params).asnumpy()
    cut = tuple(slice(0, n) for n in back.shape[2:])
    small = x[(slice(None), slice(None), *cut)]
    # <conv(x), head> = <x, deconv(head)>, where conv does not reach the last elements of x
    assert (y.asnumpy() * head.asnumpy()).sum() == pytest.approx((small * back[tuple(map(slice, small.shape))]).sum(), rel=1e-10)


@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
def test_channels_last_gives_the_same_results(name):
    x, w, params = settings(GEOMETRIES[1])
    first = getattr(nd, name)(nd.array(x), nd.array(w), no_bias=True, **params).asnumpy()
    last = getattr(nd, name)(nd.array(np.moveaxis(x, 1, -1)), nd.array(np.moveaxis(w, 1, -1)), no_bias=True, layout="NHWC", **params)
    np.testing.assert_allclose(np.moveaxis(last.asnumpy(), -1, 1), first, rtol=1e-5, atol=1e-5)


def pooled(x, kernel, stride, pad, reduce):
    """Windows of padded data by their definition, padding as NaN."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]], constant_values=np.nan)
    out = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], kernel, stride, strict=True)]
    y = np.zeros((*x.shape[:2], *out))
    for at in np.ndindex(*out):
        window = x[(slice(None), slice(None), *[slice(a * s, a * s + k) for a, s, k in zip(at, stride, kernel, strict=True)])]
        y[(slice(None), slice(None), *at)] = reduce(window.reshape(*x.shape[:2], -1), 2)
    return y


WINDOWS = [
    ((5,), (3,), (1,), (1,)),
    ((7, 6), (3, 2), (2, 3), (1, 1)),
    ((4, 5), (4, 5), (1, 1), (0, 0)),
    ((3, 4, 5), (2, 2, 3), (1, 2, 4), (1, 0, 1)),
]


@pytest.mark.parametrize(("kind", "reduce"), [("max", np.nanmax), ("avg", np.nanmean), ("sum", np.nansum)])
@pytest.mark.parametrize(("size", "kernel", "stride", "pad"), WINDOWS)
def test_pooling_reduces_windows(size, kernel, stride, pad, kind, reduce):
    x = np.random.default_rng(0).standard_normal((2, 3, *size))
    got = nd.Pooling(nd.array(x, dtype="float64"), kernel=kernel, stride=stride, pad=pad, pool_type=kind, count_include_pad=False)
    np.testing.assert_allclose(got.asnumpy(), pooled(x, kernel, stride, pad, reduce), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("params", [{"kernel": (2, 2)}, {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}, {"global_pool": True}])
def test_the_max_pooling_gradient_goes_to_the_first_maximum_in_row_major_order(params):
    x = nd.zeros((1, 1, 3, 3))
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, **params)
    y.backward()
    want = {
        "kernel": [[1, 1, 0], [1, 1, 0], [0, 0, 0]],
        "stride": [[1, 1, 0], [1, 1, 0], [0, 0, 0]],
        "global_pool": [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
    }
    np.testing.assert_array_equal(x.grad.asnumpy()[0, 0], want["stride" if "stride" in params else next(iter(params))])


def test_a_kernel_of_the_wrong_rank_is_rejected_by_name():
    with pytest.raises(mx.MXNetError, match="Pooling"):
        nd.Pooling(nd.zeros((1, 1, 3, 3)), kernel=2)
    with pytest.raises(mx.MXNetError, match="Convolution"):
        nd.Convolution(nd.zeros((1, 1, 3, 3)), nd.zeros((1, 1, 2, 2)), kernel=2, num_filter=1, no_bias=True)


def test_padding_is_never_the_maximum():
    y = nd.Pooling(nd.array([[[-3.0, -2.0]]]), kernel=(2,), pad=(1,)).asnumpy()
    np.testing.assert_array_equal(y, [[[-3, -2, -2]]])


@pytest.mark.parametrize("tile", [(2, 3), (1, 1), (16, 12)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_not_finite_changes_the_mean_of_its_own_tile_only(tile, bad):
    (rows, columns), (down, across) = tile, (3, 2)
    image = np.arange(2 * down * rows * across * columns, dtype="float32").reshape(1, 2, down * rows, across * columns)
    image[0, 1, rows, columns] = bad
    expected = image.reshape(1, 2, down, rows, across, columns).mean(axis=(3, 5), dtype="float64")
    assert np.isfinite(expected).sum() == 2 * down * across - 1
    x = nd.array(image)
    x.attach_grad()
    with autograd.record():
        found = nd.contrib.AdaptiveAvgPooling2D(x, output_size=(down, across))
    found.backward()
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), np.full(image.shape, 1 / (rows * columns)), rtol=1e-6)
