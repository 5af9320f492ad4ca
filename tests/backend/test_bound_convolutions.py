"""Primitives of convolution that are bound to the types of their operands, as programs call them."""

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType
from twofold.config import SETTINGS
from twofold_numpy import convolution, tune

from .test_convolution import F32, KINDS, operands

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
