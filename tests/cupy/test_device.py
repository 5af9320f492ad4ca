"""What only a real GPU can show: libraries, arithmetic, memory, concurrency, and graph replay.

Float32 is computed without TF32 and with denormals flushed to 0 (``-ftz=true``); 16-bit floats are summed in float32.
"""

import math
from functools import partial

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU, interned
from twofold.dtype import NUMPY
from twofold.errors import DeviceOutOfMemory

from tests.core import random_programs
from tests.cupy.captured import STEPS, drawn, same, trained

cupy = pytest.importorskip("cupy")
cudnn = pytest.importorskip("twofold_cupy.cudnn")
cublaslt = pytest.importorskip("twofold_cupy.cublaslt")
GPU = interned("gpu", 0)
pytestmark = pytest.mark.needs_device


# arithmetic


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("float32", 2e-6), ("float16", 1e-3), ("bfloat16", 8e-3)])
def test_large_products_are_as_accurate_as_their_dtype(gpus, dtype, tolerance):
    """TF32 would be off by 3e-4 of the largest magnitude, float16 sums by more than a single rounding."""
    a, b = (drawn(1024, 1024, seed=k).astype(NUMPY[dtype]) for k in range(2))
    got = nd.dot(*(nd.array(x, ctx=gpus[0], dtype=dtype) for x in (a, b))).asnumpy().astype(np.float64)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(got, want, 0, tolerance * np.abs(want).max())


def test_float32_denormals_are_flushed(gpus):
    x = nd.array(np.full(4, 1e-40), ctx=gpus[0], dtype="float32")
    assert (x + x).asnumpy().tolist() == [0.0] * 4
    wide = nd.array(np.full(4, 1e-310), ctx=gpus[0], dtype="float64")
    assert (wide + wide).asnumpy().tolist() == [2e-310] * 4


def test_large_sorts_are_stable(gpus):
    x = np.random.default_rng(0).integers(0, 1000, 1 << 20).astype(np.float32)
    there = mx.np.array(x, ctx=gpus[0])
    np.testing.assert_array_equal(mx.np.argsort(there).asnumpy(), np.argsort(x, kind="stable"))


def test_offsets_beyond_32_bits_are_reached(gpus, backend):
    count = 2**31 + 8
    if backend.memory_info(GPU)[0] < 6 * count:
        pytest.skip(f"needs {6 * count / 2**30:.0f} GiB of free memory")
    x = nd.zeros((count,), ctx=gpus[0], dtype="int8")
    x[count - 2 :] = 3
    y = x + 1
    assert y[count - 4 :].asnumpy().tolist() == [1, 1, 4, 4]
    assert y[:2].asnumpy().tolist() == [1, 1]


# NVIDIA's libraries

