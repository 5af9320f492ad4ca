"""Kernels are compiled ahead: dry runs predict what programs launch, have no side effects, and never delay the program."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.config import SETTINGS
from twofold.device import interned
from twofold.errors import KernelCompileError
from twofold.graph.tables import drop_generation
from twofold.testing.backend_conformance import step
from twofold.testing.op_conformance import check_backend

from tests.cases import spread_in_ci
from tests.cupy.captured import drawn, perceptron, same, trained
from tests.cupy.conftest import SIMULATION, simulated, two_gpus
from tests.cupy.test_operators import SAMPLES

cupy = pytest.importorskip("cupy")
adapter = pytest.importorskip("twofold_cupy.adapter")
background = pytest.importorskip("twofold_cupy.background")
capture = pytest.importorskip("twofold_cupy.capture")
launch = pytest.importorskip("twofold_cupy.launch")
dry_run = pytest.importorskip("twofold_cupy.dry_run")
GPU = interned("gpu", 0)
#: The number of parts into which the operators' samples are divided; one part is run at each push.
PARTS = 12


class Seen:
    """The kernels that dry runs predicted, and those launched since the last call, by name and source."""

    def __init__(self):
        self.foreseen, self.launched = set(), set()

    def missed(self):
        found = sorted(name for name, _ in self.launched - self.foreseen)
        self.launched.clear()
        return found


@pytest.fixture
def seen(backend, monkeypatch):
    found, call, making = Seen(), launch.Kernel.__call__, []

    def noted(kernel, *args):
        if not making:
            (found.foreseen if dry_run.in_dry_run() else found.launched).add((kernel._name, kernel._module))
        call(kernel, *args)

    def copied(*args, copy=backend.copy):  # for a constant, an array is created outside of programs
        making.append(copy)
        try:
            return copy(*args)
        finally:
            making.pop()

    drop_generation()
    monkeypatch.setattr(launch.Kernel, "__call__", noted)
    monkeypatch.setattr(backend, "copy", copied)
    return found


# what dry runs predict


class Recurrent(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.lstm, self.out = gluon.rnn.LSTM(8, input_size=6), gluon.nn.Dense(5, in_units=8)

    def hybrid_forward(self, F, x):
        return self.out(self.lstm(x).mean(axis=0))


class Attention(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.words, self.norm, self.out = gluon.nn.Embedding(11, 8), gluon.nn.LayerNorm(in_channels=8), gluon.nn.Dense(5, in_units=32)

    def hybrid_forward(self, F, x):
        x = self.norm(self.words(x))
        scores = F.softmax(F.batch_dot(x, x, transpose_b=True) / 3)
        return self.out(F.batch_dot(scores, x))


class Residual(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.body = gluon.nn.HybridSequential()
            self.body.add(gluon.nn.Conv2D(4, 3, padding=1, in_channels=4), gluon.nn.BatchNorm(in_channels=4), gluon.nn.Activation("relu"))
            self.out = gluon.nn.Dense(5, in_units=4)

    def hybrid_forward(self, F, x):
        return self.out(F.Pooling(F.relu(x + self.body(x)), global_pool=True, pool_type="avg", kernel=(1, 1)))


def lenet():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(6, 5, activation="tanh", in_channels=1), gluon.nn.MaxPool2D(2, 2), gluon.nn.Conv2D(8, 3, in_channels=6))
    net.add(gluon.nn.BatchNorm(in_channels=8), gluon.nn.AvgPool2D(2, 2), gluon.nn.Dense(20, in_units=32), gluon.nn.Dropout(0.5))
    net.add(gluon.nn.Dense(5, in_units=20))
    return net


NETS = {
    "perceptron": (lambda: perceptron(mx.gpu(0)), (16, 20)),
    "lenet": (lenet, (2, 1, 16, 16)),
    "lstm": (Recurrent, (4, 2, 6)),
    "attention": (Attention, (2, 4)),
    "residual": (Residual, (2, 4, 6, 6)),
}


@pytest.mark.parametrize("hybrid", [True, False])
@pytest.mark.parametrize("name", spread_in_ci(NETS))
def test_dry_runs_predict_every_kernel_of_a_training_step(gpus, graphs, seen, name, hybrid):
    make, shape = NETS[name]
    net, optimizer = make(), "adam" if name == "lstm" else "sgd"
    net.initialize(mx.init.Xavier(), ctx=gpus[0], force_reinit=True)
    net.hybridize(hybrid)
    count = shape[1] if name == "lstm" else shape[0]
    label = nd.array(np.arange(count) % 5, ctx=gpus[0])
    data = nd.array(np.arange(np.prod(shape)).reshape(shape) % 7, ctx=gpus[0])
    loss_of, trainer = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.Trainer(net.collect_params(), optimizer)
    nd.waitall()
    seen.missed()  # for arrays that were created
    for _ in range(5):
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(count)
    loss.wait_to_read()
    assert len(seen.launched) > 4
    assert seen.missed() == []


def test_dry_runs_predict_every_kernel_with_a_single_gpu(backend, gpus, graphs, seen, monkeypatch):
    monkeypatch.setattr(backend, "device_count", lambda: 1)
    test_dry_runs_predict_every_kernel_of_a_training_step(gpus, graphs, seen, "perceptron", True)


@pytest.mark.ci
@pytest.mark.parametrize("part", [0, *[pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS)]])
@simulated
def test_dry_runs_of_operators_have_no_side_effects_and_find_their_kernels(backend, seen, monkeypatch, part):
    found = Counter()

    def rehearsed(run, arrays, dry_run=dry_run.dry_run):
        before = SIMULATION.counts()._replace(allocations=0)
        dry_run(run, arrays)
        assert SIMULATION.counts()._replace(allocations=0) == before  # cuBLAS has allocated its workspace, and index checks their notes
        found["rehearsals"] += 1

    def graph_runner(run, traits):
        def counted(arrays):
            seen.launched.clear()
            results = run(arrays)
            found["launched"] += len(seen.launched)
            found["missed"] += len(seen.missed())
            return results

        return counted

    monkeypatch.setattr(adapter, "dry_run", rehearsed)
    monkeypatch.setattr(backend, "graph_runner", graph_runner)
    for op, _, sample in SAMPLES[part::PARTS]:
        drop_generation()
        check_backend(op, sample, backend, 2e-5)
    assert found["rehearsals"] > 10
    assert found["launched"] > 20
    assert found["missed"] == 0


def test_interpreted_programs_get_no_dry_run(gpus, seen, monkeypatch):
    for name, value in (("compile_threads", 0), ("engine", "naive")):
        with monkeypatch.context() as patch:
            patch.setattr(SETTINGS, name, value)
            (nd.array(drawn(3, 4), ctx=gpus[0]).tanh() + 1).wait_to_read()
    assert seen.launched
    assert not seen.foreseen


def test_user_code_gets_no_dry_run(gpus, seen):
    calls = []

    class Seldom(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(in_data[0].asnumpy())
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("seldom_while_rehearsed")
    class SeldomProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Seldom()

    x = nd.array([1.0, 2.0], ctx=gpus[0])
    y = nd.Custom(x * 3, op_type="seldom_while_rehearsed") + 1
    assert (y.asnumpy().tolist(), len(calls)) == ([7.0, 13.0], 1)


def test_a_loop_ends_a_dry_run(gpus, seen):
    x = nd.array(drawn(5, 3), ctx=gpus[0])
    out, _ = nd.contrib.foreach(lambda row, state: (row + state, row * state), x, nd.ones(3, ctx=gpus[0]))
    want, state = [], np.ones(3, np.float32)
    for row in x.asnumpy():
        want.append(row + state)
        state = row * state
    np.testing.assert_allclose(out.asnumpy(), np.array(want), 1e-6)


def test_other_calls_during_a_dry_run_compute_normally(backend, seen):
    """Finalizers and signal handlers may do so."""
    x, found = backend.from_host(np.arange(4, dtype=np.float32), GPU), []

    def run(arrays):
        first = backend.xp.exp(arrays[0])
        found.append(backend.to_host(backend.quietly(backend.xp.add, x, x)))
        found.append(backend.to_host(backend.from_host(np.ones(3), GPU)))
        with pytest.raises(dry_run.DataDependent):
            backend.to_host(first)
        found.append(backend.xp.tanh(first))
        return [first]

    backend.compile_in_background(run, [ArrayType((7,), "float32")])
    assert found[0].tolist() == [0, 2, 4, 6]
    assert found[1].tolist() == [1, 1, 1]
    assert found[2].data.mem.ptr == dry_run.PLACEHOLDER_ADDRESS
    assert not dry_run.in_dry_run()
    assert {"tf_exp_each", "tf_tanh_each"} <= {name for name, _ in seen.foreseen}


@two_gpus
def test_a_dry_run_is_for_the_device_of_the_program(gpus, graphs, backend, monkeypatch):
    devices, stand_in = set(), dry_run.placeholder

    def noted(*args):
        devices.add(cupy.cuda.runtime.getDevice())
        return stand_in(*args)

    monkeypatch.setattr(adapter, "placeholder", noted)
    executor = mx.sym.tanh(mx.sym.var("a") * 2 + 1).simple_bind(gpus[1], a=(3, 5))
    executor.forward(is_train=True)
    executor.backward()
    x = nd.ones((3, 5), ctx=gpus[1])
    (x * 3 + 1).asnumpy()
    assert devices == {1}


def test_errors_before_a_dry_run_are_ignored(backend, monkeypatch):
    def lost():
        raise RuntimeError("no stream")

    monkeypatch.setattr(backend.streams, "current", lost)
    backend.compile_in_background(lambda arrays: arrays, [ArrayType((7,), "float32")])


def test_index_checks_are_skipped_in_dry_runs(backend, seen):
    def run(arrays):
        return [backend.xp.checked_index(arrays[0], size=3, negative=True)]

    before = backend.checks.count
    backend.compile_in_background(run, [ArrayType((4,), "int64")])
    assert backend.checks.count == before
    assert {name for name, _ in seen.foreseen} == {"tf_checked", "tf_note"}


# compiling


def program_of(name, text):
    own = step("add", Ref("in", 0), Ref("in", 0))._replace(op=name, ufunc=None, c=text)
    return RowProgram(name, (2,), (ArrayType((2,), "float32"),), (own,), (0,))


def foreseen(backend, program):
    """A kernel that is compiled ahead, and its operands."""
    kernel = backend.compile(program)
    backend.compile_in_background(lambda arrays: kernel(*arrays, backend.xp.empty((2,), "float32")), [ArrayType((2,), "float32")])
    x, out = backend.from_host(np.array([1, 2], np.float32), GPU), backend.empty((2,), "float32")
    return lambda: (backend.quietly(lambda: kernel(x, out)), backend.to_host(out))[1]


@pytest.fixture
def compiler(monkeypatch):
    """Counts compilations whose source contains one word, and blocks those whose source contains another."""

    class Compiler:
        def __init__(self):
            self.counts, self.gate, self.begun, self.threads = Counter(), threading.Event(), threading.Event(), set()

    found = Compiler()
    compile_ = launch.compiler._compile_using_nvrtc_no_warning

    def noted(source, *args, **options):
        for word in ("tf_once", "tf_waits", "tf_wrong", "tf_taken"):
            if word in source:
                found.counts[word] += 1
                found.threads.add(threading.current_thread().name)
        if "tf_waits" in source:
            found.begun.set()
            assert found.gate.wait(30)
        return compile_(source, *args, **options)

    monkeypatch.setattr(launch.compiler, "_compile_using_nvrtc_no_warning", noted)
    yield found
    found.gate.set()


@simulated
def test_a_launch_waits_for_the_thread_that_compiles_its_kernel(backend, compiler):
    run = foreseen(backend, program_of("waits", "{0} * 3"))
    assert compiler.begun.wait(30)
    threading.Timer(0.2, compiler.gate.set).start()
    assert run().tolist() == [3, 6]
    assert compiler.counts["tf_waits"] == 1
    assert compiler.threads == {"twofold-compile"}


@simulated
def test_a_job_no_thread_has_started_runs_at_launch(backend, compiler, monkeypatch):
    monkeypatch.setattr(SETTINGS, "compile_threads", 1)
    first = foreseen(backend, program_of("waits", "{0} * 4"))
    assert compiler.begun.wait(30)
    second = foreseen(backend, program_of("taken", "{0} * 5"))
    assert second().tolist() == [5, 10]
    assert compiler.counts["tf_taken"] == 1
    assert threading.main_thread().name in compiler.threads
    compiler.gate.set()
    assert first().tolist() == [4, 8]
    assert (compiler.counts["tf_waits"], compiler.counts["tf_taken"]) == (1, 1)


@simulated
def test_a_compile_error_is_raised_at_launch(backend, compiler):
    run = foreseen(backend, program_of("wrong", "no_such_function({0})"))
    for _ in range(2):
        with pytest.raises(KernelCompileError, match="tf_wrong_each does not compile") as caught:
            run()
    assert "no_such_function(x0)" in str(caught.value)
    assert "twofold-compile" in compiler.threads or compiler.counts["tf_wrong"] == 2


@simulated
def test_a_signal_handler_compiles_the_kernel_whose_compilation_it_interrupted(backend):
    """The thread that runs a job may need its result meanwhile."""
    job = background.Job(lambda: (job.finish(), done.append(1)))
    done = []
    job.run()
    job.finish()
    job.run()
    assert done == [1]


def test_workers_do_not_wait_for_one_another(monkeypatch):
    """Finalizers called by the garbage collector in a worker might."""
    monkeypatch.setattr(SETTINGS, "compile_threads", 2)
    meet, jobs, done = threading.Barrier(3), [], []

    def work(other):
        meet.wait(20)
        jobs[other].finish()
        done.append(other)

    workers = background.Workers()
    with workers._lock:
        jobs += [workers.submit(lambda k=k: work(1 - k)) for k in range(2)]
    meet.wait(20)
    for job in jobs:
        job.finish()
    assert sorted(done) == [0, 1]


def test_compile_threads_exit_when_idle():
    done = []
    jobs = [background.WORKERS.submit(lambda k=k: done.append(k)) for k in range(50)]
    for job in jobs:
        job.finish()
    for thread in threading.enumerate():
        if thread.name == "twofold-compile":
            thread.join(30)
    assert not [t for t in threading.enumerate() if t.name == "twofold-compile"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    begun, gate = threading.Event(), threading.Event()
    job = background.WORKERS.submit(lambda: (begun.set(), gate.wait(30)))
    try:
        assert begun.wait(30)
        child = os.fork()
        if not child:
            signal.alarm(10)
            done = []
            job.finish()
            other = background.WORKERS.submit(lambda: done.append(1))
            time.sleep(0.01)
            other.finish()
            (nd.ones(100) * 3).asnumpy()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        gate.set()
    job.finish()


def test_a_process_exits_without_finishing_queued_jobs():
    text = """
