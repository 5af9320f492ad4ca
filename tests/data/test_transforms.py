"""Transformations of images where MXNet raises or the result is known without it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, ParameterError
from twofold.gluon.data.vision import transforms


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
