"""Gradients of depthwise convolutions in machine code: their sums, where they are used, and that threads change no bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold_numpy import depthwise_gradients, direct, tune
from twofold_numpy.convolution import algorithm, chosen, shape_of
from twofold_numpy.convolution_table import Choice
from twofold_numpy.geometry import Geometry
from twofold_numpy.jit.compiler import compiler

from .jit import fresh
from .test_convolution import operands

__all__ = ["fresh"]
F32 = np.dtype(np.float32)
#: Runs shorter and longer than the partial sums, strides that leave rows over, kernels that reach into two planes of a stride.
GEOMETRIES = {
    "padded": tune.geometry(3, 40, 29, 40, 3, pad=1, groups=40),
    "small images": tune.geometry(8, 64, 4, 64, 3, pad=1, groups=64),
    "no padding": tune.geometry(2, 24, 33, 24, 3, groups=24),
    "stride": tune.geometry(2, 30, 41, 30, 3, 2, 1, groups=30),
    "stride, even size": tune.geometry(2, 30, 40, 30, 3, 2, 1, groups=30),
    "stride of 3, large kernel": tune.geometry(1, 20, 39, 20, 5, 3, 2, groups=20),
    "dilated": Geometry(1, 24, 24, 24, (31, 40), (3, 3), (1, 1), (2, 3), (2, 3)),
    "dilated, strides": Geometry(1, 24, 24, 24, (31, 40), (3, 2), (3, 2), (2, 3), (2, 3)),
    "more elements than registers": tune.geometry(2, 24, 20, 24, 7, pad=3, groups=24),
    "several blocks": tune.geometry(8, 48, 56, 48, 3, 2, 1, groups=48),
}


def computed(kind, g):
    first, second = operands(kind, g, F32)
    out = np.full(shape_of(kind, g), np.nan, F32)
    getattr(depthwise_gradients, f"convolve_{kind}")(g, first, second, out)
    return out


@pytest.mark.parametrize("kind", ["data", "weight"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_gradients_are_the_sums_of_the_definition(name, kind):
    """Small integers, whose sums are exact in any order."""
    g = GEOMETRIES[name]
    assert depthwise_gradients.is_applicable(kind, g, F32) == (kind == "weight" or not g.is_dense)
    if not depthwise_gradients.is_applicable(kind, g, F32):
        return
    expected = np.empty(shape_of(kind, g), F32)
    algorithm(kind, Choice("gathered", 1 << 20))(g, *operands(kind, g, F32), expected)
    np.testing.assert_array_equal(computed(kind, g), expected)


def test_weights_that_fit_the_registers_read_images_in_place(monkeypatch):
    """Strides of more than two columns, large kernels and narrow vectors take sums of runs."""
    own = compiler()
    monkeypatch.setattr(own, "machine", own.machine._replace(vector_bits=256))
    direct.forget()
    by_runs = {name for name, g in GEOMETRIES.items() if direct.channel_sums(g) is None}
    assert by_runs == {"stride of 3, large kernel", "more elements than registers"}
    monkeypatch.setattr(own, "machine", own.machine._replace(vector_bits=128))
    direct.forget()
    try:
        assert direct.channel_sums(GEOMETRIES["padded"]) is None
        test_gradients_are_the_sums_of_the_definition("padded", "weight")
    finally:
        direct.forget()


def test_other_convolutions_keep_the_algorithms_of_the_table():
    g = GEOMETRIES["padded"]
    assert not depthwise_gradients.is_applicable("forward", g, F32)
    assert not depthwise_gradients.is_applicable("weight", g, np.dtype(np.float64))
    for other in (tune.geometry(8, 128, 28, 128, 3, 1, 1, groups=32), tune.geometry(8, 64, 28, 64, 3, pad=1)):
        assert not depthwise_gradients.is_applicable("weight", other, F32)


def test_they_are_chosen_where_kernels_are_compiled(monkeypatch):
    g = GEOMETRIES["stride"]
    assert chosen("weight", g, F32, True) is depthwise_gradients.convolve_weight
    assert chosen("data", g, F32, True) is depthwise_gradients.convolve_data
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert chosen("weight", g, F32, True).func.__module__ == "twofold_numpy.columns"


@pytest.mark.parametrize("kind", ["data", "weight"])
def test_the_number_of_threads_changes_no_bit(kind, monkeypatch):
    g, draw = GEOMETRIES["several blocks"], np.random.default_rng(0)
    first, second = (draw.standard_normal(x.shape).astype(F32) for x in operands(kind, g, F32))
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        out = np.empty(shape_of(kind, g), F32)
        getattr(depthwise_gradients, f"convolve_{kind}")(g, first, second, out)
        found.append(out.tobytes())
    assert found[0] == found[1]


TEXT = """
import hashlib

from twofold_numpy.jit import compiler, depthwise

own = compiler.compiler()
built = []
own.built = built.append
depthwise.code_of(own, depthwise.Kernel(own.machine.vector_bits // 32, (3, 3), 1, 1, False, 1))
print(len(built), hashlib.sha256(built[0].encode()).hexdigest())
"""


def test_the_text_of_code_is_the_same_in_every_process():
    """It is the key of the machine code on disk."""
    found = {
        subprocess.run([sys.executable, "-c", TEXT], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True).stdout
        for seed in "1234"
    }
    assert len(found) == 1
    assert next(iter(found)).startswith("1 ")
