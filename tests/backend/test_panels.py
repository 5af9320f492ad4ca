"""Direct convolutions whose weights are in panels: the sums of the others bit for bit, packed at each call or once and for all."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.backend import workers
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import applies, leaf
from twofold.ops.primitive_convolve import convolve_packed, packed_weight
from twofold.program.compile import Program
from twofold.program.constants import with_packed_weights
from twofold_numpy import convolution, direct, tune
from twofold_numpy.blas import blas
from twofold_numpy.convolution import shape_of
from twofold_numpy.geometry import Geometry, Kind
from twofold_numpy.jit.availability import is_installed

if not is_installed() or blas() is None:
    pytest.skip("no llvmlite, or a BLAS with its own number of threads", allow_module_level=True)

from twofold_numpy.direct_tiling import PANELS, tiling_of
from twofold_numpy.jit import direct as jit_direct
from twofold_numpy.jit import panels
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.planes import plane_of

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(SETTINGS, "jit", True)
    COMPILER = compiler()
#: The widths of vectors that there is code for: a processor of wide ones also runs that for narrow ones.
WIDTHS = [bits for bits in (512, 256) if COMPILER is not None and bits <= COMPILER.machine.vector_bits]
if not WIDTHS:
    pytest.skip("no vectors of 256 bits", allow_module_level=True)

F32 = np.dtype(np.float32)
#: Panels that are full, half empty and partly filled, by all sizes of tiles; ranges of filters; chunks; copies with gaps and without.
GEOMETRIES = {
    "one tile": tune.geometry(1, 5, 7, 32, 1),
    "runs that end with a short tile": tune.geometry(2, 130, 13, 48, 1),
    "runs shorter than a long tile": Geometry(2, 140, 33, 1, (1, 9), (1, 1), (1, 1), (1, 1), (0, 0)),
    "few filters": tune.geometry(2, 150, 15, 17, 1),
    "filters that fill no vector": tune.geometry(1, 129, 14, 61, 1),
    "chunks": tune.geometry(2, 128, 37, 40, 1),
    "copies": tune.geometry(2, 20, 29, 36, 3, pad=1),
    "copies with gaps": tune.geometry(1, 40, 29, 3, 3, pad=1),
    "stride": tune.geometry(2, 33, 41, 50, 3, 2, 1),
    "pixels apart": tune.geometry(2, 130, 28, 64, 1, 2),
    "large kernel": tune.geometry(1, 3, 67, 33, 7, 2, 3),
    "groups": tune.geometry(2, 3 * 130, 9, 3 * 40, 1, groups=3),
    "groups of images with padding": tune.geometry(3, 2 * 20, 23, 2 * 33, 3, pad=1, groups=2),
    "dilated": Geometry(1, 30, 40, 1, (31, 40), (3, 3), (1, 1), (2, 5), (2, 5)),
    "line": Geometry(2, 64, 48, 1, (301,), (5,), (2,), (1,), (2,)),
    "ranges of filters": tune.geometry(2, 1030, 9, 290, 1),
    "ranges of taps and stretches": tune.geometry(2, 300, 17, 70, 1),
    "blocks of filters": tune.geometry(1, 70, 15, 150, 3, pad=1),
    "depthwise": tune.geometry(1, 3, 13, 3, 3, pad=1, groups=3),
}


@pytest.fixture(autouse=True, params=WIDTHS)
def bits(request, monkeypatch):
    """With machine code for vectors of some width, and convolutions bound again."""
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(COMPILER, "machine", COMPILER.machine._replace(vector_bits=request.param))
    for forget in (direct.forget, jit_direct._code.cache_clear):
        forget()
    yield request.param
    for forget in (direct.forget, jit_direct._code.cache_clear):
        forget()


#: In place of what decides by time: whether there is code.
possible = panels.can_be_given


def arrays_of(g, kind: Kind = "data"):
    draw = np.random.default_rng(2)
    return [draw.standard_normal(shape_of(k, g)).astype(F32) for k in (kind, "weight")]


def in_panels(weight, g):
    """The definition of panels."""
    rows = weight.reshape(g.groups, g.filters // g.groups, -1)
    columns = panels.columns(COMPILER.machine.vector_bits)
    rows = np.pad(rows, [(0, 0), (0, -rows.shape[1] % columns), (0, 0)])
    return rows.reshape(-1, columns, rows.shape[2]).swapaxes(1, 2).copy()


def computed(g, function, *arrays):
    out = np.full(shape_of("forward", g), np.nan, F32)
    function(g, *arrays, out)
    return out


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_sums_are_those_of_weights_where_they_are(name, threads, bits, monkeypatch):
    g = GEOMETRIES[name]
    data, weight = arrays_of(g)
    monkeypatch.setattr(panels, "are_faster", lambda p, bits: False)
    plain = computed(g, direct.convolve, data, weight)
    monkeypatch.setattr(workers, "count", lambda: threads)
    monkeypatch.setattr(panels, "are_faster", possible)
    direct.forget()
    asked = []
    monkeypatch.setattr(direct, "parts_of", lambda p, of=direct.parts_of: asked.append(possible(p, bits)) or of(p))
    packed = computed(g, direct.convolve, data, weight)
    assert asked == [True]
    np.testing.assert_array_equal(packed.view(np.int32), plain.view(np.int32))
    if direct.is_whole(g):
        given = computed(g, direct.convolve_packed, data, in_panels(weight, g))
        np.testing.assert_array_equal(given.view(np.int32), plain.view(np.int32))


@pytest.mark.parametrize("name", ["runs that end with a short tile", "pixels apart", "groups"])
def test_gradients_of_data_are_packed_by_the_other_axis(name, monkeypatch):
    g = GEOMETRIES[name]
    result, weight = arrays_of(g, "forward")
    found = []
    for faster in (possible, lambda p, bits: False):
        monkeypatch.setattr(panels, "are_faster", faster)
        direct.forget()
        out = np.full(shape_of("data", g), np.nan, F32)
        direct.convolve_data(g, result, weight, out)
        found.append(out.view(np.int32))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["runs that end with a short tile", "chunks", "copies", "stride", "groups", "ranges of filters"])
def test_a_kernel_is_applied_to_results_of_panels(name, bits, monkeypatch):
    """A residual may be in the result's memory."""
    monkeypatch.setattr(SETTINGS, "winograd", False)
    g = GEOMETRIES[name]
    x, w, v = (leaf(n, shape_of(kind, g), "float32") for n, kind in (("x", "data"), ("w", "weight"), ("v", "weight")))
    scale = leaf("s", (g.filters, 1, 1), "float32")
    leaves = [x, w, v, scale]
    facts = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": g.groups}
    plain, residual = (G.convolve(x, by, **facts, channels_last=False) for by in (w, v))
    given = G.convolve_packed(x, packed_weight(G, w, g.groups, panels.columns(bits)), shape=w.shape, **facts)
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(n.shape).astype(F32) for n in leaves]
    found = []
    for product, faster in ((plain, lambda p, bits: False), (plain, possible), (given, possible)):
        monkeypatch.setattr(panels, "are_faster", faster)
        program = Program([G.maximum(product * scale + residual, 0)], leaves, backend_for(CPU))
        assert f"{product.bound_op.op.name} + multiply + add + maximum" in program.explain()
        found.append(program.run([a.copy() for a in arrays])[0].view(np.int32))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def chosen(*sizes, **more):
    """Whether a weight is packed at each call, and whether it is given in panels if it does not change."""
    g = tune.geometry(*sizes, **more)
    return panels.are_faster(plane_of(g), COMPILER.machine.vector_bits), panels.width(g) > 0