CONVOLUTIONS = {
    "plain": (((4, 16, 14, 15), (24, 16, 3, 3)), {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}),
    "strided": (((4, 16, 14, 15), (24, 16, 3, 3)), {"stride": (2, 1), "dilate": (1, 1), "pad": (0, 1), "groups": 1}),
    "dilated": (((2, 8, 17, 17), (8, 8, 3, 3)), {"stride": (1, 1), "dilate": (2, 2), "pad": (2, 2), "groups": 1}),
    "groups": (((2, 8, 9, 9), (16, 4, 3, 3)), {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 2}),
    "line": (((2, 8, 33), (8, 8, 5)), {"stride": (2,), "dilate": (1,), "pad": (2,), "groups": 1}),
    "space": (((1, 4, 6, 7, 8), (8, 4, 3, 3, 3)), {"stride": (1,) * 3, "dilate": (1,) * 3, "pad": (1,) * 3, "groups": 1}),
}
#: Relative to the largest magnitude: rounding of the results, and in float32 of the sums.
CONVOLVED = {"float64": 1e-13, "float32": 5e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.mark.parametrize("by_cudnn", [False, True], ids=["columns", "cudnn"])
@pytest.mark.parametrize("dtype", CONVOLVED)
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_and_their_gradients_match_numpy(backend, monkeypatch, case, dtype, by_cudnn):
    if by_cudnn and cudnn.library() is None:
        pytest.skip("no nvidia-cudnn-frontend, or no cuDNN: pip install 'twofold[cudnn]' nvidia-cudnn-cu12")
    monkeypatch.setattr(SETTINGS, "cudnn", by_cudnn)
    cudnn.COMPUTED.clear()
    (data_shape, weight_shape), params = CONVOLUTIONS[case]
    host = backend_for(CPU).xp
    data, weight = (drawn(*s, seed=k).astype(NUMPY[dtype]) for k, s in enumerate((data_shape, weight_shape)))
    shape = np.asarray(host.convolve(data.astype(np.float64), weight.astype(np.float64), **params)).shape
    dout = drawn(*shape, seed=2).astype(NUMPY[dtype])
    asked = {
        "convolve": ((data, weight), params),
        "convolve_data": ((dout, weight), params | {"size": data_shape[2:]}),
        "convolve_weight": ((data, dout), params | {"kernel": weight_shape[2:]}),
    }
    for name, (arrays, given) in asked.items():
        want = np.asarray(getattr(host, name)(*[x.astype(np.float64) for x in arrays], **given))
        there = [backend.from_host(x, GPU) for x in arrays]
        convolved = partial(getattr(backend.xp, name), **given)
        runs = [backend.to_host(backend.quietly(convolved, *there)) for _ in range(2)]
        np.testing.assert_array_equal(runs[0].view(np.uint8), runs[1].view(np.uint8), err_msg=f"{name} is not the same every time")
        np.testing.assert_allclose(runs[0].astype(np.float64), want, 0, CONVOLVED[dtype] * np.abs(want).max(), err_msg=name)
    assert set(cudnn.COMPUTED) <= ({"cudnn", "columns"} if by_cudnn else {"columns"})
    if by_cudnn and case == "plain" and dtype != "float64":
        assert cudnn.COMPUTED["cudnn"], "cuDNN has no plan for anything"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("epilogue", ["bias", "bias relu", "sums"])
def test_epilogues_of_large_products_match_numpy(backend, dtype, epilogue):
    """By cuBLASLt, at sizes for which it has kernels; see test_epilogues for small ones."""
    if cublaslt.library() is None:
        pytest.skip("no cuBLASLt")
    x, w = drawn(256, 512).astype(NUMPY[dtype]), drawn(512, 384, seed=1).astype(NUMPY[dtype])
    xw, ww = x.astype(np.float64), w.astype(np.float64)
    there = [backend.from_host(a, GPU) for a in (x, w)]
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6}[dtype]
    if epilogue == "sums":
        turned = backend.xp.permute_dims(there[0], axes=(1, 0))
        given = backend.from_host(drawn(256, 384, seed=3).astype(NUMPY[dtype]), GPU)
        outs = [backend.empty((512, 384), dtype), backend.empty((512,), dtype)]
        backend.quietly(backend.product("sums"), turned, given, *outs)
        wants = [xw.T @ backend.to_host(given).astype(np.float64), xw.sum(0)]
    else:
        bias = drawn(384, seed=2).astype(NUMPY[dtype])
        outs = [backend.empty((256, 384), dtype)]
        backend.quietly(backend.product(epilogue), *there, backend.from_host(bias, GPU), *outs)
        want = xw @ ww + bias.astype(np.float64)
        wants = [np.maximum(want, 0) if epilogue == "bias relu" else want]
    for out, want in zip(outs, wants, strict=True):
        np.testing.assert_allclose(backend.to_host(out).astype(np.float64), want, 0, 2 * tolerance * np.abs(want).max())


# graphs


@pytest.mark.parametrize("seed", range(24))
def test_replayed_programs_match_their_steps_bitwise(gpus, monkeypatch, graphs, seed):
    monkeypatch.setattr(SETTINGS, "defer_elements", 8)
    for record in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(SETTINGS, "cuda_graphs", False)
            want = random_programs.run(seed, record, gpus[0], wanders=False)
        for again in range(5):
            got = random_programs.run(seed, record, gpus[0], wanders=False)
            for g, w in zip(got, want, strict=True):
                np.testing.assert_array_equal(g, w, err_msg=f"record {record}, run {again}")


