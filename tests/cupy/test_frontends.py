"""User code runs unchanged on CuPy: NDArray, autograd, Symbol, Gluon, convolution, KVStore and copies match the CPU."""

import ctypes
import gc

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import autograd, gluon, nd
from twofold.errors import DeviceError, DTypeError

from tests.cupy.conftest import SIMULATION, simulated, two_gpus

CPU = mx.cpu()
pytestmark = pytest.mark.usefixtures("schedule")


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def alike(run, gpu, rtol=2e-5):
    """Compare a function's results on the GPU with those on the CPU."""
    for there, here in zip(run(gpu), run(CPU), strict=True):
        np.testing.assert_allclose(there.asnumpy(), here.asnumpy(), rtol, rtol)


def test_arithmetic_indexing_and_reductions(gpus):
    def run(ctx):
        x = nd.array(drawn(4, 5), ctx=ctx)
        y = (x * 2 + 1).exp() / (1 + x.abs())
        x[1:3] = y[0]
        return y.sum(axis=1), y[:, 2], x.max(axis=0), nd.dot(x, y.T), nd.concat(x, y, dim=1), y.transpose().reshape((2, 10))

    alike(run, gpus[0])


def test_gradients(gpus):
    def run(ctx):
        x = nd.array(drawn(3, 6), ctx=ctx)
        x.attach_grad()
        with autograd.record():
            out = (nd.log_softmax(x * 3) * nd.softmax(x)).sum() + (nd.LayerNorm(x, nd.ones(6, ctx=ctx), nd.zeros(6, ctx=ctx)) ** 2).sum()
        out.backward()
        return out, x.grad

    alike(run, gpus[0], 1e-4)


def test_a_gluon_net_trains_as_on_the_cpu(gpus):
    def run(ctx):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, activation="relu", in_units=5), gluon.nn.BatchNorm(in_channels=8), gluon.nn.Dense(3, in_units=8))
        net.initialize(mx.init.Constant(0.05), ctx=ctx)
        net[0].weight.set_data(nd.array(drawn(8, 5), ctx=ctx))
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
        data, label = nd.array(drawn(16, 5, seed=1), ctx=ctx), nd.array(np.arange(16) % 3, ctx=ctx)
        for _ in range(4):
            with autograd.record():
                loss = loss_of(net(data), label)
            loss.backward()
            trainer.step(16)
        return loss, net[0].weight.data(), net[2].bias.data()

    alike(run, gpus[0], 1e-3)


def test_binding_a_symbol(gpus):
    def run(ctx):
        data = mx.sym.var("data")
        out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=4, name="fc"), name="softmax")
        executor = out.simple_bind(ctx, data=(3, 5), softmax_label=(3,))
        executor.arg_dict["fc_weight"][:] = drawn(4, 5)
        executor.forward(is_train=True, data=nd.array(drawn(3, 5, seed=1), ctx=ctx), softmax_label=nd.array([0, 1, 2], ctx=ctx))
        executor.backward()
        return executor.outputs[0], executor.grad_dict["fc_weight"]

    alike(run, gpus[0])


def test_convolution_and_pooling_with_gradients(gpus):
    def run(ctx):
        data, weight = nd.array(drawn(2, 4, 7, 6), ctx=ctx), nd.array(drawn(6, 2, 3, 3, seed=1), ctx=ctx)
        for x in (data, weight):
            x.attach_grad()
        with autograd.record():
            out = nd.Convolution(data, weight, kernel=(3, 3), stride=(2, 1), pad=(1, 1), num_filter=6, num_group=2, no_bias=True)
            out = nd.Pooling(out, kernel=(2, 2), stride=(1, 2), pool_type="max")
        out.backward()
        return out, data.grad, weight.grad

    alike(run, gpus[0], 1e-4)


def test_draws_match_the_cpu(gpus):
    def run(ctx):
        mx.random.seed(7)
        return nd.random.uniform(shape=(50,), ctx=ctx), nd.random.normal(shape=(3, 7), ctx=ctx)

    alike(run, gpus[0], 1e-5)


def test_embedding_gradients_accumulate(gpus):
    def run(ctx):
        weight = nd.array(drawn(6, 3), ctx=ctx)
        weight.attach_grad()
        with autograd.record():
            out = nd.Embedding(nd.array([[1, 1, 5], [1, 0, 5]], ctx=ctx), weight, input_dim=6, output_dim=3) * 2
        out.backward()
        return out, weight.grad

    alike(run, gpus[0])


def test_dlpack_shares_memory(gpus):
    x = nd.array(drawn(3, 4), ctx=gpus[0])
    shared = nd.from_dlpack(x)
    shared[:] = 5
    assert (x.asnumpy() == 5).all()


def test_a_bare_capsule_of_gpu_memory_is_shared(gpus):
    x = nd.array(drawn(3, 4), ctx=gpus[-1]) * 2
    shared = nd.from_dlpack(x.to_dlpack_for_write())
    assert shared.context == gpus[-1]
    shared[1] = 5
    np.testing.assert_array_equal(x.asnumpy()[1], np.full(4, 5, np.float32))
    np.testing.assert_array_equal((shared * 2).asnumpy(), x.asnumpy() * 2)


