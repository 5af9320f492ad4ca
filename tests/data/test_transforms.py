"""Transformations of images where MXNet raises or the result is known without it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, MXNetError, ParameterError
from twofold.gluon.data.vision import transforms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from twofold.gluon import Block


def images() -> mx.nd.NDArray:
    return mx.nd.array(np.random.default_rng(3).integers(0, 256, (2, 9, 13, 3)), dtype="float32")


def test_a_batch_is_cropped_as_its_images_are():
    batch, block = images(), transforms.CenterCrop((26, 5))
    np.testing.assert_array_equal(block(batch)[1].asnumpy(), block(batch[1]).asnumpy())
    found = []
    for x in (batch, batch[1]):
        random.seed(4)
        found.append(transforms.RandomResizedCrop((4, 6))(x))
    assert found[0].shape == (2, 6, 4, 3)
    np.testing.assert_array_equal(found[0][1].asnumpy(), found[1].asnumpy())


def test_a_list_of_blocks_is_applied_together():
    block = transforms.RandomApply([transforms.Cast("uint8"), transforms.ToTensor()], p=1)
    np.testing.assert_allclose(block(images()[0]).asnumpy(), images()[0].asnumpy().transpose(2, 0, 1) / 255, rtol=1e-6)


def test_a_part_is_resized_bilinearly_by_default():
    found = transforms.CropResize(0, 0, 2, 2, size=4)(images())
    np.testing.assert_array_equal(found.asnumpy(), transforms.CropResize(0, 0, 2, 2, 4, 1)(images()).asnumpy())


def test_a_quarter_turn_of_a_square_moves_its_pixels():
    image = mx.nd.array(np.random.default_rng(1).random((2, 5, 5)), dtype="float32")
    np.testing.assert_allclose(transforms.Rotate(90)(image).asnumpy(), np.rot90(image.asnumpy(), 1, (1, 2)), atol=1e-5)


def test_wrong_rotations_say_what_to_do():
    with pytest.raises(DTypeError, match="only supports float32"):
        transforms.Rotate(3)(mx.nd.zeros((3, 4, 4), dtype="uint8"))
    with pytest.raises(ParameterError, match="choose one"):
        transforms.Rotate(3, True, True)(mx.nd.zeros((3, 4, 4)))
    with pytest.raises(ParameterError, match="smaller one first"):
        transforms.RandomRotation((3, -3))


def test_hybrid_blocks_are_composed_to_a_graph_that_can_be_exported(tmp_path: Path):
    block = transforms.HybridCompose([transforms.Resize(4), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    image = images()[0]
    expected = transforms.Compose([transforms.Resize(4), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])(image)
    np.testing.assert_array_equal(block(image).asnumpy(), expected.asnumpy())
    block.export(str(tmp_path / "steps"))
    again = mx.gluon.SymbolBlock.imports(str(tmp_path / "steps-symbol.json"), ["data"])
    np.testing.assert_array_equal(again(image).asnumpy(), expected.asnumpy())
    with pytest.raises(MXNetError, match="CenterCrop"):
        transforms.HybridCompose([transforms.CenterCrop(3)])


def test_a_part_is_cut_out_where_the_image_is_extended():
    image = images()[0]
    random.seed(1)
    seen = {tuple(transforms.RandomCrop((10, 8))(image)[0, 0].asnumpy()) for _ in range(100)}
    corners = {tuple(pixel) for pixel in image.asnumpy()[:2, :4].reshape(-1, 3)}
    assert seen == corners, "every place at which the part fits is drawn"
    batch = transforms.RandomCrop((13, 9), pad=2, pad_value=7)(images())
    assert batch.shape == (2, 9, 13, 3)
    whole = transforms.RandomCrop((15, 12), pad=((1, 2), (0, 2), (0, 0)), pad_value=7)(images())
    np.testing.assert_array_equal(whole.asnumpy(), np.pad(images().asnumpy(), ((0, 0), (1, 2), (0, 2), (0, 0)), constant_values=7))
    assert transforms.RandomCrop(20)(image).shape == (20, 20, 3), "a smaller image is enlarged"
    with pytest.raises(ParameterError, match="three pairs"):
        transforms.RandomCrop(3, pad=((1, 2), (3, 4)))


def test_places_are_those_of_mx_image():
    image = images()[0]
    random.seed(5)
    expected = mx.image.random_crop(image, (4, 6))[0]
    random.seed(5)
    np.testing.assert_array_equal(transforms.RandomCrop((4, 6))(image).asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_gray_is_the_brightness_of_the_colors(dtype: str):
    image = images()[0].astype(dtype)
    gray = np.repeat(image.asnumpy().astype("float64") @ [[0.299], [0.587], [0.114]], 3, axis=2)
    np.testing.assert_allclose(transforms.RandomGray(1)(image).asnumpy(), gray.astype(dtype), atol=1 if dtype == "uint8" else 1e-3)
    np.testing.assert_array_equal(transforms.RandomGray(0)(image).asnumpy(), image.asnumpy())
    block = transforms.RandomGray()
    block.hybridize()
    mx.random.seed(2)
    share = np.mean([bool((block(image) == image).min().asscalar()) for _ in range(200)])
    assert 0.35 < share < 0.65
    assert block(image).dtype == np.dtype(dtype)


COLORS = [
    lambda: transforms.RandomBrightness(0.5),
    lambda: transforms.RandomContrast(0.5),
    lambda: transforms.RandomSaturation(0.5),
    lambda: transforms.RandomHue(0.4),
    lambda: transforms.RandomLighting(0.5),
    lambda: transforms.RandomColorJitter(0.2, 0.3, 0.2, 0.2),
    lambda: transforms.RandomGray(0.5),
    lambda: transforms.RandomFlipLeftRight(),
    lambda: transforms.RandomFlipTopBottom(),
]


@pytest.mark.parametrize("make", COLORS, ids=lambda make: type(make()).__name__)
def test_each_image_of_a_batch_has_a_draw_of_its_own(make: Callable[[], Block]):
    image = images()[:1].asnumpy()
    batch = mx.nd.array(np.repeat(image, 40, 0), dtype="float32")
    mx.random.seed(6)
    found = make()(batch).asnumpy()
    different = len({each.tobytes() for each in found})
    assert different >= (2 if type(make()).__name__ in ("RandomGray", "RandomFlipLeftRight", "RandomFlipTopBottom") else 30)


def test_the_contrast_of_an_image_does_not_depend_on_its_batch():
    batch = images()
    for block in (mx.nd.image.random_contrast, mx.nd.image.random_saturation, mx.nd.image.random_hue, mx.nd.image.random_brightness):
        together = block(batch, min_factor=0.7, max_factor=0.7).asnumpy()
        for k in (0, 1):
            np.testing.assert_allclose(together[k], block(batch[k], min_factor=0.7, max_factor=0.7).asnumpy(), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("pad", [(1, 2, 3, 4), (1, 2), "x", 2.5, ((1, 2, 3),), ((-1, 0),)])
def test_padding_that_is_none_is_named(pad: object):
    with pytest.raises(ParameterError, match=r"RandomCrop: pad: given .*; pass a number, three pairs"):
        transforms.RandomCrop(20, pad=pad)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", ["x", (1, 2, 3), (20, "x"), None])
def test_sizes_of_parts_that_are_none_are_named(size: object):
    with pytest.raises(ParameterError, match=r"the size of a part: given .*; pass a number, or width and height"):
        transforms.CenterCrop(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", ["x", "(2,"])
def test_text_that_is_no_size_is_named_in_words(size: str):
    with pytest.raises(ParameterError, match=r"parameter size .*; this text is neither a number nor a tuple of numbers$"):
        transforms.Resize(size)(images())  # type: ignore[arg-type]
