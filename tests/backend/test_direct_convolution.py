"""Direct convolutions in machine code: how they are cut, and the kernels that are applied to their results before these leave the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.program.compile import Program
from twofold_numpy import convolution, direct, direct_tiling, direct_weights, planes, tune
from twofold_numpy.convolution import algorithm, shape_of
from twofold_numpy.convolution_table import DIRECT, FILE, WINOGRAD, Choice, rows
from twofold_numpy.geometry import Geometry
from twofold_numpy.jit import depthwise
from twofold_numpy.jit import direct as jit_direct
from twofold_numpy.jit.compiler import compiler

from .jit import fresh
from .test_convolution import operands

__all__ = ["fresh"]
F32 = np.dtype(np.float32)
#: Filters that fill no block, several bands of rows, one band shared by pieces, planes of a stride, groups of a few filters, gaps.
GEOMETRIES = {
    "few filters": tune.geometry(1, 3, 40, 13, 3, pad=1),
    "bands": tune.geometry(2, 8, 112, 9, 3, pad=1),
    "one band": tune.geometry(1, 64, 7, 96, 3, pad=1),
    "stride": tune.geometry(2, 5, 57, 21, 7, 2, 3),
    "stride without padding": tune.geometry(1, 16, 56, 24, 1, 2),
    "large stride": tune.geometry(1, 3, 67, 16, 11, 4, 2),
    "groups": tune.geometry(2, 12, 30, 36, 3, pad=1, groups=3),
    "each channel by itself": tune.geometry(3, 40, 29, 40, 3, 1, 1, groups=40),
    "each channel by itself, stride": tune.geometry(2, 30, 41, 30, 3, 2, 1, groups=30),
    "each channel by itself, large kernel": tune.geometry(1, 20, 70, 20, 5, 1, 2, groups=20),
    "each channel by itself, large kernel and stride": tune.geometry(1, 20, 39, 20, 5, 2, 2, groups=20),
    "each channel by itself, dilated": Geometry(1, 24, 24, 24, (31, 40), (3, 3), (1, 1), (2, 3), (2, 3)),
    "each channel by itself, dilated, stride": Geometry(1, 24, 24, 24, (31, 40), (3, 2), (3, 2), (2, 3), (2, 3)),
    "each channel by itself, line": Geometry(2, 64, 64, 64, (301,), (4,), (2,), (1,), (2,)),
    "no padding": tune.geometry(1, 6, 33, 20, 3),
    "single places": tune.geometry(2, 24, 23, 40, 1),
    "more channels than filters": tune.geometry(2, 48, 23, 10, 1),
    "many places": tune.geometry(1, 32, 40, 48, 1),
    "line": Geometry(3, 6, 20, 1, (301,), (5,), (2,), (2,), (3,)),
    "dilated": Geometry(1, 4, 20, 1, (31, 40), (3, 3), (1, 1), (2, 5), (2, 5)),
    "kernel smaller than the stride": Geometry(2, 6, 20, 1, (17, 18), (1, 2), (3, 3), (1, 1), (0, 0)),
    "stride along one axis": Geometry(2, 6, 20, 1, (17, 18), (4, 3), (3, 1), (1, 2), (1, 2)),
    "strided line": Geometry(3, 6, 20, 2, (301,), (5,), (2,), (1,), (2,)),
    "chunks of channels": tune.geometry(3, 192, 9, 20, 3, pad=1),
    "bands of images": tune.geometry(5, 3, 90, 8, 3, pad=1),
    "one chunk of many channels": tune.geometry(2, 131, 9, 8, 3, pad=1),
    "parts of channels": tune.geometry(2, 1100, 9, 12, 3, pad=1),
    "parts of channels of a stride": tune.geometry(2, 40, 17, 1100, 3, 2, 1),
    "rows of images beyond the last window": tune.geometry(2, 8, 12, 16, 3, 2),
}


def computed(kind, g, choice):
    first, second = operands(kind, g, F32)
    out = np.full(shape_of(kind, g), np.nan, F32)
    algorithm(kind, choice)(g, first, second, out)
    return out


@pytest.mark.parametrize("kind", ["forward", "data", "weight"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_cut_gives_the_sums_of_the_definition(name, kind):
    """Small integers, whose sums are exact in any order."""
    g = GEOMETRIES[name]
    # there is no convolution with every second element of a dilated kernel
    both = any(s > 1 and e > 1 for s, e in zip(g.stride, g.dilate, strict=True))
    assert direct.is_applicable(kind, g, F32) == (kind != "data" or not both)
    if kind == "data" and both:
        return
    np.testing.assert_array_equal(computed(kind, g, DIRECT), computed(kind, g, Choice("gathered", 1 << 20)))


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors_give_the_same_sums(bits, monkeypatch):
    own = compiler()
    monkeypatch.setattr(own, "machine", own.machine._replace(vector_bits=bits))
    jit_direct._code.cache_clear()
    direct.forget()
    try:
        for g in GEOMETRIES.values():
            for kind in ("forward", "weight"):
                np.testing.assert_array_equal(computed(kind, g, DIRECT), computed(kind, g, Choice("gathered", 1 << 20)))
    finally:
        jit_direct._code.cache_clear()
        direct.forget()


def test_what_is_cut_depends_on_sizes(monkeypatch):
    tilings = {name: direct_tiling.tiling_of(planes.plane_of(g), (8, 3), 64, 2) for name, g in GEOMETRIES.items()}
    assert tilings["few filters"].words["bands"] == 2
    assert tilings["bands"].words["bands"] == 14
    assert (tilings["one band"].pieces, tilings["one band"].words["ranges"], tilings["one band"].words["range.filters"]) == (2, 2, 48)
    assert not any(tilings[name].words["is.copied"] for name in ("no padding", "single places"))
    assert tilings["no padding"].words["is.spread"]
    assert not tilings["single places"].words["is.spread"]
    # of a stride of 2 without padding a quarter of the image is copied
    assert tilings["stride without padding"].words["copied.rows"] == tilings["stride without padding"].words["band.rows"]


def words_of(g):
    return direct_tiling.tiling_of(planes.plane_of(g), (8, 3), 64).words


def test_rows_of_a_copy_have_no_gaps_where_filters_are_many():
    many, few = (tune.geometry(1, 32, 28, filters, 3, pad=1) for filters in (64, 2))
    assert (words_of(many)["pitch"], words_of(few)["pitch"]) == (28, 30)
    assert (words_of(many)["is.spread"], words_of(few)["is.spread"]) == (0, 1)
    # three planes, for the columns of the kernel, each with two rows more than the band
    assert words_of(many)["copied.rows"] == 3 * (words_of(many)["band.rows"] + 2)
    assert words_of(few)["copied.rows"] == words_of(few)["band.rows"] + 2
    # of a stride of two: both phases of the rows
    strided = words_of(tune.geometry(1, 32, 28, 64, 3, 2, 1))
    assert (strided["pitch"], strided["copied.rows"]) == (14, 2 * 3 * (strided["band.rows"] + 1))


def test_bands_fill_their_vectors():
    # 8 rows of 14 places are 7 vectors of 16; 7 rows would waste 6 lanes, and again in the second band
    assert words_of(tune.geometry(1, 1024, 14, 512, 1))["band.rows"] == 8
    assert words_of(tune.geometry(1, 64, 14, 64, 1))["band.rows"] == 14


def test_runs_that_end_with_half_a_vector_are_computed_in_longer_tiles():
    # 49 and 196 places are one and four times 48, and a few more
    ends = [words_of(tune.geometry(1, 64, side, 64, 1))["is.long"] for side in (7, 14, 56)]
    assert ends == [1, 1, 0]


def tilings_of(of, name, monkeypatch):
    """What machine code is bound to for a convolution, by `direct._forward` or `direct._phases`."""
    bound, bind = [], jit_direct._in_pieces
    monkeypatch.setattr(jit_direct, "_in_pieces", lambda *parts, **more: bound.append(parts[3]) or bind(*parts, **more))
    direct.forget()
    of(GEOMETRIES[name])
    return bound


def test_results_go_through_a_tile_only_where_an_operand_may_be_in_their_memory(monkeypatch):
    plane = planes.plane_of(GEOMETRIES["many places"])
    plain, overwriting = (direct_tiling.tiling_of(plane, (8, 3), 64, 1, in_tiles).words for in_tiles in (False, True))
    assert (plain["is.tiled"], plain["scratch.size"]) == (0, 0)
    assert overwriting["is.tiled"] == 1
    [tiling] = tilings_of(direct._forward, "many places", monkeypatch)
    assert tiling.words["scratch.size"] == 0
    # the run of 1,000 places is cut into four chunks of five blocks of three vectors, and the rest; each for eight filters
    assert overwriting["chunk.places"] == 5 * 3 * 16
    assert overwriting["scratch.size"] == 5 * 3 * 64 * 8
    # a run that is not much longer than a chunk is one
    assert words_of(tune.geometry(1, 64, 14, 64, 1))["chunk.places"] == 14 * 14


def test_depthwise_convolutions_are_computed_without_copies(monkeypatch):
    found = {name: planes.plane_of(g) for name, g in GEOMETRIES.items()}
    named = {name for name, p in found.items() if depthwise.is_depthwise(p, 512)}
    assert named == {name for name in GEOMETRIES if name.startswith("each channel by itself")}
    plane = found["each channel by itself"]
    # narrow vectors have no masks, and strides of three no shuffle of two vectors
    assert not depthwise.is_depthwise(plane, 128)
    assert not depthwise.is_depthwise(plane._replace(stride=(1, 3)), 512)
    assert depthwise.tiling_of(plane, 1).pieces == 1
    assert depthwise.tiling_of(plane, 2).pieces == 2
    bits = compiler().machine.vector_bits
    for of in (direct._forward, direct._phases):
        [tiling] = tilings_of(of, "each channel by itself", monkeypatch)
        assert (tiling.words.get("scratch.size", 0) == 0) == (bits >= depthwise.LEAST_BITS)


def test_arrays_with_gaps_are_copied(monkeypatch):
    """Every second element, of images, weights and results: the code itself reads and writes runs of them."""
    copies = []
    monkeypatch.setattr(jit_direct, "packed", lambda x: copies.append(1) or np.ascontiguousarray(x))
    g = GEOMETRIES["many places"]
    first, second = operands("forward", g, F32)
    expected, wide = np.empty(shape_of("forward", g), F32), np.full((*shape_of("forward", g)[:-1], 2 * g.out[-1]), 7, F32)
    compute = direct.at_once(g)
    compute(first, second, expected)
    assert not copies
    compute(np.repeat(first, 2, -1)[..., ::2], np.repeat(second, 2, 0)[::2], wide[..., ::2])
    assert copies
    np.testing.assert_array_equal(wide[..., ::2], expected)
    assert (wide[..., 1::2] == 7).all()


@pytest.mark.parametrize("taps", [3, 16, 40])
def test_the_taps_of_the_next_tile_follow_the_last_one(taps):
    table = np.stack([100 * np.arange(taps), np.arange(taps)], -1).astype(np.int32)
    longer = direct_tiling.followed(table, 192)
    np.testing.assert_array_equal(longer[:taps], table)
    for k in range(direct_tiling.AHEAD):
        assert tuple(longer[taps + k]) == (100 * (k % taps) + 192 * (1 + k // taps), k % taps)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_lack_of_memory_for_copies_is_an_error_and_no_wrong_result():
    """All copies of a band of 65,536 channels, which take more memory than the process may have."""
    program = """
