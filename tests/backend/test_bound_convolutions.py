"""Primitives of convolution that are bound to the types of their operands, as programs call them."""

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType
from twofold.config import SETTINGS
from twofold_numpy import convolution, tune

from .test_convolution import F32, KINDS, operands
from tests.machine_code import needs_wide_vectors

PARAMS = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
#: The primitives, and parameters of their own.
PRIMITIVES = {"convolve": {}, "convolve_data": {"size": (20, 20)}, "convolve_weight": {"kernel": (3, 3)}}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("channels", [3, 32])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("op", PRIMITIVES)
def test_a_primitive_that_is_bound_to_types_looks_nothing_up_again(op, dtype, channels, jit, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", jit)
    g = tune.geometry(2, channels, 20, 32, 3, pad=1)
    kind = KINDS[list(PRIMITIVES).index(op)]
    first, second = (x.astype(dtype) for x in operands(kind, g, F32))
    params = PARAMS | PRIMITIVES[op]
    wanted = getattr(convolution, op)(first, second, **params)
    run = convolution.bound(op, params, [ArrayType(x.shape, dtype) for x in (first, second)])

    def into(out, *given):
        run(*given, out)
        np.testing.assert_array_equal(out, wanted)

    wide = np.empty((*wanted.shape[:-1], 2 * wanted.shape[-1]), dtype)
    into(wide[..., ::2], first, second)
    into(np.empty_like(wanted), np.asfortranarray(first), second)
    into(np.empty_like(wanted), first, np.asfortranarray(second))
    if dtype.startswith("float") and dtype != "float16":  # others are converted first
        monkeypatch.setattr(convolution, "chosen", None)
    into(np.empty_like(wanted), first, second)


def test_a_bound_primitive_of_nothing_gives_zeros_and_one_with_channels_last_transposes():
    g = tune.geometry(2, 4, 9, 6, 3, pad=1)
    data, weight = operands("forward", g, F32)
    out = np.full((2, 9, 9, 6), 7, F32)
    types = [ArrayType((2, 9, 9, 4), "float32"), ArrayType(weight.shape, "float32")]
    run = convolution.bound("convolve", PARAMS | {"channels_last": True}, types)
    run(np.ascontiguousarray(np.moveaxis(data, 1, -1)), weight, out)
    np.testing.assert_array_equal(np.moveaxis(out, -1, 1), convolution.convolve(data, weight, **PARAMS))
    empty, out = np.empty((2, 0, 9, 9), F32), np.full((2, 6, 9, 9), 7, F32)
    none = np.empty((6, 0, 3, 3), F32)
    convolution.bound("convolve", PARAMS, [ArrayType(x.shape, "float32") for x in (empty, none)])(empty, none, out)
    assert not out.any()


#: Convolutions that machine code computes, each in its own way, of eight images.
LAYERS = {
    "direct": tune.geometry(8, 16, 20, 24, 3, 2, 1),
    "a matrix product": tune.geometry(8, 64, 28, 64, 1),
    "depthwise": tune.geometry(8, 32, 30, 32, 3, pad=1, groups=32),
    "large kernels": tune.geometry(8, 3, 64, 32, 7, 2, 3),
    "Winograd's": tune.geometry(8, 64, 56, 64, 3, pad=1),
    "Winograd's of small images": tune.geometry(8, 256, 14, 256, 3, pad=1),
}


@needs_wide_vectors
@pytest.mark.parametrize("name", LAYERS)
def test_few_images_at_a_time_have_the_bits_of_all(name, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    g = LAYERS[name]
    data, weight = operands("forward", g, F32)
    params = {"stride": g.stride, "dilate": g.dilate, "pad": g.pad, "groups": g.groups}
    whole = convolution.convolve(data, weight, **params)
    types = [ArrayType(x.shape, "float32") for x in (data, weight)]
    for few in (1, 2, 4):
        assert convolution.treats_images_alike(params, types, few)
        parts = [convolution.convolve(data[k : k + few], weight, **params) for k in range(0, 8, few)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@needs_wide_vectors
def test_few_images_may_have_other_bits(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    params = PARAMS | {"pad": (0, 0)}

    def alike(few, data=(64, 4, 9, 9), weight=(4, 4, 3, 3), dtype="float32", **changed):
        return convolution.treats_images_alike(params | changed, [ArrayType(x, dtype) for x in (data, weight)], few)

    assert alike(32)
    assert not alike(1)
    assert not alike(32, dtype="float64")
    assert not alike(32, channels_last=True)
    assert not alike(32, data=(64, 0, 9, 9), weight=(4, 0, 3, 3))
    monkeypatch.setattr(convolution, "_is_direct", lambda g: g.n != 1)
    monkeypatch.setattr(convolution, "_is_in_tiles", lambda compute, g: g.n == 1)
    # directly or by tiles, whichever is faster for so many images
    assert alike(8)
    assert not alike(1)
