"""Options of operators at the edge of their range, with the results of MXNet 1.9.1."""

import pytest

from twofold import nd


@pytest.mark.parametrize(
    ("repeat", "axis", "wanted"),
    [(4, None, [[0, 0, 0], [0, 1, 1]]), (7, None, [[0] * 3] * 2), (2, 1, [0, 0, 1]), (7, -1, [0, 0, 0])],
)
def test_arange_like_repeats_the_last_value_less_often(repeat, axis, wanted):
    assert nd.contrib.arange_like(nd.ones((2, 3)), repeat=repeat, axis=axis).asnumpy().tolist() == wanted


@pytest.mark.parametrize(("height", "width", "wanted"), [(1, 1, [[0]]), (1, 3, [[0.5, 2.5, 4.5]]), (5, 1, [[0], [6], [12], [18], [24]])])
def test_an_image_of_one_row_or_column_has_the_first_one(height, width, wanted):
    image = nd.arange(30).reshape((1, 1, 5, 6))
    resized = nd.contrib.BilinearResize2D(image, height=height, width=width, align_corners=False)
    assert resized[0, 0].asnumpy().tolist() == wanted


def test_a_bound_of_zero_clips_weights_to_zero():
    ones = nd.ones((2,))
    assert nd.rmsprop_update(ones, ones, nd.ones((2,)), lr=0.1, clip_weights=0.0).asnumpy().tolist() == [0, 0]
    assert nd.rmsprop_update(ones, ones, nd.ones((2,)), lr=0.1, clip_weights=-1.0).asnumpy().min() > 0.8