import resource
import numpy as np
from twofold.config import SETTINGS
SETTINGS.jit = True
from twofold_numpy import direct, tune
g = tune.geometry(1, 1 << 16, 8, 16, 1, stride=2)
g_small = tune.geometry(1, 64, 8, 16, 1, stride=2)
def arrays(g):
    return [np.ones(shape, np.float32) for shape in ((1, g.channels, 8, 8), (16, g.channels, 1, 1), (1, 16, 4, 4))]
large, small = arrays(g), arrays(g_small)
compute = [direct.at_once(g), direct.at_once(g_small)]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 19), resource.RLIM_INFINITY))
held = []
try:
    while True:
        held.append(bytearray(1 << 20))
except MemoryError:
    pass
try:
    compute[0](*large)
except MemoryError:
    print("MemoryError")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
compute[0](*large), compute[1](*small)
print(np.unique(large[2]), np.unique(small[2]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"TWOFOLD_THREADS": "1"})
    assert done.stdout == "MemoryError\n[65536.] [64.]\n", done.stderr


def test_a_tap_of_padding_is_a_multiplication_by_zero():
    """Thus an infinite weight gives NaN at the edges, as in every other algorithm."""
    g = GEOMETRIES["each channel by itself"]
    first, second = operands("forward", g, F32)
    second[:, 0, 0, 0] = np.inf
    out = np.zeros(shape_of("forward", g), F32)
    direct.convolve(g, np.abs(first) + 1, second, out)
    assert np.isnan(out[:, :, 0]).all()
    assert np.isnan(out[:, :, :, 0]).all()
    assert np.isposinf(out[:, :, 1:, 1:]).all()