@pytest.mark.parametrize("bits", [512], indirect=True)
def test_they_are_chosen_where_vectors_of_places_would_be_no_whole_lines():
    assert chosen(1, 256, 14, 256, 1) == (True, True)
    assert chosen(1, 128, 28, 128, 1) == (False, False)  # 784 places are whole vectors
    assert chosen(1, 256, 28, 128, 1) == (True, True)  # but of many channels these are read from too many lines
    assert chosen(1, 256, 56, 128, 1) == (False, False)
    assert chosen(1, 512, 7, 512, 1) == (False, True)  # so few places are not worth packing
    assert chosen(32, 128, 7, 512, 1) == (True, True)
    assert chosen(32, 512, 7, 2048, 1) == (False, True)  # nor are they if each image packs again
    assert chosen(1, 48, 13, 256, 1) == (False, False)  # few taps: transposing results takes too long
    assert chosen(1, 144, 13, 24, 1) == (False, False)  # a panel would be a quarter empty
    assert chosen(1, 256, 27, 16, 1) == (False, False)  # half a panel takes most of the time of a whole one
    assert chosen(1, 256, 14, 112, 1) == (True, True)


@pytest.mark.parametrize("bits", [256], indirect=True)
def test_with_narrow_vectors_they_are_chosen_for_all_sums_of_many_taps():
    assert chosen(1, 128, 28, 128, 1) == (True, True)
    assert chosen(1, 256, 56, 128, 1) == (True, True)
    assert chosen(1, 64, 56, 128, 1) == (False, False)  # few taps: transposing results takes too long
    assert chosen(1, 512, 7, 512, 1) == (False, True)  # so few places are not worth packing
    assert chosen(1, 256, 27, 16, 1) == (True, True)
    assert chosen(1, 256, 27, 20, 1) == (False, False)  # a panel would be three quarters empty
    assert chosen(1, 64, 56, 128, 3, 2, 1) == (True, True)
    assert chosen(1, 3, 224, 64, 7, 2, 3) == (False, False)  # the copy of the image stays in the L1 cache