import time
from twofold_cupy.background import WORKERS
for _ in range(400):
    WORKERS.submit(lambda: time.sleep(0.3))
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - start < 25  # instead of 30 s, with four threads


def test_results_do_not_depend_on_background_compilation(gpus, graphs, monkeypatch):
    found = []
    for threads in (0, 1, 4):
        monkeypatch.setattr(SETTINGS, "compile_threads", threads)
        drop_generation()
        found.append([a.asnumpy() for a in trained(gpus[0], perceptron(gpus[0]))])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_changing_scalars_are_right_after_a_graph_was_dropped(gpus, graphs, monkeypatch):
    """After enough launches the program is observed again, and its first run then has other scalars than those last seen."""
    monkeypatch.setattr(capture, "PROVEN_LAUNCHES", 3)
    batches = [nd.array(drawn(6, 6, seed=k), ctx=gpus[0]) for k in (1, 2)]

    def descended():
        w = nd.array(drawn(6, 6), ctx=gpus[0])
        w.attach_grad()
        for k in range(16):
            with autograd.record():
                loss = (nd.dot(w, batches[k >= 10]) * 2).tanh().sum()
            loss.backward()
            w -= 0.01 * (1 + k) * w.grad
            nd.waitall()
        return [w]

    for threads in (0, 1):
        monkeypatch.setattr(SETTINGS, "compile_threads", threads)
        drop_generation()
        graphs.counts.launched = 0
        same(descended, monkeypatch, graphs)
        assert graphs.counts.captured >= 2
