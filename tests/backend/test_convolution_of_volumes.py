"""The NumPy adapter's convolutions of volumes as convolutions of planes: against columns of volumes, and when they are chosen."""

from __future__ import annotations

from functools import partial
from typing import get_args

import numpy as np
import pytest

from twofold_numpy import columns, convolution, frames
from twofold_numpy.convolution import algorithm, chosen, shape_of
from twofold_numpy.convolution_table import Choice
from twofold_numpy.geometry import Geometry, Kind

from tests.backend.test_convolution import F32, by_definition, operands

KINDS = get_args(Kind)
NAMES = {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}


def drawn(number):
    """Geometries of small volumes, with strides beyond the kernel and padding beyond the volume among them."""
    draw = np.random.default_rng(3)
    found = []
    while len(found) < number:
        size, kernel, stride, pad = (tuple(map(int, draw.integers(lo, hi, 3))) for lo, hi in ((3, 8), (1, 4), (1, 5), (0, 4)))
        g = Geometry(int(draw.integers(1, 3)), 2, 3, 1, size, kernel, stride, (1, 1, int(draw.integers(1, 3))), pad)
        if min(g.out) > 0:
            found.append(g)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_planes_give_what_volumes_give(kind):
    """All kinds of strides and padding; integers, so the sums are exact."""
    for g in drawn(120):
        expected, found = (np.full(shape_of(kind, g), np.nan) for _ in range(2))
        pair = operands(kind, g)
        getattr(columns, NAMES[kind])(g, *pair, expected, order="gathered", nbytes=4000)
        planes = partial(getattr(columns, NAMES[kind]), order="gathered", nbytes=4000)
        getattr(frames, NAMES[kind])(g, *pair, found, planes=planes)
        np.testing.assert_array_equal(found, expected, err_msg=str(g))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pad", [(1, 1, 1), (0, 1, 0)])
def test_algorithms_for_planes_read_frames_in_place(kind, pad):
    """The images of neighboring results overlap."""
    g = Geometry(2, 3, 4, 1, (5, 9, 8), (3, 3, 3), (1, 1, 1), (1, 1, 1), pad)
    [run] = frames.runs(kind, g)
    pair = operands(kind, g, F32)
    names = convolution.applicable(kind, run.plane, F32)
    assert {"gathered", "flat", "batched", "patches", "winograd"} <= set(names)
    for name in names:
        found = np.empty(shape_of(kind, g), F32)
        getattr(frames, NAMES[kind])(g, *pair, found, planes=algorithm(kind, Choice(name, 1 << 16)))
        wanted = by_definition(kind, g, *pair)
        np.testing.assert_allclose(found, wanted, atol=2e-6 * np.abs(wanted).max(), err_msg=name)


def volume(kernel, stride=1, groups=1, dilate=1, side=28):
    """A layer of a network for clips."""
    pad = tuple(k // 2 for k in kernel)
    return Geometry(1, 64, 64, groups, (8, side, side), kernel, (stride,) * 3, (dilate, 1, 1), pad)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("g", "is_by_frames"),
    [
        (volume((3, 3, 3)), True),
        (volume((1, 3, 3)), True),
        (volume((3, 1, 1)), True),
        (volume((3, 3, 3), stride=2), True),
        (volume((3, 3, 3), groups=64), False),
        (volume((3, 3, 3), dilate=2), False),
        (volume((3, 3, 3), side=1), False),
    ],
)
def test_large_volumes_are_computed_as_planes(kind, g, is_by_frames):
    """In one group, without dilation along the depth."""
    compute = chosen(kind, g, F32, True)
    assert (getattr(compute, "func", None) is getattr(frames, NAMES[kind])) == is_by_frames


def test_dense_volumes_without_a_faster_algorithm_for_planes_keep_their_columns(monkeypatch):
    """Without Winograd's algorithm and without machine code, columns of planes would be copied more often than those of volumes."""
    monkeypatch.setattr(convolution.direct, "is_available", lambda: False)
    chosen.cache_clear()
    try:
        by_columns = {kind: chosen(kind, volume((3, 3, 3)), F32, False).func.__module__ == columns.__name__ for kind in KINDS}
    finally:
        chosen.cache_clear()
    assert by_columns == {"forward": True, "data": True, "weight": False}