@pytest.mark.parametrize("bits", [128], indirect=True)
def test_without_vectors_of_256_bits_weights_stay_where_they_are():
    assert chosen(1, 256, 14, 256, 1) == (False, False)


def test_a_range_of_panels_stays_in_the_cache(bits):
    columns = panels.columns(bits)
    words = tiling_of(plane_of(GEOMETRIES["ranges of filters"]), (columns, 1), bits // 8, panels="packed").words
    assert words["ranges"] == 3
    assert words["range.filters"] % columns == 0
    assert 4 * 1030 * (words["range.filters"] - columns) < PANELS


def test_machine_code_may_be_turned_off_after_a_weight_was_packed(monkeypatch):
    g = GEOMETRIES["groups of images with padding"]
    data, weight = arrays_of(g)
    facts = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": g.groups}
    monkeypatch.setattr(SETTINGS, "jit", False)
    found = convolution.convolve_packed(data, in_panels(weight, g), shape=weight.shape, **facts)
    np.testing.assert_array_equal(found, convolution.convolve(data, weight, **facts))


def test_results_may_be_written_to_arrays_with_gaps():
    g = GEOMETRIES["runs that end with a short tile"]
    data, weight = arrays_of(g)
    facts = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": g.groups}
    out = np.zeros((*shape_of("forward", g)[:3], 26), F32)[..., ::2]
    convolution.convolve_packed(data, in_panels(weight, g), out, shape=weight.shape, **facts)
    np.testing.assert_array_equal(out, convolution.convolve(data, weight, **facts))


def test_only_weights_of_fixed_inputs_are_packed():
    x, w, v = leaf("x", (1, 256, 14, 14), "float32"), leaf("w", (256, 256, 1, 1), "float32"), leaf("v", (256, 256, 1, 1), "float32")
    y, z = (G.convolve(x, by, stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, channels_last=False) for by in (w * 2, w * v))
    found, other = with_packed_weights([y, z], {w}, lambda n: 32)
    assert applies(found, convolve_packed)
    assert other is z
    assert with_packed_weights([y, z], {w}, lambda n: 0) == [y, z]


@pytest.mark.parametrize(("filters", "dtype"), [(15, "float32"), (30, "float16")])
def test_weights_are_not_packed_if_their_panels_would_be_too_large_to_keep(filters, dtype):
    x, w = leaf("x", (1, 1024, 14, 14), "float32"), leaf("w", (filters, 1024, 1, 1), dtype)
    y = G.convolve(x, G.astype(w, dtype="float32"), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, channels_last=False)
    assert with_packed_weights([y], {w}, lambda n: 32) == [y]


def test_packing_weights_that_fill_their_panels_takes_no_scratch_memory(bits):
    """A program keeps its scratch memory, even after the network is dropped."""
    for filters, is_padded in ((64, False), (61, True)):
        w = leaf("w", (filters, 256, 1, 1), "float32")
        program = Program([packed_weight(G, w, 1, panels.COLUMNS)], [w], backend_for(CPU))
        assert ("pad" in program.explain()) == is_padded


def test_a_network_that_predicts_packs_its_weights_once_and_again_after_they_change(monkeypatch):
    bound = []
    of = jit_direct.bound_plane
    monkeypatch.setattr(jit_direct, "bound_plane", lambda *a, **more: bound.append(a[5:] == (True,)) or of(*a, **more))
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(256, 1, in_channels=256), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu"))
    net.initialize(mx.init.Normal(0.1))
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.array(np.random.default_rng(0).standard_normal((1, 256, 14, 14)), dtype="float32")
    first = net(x).asnumpy()
    for _ in range(4):
        np.testing.assert_array_equal(net(x).asnumpy(), first)
    assert bound.count(True) == 1
    net[0].weight.set_data(net[0].weight.data() * 2)
    second = net(x).asnumpy()
    assert not np.array_equal(first, second)
    for _ in range(4):
        np.testing.assert_array_equal(net(x).asnumpy(), second)
    net.hybridize(False)
    np.testing.assert_allclose(net(x).asnumpy(), second, rtol=1e-4, atol=1e-5)
