"""Operators on images: random ones draw within their ranges, a pipeline runs, and wrong images are errors."""

from functools import partial
from itertools import pairwise, permutations

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.ops.image import _in_order

rng = np.random.default_rng(0)
PHOTO = rng.integers(0, 256, (32, 40, 3)).astype("uint8")


def photo():
    return nd.array(PHOTO, dtype="uint8")


def test_factors_are_drawn_in_the_range():
    one = nd.ones((1, 1, 3))
    mx.random.seed(1)
    found = [nd.image.random_brightness(one, min_factor=0.5, max_factor=2).asnumpy()[0, 0, 0] for _ in range(400)]
    assert 0.5 <= min(found) < 0.55
    assert 1.95 < max(found) <= 2
    assert np.mean(found) == pytest.approx(1.25, abs=0.07)


def test_half_of_all_images_are_flipped():
    mx.random.seed(2)
    flipped = [not (nd.image.random_flip_left_right(photo()).asnumpy() == PHOTO).all() for _ in range(200)]
    assert 70 < sum(flipped) < 130


def test_random_lighting_has_the_deviation_of_its_components():
    mx.random.seed(3)
    black = nd.zeros((1, 1, 3))
    found = np.array([nd.image.random_lighting(black, alpha_std=0.1).asnumpy()[0, 0] for _ in range(600)])
    component = np.array([-0.5675, -0.5808, -0.5836])
    assert (found @ component / (component @ component)).std() == pytest.approx(5.546, rel=0.15)


def test_a_jitter_of_one_kind_is_that_kind():
    mx.random.seed(4)
    found = nd.image.random_color_jitter(nd.array(PHOTO), brightness=0.4, contrast=0, saturation=0, hue=0).asnumpy()
    ratio = found[PHOTO > 0] / PHOTO[PHOTO > 0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
    assert 0.6 <= ratio[0] <= 1.4
    np.testing.assert_array_equal(nd.image.random_color_jitter(photo(), brightness=0, contrast=0, saturation=0, hue=0).asnumpy(), PHOTO)


def test_the_order_of_a_jitter_is_random():
    def draws():
        image = nd.array(PHOTO[:4, :4])
        for seed in range(12):
            mx.random.seed(seed)
            yield nd.image.random_color_jitter(image, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.2).asnumpy()

    found = list(draws())
    np.testing.assert_array_equal(found, list(draws()))
    assert all(np.abs(a - b).max() > 0.1 for a, b in pairwise(found))


def test_a_whole_turn_of_hues_changes_nothing():
    found = nd.image.random_hue(nd.array(PHOTO), min_factor=1, max_factor=1).asnumpy()
    np.testing.assert_allclose(found, PHOTO, atol=0.01)


def test_images_of_one_channel_keep_their_colors():
    gray = nd.array(PHOTO[:, :, :1])
    for call in (
        lambda: nd.image.random_hue(gray, min_factor=0.5, max_factor=0.5),
        lambda: nd.image.random_saturation(gray, min_factor=0.5, max_factor=0.5),
        lambda: nd.image.adjust_lighting(gray, alpha=(1, 2, 3)),
    ):
        np.testing.assert_array_equal(call().asnumpy(), PHOTO[:, :, :1])


def test_gradients_are_derivatives():
    x = nd.array(PHOTO)
    x.attach_grad()
    with autograd.record():
        y = nd.image.to_tensor(nd.image.crop(nd.image.random_brightness(x, min_factor=1.5, max_factor=1.5), x=1, y=2, width=3, height=4))
    y.backward()
    want = np.zeros(PHOTO.shape, "float32")
    want[2:6, 1:4] = 1.5 / 255
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-6)


def test_images_of_np_arrays():
    image = mx.np.array(PHOTO)
    found = mx.npx.image.to_tensor(mx.npx.image.resize(image, size=(20, 16)))
    assert isinstance(found, mx.np.ndarray)
    assert found.shape == (3, 16, 20)
    assert "random_hue" in dir(mx.npx.image)


def test_a_symbol_of_images():
    data = mx.sym.Variable("data")
    symbol = mx.sym.image.normalize(mx.sym.image.to_tensor(data), mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    again = mx.sym.load_json(symbol.tojson())
    assert again.infer_shape(data=(4, 5, 3))[1] == [(3, 4, 5)]
    executor = again.bind(mx.current_context(), {"data": nd.array(PHOTO)})
    want = (PHOTO.transpose(2, 0, 1) / 255 - 0.5) / 0.25
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nd.image.resize(photo(), size=(3, 4, 5)), "one or two"),
        (lambda: nd.image.resize(photo().astype("int32"), size=3), "cast"),
        (lambda: nd.image.crop(photo(), x=30, y=0, width=20, height=3), "not inside"),
        (lambda: nd.image.normalize(nd.ones((2, 3, 3))), "one or three"),
        (lambda: nd.image.normalize(nd.ones((3, 3, 3)), mean=(1, 2)), "for each channel"),
        (lambda: nd.image.random_hue(nd.ones((3, 3)), min_factor=0, max_factor=1), "needs images"),
        (lambda: nd.image.random_color_jitter(photo(), brightness=-1, contrast=0, saturation=0, hue=0), "negative"),
    ],
)
def test_wrong_images_are_named(call, text):
    with pytest.raises(mx.MXNetError, match=text):
        call()


def test_nearest_pixels_are_those_of_opencv_where_a_new_pixel_begins_between_two():
    row = nd.array(np.arange(56).reshape(1, 56, 1).repeat(3, 2), dtype="uint8")
    enlarged = mx.image.imresize(row, 100, 1, 0).asnumpy()[0, :, 0]
    # MXNet 1.9.1; 25 * 56 / 100 is 14
    assert enlarged[[24, 25, 26, 50, 75]].tolist() == [13, 13, 14, 27, 41]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_changes_of_colors_are_made_in_the_drawn_order_and_the_last_one_is_computed_once(count):
    class Few:
        """The functions that are called, of NumPy."""

        def take_slice(self, x, start, stop, axis):
            return np.take(x, range(start, stop), axis)

        def reshape(self, x, *, shape):
            return x.reshape(shape)

        def __getattr__(self, name):
            return getattr(np, name)

    calls = []
    functions = [lambda x: x * 3, lambda x: x + 5, lambda x: x * x, lambda x: 7 - x]

    def change(k, x):
        calls.append(k)
        return functions[k](x)

    changes = [partial(change, k) for k in range(count)]
    for order in permutations(range(count)):
        calls.clear()
        image = want = np.arange(6)
        for k in order:
            want = functions[k](want)
        # the change that is made first has drawn the smallest number
        found = _in_order(Few(), image, changes, np.argsort(order) / count)
        np.testing.assert_array_equal(found, want)
        assert calls.count(count - 1) == 1
