"""Maxima and sums of windows, and their transposes: in machine code, by the references, and by the definitions."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.backend.kernel import REFERENCES
from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.ops.primitive_windows import WITH_DEFINITIONS
from twofold.program.compile import Program
from twofold.program.passes import replace_by_definitions
from twofold_numpy import NumpyBackend, window_reductions
from twofold_numpy.adapter import NUMPY_ALONE
from twofold_numpy.jit import window_rows
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.window_reductions import Computation

from .jit import fresh

__all__ = ["fresh"]
NAMES = sorted(op.name for op in WITH_DEFINITIONS)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(window_reductions, "LOADED_FROM", 0)


def drawn(seed, most=(70, 18, 7)):
    """(shape of leading axes and data, parameters), of one to three axes with any padding."""
    draw = np.random.default_rng(seed)
    while True:
        ndim = int(draw.integers(1, 4))
        size, kernel, stride = (tuple(map(int, draw.integers(1, high, ndim))) for high in (most[ndim - 1], 5, 5))
        before = tuple(int(draw.integers(0, k)) for k in kernel)
        rooms = [n + 2 * b - k for n, b, k in zip(size, before, kernel, strict=True)]
        if min(rooms) >= 0:
            break
    number = tuple((room // s if draw.random() < 0.5 else -(-room // s)) + 1 for room, s in zip(rooms, stride, strict=True))
    lead = tuple(map(int, draw.integers(1, (3, 40))))
    return lead, size, {"kernel": kernel, "stride": stride, "before": before, "number": number}


def operands_of(name, seed, dtype, channels_last=False):
    """The operands and parameters of a primitive: with ties or without, some NaN and infinities."""
    (lead, size, params), draw = drawn(seed), np.random.default_rng(seed)
    axes = (lambda *own: (lead[0], *own, lead[1])) if channels_last else (lambda *own: (*lead, *own))
    x, given = draw.standard_normal(axes(*size)).astype(dtype), draw.standard_normal(axes(*params["number"])).astype(dtype)
    if seed % 2:
        x = np.round(2 * x)
    if seed % 3 == 0:
        x.ravel()[draw.integers(0, x.size, 4)] = [np.nan, np.inf, -np.inf, -0.0]
    if channels_last:
        params["channels_last"] = True
    if "max" in name:
        params["lowest"] = float(np.finfo(dtype).min)
    if name == "window_sum_transposed":
        return (given,), params | {"size": size}
    return ((given, x) if name == "window_max_transposed" else (x,)), params


def by_machine_code(name, operands, params):
    computation = Computation(name, params, [a.shape for a in operands], operands[-1].dtype)
    found = computation(*operands)
    assert computation._codes  # it did not leave the work to the reference
    return found


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_machine_code_gives_what_references_give(name, dtype, channels_last):
    for seed in range(60):
        operands, params = operands_of(name, seed, dtype, channels_last)
        expected = REFERENCES[name].function(np, *operands, **params)
        np.testing.assert_array_equal(by_machine_code(name, operands, params), expected, err_msg=f"seed {seed}")


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["window_max", "window_sum"])
def test_narrower_vectors_give_the_same(name, dtype, bits, monkeypatch):
    own = compiler()
    monkeypatch.setattr(own, "machine", own.machine._replace(vector_bits=bits))
    for seed in range(30):
        operands, params = operands_of(name, seed, dtype)
        expected = REFERENCES[name].function(np, *operands, **params)
        np.testing.assert_array_equal(by_machine_code(name, operands, params), expected, err_msg=f"seed {seed}")


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_definitions_give_what_references_give(name, channels_last):
    for seed in range(12):
        operands, params = operands_of(name, seed, "float64", channels_last)
        leaves = [leaf(k, a.shape, "float64") for k, a in enumerate(operands)]
        graph = replace_by_definitions([getattr(G, name)(*leaves, **params)], NUMPY_ALONE)
        (found,) = Program(graph, leaves, NumpyBackend()).run(list(operands))
        np.testing.assert_array_equal(found, REFERENCES[name].function(np, *operands, **params), err_msg=f"seed {seed}")


@pytest.mark.parametrize("size", [(7, 7), (28, 28), (112, 112)])
def test_many_planes_and_threads_change_no_bit(size, monkeypatch):
    draw = np.random.default_rng(0)
    params = {"kernel": (3, 3), "stride": (1, 1), "before": (1, 1), "number": size, "lowest": -1e30}
    operands = [draw.standard_normal((67, *size)).astype(np.float32) for _ in range(2)]
    expected = REFERENCES["window_max_transposed"].function(np, *operands, **params)
    for threads in (1, 2, 3):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        np.testing.assert_array_equal(by_machine_code("window_max_transposed", operands, params), expected)


def test_a_kernel_may_have_more_places_than_a_byte_has_values():
    x = np.random.default_rng(0).standard_normal((2, 900)).astype(np.float32)
    params = {"kernel": (700,), "stride": (3,), "before": (2,), "number": (68,), "lowest": -1e30}
    given = np.arange(2 * 68, dtype=np.float32).reshape(2, 68)
    expected = REFERENCES["window_max_transposed"].function(np, given, x, **params)
    np.testing.assert_array_equal(by_machine_code("window_max_transposed", (given, x), params), expected)


@pytest.mark.parametrize("stride", [1, 4])
def test_a_result_may_be_in_an_operands_memory(stride):
    draw, number = np.random.default_rng(0), (9 - 3 + 2) // stride + 1
    x, given = draw.standard_normal((5, 9)), draw.standard_normal((5, number))
    params = {"kernel": (3,), "stride": (stride,), "before": (1,), "number": (number,), "lowest": -1e30}
    expected = REFERENCES["window_max_transposed"].function(np, given, x, **params)
    Computation("window_max_transposed", params, [given.shape, x.shape], x.dtype)(given, x, out=x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("name", ["window_max", "window_sum"])
def test_windows_may_be_reduced_in_the_images_memory(name):
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 20))
    params = {"kernel": (3, 3), "stride": (1, 1), "before": (1, 1), "number": (9, 20)} | ({"lowest": -1e30} if name == "window_max" else {})
    expected = np.array(REFERENCES[name].function(np, x, **params))
    Computation(name, params, [x.shape], x.dtype)(x, out=x)
    np.testing.assert_array_equal(x, expected)


def test_operands_can_be_strided():
    x = np.random.default_rng(0).standard_normal((4, 5, 6, 2))
    params = {"kernel": (2, 2), "stride": (1, 2), "before": (0, 1), "number": (4, 3), "lowest": -1e30}
    for view in (np.moveaxis(x, -1, 1), np.moveaxis(x, -1, 1)[::-1, :, ::-1]):
        found = by_machine_code("window_max", (view,), params)
        np.testing.assert_array_equal(found, REFERENCES["window_max"].function(np, view, **params))


def test_an_infinite_gradient_stays_at_its_maximum():
    x = nd.array([[[[1, 2, 0, 0], [3, 4, 0, 1]]]])
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = nd.Pooling(x, kernel=(2, 2), stride=(2, 2))
        y.backward(nd.array([[[[np.inf, np.nan]]]]))
    np.testing.assert_array_equal(x.grad.asnumpy()[0, 0], [[0, 0, 0, 0], [0, np.inf, 0, np.nan]])


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("layout", [None, "NHWC"])
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_way_of_running_gives_the_same_gradient(dtype, kind, layout, grad_req):
    draw = np.random.default_rng(0)
    x = nd.array(draw.integers(-4, 5, (2, 3, 11, 13) if layout is None else (2, 11, 13, 3)), dtype=dtype)
    params = {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "pool_type": kind, "pooling_convention": "full", "layout": layout}
    given = nd.array(draw.integers(-2, 3, nd.Pooling(x, **params).shape), dtype=dtype)
    x.attach_grad(grad_req)
    for _ in range(2):
        with autograd.record():
            y = nd.Pooling(x, **params)
        y.backward(given)
    executor = mx.sym.Pooling(mx.sym.Variable("x", dtype=dtype), **params).simple_bind(
        mx.cpu(), grad_req=grad_req, x=x.shape, type_dict={"x": dtype}
    )
    executor.arg_dict["x"][:] = x
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(given)
    np.testing.assert_array_equal(x.grad.astype("float64").asnumpy(), executor.grad_dict["x"].astype("float64").asnumpy())
    np.testing.assert_array_equal(y.astype("float64").asnumpy(), executor.outputs[0].astype("float64").asnumpy())


def test_sixteen_bit_sums_of_gradients_are_rounded_once():
    x = nd.zeros((1, 1, 1, 3), dtype="float16")
    x[0, 0, 0, 1] = 1
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, kernel=(1, 3), pad=(0, 1))
    y.backward(nd.array([[[[2048, 1, 1]]]], dtype="float16"))
    assert x.grad.asnumpy()[0, 0, 0].tolist() == [0, 2050, 0]  # 2048 + 1 is 2048 in 16 bits


def seconds(run):
    run()
    times = []
    for _ in range(15):
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return sorted(times)[len(times) // 4]


@pytest.mark.parametrize(("size", "stride"), [((28, 28), 1), ((56, 56), 2)])
def test_machine_code_takes_less_than_half_the_time_of_kernels(size, stride, monkeypatch):
    monkeypatch.setattr(SETTINGS, "threads", 1)
    draw, number = np.random.default_rng(0), tuple((n - 1) // stride + 1 for n in size)
    arrays = [draw.standard_normal((1, 64, *shape)).astype(np.float32) for shape in (number, size)]
    leaves = [leaf(k, a.shape, "float32") for k, a in enumerate(arrays)]
    params = {"kernel": (3, 3), "stride": (stride, stride), "before": (1, 1), "number": number, "lowest": -3e38}
    whole = [G.window_max_transposed(*leaves, **params)]
    by_kernels = Program(replace_by_definitions(whole, NUMPY_ALONE), leaves, NumpyBackend())
    in_code = Program(whole, leaves, NumpyBackend())
    for _ in range(3):
        by_kernels.run(arrays)
    # it is three to five times as fast
    assert seconds(partial(in_code.run, arrays)) < seconds(partial(by_kernels.run, arrays)) / 2


@pytest.mark.parametrize("across", [1, 2])
@pytest.mark.parametrize("kernel", [1, 2, 4])
@pytest.mark.parametrize("width", [1, 4, 9, 40])
def test_vectors_reach_no_further_than_the_margin(across, kernel, width):
    """Planes that are smaller are read by masks, as the memory beyond an array is not its own."""
    for before in (0, 1, kernel, 20, 3000):
        for columns in {max(1, (width + 2 * before - kernel) // across + 1), (width + before) // across + 1}:
            printer = window_rows._Printer(compiler(), True, np.dtype(np.float32), kernel, across, columns)
            block = printer.lanes * printer.together
            firsts = [c * across - before for c in range(0, columns, block)]
            ends = [first + printer.loads * printer.lanes - width for first in firsts]
            assert printer.margin(width, before, columns) >= max(-min(firsts), *ends), (before, columns)


def test_sums_of_windows_in_wide_padding(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    x = nd.array(np.arange(3 * 40 * 50, dtype=np.float32).reshape(1, 3, 40, 50))
    found = nd.Pooling(x, kernel=(1, 2), pad=(0, 5000), stride=(1, 1), pool_type="sum").asnumpy()
    padded = np.pad(x.asnumpy(), [(0, 0), (0, 0), (0, 0), (5000, 5000)])
    np.testing.assert_array_equal(found, padded[..., :-1] + padded[..., 1:])