def test_a_capsule_of_strided_memory_is_copied(gpus):
    cupy = pytest.importorskip("cupy")
    own = cupy.arange(12, dtype=np.float32).reshape(3, 4).T
    seen = nd.from_dlpack(own.__dlpack__())
    np.testing.assert_array_equal(seen.asnumpy(), np.arange(12, dtype=np.float32).reshape(3, 4).T)
    seen[:] = 0
    assert float(own.sum()) == 66


def test_a_capsule_can_be_consumed_once(gpus):
    capsule = nd.ones((2,), ctx=gpus[0]).to_dlpack_for_read()
    nd.from_dlpack(capsule)
    with pytest.raises(DTypeError, match="already consumed"):
        nd.from_dlpack(capsule)


def capsule_on(kind, number):
    """A producer that reports another device."""
    capsule = np.ones(2, np.float32).__dlpack__()
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    (ctypes.c_int32 * 2).from_address(api.PyCapsule_GetPointer(capsule, b"dltensor") + 8)[:] = kind, number
    return capsule


def test_a_capsule_of_another_device_is_rejected(gpus):
    with pytest.raises(DTypeError, match="DLPack device type 10"):
        nd.from_dlpack(capsule_on(10, 0))
    with pytest.raises(DeviceError, match=r"gpu\(99\): no such device"):
        nd.from_dlpack(capsule_on(2, 99))


@simulated
def test_a_chain_is_one_kernel(backend, gpus):
    x = nd.array(drawn(64, 64), ctx=gpus[0])
    gc.collect()
    backend.trim()  # memory shared with other libraries, and views of it, have been returned
    before = SIMULATION.counts()
    y = (x * 2 + 1).exp() * x - 3
    y.wait_to_read()
    after = SIMULATION.counts()
    assert after.launches - before.launches == 1
    assert after.legacy_uses == before.legacy_uses


@two_gpus
def test_copies_between_devices(gpus):
    x = nd.array(drawn(100, 100), ctx=gpus[0])
    y = (x * 2).copyto(gpus[1])
    x[:] = 0
    z = (y + 1).as_in_context(gpus[0])
    np.testing.assert_array_equal(z.asnumpy(), drawn(100, 100) * np.float32(2) + 1)
    assert y.context == gpus[1]


@two_gpus
def test_one_program_serves_two_devices(gpus):
    results = []
    for ctx in gpus * 3:
        x = nd.array(drawn(20, 30), ctx=ctx)
        hidden = nd.dot(nd.softmax(x) * 2 + nd.arange(30, ctx=ctx), x.T)
        results.append((hidden.argmax(axis=1).one_hot(20) + hidden * 2).sum(axis=0))
    wants = results[0].asnumpy()
    for result, ctx in zip(results, gpus * 3, strict=True):
        assert result.context == ctx
        np.testing.assert_array_equal(result.asnumpy(), wants)


@two_gpus
def test_a_key_value_store_sums_over_devices(gpus):
    store = mx.kv.create("device")
    store.init(3, nd.zeros((2, 2), ctx=gpus[0]))
    store.push(3, [nd.ones((2, 2), ctx=ctx) * (k + 1) for k, ctx in enumerate(gpus)])
    out = [nd.zeros((2, 2), ctx=ctx) for ctx in gpus]
    store.pull(3, out=out)
    assert [o.asnumpy().tolist() for o in out] == [[[3, 3], [3, 3]]] * 2


@two_gpus
def test_data_parallel_training_matches_one_device(gpus):
    def run(contexts):
        net = gluon.nn.Dense(2, in_units=3)
        net.initialize(mx.init.Constant(0.1), ctx=contexts)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        data = nd.array(drawn(8, 3))
        for _ in range(3):
            with autograd.record():
                losses = [(net(part) ** 2).sum() for part in gluon.utils.split_and_load(data, contexts)]
            for loss in losses:
                loss.backward()
            trainer.step(8)
        return net.weight.data(contexts[0]).asnumpy()

    np.testing.assert_allclose(run(gpus), run([CPU]), 1e-5, 1e-6)


def test_a_known_operation_enters_few_functions(gpus):
    """On devices even small operations wait: to add one to the window takes a fraction of the general path."""
    x = nd.array(np.arange(4.0, dtype=np.float32), ctx=gpus[0])

    def chain(count):
        y = x
        for _ in range(count):
            y = y + 0.5
        return y

    entered = []
    for count in (10, 20):
        for _ in range(3):  # each begins a new window, of a structure that is known then
            found = []
            entered.append(frames(lambda count=count, found=found: found.append(chain(count))))
            assert found[0].context == gpus[0]
            np.testing.assert_array_equal(found[0].asnumpy(), np.arange(4) + count / 2)
    assert entered[-1] - entered[2] <= 10 * 10