@pytest.mark.parametrize("kind", ["forward", "weight"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_number_of_threads_changes_no_bit(name, kind, monkeypatch):
    g = GEOMETRIES[name]
    draw = np.random.default_rng(5)
    first, second = (draw.standard_normal(x.shape).astype(F32) for x in operands(kind, g, F32))
    outs = []
    for threads in (1, 2, 4):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        outs.append(np.empty(shape_of(kind, g), F32))
        algorithm(kind, DIRECT)(g, first, second, outs[-1])
    np.testing.assert_array_equal(outs[0], outs[1])
    np.testing.assert_array_equal(outs[0], outs[2])


def test_it_is_chosen_for_float32_with_a_compiler(monkeypatch):
    g = tune.geometry(1, 64, 56, 64, 3, 1, 1)
    assert convolution.chosen("forward", g, F32, False) is direct.convolve
    assert convolution.chosen("weight", g, F32, False) is direct.convolve_weight
    assert convolution.chosen("data", tune.geometry(1, 64, 56, 64, 3, 2, 1), F32, False) is direct.convolve_data
    assert convolution.chosen("forward", g, np.dtype(np.float64), False) is not direct.convolve
    # for less work the compiler is not loaded
    assert convolution.chosen("forward", tune.geometry(1, 4, 18, 2, 3), F32, False) is direct.convolve
    assert convolution.chosen("forward", tune.geometry(1, 4, 8, 2, 3), F32, False) is not direct.convolve
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert convolution.chosen("forward", g, F32, False) is not direct.convolve


def test_many_images_of_one_pixel_are_products_of_matrices():
    """A vector of machine code would have one place that counts; the gradient of a weight has the channels in its vectors."""
    pixels, pictures = tune.geometry(32, 512, 1, 512, 1), tune.geometry(32, 512, 4, 512, 1)
    for kind in ("forward", "data"):
        assert not direct.is_faster(kind, pixels)
        assert direct.is_faster(kind, pictures)
    assert direct.is_faster("weight", pixels)
    assert not direct.is_faster("weight", tune.geometry(8, 128, 1, 128, 3, pad=1))


def test_channels_are_in_chunks_and_images_in_bands_that_stay_in_cache():
    planes = {name: list(direct_weights.planes_of(g)) for name, g in GEOMETRIES.items()}
    [chunks] = planes["chunks of channels"]
    assert (chunks.parts, chunks.channels, chunks.is_shared) == (4, 48, True)
    assert [plane.n for plane in planes["bands of images"]] == [1, 2, 2]
    [groups] = planes["groups"]
    assert (groups.parts, groups.channels, groups.filters, groups.is_shared) == (3, 4, 12, False)
    assert planes["one chunk of many channels"][0].channels == 131


def test_channels_are_summed_in_parts_where_a_band_would_have_few_places():
    def number(*sizes):
        return len(planes.parts_of(planes.plane_of(tune.geometry(*sizes))))

    assert number(1, 512, 8, 512, 3, 1, 1) == 1
    assert number(1, 2048, 8, 512, 3, 1, 1) > 2
    assert number(1, 2048, 8, 512, 1) == number(8, 2048, 60, 512, 1) == 1
    assert not direct.is_whole(GEOMETRIES["parts of channels"])
    assert direct.is_whole(GEOMETRIES["bands"])


def test_phases_have_the_elements_of_the_kernel_that_reach_them():
    phases = planes.phases_of(tune.geometry(2, 5, 57, 21, 3, 2, 1))
    assert [phase.plane.elements for phase in phases] == [(8, 6, 2, 0), (7, 1), (5, 3), (4,)]
    assert [phase.places for phase in phases][1] == (slice(1, None, 2), slice(0, None, 2))
    [dense] = planes.phases_of(tune.geometry(2, 5, 57, 21, 3, 1, 1))
    assert dense.plane.elements == tuple(range(9))[::-1]


@pytest.fixture(params=["one unit", "two units"])
def has_two_wide_units(request, monkeypatch):
    """Choose as on a processor with one unit for multiply-adds of 512 bits, or two."""
    is_wide = request.param == "two units"
    monkeypatch.setattr(direct, "has_two_wide_units", lambda: is_wide)
    convolution.chosen.cache_clear()
    yield is_wide
    convolution.chosen.cache_clear()


def test_the_table_weighs_a_pass_over_results_against_winograds_algorithm(has_two_wide_units):
    """Layers with few channels, which have groups of these or not; layers of ResNets; and products over channels."""
    few, groups, many = (tune.geometry(*sizes, 3, pad=1) for sizes in ((8, 20, 32, 20), (32, 16, 32, 16), (8, 256, 14, 256)))
    assert convolution.chosen("forward", few, F32, True) is direct.convolve
    assert (convolution.chosen("forward", groups, F32, True) is direct.convolve) is has_two_wide_units
    assert convolution.chosen("forward", many, F32, True) is not direct.convolve
    for channels, side, filters in ((256, 56, 64), (1024, 14, 256), (512, 7, 2048), (512, 14, 512)):
        assert convolution.chosen("forward", tune.geometry(8, channels, side, filters, 1), F32, True) is direct.convolve


@pytest.mark.parametrize("is_faster", [False, True])
def test_what_is_measured_on_one_kind_of_processor_leaves_the_others_choices(has_two_wide_units, is_faster, monkeypatch):
    monkeypatch.setattr(tune, "measure", lambda *_: {DIRECT: 1.0, WINOGRAD: 2.0 if is_faster else 0.5})
    before = [row for row in json.loads(FILE.read_text())["rows"] if row["kind"] == "weight"]
    found = tune.with_direct_measured({"rows": [dict(row) for row in before]})["rows"]
    measured = [k for k, row in enumerate(before) if any("winograd" in name for name in row["milliseconds"])]
    assert len(measured) > 50
    for old, new in zip(before, found, strict=True):
        assert new["direct"][not has_two_wide_units] == old["direct"][not has_two_wide_units]
    assert all(found[k]["direct"][has_two_wide_units] is is_faster for k in measured if "direct 0" in before[k]["milliseconds"])


def test_what_is_measured_without_a_compiler_leaves_both_answers(monkeypatch):
    monkeypatch.setattr(direct, "IN_MACHINE_CODE", [])
    known = rows()[0]._replace(direct=(True, False))
    assert tune.with_this_machine(known, False) == (True, False)


# epilogues

SIZE = (2, 16, 56, 56)


def steps_of(build, monkeypatch):
    """The steps of a program with a direct 3x3 convolution, after checking that it gives the same bits without epilogues."""
    monkeypatch.setattr(SETTINGS, "winograd", False)
    x, w = leaf("x", SIZE, "float32"), leaf("w", (24, 16, 3, 3), "float32")
    scale, shift, other = leaf("s", (24,), "float32"), leaf("b", (24, 1, 1), "float32"), leaf("o", (2, 24, 56, 56), "float32")
    leaves = [x, w, scale, shift, other, leaf("v", (24, 24, 1, 1), "float32"), leaf("u", (24,), "float32")]
    y = G.convolve(x, w, stride=(1, 1), dilate=(1, 1), pad=(1, 1), groups=1, channels_last=False)
    outputs = build(y, G.reshape(scale, shape=(1, 24, 1, 1)), shift, other)
    draw = np.random.default_rng(0)
    arrays = [draw.uniform(-0.3, 0.7, n.shape).astype(F32) for n in leaves]
    found = []
    for is_on in (True, False):
        monkeypatch.setattr(SETTINGS, "epilogues", is_on)
        program = Program(outputs, leaves, backend_for(CPU))
        found.append((program.explain().split("\n"), program.run([a.copy() for a in arrays])))
    for got, want in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_array_equal(got, want)
    assert "convolve" in found[1][0]
    return [line for line in found[0][0] if "convolve" in line]


@pytest.mark.parametrize(
    ("build", "steps"),
    [
        (lambda y, s, b, o: [G.maximum(y * s + b, 0)], ["convolve + multiply + add + maximum"]),
        (lambda y, s, b, o: [G.maximum((y - b) * s + o, 0.5)], ["convolve + subtract + multiply + add + maximum"]),
        (lambda y, s, b, o: [G.where(G.greater(y, 0), y, y * s)], ["convolve + greater + multiply + where"]),
        (lambda y, s, b, o: [y * 2.0], ["convolve + multiply"]),
    ],
    ids=["scale", "residual", "leaky", "number"],
)
def test_the_kernel_that_alone_reads_a_convolution_is_computed_with_it(build, steps, monkeypatch):
    assert steps_of(build, monkeypatch) == steps


@pytest.mark.parametrize(
    "build",
    [
        lambda y, s, b, o: [y, y * s],
        lambda y, s, b, o: [y * s, G.sum(y, axis=1)],
        lambda y, s, b, o: [y * s, y * s + b],
        lambda y, s, b, o: [y + G.sum(o, axis=3, keepdims=True)],
    ],
    ids=["a result", "another reader", "two results", "an operand by row"],
)
def test_a_convolution_with_other_readers_or_operands_stays_alone(build, monkeypatch):
    assert steps_of(build, monkeypatch) == ["convolve"]


def test_a_strided_operand_of_an_epilogue_is_copied(monkeypatch):
    def build(y, s, b, o):
        return [y + G.permute_dims(o, axes=(0, 1, 3, 2))]

    assert steps_of(build, monkeypatch) == ["convolve + add"]


@pytest.mark.parametrize("name", ["each channel by itself", "bands", "many places"])
def test_a_residual_may_be_in_the_memory_of_the_result(name, monkeypatch):
    """The program overwrites it, since nothing reads it later."""
    g = GEOMETRIES[name]
    x, w, v = (leaf(name, shape_of(kind, g), "float32") for name, kind in (("x", "data"), ("w", "weight"), ("v", "weight")))
    y, z = (G.convolve(x, by, stride=g.stride, dilate=g.dilate, pad=g.pad, groups=g.groups, channels_last=False) for by in (w, v))
    outputs = [G.maximum(y * 0.5 + z, 0)]
    draw = np.random.default_rng(3)
    arrays = [draw.standard_normal(n.shape).astype(F32) for n in (x, w, v)]
    found = []
    for is_on in (True, False):
        monkeypatch.setattr(SETTINGS, "epilogues", is_on)
        program = Program(outputs, [x, w, v], backend_for(CPU))
        assert ("convolve + multiply + add + maximum" in program.explain()) == is_on
        found.append(program.run([a.copy() for a in arrays])[0])
    np.testing.assert_array_equal(*found)


def test_an_approximate_step_stays_in_a_kernel_of_its_own_form(monkeypatch):
    """`exp` has other bits in machine code than in a kernel's first use: both are decided for the kernel as a whole."""
    x, w = leaf("x", (1, 64, 28, 28), "float32"), leaf("w", (64, 64, 3, 3), "float32")
    y = G.exp(G.convolve(x, w, stride=(1, 1), dilate=(1, 1), pad=(1, 1), groups=1, channels_last=False))
    draw = np.random.default_rng(0)
    arrays = [(draw.standard_normal(n.shape) / 30).astype(F32) for n in (x, w)]
    with_epilogue = Program([y], [x, w], backend_for(CPU))
    monkeypatch.setattr(SETTINGS, "epilogues", False)
    without = Program([y], [x, w], backend_for(CPU))
    np.testing.assert_array_equal(with_epilogue.run(arrays)[0], without.run(arrays)[0])


def test_a_channels_last_convolution_takes_no_epilogue(monkeypatch):
    params = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    inputs = [ArrayType((1, 64, 56, 56), "float32"), ArrayType((64, 64, 3, 3), "float32")]
    takes = backend_for(CPU).target.takes_epilogue
    assert not takes("convolve", params | {"channels_last": False}, inputs)  # Winograd's algorithm, which takes half the time, has none
    monkeypatch.setattr(SETTINGS, "winograd", False)
    assert takes("convolve", params | {"channels_last": False}, inputs)
    assert not takes("convolve", params | {"channels_last": True}, inputs)
    assert not takes("convolve", params | {"channels_last": False}, [ArrayType(i.shape, "float64") for i in inputs])


def test_kernels_of_two_convolutions_that_were_fused_are_parted_again(monkeypatch):
    """Two branches of the same shape, as in SqueezeNet: their activations would be one kernel."""

    def build(y, s, b, o):
        z = G.convolve(o, leaf("v", (24, 24, 1, 1), "float32"), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, channels_last=False)
        return [G.maximum(y + b, 0), G.maximum(z + b, 0)]

    assert steps_of(build, monkeypatch) == ["convolve + add + maximum"] * 2


def test_of_two_convolutions_in_one_sum_one_is_computed_with_it(monkeypatch):
    def build(y, s, b, o):
        z = G.convolve(o, leaf("v", (24, 24, 1, 1), "float32"), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, channels_last=False)
        return [G.maximum(y * s + z * b, 0)]

    assert sorted(steps_of(build, monkeypatch)) == ["convolve", "convolve + multiply + multiply + add + maximum"]


def test_normalization_outside_training_is_one_kernel_with_its_convolution(monkeypatch):
    """Its scale, which is computed from small arrays, comes before the convolution, and not between two operations on the data."""

    def build(y, s, b, o):
        return [G.maximum((y - b) * G.reshape(1 / G.sqrt(leaf("u", (24,), "float32") + 0.5), shape=(24, 1, 1)), 0)]

    assert steps_of(build, monkeypatch) == ["convolve + subtract + multiply + maximum"]
