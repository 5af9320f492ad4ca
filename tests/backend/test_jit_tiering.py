"""When kernels are compiled: concurrently, during interrupts, around forks, at first use, and never if they are too long."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import twofold as mx
import twofold.imperative.forks
from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.program.compile import Program
from twofold.testing.backend_conformance import step
from twofold_numpy import NumpyBackend
from twofold_numpy.jit import compiler as of_compiler
from twofold_numpy.jit import handoff, tiering
from twofold_numpy.jit.compiler import compiler

from tests.backend.jit import chain, fresh, same_bits

__all__ = ["fresh"]

X = np.linspace(-1, 1, 7, dtype=np.float32)


def used(kernel):
    """The result of a kernel of `chain`."""
    out = np.empty_like(X)
    kernel(X, X, out)
    return out


@pytest.fixture
def slowly(monkeypatch):
    """Compilations that pause in the middle until they may continue: (started, may continue)."""
    begun, on, code_of = threading.Event(), threading.Event(), tiering._machine_code

    def slow(structure):
        begun.set()
        assert on.wait(30)
        return code_of(structure)

    monkeypatch.setattr(tiering, "_machine_code", slow)
    return begun, on


@pytest.mark.parametrize("op", ["exp", "tanh"])
def test_an_interrupt_during_compilation_can_use_kernels(op, monkeypatch):
    code_of, results = tiering._machine_code, []
    kernel, other = NumpyBackend().compile(chain()), NumpyBackend().compile(chain(op=op))

    def interrupted(structure):
        monkeypatch.setattr(tiering, "_machine_code", code_of)
        results.extend([used(other), used(other)])  # as a signal handler or a finalizer would
        return code_of(structure)

    used(kernel)
    monkeypatch.setattr(tiering, "_machine_code", interrupted)
    np.testing.assert_allclose(used(kernel), np.exp(X * 2 + X), 1e-6)
    for result in results:
        np.testing.assert_allclose(result, getattr(np, op)(X * 2 + X), 1e-6)
    assert tiering.Stats.compiled == (1 if op == "exp" else 2)


def test_other_structures_do_not_wait_for_a_compilation(slowly):
    begun, on = slowly
    kernel, other, results = NumpyBackend().compile(chain()), NumpyBackend().compile(chain(op="tanh")), []
    used(kernel)
    thread = threading.Thread(target=lambda: results.append(used(kernel)))
    thread.start()
    assert begun.wait(30)
    used(other)
    on.set()
    thread.join()
    assert len(results) == 1


def test_threads_that_use_a_structure_wait_for_its_machine_code(slowly):
    begun, on = slowly
    kernels, results = [NumpyBackend().compile(chain()) for _ in range(3)], []
    used(kernels[0])
    threads = [threading.Thread(target=lambda k=k: results.append(used(k))) for k in kernels]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    assert not results
    on.set()
    for thread in threads:
        thread.join()
    assert all(same_bits(r, results[0]) for r in results)
    assert tiering.Stats.compiled == 1


def test_an_interrupted_compilation_is_restarted(monkeypatch):
    code_of = tiering._machine_code

    def interrupted(structure):
        raise KeyboardInterrupt

    kernel = NumpyBackend().compile(chain())
    used(kernel)
    monkeypatch.setattr(tiering, "_machine_code", interrupted)
    with pytest.raises(KeyboardInterrupt):
        used(kernel)
    monkeypatch.setattr(tiering, "_machine_code", code_of)
    used(kernel)
    assert tiering.Stats.compiled == 1


def test_a_fork_waits_for_a_compilation(slowly):
    begun, on = slowly
    kernel = NumpyBackend().compile(chain())
    used(kernel)
    thread = threading.Thread(target=used, args=(kernel,))
    thread.start()
    assert begun.wait(30)
    threading.Timer(0.2, on.set).start()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # nobody waits for it longer
        os._exit(0 if np.allclose(used(NumpyBackend().compile(chain())), np.exp(X * 2 + X), 1e-6) else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


FORKING = """
import os, threading, time
import numpy as np
import twofold as mx
from twofold.scheduler.queue import QUEUE
from twofold.scheduler.variable import Lane
from twofold_numpy.jit import tiering
tiering.LOADED_FROM = 0
x, begun, done = mx.nd.array(np.ones(300_000)), threading.Event(), []
def on_a_lane():
    begun.set()
    time.sleep(0.2)  # the fork has begun
    done.extend([(x * 2 + 1).tanh().asnumpy()[0] for _ in range(3)])
QUEUE.push(on_a_lane, lane=Lane("one that compiles"))
begun.wait()
child = os.fork()
if not child:
    os._exit(len(done))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), tiering.Stats.compiled + tiering.Stats.loaded)
