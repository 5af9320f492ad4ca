"""Regions and deformable convolutions: what they are by definition, and what cannot be computed."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.ops.primitive_regions import _pooled, _spread
from twofold.ops.regions import _with_places

rng = np.random.default_rng(0)


def test_a_deformable_convolution_without_offsets_is_a_convolution():
    x, w, b = (nd.array(rng.standard_normal(s)) for s in ((2, 4, 6, 7), (6, 2, 3, 3), (6,)))
    params = {"kernel": (3, 3), "num_filter": 6, "num_group": 2, "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}
    want = nd.Convolution(x, w, b, **params)
    offset, mask = nd.zeros((2, 18, *want.shape[2:])), nd.ones((2, 9, *want.shape[2:]))
    for found in (
        nd.contrib.DeformableConvolution(x, offset, w, b, **params),
        nd.contrib.ModulatedDeformableConvolution(x, offset, mask, w, b, **params),
    ):
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_maxima_of_regions(size):
    x = rng.permutation(2 * 3 * 20 * 30).reshape(2, 3, 20, 30).astype("float32")
    rois = np.array([[0, 3, 2, 28, 17], [1, 0, 0, 29, 19], [1, 7, 5, 8, 6], [0, 20, 10, 60, 50]], "float32")
    data = nd.array(x)
    data.attach_grad()
    with autograd.record():
        found = nd.ROIPooling(data, nd.array(rois), pooled_size=(size, size), spatial_scale=1.0)
    found.backward()
    want, grad = np.zeros(found.shape, "float32"), np.zeros_like(x)
    for r, (k, left, top, right, bottom) in enumerate(rois.astype(int)):
        high, wide = (bottom - top + 1) / size, (right - left + 1) / size
        for i in range(size):
            for j in range(size):
                rows = slice(min(top + int(np.floor(i * high)), 20), min(top + int(np.ceil((i + 1) * high)), 20))
                columns = slice(min(left + int(np.floor(j * wide)), 30), min(left + int(np.ceil((j + 1) * wide)), 30))
                part = x[k, :, rows, columns].reshape(3, -1)
                if part.size:
                    want[r, :, i, j] = part.max(1)
                    grad[k] += x[k] == part.max(1)[:, None, None]
    np.testing.assert_array_equal(found.asnumpy(), want)
    np.testing.assert_array_equal(data.grad.asnumpy(), grad)


def test_regions_of_no_image_are_zero():
    data = nd.array(rng.standard_normal((2, 3, 8, 10)))
    rois = nd.array([[-1, 0, 0, 8, 8], [2, 0, 0, 8, 8], [np.nan, 0, 0, 8, 8], [0, 0, 0, 8, 8]])
    for found in (
        nd.ROIPooling(data, rois, pooled_size=(2, 2), spatial_scale=1.0),
        nd.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1.0),
    ):
        zero = (found.asnumpy() == 0).all((1, 2, 3))
        assert zero.tolist() == [True, True, True, False]


def test_rotated_regions_may_be_none_or_of_no_image():
    data, sizes = nd.ones((2, 3, 5, 5)), {"pooled_size": (2, 2), "spatial_scale": 1.0}
    assert nd.contrib.RROIAlign(data, nd.zeros((0, 6)), **sizes).asnumpy().shape == (0, 3, 2, 2)
    elsewhere = nd.array([[7, 2, 2, 2, 2, 0]])
    assert not nd.contrib.RROIAlign(data, elsewhere, **sizes).asnumpy().any()


def test_nan_corners_give_zero():
    data, rois = nd.ones((1, 2, 8, 8)), nd.array([[0, np.nan, 0, 8, 8], [0, 0, 0, np.inf, 8]])
    assert (nd.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1.0).asnumpy() == 0).all()


POOLINGS = {
    "ROIPooling": lambda x, rois: nd.ROIPooling(x, rois, pooled_size=(2, 2), spatial_scale=1),
    "PSROIPooling": lambda x, rois: nd.contrib.PSROIPooling(x, rois, spatial_scale=1, output_dim=1, pooled_size=2, group_size=1),
    "ROIAlign": lambda x, rois: nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1, sample_ratio=2),
}


@pytest.mark.parametrize("pooled", POOLINGS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_regions_that_are_not_finite_are_empty(pooled, bad):
    rois = np.tile(np.array([0, 1, 1, 6, 6], "float32"), (5, 1))
    np.fill_diagonal(rois, bad)
    x = nd.ones((1, 1, 8, 8))
    x.attach_grad()
    with autograd.record():
        y = POOLINGS[pooled](x, nd.array(rois))
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), 0)
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)


def test_a_huge_region_takes_no_time_or_memory():
    data, rois = nd.ones((1, 1, 8, 8)), nd.array([[0, -1000, -1000, 1000, 1000]])
    found = nd.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1.0).asnumpy()
    # of 1000 points along an axis in each bin, those up to a pixel outside the image count
    np.testing.assert_allclose(found.reshape(2, 2), [[1e-6, 8e-6], [8e-6, 64e-6]], rtol=0.2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "pooled",
    [
        lambda x, rois: nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=3),
        lambda x, rois: nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1.0, position_sensitive=True),
        lambda x, rois: nd.contrib.PSROIPooling(x, rois, spatial_scale=1.0, output_dim=1, pooled_size=2),
    ],
)
def test_pixels_outside_a_region_do_not_count(pooled, bad):
    x = rng.standard_normal((1, 4, 9, 10)).astype("float32")
    # the second region reads more pixels, the third none
    rois = nd.array([[0, 2, 2, 5, 6], [0, 0, 0, 9, 8], [0, 90, 90, 95, 95]])
    want = pooled(nd.array(x), rois).asnumpy()
    x[0, :, [0, 3, 8], [0, 9, 3]] = bad
    found = pooled(nd.array(x), rois).asnumpy()
    np.testing.assert_array_equal(found[[0, 2]], want[[0, 2]])
    assert not np.isfinite(found[1]).all()


@pytest.mark.parametrize(("size", "group"), [(3, 2), (5, 3), (2, 4), (4, 4)])
def test_bins_average_the_channels_of_their_position_and_spread_gradients_to_them(size, group):
    x = rng.standard_normal((3, 2 * group**2, 9, 12)).astype("float32")
    rois = np.array([[2, 0, 0, 9, 6], [0, 3, 1, 8, 8], [0, 1, 1, 2, 2], [3, 0, 0, 5, 5], [1, 9, 6, 40, 40]], "float32")
    dout = rng.standard_normal((5, 2, size, size)).astype("float32")
    data = nd.array(x)
    data.attach_grad()
    with autograd.record():
        found = nd.contrib.PSROIPooling(data, nd.array(rois), spatial_scale=1.0, output_dim=2, pooled_size=size, group_size=group)
    found.backward(nd.array(dout))
    want, grad = np.zeros((5, 2, size, size)), np.zeros(x.shape)
    for r, (k, left, top, right, bottom) in enumerate(rois.astype(int)):
        high, wide = (bottom + 1 - top) / size, (right + 1 - left) / size
        for i, j in np.ndindex(size, size) if k < 3 else ():
            rows = slice(min(top + int(np.floor(i * high)), 9), min(top + int(np.ceil((i + 1) * high)), 9))
            columns = slice(min(left + int(np.floor(j * wide)), 12), min(left + int(np.ceil((j + 1) * wide)), 12))
            channels = slice(i * group // size * group + j * group // size, None, group**2)
            part = x[k, channels, rows, columns]
            if part.size:
                want[r, :, i, j] = part.mean((1, 2))
                grad[k, channels, rows, columns] += (dout[r, :, i, j] / part[0].size)[:, None, None]
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(data.grad.asnumpy(), grad, rtol=1e-5, atol=1e-6)


def test_regions_of_many_images_and_positions_are_computed_together():
    class Counting:
        products = 0

        def __getattr__(self, name):
            self.products += name == "matmul"
            return getattr(np, name)

    counting, images = Counting(), np.arange(32) % 16
    rows, columns = np.zeros((32, 7, 14), "float32"), np.zeros((32, 7, 14), "float32")
    rows[:, :, ::2], columns[:, :, ::2] = np.eye(7), np.eye(7)
    data = rng.standard_normal((16, 98, 14, 14)).astype("float32")
    pooled = _pooled(counting, data, images, rows, columns, group=(7, 7))
    # bin (i, j) is pixel (2i, 2j) of channel (o, i, j)
    bins = np.arange(7)
    want = data.reshape(16, 2, 7, 7, 14, 14)[images][:, :, bins[:, None], bins, 2 * bins[:, None], 2 * bins]
    np.testing.assert_array_equal(pooled, want)
    spread = _spread(counting, pooled, images, rows, columns, shape=data.shape, group=(7, 7))
    np.testing.assert_array_equal(spread[spread != 0], 2 * data[spread != 0])
    assert counting.products == 4


def test_regions_of_single_pixels_copy_them_and_add_up_their_gradients():
    # bins of one pixel: the gradient of a pixel counts the regions that read it
    x = nd.array(rng.standard_normal((2, 3, 30, 40)))
    corners = rng.integers(0, 25, (40, 2))
    rois = nd.array(np.c_[rng.integers(0, 2, 40), corners, corners + 4])
    x.attach_grad()
    with autograd.record():
        found = nd.contrib.ROIAlign(x, rois, pooled_size=(4, 4), spatial_scale=1.0, sample_ratio=1, aligned=True)
    found.backward()
    want, reads = [], np.zeros((2, 3, 30, 40), "float32")
    for image, (left, top) in zip(rois.asnumpy()[:, 0].astype(int), corners, strict=True):
        part = image, slice(None), slice(top, top + 4), slice(left, left + 4)
        want.append(x.asnumpy()[part])
        reads[part] += 1
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), reads, rtol=1e-6)


def test_rois_of_another_count_are_an_error():
    data = nd.ones((1, 4, 8, 8))
    calls = [
        lambda: nd.ROIPooling(data, nd.ones((2, 4)), pooled_size=(2, 2), spatial_scale=1.0),
        lambda: nd.contrib.ROIAlign(data, nd.ones((2, 5)), pooled_size=(2,), spatial_scale=1.0),
        lambda: nd.contrib.ROIAlign(data, nd.ones((2, 5)), pooled_size=(3, 3), spatial_scale=1.0, position_sensitive=True),
        lambda: nd.contrib.PSROIPooling(data, nd.ones((2, 5)), spatial_scale=1.0, output_dim=3, pooled_size=2),
        lambda: nd.contrib.RROIAlign(data, nd.ones((2, 5)), pooled_size=(2, 2), spatial_scale=1.0),
        lambda: nd.contrib.DeformableConvolution(
            data, nd.ones((1, 17, 6, 6)), nd.ones((2, 4, 3, 3)), kernel=(3, 3), num_filter=2, no_bias=True
        ),
    ]
    for call in calls:
        with pytest.raises(mx.MXNetError, match="pass"):
            call()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_of_a_maximum_goes_to_its_first_place(dtype):
    """Of equal numbers, of zeros with both signs, of negative numbers and infinity, and past NaN."""
    values = np.array([-np.inf, -2, -1, -0.0, 0, 1, np.nan, -1e-3], "float64")
    image = np.random.default_rng(0).choice(values, (1, 3, 9, 8))
    image[0, 1] = -abs(image[0, 1]) - 1
    regions = np.array([[0, 0, 0, 7, 8], [0, 2, 1, 5, 7], [0, 3, 3, 3, 3]])
    expected = np.zeros(image.shape)
    for _, left, top, right, bottom in regions:
        inside = 0, slice(None), slice(top, bottom + 1), slice(left, right + 1)
        for part, grad in zip(image[inside], expected[inside], strict=True):
            grad[np.unravel_index(np.argmax(np.where(np.isnan(part), -np.inf, part)), part.shape)] += 1
    x = nd.array(image, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        nd.ROIPooling(x, nd.array(regions, dtype=dtype), pooled_size=(1, 1), spatial_scale=1).backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_a_value_and_its_place_are_one_number_where_64_bits_suffice():
    """Maxima with their places take no longer than others then; with two arrays they took ten times as long."""
    values, places = np.ones((2, 3)), np.arange(6).reshape(2, 3)
    assert [len(_with_places(np, values.astype(dtype), places)) for dtype in ("float16", "float32", "float64")] == [1, 1, 2]


POOLED = {
    "align": lambda x, rois: nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2),
    "align by position": lambda x, rois: nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1.0, position_sensitive=True),
    "by position": lambda x, rois: nd.contrib.PSROIPooling(x, rois, spatial_scale=1.0, output_dim=1, pooled_size=2),
}


@pytest.mark.parametrize("pooled", POOLED.values(), ids=POOLED)
@pytest.mark.parametrize("outside", [[0, 1, 90, 3, 95], [1, 90, 1, 95, 3], [0, -90, -90, -80, -80]])
def test_regions_all_of_which_lie_outside_are_zero(pooled, outside):
    x = nd.ones((2, 4, 5, 6))
    x.attach_grad()
    with autograd.record():
        found = pooled(x, nd.array([outside, outside]))
    found.backward()
    assert not found.asnumpy().any()
    assert not x.grad.asnumpy().any()


def test_an_infinite_gradient_of_a_region_stays_in_it():
    x = nd.ones((2, 4, 6, 6))
    x.attach_grad()
    # the first region reads more pixels
    with autograd.record():
        found = POOLED["align"](x, nd.array([[0, 0, 0, 5, 5], [1, 2, 2, 2.5, 2.5]]))
    dout = np.zeros(found.shape, "float32")
    dout[1, 0, 0, 0] = np.inf
    found.backward(nd.array(dout))
    assert np.isinf(x.grad.asnumpy()[1, 0, 2:4, 2:4]).all()
    assert not np.isnan(x.grad.asnumpy()).any()
    assert np.isinf(x.grad.asnumpy()).sum() == 4


def test_one_large_region_reads_no_pixels_for_the_small_ones():
    class Counting:
        read = 0

        def __getattr__(self, name):
            return getattr(np, name)

        def take(self, pixels, places, axis):
            self.read += places.size
            return np.take(pixels, places, axis)

    # 400 regions of 4 x 4 pixels, and one of the whole image
    counting, ones = Counting(), np.zeros((401, 4, 64), "float32")
    ones[:, :, :4] = np.eye(4)
    ones[7] = 1
    data = rng.standard_normal((2, 256, 64, 64)).astype("float32")
    found = _pooled(counting, data, np.arange(401) % 2, ones, ones, group=(1, 1))
    np.testing.assert_array_equal(found[8], data[0, :, :4, :4])
    np.testing.assert_allclose(found[7, :, 0, 0], data[1].sum((1, 2)), rtol=1e-3, atol=1e-3)
    assert counting.read <= 3 * 64 * 64 + 400 * 4 * 4
