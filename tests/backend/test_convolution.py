"""The NumPy adapter's convolution algorithms: each against the definition, equal in every mode, in bounded memory; and their table."""

from __future__ import annotations

import math
import random
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

import twofold as mx
from twofold.backend import workers
from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation
from twofold_numpy import convolution, grouped_tiles, image_blocks, products, tiles, tune, winograd, winograd_matrices
from twofold_numpy.convolution import algorithm, applicable, chosen, shape_of, takes_channels_last
from twofold_numpy.convolution_table import Choice, choice, class_of, rows
from twofold_numpy.geometry import Geometry, Kind
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.memory import POOL

#: Without and with machine code.
WAYS = [False, True] if is_installed() and compiler() is not None else [False]
KINDS = get_args(Kind)
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
#: n, channels, filters, groups, size, kernel, stride, dilate, pad.
GEOMETRIES = {
    "line": Geometry(2, 3, 4, 1, (11,), (3,), (2,), (2,), (1,)),
    "plane": Geometry(3, 4, 6, 1, (7, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
    "without padding": Geometry(3, 2, 5, 1, (9, 6), (3, 3), (1, 1), (1, 1), (0, 0)),
    "wide padding": Geometry(2, 3, 2, 1, (5, 4), (3, 3), (1, 1), (1, 1), (2, 1)),
    "odd kernel": Geometry(5, 2, 3, 1, (8, 7), (5, 2), (1, 1), (1, 1), (2, 0)),
    "strided": Geometry(3, 4, 3, 1, (9, 8), (3, 2), (2, 3), (1, 1), (1, 0)),
    "dilated": Geometry(2, 2, 4, 1, (10, 9), (3, 3), (1, 1), (2, 3), (1, 2)),
    "groups": Geometry(3, 6, 4, 2, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    "each channel by itself": Geometry(2, 4, 4, 4, (6, 5), (3, 3), (2, 1), (1, 1), (1, 1)),
    "single places": Geometry(3, 5, 4, 1, (4, 3), (1, 1), (1, 1), (1, 1), (0, 0)),
    "single places in groups": Geometry(2, 4, 6, 2, (4, 3), (1, 1), (1, 1), (1, 1), (0, 0)),
    "volume": Geometry(2, 2, 3, 1, (4, 5, 6), (2, 3, 2), (1, 1, 1), (1, 2, 1), (1, 0, 1)),
    "strided volume": Geometry(2, 2, 2, 2, (5, 4, 5), (2, 2, 3), (2, 1, 2), (1, 1, 1), (0, 1, 1)),
}
#: The least bytes (one row of windows at once), a few rows or images, everything at once.
BYTES = (1, 4000, 1 << 22)


def operands(kind, g, dtype=F64):
    """Integers, whose sums are exact in any order."""
    draw = np.random.default_rng(0)
    arrays = {k: draw.integers(-4, 5, shape_of(k, g)).astype(dtype) for k in KINDS}
    pair = {"forward": ("data", "weight"), "data": ("forward", "weight"), "weight": ("data", "forward")}[kind]
    return [arrays[k] for k in pair]


def windows(g, x):
    """The windows of padded data (n, groups, c / groups, *out, *kernel), one element of the kernel after another."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in g.pad]])
    parts = []
    for tap in np.ndindex(*g.kernel):
        key = [slice(t * e, t * e + (o - 1) * s + 1, s) for t, e, o, s in zip(tap, g.dilate, g.out, g.stride, strict=True)]
        parts.append(x[(slice(None), slice(None), *key)])
    return np.stack(parts, -1).reshape(g.n, g.groups, g.channels // g.groups, math.prod(g.out), g.taps)


def by_definition(kind, g, first, second):
    """Sums over windows, in float64."""
    per = g.filters // g.groups
    if kind == "forward":
        w = second.reshape(g.groups, per, -1, g.taps)
        return np.einsum("ngcpt,gfct->ngfp", windows(g, first), w).reshape(shape_of(kind, g))
    if kind == "weight":
        y = second.reshape(g.n, g.groups, per, -1)
        return np.einsum("ngcpt,ngfp->gfct", windows(g, first), y).reshape(shape_of(kind, g))
    units = np.eye(math.prod(g.size)).reshape(-1, 1, *g.size)  # the transpose, position by position
    one = Geometry(len(units), 1, 1, 1, *[getattr(g, name) for name in ("size", "kernel", "stride", "dilate", "pad")])
    reach = windows(one, units).reshape(len(units), -1, g.taps)
    y, w = first.reshape(g.n, g.groups, per, -1), second.reshape(g.groups, per, -1, g.taps)
    return np.einsum("ngfp,gfct,dpt->ngcd", y, w, reach, optimize=True).reshape(shape_of(kind, g))


@pytest.mark.parametrize("nbytes", BYTES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_algorithm_matches_the_definition(name, kind, nbytes):
    g = GEOMETRIES[name]
    first, second = operands(kind, g)
    want = by_definition(kind, g, first, second)
    for dtype in (F32, F64):
        for found in applicable(kind, g, dtype):
            out = np.full(shape_of(kind, g), np.nan, dtype)
            algorithm(kind, Choice(found, nbytes))(g, first.astype(dtype), second.astype(dtype), out)
            np.testing.assert_allclose(out, want, rtol=0, atol=1e-4 if found == "winograd" else 0, err_msg=found)


def in_the_order_of_helpers(tasks):
    """All tasks by one helper, which takes the last one first."""
    for task in reversed(tasks):
        task()


@pytest.mark.parametrize("nbytes", BYTES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_threads_that_share_images_change_no_bit(name, kind, nbytes, monkeypatch):
    """Whoever processes which images, in whatever order, with buffers that were used for others before."""
    g = GEOMETRIES[name]
    draw = np.random.default_rng(3)
    first, second = (draw.standard_normal(a.shape).astype(F32) for a in operands(kind, g, F32))
    monkeypatch.setattr(image_blocks, "THREADED", 0)
    for found in applicable(kind, g, F32):
        outs = []
        for threads, run_all in ((1, None), (2, in_the_order_of_helpers), (2, workers.run_all)):
            monkeypatch.setattr(SETTINGS, "threads", threads)
            monkeypatch.setattr(image_blocks, "run_all", run_all)
            outs.append(np.full(shape_of(kind, g), np.nan, F32))
            algorithm(kind, Choice(found, nbytes))(g, first, second, outs[-1])
        np.testing.assert_array_equal(outs[1], outs[0], err_msg=found)
        np.testing.assert_array_equal(outs[2], outs[0], err_msg=found)


@pytest.mark.parametrize(("images", "groups"), [(1, None), (2, [2]), (5, [2]), (64, [6])])
def test_large_convolutions_are_shared_in_an_even_number_of_groups(images, groups, monkeypatch):
    """Those of several images; a block of this size holds twelve of them."""
    g = tune.geometry(images, 64, 28, 64, 3, pad=1)
    shared = []
    monkeypatch.setattr(image_blocks, "run_all", lambda tasks: (shared.append(len(tasks)), workers.run_all(tasks)))
    monkeypatch.setattr(SETTINGS, "threads", 2)
    # BLAS had two threads before, whatever OMP_NUM_THREADS is: with one, the user would want one
    monkeypatch.setattr(image_blocks.threads, "HOLD", nullcontext(SimpleNamespace(before=2)))
    first, second = operands("forward", g, F32)
    nbytes = 12 * 4 * 28 * 28 * 64 * (9 + 1)
    algorithm("forward", Choice("gathered", nbytes))(g, first, second, np.empty(shape_of("forward", g), F32))
    assert shared == (groups or [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plane", "without padding", "wide padding"])
def test_winograds_algorithm_is_used(name, kind):
    assert "winograd" in applicable(kind, GEOMETRIES[name], F32)
    assert "winograd" not in applicable(kind, GEOMETRIES[name], F64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("channels", "side"), [(16, 30), (64, 14), (256, 9)])
@pytest.mark.parametrize("is_compiled", WAYS)
def test_winograds_error_is_below_its_bound(channels, side, kind, is_compiled, monkeypatch):
    """The bound that docs/inside/convolutions.md states: 2e-5 of the largest magnitude among the results."""
    monkeypatch.setattr(SETTINGS, "jit", is_compiled)
    g = tune.geometry(4, channels, side, 32, 3, pad=1)
    draw = np.random.default_rng(1)
    first, second = (draw.standard_normal(a.shape) for a in operands(kind, g))
    exact, out = np.empty(shape_of(kind, g)), np.empty(shape_of(kind, g), np.float32)
    algorithm(kind, Choice("gathered", 1 << 22))(g, first, second, exact)
    algorithm(kind, Choice("winograd", 1 << 22))(g, first.astype(F32), second.astype(F32), out)
    assert 1e-8 < abs(out - exact).max() / abs(exact).max() < 2e-5


@pytest.mark.parametrize(("kernel", "stride"), [(2, 1), (3, 1), (4, 2)])
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_the_error_of_tiles_grows_little_with_the_channels(kernel, stride, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    g = tune.geometry(1, 4096, 16, 32, kernel, stride, kernel // stride - 1)
    draw = np.random.default_rng(1)
    first, second = (draw.standard_normal(a.shape) for a in operands("forward", g))
    exact, out = np.empty(shape_of("forward", g)), np.empty(shape_of("forward", g), F32)
    algorithm("forward", Choice("gathered", 1 << 22))(g, first, second, exact)
    algorithm("forward", Choice("winograd", 1 << 22))(g, first.astype(F32), second.astype(F32), out)
    assert abs(out - exact).max() < 6e-6 * abs(exact).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "channels", "filters", "side"), [(1, 1, 3, 5), (2, 5, 16, 11), (3, 19, 33, 8), (2, 40, 24, 17)])
def test_winograds_transforms_are_the_same_in_machine_code(count, channels, filters, side, kind, monkeypatch):
    g = tune.geometry(count, channels, side, filters, 3, pad=1)
    draw = np.random.default_rng(2)
    first, second = (draw.standard_normal(a.shape) for a in operands(kind, g))
    exact = np.empty(shape_of(kind, g))
    algorithm(kind, Choice("gathered", 1 << 22))(g, first, second, exact)
    for is_compiled in WAYS:
        monkeypatch.setattr(SETTINGS, "jit", is_compiled)
        assert (winograd._in_machine_code() is not None) is is_compiled
        # channels first and last in memory, in one block and in many
        for order in ((0, 1, 2, 3), (0, 2, 3, 1)):
            for nbytes in (1, 1 << 22):
                a, b = (x.astype(F32).transpose(order).copy().transpose(np.argsort(order)) for x in (first, second))
                # the gradient of a weight is always contiguous
                last = (0, 1, 2, 3) if kind == "weight" else order
                out = np.full([exact.shape[k] for k in last], np.nan, F32).transpose(np.argsort(last))
                algorithm(kind, Choice("winograd", nbytes))(g, a, b, out)
                np.testing.assert_allclose(out, exact, rtol=0, atol=2e-5 * abs(exact).max())


@pytest.fixture
def poisoned(monkeypatch):
    """Memory that is not written reads as NaN."""
    from twofold_numpy.jit import handoff, image_tiles

    for module in (image_tiles, handoff):
        monkeypatch.setattr(module, "scratch_memory", lambda nbytes: np.full(nbytes, 255, np.uint8))
    monkeypatch.setattr(winograd, "_empty", lambda *shape: np.full(shape, np.nan, F32))


def in_order(x, order):
    """An array of float32 with its axes in this order in memory."""
    return x.astype(F32).transpose(order).copy().transpose(np.argsort(order))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("images", "channels", "filters", "size", "kernel", "stride", "pad", "is_grouped"),
    [
        *[(1, 16, 16, (3, 5), 3, 1, 1, True), (1, 80, 48, (13, 14), 3, 1, 1, True), (2, 128, 272, (7, 7), 3, 1, 2, True)],
        (3, 48, 64, (9, 30), 3, 1, 0, True),
        # channels of which not all kernels stay in the cache, and tiles that several pieces share
        *[(1, 336, 336, (6, 5), 3, 1, 1, True), (1, 16, 16, (58, 70), 3, 1, 1, True)],
        *[(1, 8, 32, (24, 24), 3, 1, 1, False), (2, 40, 56, (14, 14), 3, 1, 1, False)],
        # tiles of 25 positions and of 36
        *[(2, 48, 80, (12, 9), 2, 1, 0, True), (1, 144, 16, (11, 11), 2, 1, 1, True), (1, 336, 32, (10, 6), 2, 1, 0, True)],
        *[(2, 32, 80, (11, 14), 5, 1, 2, True), (1, 80, 16, (6, 31), 5, 1, 4, True)],
        # the phases of images of even and odd sizes, of which some have no pixel
        *[(2, 48, 80, (16, 38), 4, 2, 1, True), (1, 16, 272, (11, 9), 4, 2, 2, True), (3, 144, 16, (6, 7), 4, 2, 0, True)],
        *[(1, 32, 16, (1, 2), 4, 2, 2, True), (1, 80, 32, (17, 12), 6, 2, 3, True), (2, 32, 16, (11, 14), 10, 2, 5, True)],
    ],
)
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_tiles_of_groups_of_channels_give_the_same_bits_in_every_layout(
    kind, images, channels, filters, size, kernel, stride, pad, is_grouped, monkeypatch, poisoned
):
    monkeypatch.setattr(SETTINGS, "jit", True)
    made = []
    monkeypatch.setattr(grouped_tiles, "in_machine_code", lambda *of: made.append(of) or tiles.in_machine_code(*of))
    g = Geometry(images, channels, filters, 1, size, (kernel, kernel), (stride, stride), (1, 1), (pad, pad))
    draw = np.random.default_rng(4)
    first, second = (draw.standard_normal(a.shape) for a in operands(kind, g))
    exact = np.empty(shape_of(kind, g))
    algorithm(kind, Choice("gathered", 1 << 22))(g, first, second, exact)
    plain, blocks = (0, 1, 2, 3), (grouped_tiles.BLOCK, 1)
    outs: dict[int, list[np.ndarray]] = {block: [] for block in blocks}
    for block, threads, order in product(blocks, (1, 2), (plain, (0, 2, 3, 1))):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        monkeypatch.setattr(grouped_tiles, "BLOCK", block)
        monkeypatch.setattr(grouped_tiles, "LARGEST_BLOCK", block)
        out = in_order(np.full(exact.shape, np.nan), plain if kind == "weight" else order)
        algorithm(kind, Choice("winograd", 1 << 22))(g, in_order(first, order), in_order(second, order if kind == "weight" else plain), out)
        np.testing.assert_allclose(out, exact, rtol=0, atol=2e-5 * abs(exact).max())
        outs[block].append(out)
    # sums over the tiles of blocks are added, so a weight's gradient depends on these
    for same in outs.values() if kind == "weight" else [outs[blocks[0]] + outs[1]]:
        if is_grouped:
            assert all(np.array_equal(out, same[0]) for out in same)
    assert bool(made) is is_grouped


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_one_pixel_may_have_any_stride(kind):
    g = Geometry(2, 16, 32, 1, (9, 1), (3, 3), (1, 1), (1, 1), (1, 1))
    first, second = operands(kind, g, F32)
    want, out = (np.empty(shape_of(kind, g), F32) for _ in range(2))
    algorithm(kind, Choice("gathered", 1 << 22))(g, first, second, want)
    if kind != "weight":
        out = out[..., 0][..., None]
    images = first[..., 0][..., None], second[..., 0][..., None] if kind == "weight" else second
    assert images[0].strides[3] == 0
    algorithm(kind, Choice("winograd", 1 << 22))(g, *images, out)
    np.testing.assert_allclose(out, want, rtol=0, atol=2e-5 * abs(want).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_the_memory_order_of_a_weight_changes_no_bit(kind, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    g = Geometry(1, 512, 512, 1, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1))
    assert chosen(kind, g, F32, True).func.__module__ == winograd.__name__
    draw = np.random.default_rng(5)
    arrays = [draw.standard_normal(a.shape).astype(F32) for a in operands(kind, g)] + [np.empty(shape_of(kind, g), F32)]
    others = [in_order(a, (0, 2, 3, 1)) if a.shape == shape_of("weight", g) else a.copy() for a in arrays]
    sizes = {"forward": {}, "data": {"size": g.size}, "weight": {"kernel": g.kernel}}[kind]
    for operand_pair in (arrays, others):
        getattr(convolution, convolution._FUNCTIONS[kind])(*operand_pair, stride=(1, 1), dilate=(1, 1), pad=(1, 1), groups=1, **sizes)
    np.testing.assert_array_equal(arrays[2], others[2])


@pytest.mark.parametrize(
    ("channels", "filters"), [(4080, 4112), (4112, 4080), (4112, 4112), (8192, 8160), (8192, 8192), (16, 65535 * 32), (65536 * 16, 48)]
)
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_no_convolution_has_more_pieces_than_are_numbered(channels, filters, monkeypatch):
    """A piece's number has 16 bits: weights with more parts of channels and filters are left to products of matrices."""
    from twofold_numpy.jit import tile_products, tile_weights

    monkeypatch.setattr(SETTINGS, "jit", True)
    g = Geometry(1, channels, filters, 1, (1, 1), (3, 3), (1, 1), (1, 1), (1, 1))
    parts = channels // math.gcd(channels, 32) * (filters // math.gcd(filters, 32))
    assert winograd.is_in_machine_code(g) is (parts < 1 << 16)
    if not winograd.is_in_machine_code(g):
        return
    numbers = []
    for module in (tile_products, tile_weights):
        of = module.shared_words
        monkeypatch.setattr(module, "shared_words", lambda *words, of=of: numbers.append(words[2]) or of(*words))
        module._bound.cache_clear()
    data, results = (tiles.Tiling(1, 0, 1, 1, n, 4, 1, 64 * n) for n in (channels, filters))
    matrices = winograd_matrices.matrices()
    to_results, of_kernel, rotated = matrices.to_results, matrices.of_kernel, matrices.of_rotated
    tiles.in_machine_code(tiles.PRODUCTS, data, tiles.Images(filters, (1, 1), (4, 4, 4, 4)), of_kernel, to_results, False, 1)
    tiles.in_machine_code(tiles.PRODUCTS, results, tiles.Images(channels, (1, 1), (4, 4, 4, 4)), rotated, to_results, True, 1)
    tiles.in_machine_code(tiles.SUMS, data, results, tuple(zip(*of_kernel, strict=True)), True, True)
    assert len(numbers) == 3
    assert max(numbers) < 1 << 16


@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_helpers_have_memory_whatever_the_setting_is_meanwhile(monkeypatch):
    from twofold_numpy.jit import products as pieces

    library, own = products.blas(), compiler()
    monkeypatch.setattr(SETTINGS, "threads", 2)
    shared, alone = (pieces.shared_words(own, library, count, 1e6) for count in (8, 1))
    for threads, slots in ((1, 2), (2, 2), (4, 4)):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        assert (pieces.slots_of(shared), pieces.slots_of(alone)) == (slots, 1)


@pytest.mark.parametrize(("kernel", "stride"), [(5, 1), (4, 2)])
@pytest.mark.parametrize("kind", ["forward", "data"])
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_the_weight_of_tiles_may_have_any_strides(kind, kernel, stride, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    g = Geometry(1, 32, 48, 1, (12, 12), (kernel, kernel), (stride, stride), (1, 1), (1, 1))
    first, weight = operands(kind, g, F32)
    want, out = (np.empty(shape_of(kind, g), F32) for _ in range(2))
    algorithm(kind, Choice("winograd", 1 << 22))(g, first, weight, want)
    algorithm(kind, Choice("winograd", 1 << 22))(g, first, np.asfortranarray(weight), out)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("kernel", [4, 6])
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_the_gradient_of_pixels_that_no_window_reaches_is_zero(kernel, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    for height, width in ((15, 17), (19, 22), (20, 21)):
        g = Geometry(1, 32, 48, 1, (height, width), (kernel, kernel), (2, 2), (1, 1), (0, 0))
        draw = np.random.default_rng(6)
        result, weight = (draw.standard_normal(a.shape).astype(F32) for a in operands("data", g))
        out = np.full(shape_of("data", g), np.nan, F32)
        algorithm("data", Choice("winograd", 1 << 22))(g, result, weight, out)
        assert not out[:, :, height // 2 * 2 :].any()
        assert not out[..., width // 2 * 2 :].any()


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_narrower_vectors_multiply_tiles(bits, monkeypatch, poisoned):
    from twofold_numpy.jit import image_tiles, tile_products, tile_weights

    monkeypatch.setattr(SETTINGS, "jit", True)
    own = compiler()
    caches = [cache for module in (image_tiles, tile_products, tile_weights) for cache in (module._bound, module._code)]
    monkeypatch.setattr(own, "machine", own.machine._replace(vector_bits=bits))
    for cache in caches:
        cache.cache_clear()
    try:
        kernels, orders = ((2, 1), (3, 1), (5, 1), (4, 2)), ((0, 1, 2, 3), (0, 2, 3, 1))
        for kind, filters, (kernel, stride), order in product(KINDS, (48, 256), kernels, orders):
            g = Geometry(1, 80, filters, 1, (13, 21), (kernel, kernel), (stride, stride), (1, 1), (1, 1))
            draw = np.random.default_rng(4)
            first, second = (draw.standard_normal(a.shape) for a in operands(kind, g))
            exact = np.empty(shape_of(kind, g))
            algorithm(kind, Choice("gathered", 1 << 22))(g, first, second, exact)
            out = in_order(np.full(exact.shape, np.nan), (0, 1, 2, 3) if kind == "weight" else order)
            algorithm(kind, Choice("winograd", 1 << 22))(g, in_order(first, order), second.astype(F32), out)
            np.testing.assert_allclose(out, exact, rtol=0, atol=2e-5 * abs(exact).max())
    finally:
        for cache in caches:
            cache.cache_clear()


@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilate", "channels", "is_taken"),
    [
        *[(3, 1, 2, 1, 3, True), (3, 1, 3, 1, 16, False), (3, 1, 1, 2, 16, False), (2, 1, 1, 1, 16, True), (2, 1, 1, 1, 8, False)],
        *[(4, 2, 2, 1, 16, True), (4, 2, 3, 1, 16, False), (4, 1, 1, 1, 16, False), (3, 2, 1, 1, 16, False), (6, 3, 1, 1, 16, False)],
        *[((2, 3), 1, 1, 1, 16, False), (4, (2, 1), 1, 1, 16, False), (3, 1, (1, 3), 1, 16, False), (10, 2, 4, 1, 16, True)],
    ],
)
@pytest.mark.skipif(len(WAYS) == 1, reason="needs machine code")
def test_which_convolutions_may_have_tiles(kernel, stride, pad, dilate, channels, is_taken, monkeypatch):
    g = Geometry(1, channels, 16, 1, (9, 9), *[x if isinstance(x, tuple) else (x, x) for x in (kernel, stride, dilate, pad)])
    for is_compiled in WAYS:
        monkeypatch.setattr(SETTINGS, "jit", is_compiled)
        assert ("winograd" in applicable("forward", g, F32)) is (is_taken and (is_compiled or kernel == 3))


@pytest.mark.parametrize(("size", "results"), [(size, results) for size, several in tiles.FORMS.items() for results in several])
def test_winograd_transforms_match_their_interpolation_points(size, results):
    of_data, of_kernel, to_results = winograd_matrices.transforms(size, results)
    data, kernel = np.arange(size + results - 1.0), np.array([2.0, -1.0, 3.0, 0.5, -2.0])[:size]
    want = [data[k : k + size] @ kernel for k in range(results)]
    np.testing.assert_allclose(to_results @ ((of_kernel @ kernel) * (of_data @ data)), want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
@pytest.mark.parametrize("kind", KINDS)
def test_float16_results_are_rounded_once(kind, dtype):
    g = GEOMETRIES["plane"]
    first, second = operands(kind, g, mx.nd.zeros((1,), dtype=dtype).asnumpy().dtype)
    function = getattr(convolution, {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}[kind])
    extra = {"forward": {}, "data": {"size": g.size}, "weight": {"kernel": g.kernel}}[kind]
    got = function(first, second, stride=g.stride, dilate=g.dilate, pad=g.pad, groups=1, **extra)
    want = by_definition(kind, g, first.astype(F64), second.astype(F64))
    assert got.dtype == first.dtype
    np.testing.assert_allclose(got.astype(F64), want.astype(first.dtype).astype(F64), atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5)])
def test_a_sum_of_nothing_is_zero(shape):
    weight, params = np.ones((3, shape[1], 3, 3), F32), {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    y = convolution.convolve(np.ones(shape, F32), weight, **params)
    assert y.shape == (shape[0], 3, 5, 5)
    assert not y.any()
    assert not convolution.convolve_weight(np.ones(shape, F32), y, kernel=(3, 3), **params).any()
    assert convolution.convolve_data(y, weight, size=(5, 5), **params).shape == shape


def test_operands_can_be_strided():
    g = GEOMETRIES["plane"]
    x, w = operands("forward", g, F32)
    params = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": 1}
    apart = np.ascontiguousarray(x.transpose(2, 3, 0, 1)).transpose(2, 3, 0, 1)
    np.testing.assert_array_equal(convolution.convolve(apart, np.ascontiguousarray(w.T).T, **params), convolution.convolve(x, w, **params))


@pytest.mark.parametrize("nbytes", [1, 4000, 1 << 22])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in GEOMETRIES if len(GEOMETRIES[name].size) > 1])
def test_memory_order_changes_no_bit(name, kind, nbytes):
    """The layout pass relies on this for algorithms that take channels-last images."""
    g = GEOMETRIES[name]
    draw = np.random.default_rng(2)
    arrays = [draw.standard_normal(a.shape).astype(F32) for a in operands(kind, g)] + [np.empty(shape_of(kind, g), F32)]
    others = [a if a.shape == shape_of("weight", g) else tune._last(a) for a in arrays]
    taking = [c for c in applicable(kind, g, F32) if takes_channels_last(algorithm(kind, Choice(c, nbytes)))]
    assert taking == [c for c in applicable(kind, g, F32) if c in ("patches", "winograd")]
    for found in taking:
        for first, second, out in (arrays, others):
            algorithm(kind, Choice(found, nbytes))(g, first, second, out)
        np.testing.assert_array_equal(arrays[2], others[2], err_msg=found)


@pytest.mark.parametrize("kind", KINDS)
def test_only_algorithms_that_take_channels_last_report_a_gain(kind, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    op = {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}[kind]
    g = tune.geometry(8, 64, 56, 64, 3, pad=1)
    facts = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": 1, "size": g.size, "kernel": g.kernel}
    first, second = (a.shape for a in operands(kind, g))
    assert 0 < convolution.bytes_saved(op, facts, first, second, "float32") <= 8 * 64 * 56 * 56 * 4 * 2
    if len(WAYS) > 1:
        monkeypatch.setattr(SETTINGS, "jit", True)
        assert convolution.bytes_saved(op, facts, first, second, "float32") == 0
    for dtype in ("float16", "int32"):
        assert convolution.bytes_saved(op, facts, first, second, dtype) is None
    g = tune.geometry(8, 64, 56, 256, 1)
    first, second = (a.shape for a in operands(kind, g))
    assert convolution.bytes_saved(op, facts | {"pad": g.pad, "kernel": g.kernel}, first, second, "float32") is None


def test_tuning_measures_the_gain_of_channels_last():
    g = tune.geometry(2, 8, 12, 8, 3, pad=1)
    assert tune.measure_saving("forward", g, Choice("gathered", 1 << 20)) == 0.0
    assert 0.0 <= tune.measure_saving("forward", g, Choice("winograd", 1 << 20)) <= 1.0


def test_the_setting_chooses_the_exact_algorithm(monkeypatch):
    g = tune.geometry(8, 64, 56, 64, 3, pad=1)
    assert chosen("forward", g, F32, True).func is winograd.convolve
    for kind in KINDS:
        assert choice(kind, g, False).name != "winograd"
    x, w = (np.random.default_rng(0).standard_normal(s).astype(F32) for s in ((1, 64, 56, 56), (64, 64, 3, 3)))
    params = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    monkeypatch.setattr(SETTINGS, "winograd", False)
    exact = convolution.convolve(x, w, **params)
    want = by_definition("forward", tune.geometry(1, 64, 56, 64, 3, pad=1), x.astype(F64), w.astype(F64))
    assert abs(exact - want).max() < 1e-6 * abs(want).max()


def random_geometries(count):
    """Convolutions of planes."""
    draw = random.Random(0)
    while count:
        kernel, channels = (draw.randint(1, 7),) * 2, [draw.choice([1, 3, 8, 16, 48, 64]) for _ in range(2)]
        stride, dilate, pad = ((draw.choice(several),) * 2 for several in ([1, 1, 2, 2, 3], [1, 1, 1, 2], [0, 1, 1, 2, 3]))
        kernel = kernel if draw.random() < 0.8 else (kernel[0], draw.randint(1, 7))
        groups = draw.choice([1, 1, 1, math.gcd(*channels)])
        g = Geometry(draw.choice([1, 3, 32]), *channels, groups, (draw.randint(7, 60), draw.randint(7, 60)), kernel, stride, dilate, pad)
        if min(g.out) > 0:
            count -= 1
            yield g


@pytest.mark.parametrize("is_compiled", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_chooses_algorithms_that_apply(kind, is_compiled, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", is_compiled)
    planes = [g for name, g in GEOMETRIES.items() if len(g.size) == 2] + list(random_geometries(2000))
    for g in planes:
        apply = applicable(kind, replace(g, n=max(2, g.n)), F32)  # one image may be computed as several are
        for with_winograd in (False, "winograd" in apply):
            assert choice(kind, g, with_winograd).name in apply, g


def test_small_convolutions_use_the_definition():
    for g in (GEOMETRIES["plane"], tune.geometry(1, 1, 5, 2, 3, pad=1)):
        for kind in KINDS:
            assert "winograd" not in chosen(kind, g, F32, True).func.__module__


def test_the_table_covers_every_class_of_every_kind():
    found = {(row.kind, class_of(row.geometry)) for row in rows()}
    assert found == {(kind, name) for kind in KINDS for name in {class_of(g) for g in tune.MEASURED}}
    assert {class_of(g) for g in GEOMETRIES.values()} <= {name for _, name in found}


def test_tuning_measures_every_candidate_and_prefers_the_simplest_of_equals():
    g = tune.geometry(1, 2, 6, 3, 3, pad=1)
    seconds = tune.measure("forward", g)
    assert list(seconds) == tune.candidates("forward", g)
    assert list(dict.fromkeys(c.name for c in seconds)) == applicable("forward", g, F32)
    slow, simple, quick = Choice("gathered", 1), Choice("flat", 1), Choice("winograd", 1)
    assert tune.choose({slow: 2.0, simple: 1.02, quick: 1.0}) == simple
    assert tune.choose({slow: 2.0, simple: 1.2, quick: 1.0}) == quick


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["gathered", "flat", "batched", "patches", "winograd"])
def test_memory_does_not_grow_with_the_number_of_images(name, kind, monkeypatch):
    taken = []
    empty = POOL.empty

    def counting(shape, dtype):
        taken.append(math.prod(shape) * np.dtype(dtype).itemsize)
        return empty(shape, dtype)

    monkeypatch.setattr(POOL, "empty", counting)
    monkeypatch.setattr(SETTINGS, "threads", 1)  # each further thread takes as much again
    sums = []
    for n in (32, 128):
        g = tune.geometry(n, 8, 40, 8, 3, pad=1)
        taken.clear()
        first, second = operands(kind, g, F32)
        algorithm(kind, Choice(name, 1 << 18))(g, first, second, np.empty(shape_of(kind, g), F32))
        sums.append(sum(taken))
    assert sums[0] == sums[1] < 3 << 18


def run(x, w, head):
    """A convolution with its gradients and a second-order gradient."""
    x, w = mx.nd.array(x), mx.nd.array(w)
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=len(w), no_bias=True)
        (dx,) = mx.autograd.grad(y, [x], head_grads=mx.nd.array(head), create_graph=True, retain_graph=True)
        z = (dx * dx).sum() + (y * y).sum()
    z.backward()
    return [a.asnumpy() for a in (y, dx, x.grad, w.grad)]


@pytest.mark.parametrize("with_winograd", [False, True])
def test_every_mode_gives_the_same_bits(monkeypatch, with_winograd):
    draw = np.random.default_rng(0)
    given = [draw.standard_normal(s).astype(F32) for s in ((4, 32, 28, 28), (32, 32, 3, 3), (4, 32, 28, 28))]
    monkeypatch.setattr(SETTINGS, "winograd", with_winograd)
    g = tune.geometry(4, 32, 28, 32, 3, pad=1)
    used = [choice(kind, g, with_winograd).name for kind in KINDS]
    assert g.products >= convolution.MIN_PRODUCTS
    assert ("winograd" in used) == with_winograd
    results = []
    for engine, elements in (("naive", 64), ("window", 1 << 40), ("window", 64)):
        monkeypatch.setattr(SETTINGS, "engine", engine)
        monkeypatch.setattr(SETTINGS, "defer_elements", elements)
        drop_generation()
        results.append(run(*given))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