@pytest.mark.parametrize("by_cudnn", [False, True], ids=["columns", "cudnn"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_replayed_convolutional_net_matches_its_steps_bitwise(gpus, monkeypatch, graphs, dtype, by_cudnn):
    if by_cudnn and cudnn.library() is None:
        pytest.skip("no nvidia-cudnn-frontend, or no cuDNN")
    monkeypatch.setattr(SETTINGS, "cudnn", by_cudnn)

    def run():
        mx.random.seed(4)
        net, layers = gluon.nn.HybridSequential(), gluon.nn
        net.add(layers.Conv2D(8, 3, padding=1, in_channels=3), layers.BatchNorm(in_channels=8), layers.Activation("relu"))
        net.add(layers.MaxPool2D(2, 2), layers.Flatten(), layers.Dense(5, in_units=8 * 16))
        net.initialize(mx.init.Xavier(), ctx=gpus[0])
        net.cast(dtype)
        net.hybridize()
        data, label = nd.array(drawn(6, 3, 8, 8), ctx=gpus[0], dtype=dtype), nd.array(np.arange(6) % 5, ctx=gpus[0])
        options = {"learning_rate": 0.05, "momentum": 0.9, "multi_precision": True}
        return trained(gpus[0], net, options=options, batches=lambda k: (data, label))

    same(run, monkeypatch, graphs, STEPS - 5)


# memory and concurrency


def test_an_oversized_allocation_raises_and_the_device_stays_usable(gpus):
    with pytest.raises(DeviceOutOfMemory, match="the largest arrays"):
        nd.zeros((1 << 40, 4), ctx=gpus[0]).wait_to_read()
    assert nd.ones((3,), ctx=gpus[0]).sum().asscalar() == 3


def milliseconds(backend, work):
    """Device time from the start of some work to the end of all streams."""
    start, end = (cupy.cuda.Event() for _ in range(2))
    compute = backend.stream(GPU)
    backend.synchronize(GPU)
    start.record(compute.cuda)
    work()
    for purpose in ("h2d", "d2h"):
        backend.wait(compute, backend.record(backend.stream(GPU, purpose)))
    end.record(compute.cuda)
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end)


def test_two_streams_compute_concurrently(backend):
    """Two single-thread kernels (integer products of one element), on the compute stream and on a copy stream."""
    x = backend.from_host(np.ones((1, 1 << 18), np.int32), GPU)
    backend.synchronize(GPU)

    def summed(purpose):
        with backend.stream(GPU, purpose):
            backend.xp.matmul(x, x.T)

    for purpose in ("compute", "d2h"):
        summed(purpose)  # the first call compiles
    one = min(milliseconds(backend, lambda: summed("compute")) for _ in range(5))
    both = min(milliseconds(backend, lambda: (summed("compute"), summed("d2h"))) for _ in range(5))
    assert both < 1.6 * one, f"{one:.2f} ms alone, {both:.2f} ms both"


def test_a_copy_to_the_host_overlaps_computation(backend):
    x, big = (backend.from_host(drawn(4096, 4096, seed=k), GPU) for k in range(2))
    backend.synchronize(GPU)

    def computed():
        with backend.stream(GPU):
            backend.xp.matmul(x, x)

    def read():
        with backend.stream(GPU, "d2h"):
            backend.to_host(big)

    def least(work):
        return min(milliseconds(backend, work) for _ in range(5))

    product, reading, both = least(computed), least(read), least(lambda: (computed(), read()))
    assert both < 0.9 * (product + reading), f"{product:.2f} and {reading:.2f} ms alone, {both:.2f} ms together"


# other libraries


def test_memory_is_shared_with_torch_both_ways(gpus):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    theirs = torch.arange(6, dtype=torch.float32, device="cuda")
    own = nd.from_dlpack(theirs)
    own[:] = own * 2
    nd.waitall()
    assert theirs.tolist() == [0, 2, 4, 6, 8, 10]
    back = torch.from_dlpack(own)
    assert back.data_ptr() == theirs.data_ptr()


def test_memory_of_jax_is_read_in_place(gpus):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX finds no GPU")
    theirs = jax.numpy.arange(6, dtype="float32")
    own = nd.from_dlpack(theirs)
    np.testing.assert_array_equal((own + 1).asnumpy(), np.arange(1, 7, dtype=np.float32))


def test_gradients_of_a_full_net_match_the_cpu(gpus):
    """A net with convolution, norms, attention-like products and a loss."""

    def run(ctx):
        arrays = [nd.array(drawn(*s, seed=k) * 0.3, ctx=ctx) for k, s in enumerate([(2, 3, 8, 8), (4, 3, 3, 3), (64, 64), (64,), (64,)])]
        for x in arrays:
            x.attach_grad()
        data, weight, w, gamma, beta = arrays
        with autograd.record():
            h = nd.relu(nd.Convolution(data, weight, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True)).reshape((2, 4, 64))
            h = nd.LayerNorm(h, gamma, beta)
            scores = nd.softmax(nd.batch_dot(h, h, transpose_b=True) / math.sqrt(64))
            out = nd.dot(nd.batch_dot(scores, h), w)
            loss = -nd.pick(nd.log_softmax(out), nd.array([[1, 2, 3, 4], [5, 6, 7, 8]], ctx=ctx)).mean()
        loss.backward()
        return [loss, *[x.grad for x in arrays]]

    for there, here in zip(run(gpus[0]), run(mx.cpu()), strict=True):
        want = here.asnumpy()
        np.testing.assert_allclose(there.asnumpy(), want, 0, 2e-5 * np.abs(want).max())