"""


def test_a_fork_waits_for_lanes_that_need_to_compile():
    """It takes none of their locks before they end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TWOFOLD_JIT": "1"}
    # from 3.12 on Python warns of forks beside threads
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert (done.stdout, done.stderr) == ("3 1\n", "")


def test_a_fork_waits_for_code_between_threads(monkeypatch):
    """The code that splits kernels over two threads is compiled by the same library."""
    own, begun, finished = compiler(), threading.Event(), []
    object_code = own.object_code

    def slow(text, inlines):
        begun.set()
        time.sleep(0.2)
        finished.append(text)
        return object_code(text, inlines)

    monkeypatch.setattr(own, "object_code", slow)
    thread = threading.Thread(target=handoff.code_of.__wrapped__, args=(own, "split"))
    thread.start()
    assert begun.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # nobody waits for it longer
        os._exit(len(finished))
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_fork_waits_for_calls_of_llvm():
    """Finalizers of its objects call it at any time."""
    compiler()
    from llvmlite import binding

    begun, finished = threading.Event(), []

    def finalizer():
        with binding.ffi.lib._lock:
            begun.set()
            time.sleep(0.2)
            finished.append(True)

    thread = threading.Thread(target=finalizer)
    thread.start()
    assert begun.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        binding.get_default_triple()
        os._exit(len(finished))
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_jit_eager_compiles_kernels_at_first_use(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit_eager", True)
    monkeypatch.setattr(tiering, "WORTH", 10_000)
    first = used(NumpyBackend().compile(chain()))
    assert tiering.Stats.compiled == 1
    assert same_bits(first, used(NumpyBackend().compile(chain())))


def test_jit_eager_gives_an_operation_the_same_bits_at_every_use(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit_eager", True)
    x = mx.nd.array(np.random.default_rng(0).normal(size=(32, 613)))  # a shape of its own: its first use is here
    first, *others = (mx.nd.softmax(x).asnumpy() for _ in range(3))
    assert tiering.Stats.compiled + tiering.Stats.loaded >= 1
    assert all(same_bits(first, other) for other in others)


def test_kernels_have_a_node_limit():
    x = leaf(0, (9,), "float32")
    y = x
    for _ in range(200):
        y = G.tanh(y)
    program = Program([y], [x], NumpyBackend())
    assert [len(k.steps) for k in program.kernels] == [64, 64, 64, 8]


def test_long_sources_are_not_compiled():
    power = [step("power", Ref("step", k - 1) if k else Ref("in", 0), Ref("in", 0)) for k in range(60)]
    program = RowProgram("powers", (7,), (ArrayType((7,), "float32"),), tuple(power), (59,))
    kernel = NumpyBackend().compile(program)
    for _ in range(2):
        kernel(np.ones(7, np.float32), np.empty(7, np.float32))
    assert (tiering.Stats.refused, tiering.Stats.compiled) == (1, 0)


@pytest.mark.parametrize(
    ("op", "forms"), [("exp", ["ufuncs so far", "ufuncs so far", "machine code"]), ("arctan", ["ufuncs so far", "ufuncs so far", "ufuncs"])]
)
def test_a_program_reports_how_its_kernels_run(op, forms, fresh):
    x = leaf("x", (100, 1000), "float32")
    program = Program([getattr(G, op)(x * 2.0) + 1.0], [x], NumpyBackend(), big=1)
    for form in forms:
        assert program.explain() == f"multiply + {op} + add  ({form})"
        assert program.described() == [(f"multiply + {op} + add", form)]
        program.run([np.ones((100, 1000), np.float32)])


def test_a_small_kernel_is_compiled_at_a_late_use_of_its_structure(fresh, monkeypatch):
    monkeypatch.setattr(tiering, "WORTH", 10**9)
    monkeypatch.setattr(tiering, "LATE", 6)
    first, second = (NumpyBackend().compile(chain()) for _ in range(2))
    forms = []
    for kernel in (first, second, first, first, second, first, second, first):
        np.testing.assert_allclose(used(kernel), np.exp(X * 2 + X), 1e-6)
        forms.append(kernel.form)
    assert forms == ["ufuncs so far"] * 5 + ["machine code"] * 3
    assert tiering.Stats.compiled == 1


def test_a_kernel_between_small_and_large_is_compiled_once_its_uses_have_done_enough_work(fresh, monkeypatch):
    kernel = NumpyBackend().compile(chain())
    monkeypatch.setattr(tiering, "WORTH", 10**9)
    monkeypatch.setattr(tiering, "PAYS", 3.5 * kernel.program.nanoseconds(tiering.SIMPLE, tiering.OTHER))
    forms = []
    for _ in range(6):
        used(kernel)
        forms.append(kernel.form)
    assert forms == ["ufuncs so far"] * 3 + ["machine code"] * 3


@pytest.fixture
def without_llvm(monkeypatch):
    """A process that has not loaded LLVM and has computed nothing; returns what loads it from so many nanoseconds of work on."""
    monkeypatch.setattr(tiering, "is_loaded", lambda: tiering.Stats.compiled > 0)
    monkeypatch.setattr(tiering._Work, "done", 0.0)
    return lambda work: monkeypatch.setattr(tiering, "LOADED_FROM", work)


def test_llvm_is_loaded_when_all_kernels_together_have_worked_enough(fresh, without_llvm):
    first, second = NumpyBackend().compile(chain()), NumpyBackend().compile(chain(op="tanh"))
    without_llvm(5 * first.program.nanoseconds(tiering.SIMPLE, tiering.OTHER))
    compiled = []
    for kernel in (first, second, first, second, first, second, second):
        used(kernel)
        compiled.append(tiering.Stats.compiled)
    assert compiled == [0, 0, 0, 0, 1, 2, 2]


def test_small_kernels_load_llvm_by_the_thousand(fresh, without_llvm, monkeypatch):
    monkeypatch.setattr(tiering, "WORTH", 10**9)
    monkeypatch.setattr(tiering, "LATE", 4)
    kernel = NumpyBackend().compile(chain())
    without_llvm(9 * kernel.program.nanoseconds(tiering.SIMPLE, tiering.OTHER))
    forms = []
    for _ in range(14):
        used(kernel)
        forms.append(kernel.form)
    assert forms == ["ufuncs so far"] * 11 + ["machine code"] * 3


REPORTED = """
import twofold as mx
x = mx.np.ones((1000, 1000))
with mx.explain() as report:
    (mx.np.exp(x * 2.0) + 1.0).wait_to_read()
(flush,) = report.flushes
print(flush.steps, flush.forms, flush.printed)
"""


def test_reports_name_the_form_of_a_kernel_beside_its_operations():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TWOFOLD_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", REPORTED], capture_output=True, text=True, timeout=60, check=True, env=environment)
    steps, form = "multiply + exp + add", "ufuncs so far"
    assert done.stdout.strip() == f"('{steps}',) ('{form}',) ('{steps}  ({form})',)"


SHORT = """
import sys
import twofold as mx
x = mx.nd.ones((100_000,))
seen = []
for k in range(%d):
    (x * 2 + k).tanh().wait_to_read()
    seen.append("llvmlite" in sys.modules)
print(seen.index(True) if True in seen else None)
"""


def test_short_programs_do_not_load_llvm():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TWOFOLD_JIT": "1"}

    def loaded_at(passes):
        command = [sys.executable, "-c", SHORT % passes]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.stderr == ""
        return done.stdout.strip()

    assert loaded_at(20) == "None"
    assert loaded_at(1000) == loaded_at(1000) != "None"


def test_random_numbers_are_the_same_at_every_use(fresh, monkeypatch):
    monkeypatch.setattr(tiering, "LATE", 3)
    size = 40_000
    draws = [
        lambda: mx.nd.random.normal(shape=(size,)),
        lambda: mx.nd.random.exponential(shape=(size,)),
        lambda: mx.nd.random.gamma(0.5, 1, shape=(size // 8,)),
        lambda: mx.nd.sample_normal(mx.nd.ones((20,)), mx.nd.ones((20,)), shape=200),
        lambda: mx.nd.random.normal(shape=(size,)).exp() * 2,
    ]
    for draw in draws:
        found = []
        for _ in range(5):
            mx.random.seed(3)
            found.append(draw().asnumpy())
        assert all(np.array_equal(f, found[0]) for f in found)
    assert tiering.Stats.compiled > 0, "what is done with decisions and products of them is compiled"


def test_the_dropout_mask_is_compiled(fresh):
    x = mx.nd.ones((300, 300))
    for _ in range(3):
        with mx.autograd.record(), mx.explain() as report:
            mx.nd.Dropout(x.tanh() * 2, p=0.5).tanh().wait_to_read()
    assert "(machine code)" in str(report)
    assert "(ufuncs)" not in str(report)


def test_a_compiler_is_looked_for_again_after_too_deep_a_recursion(monkeypatch):
    def deep(llvm):
        raise RecursionError

    look = functools.cache(of_compiler.compiler.__wrapped__)
    monkeypatch.setattr(of_compiler, "Compiler", deep)
    with pytest.raises(RecursionError):
        look()
    monkeypatch.setattr(of_compiler, "Compiler", lambda llvm: llvm.__name__)
    assert look() == "llvmlite.binding"
