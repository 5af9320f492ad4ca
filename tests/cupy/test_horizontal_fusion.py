"""Similar kernels as one launch: the same bits as separate launches, for any layout and number of operands."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.device import interned
from twofold.testing.backend_conformance import step

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu
from tests.cupy.conftest import launches_of, simulated
from tests.statements import frames_of

pytest.importorskip("cupy")
horizontal_fusion = pytest.importorskip("twofold_cupy.horizontal_fusion")
kernels = pytest.importorskip("twofold_cupy.kernels")
GPU = interned("gpu", 0)


def momentum_program(shape, dtype="float32"):
    """``(weight, gradient, state, rate) -> (weight, state)``."""
    kind = {"dtype": dtype, "operand_dtype": dtype}
    steps = (
        step("multiply", Ref("in", 2), Ref("const", 0.9), **kind),
        step("multiply", Ref("in", 1), Ref("in", 3), **kind),
        step("subtract", Ref("step", 0), Ref("step", 1), **kind),
        step("add", Ref("in", 0), Ref("step", 2), **kind),
    )
    return RowProgram("momentum", shape, (*[ArrayType(shape, dtype)] * 3, ArrayType((), dtype)), steps, (3, 2))


def operands(backend, shapes, dtype="float32"):
    """For each shape the weight, gradient, state, learning rate, and memory for results."""
    draw = np.random.default_rng(0)
    rate = backend.scalar(0.1, dtype)
    found = []
    for shape in shapes:
        arrays = [backend.xp.astype(backend.from_host(draw.normal(size=shape).astype(np.float32), GPU), dtype=dtype) for _ in range(3)]
        found.append([*arrays, rate, backend.empty(shape, dtype), backend.empty(shape, dtype)])
    return found


def check(backend, shapes, given, dtype="float32"):
    """Check that grouped programs match separate ones; return the number of launches."""
    programs = [momentum_program(shape, dtype) for shape in shapes]
    kernel = backend.compile(*programs)
    count = launches_of(lambda: backend.quietly(kernel, *[a for own in given for a in own]))
    for program, own in zip(programs, given, strict=True):
        outs = [backend.empty(program.shape, dtype) for _ in range(2)]
        backend.quietly(backend.compile(program), *own[:4], *outs)
        for got, want in zip(own[4:], outs, strict=True):
            np.testing.assert_array_equal(backend.to_host(got).view(np.uint8), backend.to_host(want).view(np.uint8))
    return count


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_grouped_kernels_match_separate_launches_bitwise(backend, dtype):
    shapes = [(3, 4), (1,), (300,), (2, 130)]
    count = check(backend, shapes, operands(backend, shapes, dtype), dtype)
    assert count in (None, 1)


@simulated
def test_kernels_that_do_not_fit_the_arguments_take_further_launches(backend):
    shapes = [(k % 5 + 1,) for k in range(150)]
    assert check(backend, shapes, operands(backend, shapes)) == 3
    at_64, at_128 = (horizontal_fusion._struct((None,) * 6, "int", room).itemsize for room in (64, 128))
    assert at_64 <= horizontal_fusion.ARGUMENT_BYTES < at_128


@simulated
@pytest.mark.parametrize(("operands_of_each", "launches"), [(100, 1), (250, 1), (260, 2)])
def test_kernels_with_many_operands_are_grouped_while_two_fit(backend, operands_of_each, launches):
    last = operands_of_each - 1
    steps = [step("add", Ref("in", 0), Ref("in", 1))]
    steps += [step("add", Ref("step", k - 2), Ref("in", k)) for k in range(2, operands_of_each)]
    programs = [RowProgram("sum", (n,), (ArrayType((n,), "float32"),) * operands_of_each, tuple(steps), (last - 1,)) for n in (3, 5)]
    given = [[backend.from_host(np.full(n, k, np.float32), GPU) for k in range(operands_of_each)] for n in (3, 5)]
    outs = [backend.empty((n,), "float32") for n in (3, 5)]
    kernel = backend.compile(*programs)
    count = launches_of(lambda: backend.quietly(kernel, *[a for own, out in zip(given, outs, strict=True) for a in (*own, out)]))
    assert count == launches
    for out in outs:
        np.testing.assert_array_equal(backend.to_host(out), sum(range(operands_of_each)))


def test_training_a_cell_unrolled_over_many_steps(gpus):
    def trained(ctx):
        mx.random.seed(1)
        cell = gluon.rnn.RNNCell(3, input_size=2)
        cell.initialize(mx.init.Uniform(0.5), ctx=ctx)
        trainer = gluon.Trainer(cell.collect_params(), "sgd", {"learning_rate": 0.1})
        x = nd.array(np.random.default_rng(0).normal(size=(2, 90, 2)), ctx=ctx)
        for _ in range(2):
            with autograd.record():
                loss = cell.unroll(90, x, merge_outputs=True)[0].sum()
            loss.backward()
            trainer.step(2)
        return [p.data(ctx).asnumpy() for p in cell.collect_params().values()]

    for got, want in zip(trained(gpus[0]), trained(mx.cpu()), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@simulated
def test_a_kernel_with_a_strided_operand_runs_separately(backend):
    shapes = [(3, 4), (4, 3), (5,)]
    given = operands(backend, shapes)
    given[1][1] = backend.xp.permute_dims(given[0][1], axes=(1, 0))
    assert check(backend, shapes, given) == 2


@simulated
def test_a_scalar_can_be_in_device_memory(backend):
    shapes = [(3, 4), (5,), (6,)]
    given = operands(backend, shapes)
    for own in given[:2]:
        own[3] = backend.from_host(np.array(0.25, np.float32), GPU)
    assert check(backend, shapes, given) == 2, "one launch for numbers in memory, one for those by value"


def test_a_launch_is_planned_once_for_all_arrays_of_a_layout(backend):
    shapes = [(k % 5 + 1,) for k in range(40)]
    kernel = backend.compile(*[momentum_program(shape) for shape in shapes])
    first, later = operands(backend, shapes), operands(backend, shapes)
    for k, own in enumerate(later):
        own[3] = backend.scalar(0.25 * k, "float32")
    backend.quietly(kernel, *[a for own in first for a in own])
    frames = frames_of(
        "backend.quietly(kernel, *given)", {"backend": backend, "kernel": kernel, "given": [a for own in later for a in own]}
    )
    assert frames < len(shapes), "fewer Python calls than members"
    for own in later:
        weight, gradient, state, rate = (np.asarray(backend.to_host(a)) for a in own[:4])
        want = weight + (state * np.float32(0.9) - gradient * rate)
        np.testing.assert_array_equal(backend.to_host(own[4]), want)


@simulated
def test_a_plan_is_for_one_layout(backend):
    shapes = [(3, 4), (4, 3), (5,)]
    kernel = backend.compile(*[momentum_program(shape) for shape in shapes])
    given = operands(backend, shapes)
    strided = [list(own) for own in given]
    strided[1][1] = backend.xp.permute_dims(given[0][1], axes=(1, 0))
    in_memory = [list(own) for own in given]
    in_memory[0][3] = backend.from_host(np.array(0.25, np.float32), GPU)
    for _ in range(2):
        for members, launches in ((given, 1), (strided, 2), (in_memory, 2)):
            assert launches_of(lambda arrays=members: backend.quietly(kernel, *[a for own in arrays for a in own])) == launches


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_sources_compile_for_gpus(dtype, architecture):
    program = momentum_program((), dtype)
    for last in (kernels.SCALAR, kernels.ONE):
        layouts = (kernels.PACKED, kernels.PACKED, kernels.PACKED, last, kernels.PACKED, kernels.PACKED)
        for index in ("int", "long long"):
            compile_for_gpu(horizontal_fusion.kernel_source(program, "tf_momentum_horizontal", layouts, index, 64), architecture)


@simulated
def test_empty_arrays_are_skipped(backend):
    shapes = [(0, 4), (5,)]
    assert check(backend, shapes, operands(backend, shapes)) == 1
    assert check(backend, shapes[:1], operands(backend, shapes[:1])) == 0


def perceptron(ctx, optimizer, settings):
    net = gluon.nn.Sequential()
    net.add(
        gluon.nn.Dense(128, activation="relu", in_units=784),
        gluon.nn.Dense(64, activation="relu", in_units=128),
        gluon.nn.Dense(10, in_units=64),
    )
    net.initialize(mx.init.Constant(0.02), ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    draw = np.random.default_rng(0)
    data, label = nd.array(draw.random((16, 784)), ctx=ctx), nd.array(draw.integers(0, 10, 16), ctx=ctx)

    def train():
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(16)
        loss.wait_to_read()
        return loss

    return train


OPTIMIZERS = [("sgd", {"learning_rate": 0.05, "momentum": 0.9}), ("adam", {"learning_rate": 0.01})]


@pytest.mark.parametrize(("optimizer", "settings"), OPTIMIZERS, ids=["sgd", "adam"])
def test_a_step_of_the_perceptron_takes_few_launches(gpus, optimizer, settings):
    train = perceptron(gpus[0], optimizer, settings)
    for _ in range(2):
        train()
    with mx.explain() as report:
        train()
    (flush,) = report.flushes
    assert flush.steps[-1].startswith("6 at once: ")
    assert flush.kernels == 4, "the gradient of relu twice, the loss with its gradient, and the update"
    assert (launches_of(train) or 0) <= 12
