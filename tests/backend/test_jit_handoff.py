"""Kernels split over two threads without the interpreter in between: the bits of one thread, whichever thread waits, forks or exits."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.backend.ledger import HAND_OFFS
from twofold.testing.backend_conformance import step
from twofold_numpy.jit import handoff, tiering
from twofold_numpy.jit.callables import RELEASE_GIL, REPORT_REFUSAL, WITHOUT_GIL, builtin_of
from twofold_numpy.jit.compiler import compiler

from tests.backend.jit import EagerBackend, chain, fresh, machine_code, same_bits
from tests.backend.test_jit_rows import softmax

__all__ = ["fresh"]
SHAPE = (37, 129)


@pytest.fixture(autouse=True)
def _all_sizes(fresh, monkeypatch):
    monkeypatch.setattr(tiering, "SPLIT_WITH_HELPER", 0)
    monkeypatch.setattr(tiering, "SPLIT", 10**12)
    monkeypatch.setattr(tiering.workers, "THREADS", 2)


@pytest.fixture
def waiting():
    """A worker thread that always spins for work."""
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            handoff.serve(compiler())()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    while handoff._mailbox[0] != handoff.READY:
        time.sleep(0.001)
    yield
    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def turns(count):
    """That many numbers; the GIL is released before some of them, so that the worker can resume waiting."""
    for k in range(count):
        if k % 10 == 0:
            time.sleep(0.001)
        yield k


def operands(shape=SHAPE, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=shape).astype(np.float32) for _ in range(2)]


def handed(run):
    before = HAND_OFFS.count
    run()
    return HAND_OFFS.count - before


def test_without_a_waiting_thread_one_thread_does_all_the_work():
    handoff.forget()
    x, y = operands()
    out = np.empty(SHAPE, np.float32)
    kernel = machine_code(chain(SHAPE, "negative"))
    assert handed(lambda: kernel(x, y, out)) == 0
    assert same_bits(out, -(x * 2 + y))


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("shape", [SHAPE, (2,), (70_001,), (3, 5, 7)])
def test_halves_match_the_whole_bitwise(shape):
    x, y = operands(shape)
    out = np.empty(shape, np.float32)
    kernel = machine_code(chain(shape, "negative"))
    kernel(x, y, out)

    def run():
        for k in turns(300):
            np.negative(x, out=out)
            kernel(x, y, out)
            assert same_bits(out, -(x * 2 + y)), k

    assert handed(run) > 5


@pytest.mark.usefixtures("waiting")
def test_rows_and_results_over_operands():
    x, _ = operands()
    kernel, want = machine_code(softmax(SHAPE)), np.empty(SHAPE, np.float32)
    kernel(x, want)
    for _ in turns(50):
        (got,) = kernel(x, np.empty_like(x))
        assert same_bits(got, want)
    program = chain(SHAPE, "negative")._replace(in_place=((0, 1),))
    for _ in turns(50):
        a, b = operands()
        machine_code(program)(a, b, b)
        assert same_bits(b, -(a * 2 + operands()[1]))


@pytest.mark.usefixtures("waiting")
def test_rejected_arrays_are_computed_once():
    memory = np.arange(401, dtype=np.float32)
    x, y = (memory[k:][:400].reshape(20, 20) for k in (1, 0))  # the result overlaps the input, one element before it
    turned = np.ones((20, 20), np.float32).T
    steps = step("add", Ref("in", 0), Ref("in", 1)), step("add", Ref("step", 0), Ref("in", 2))
    kernel = machine_code(RowProgram("add", (20, 20), (ArrayType((20, 20), "float32"),) * 3, steps, (1,), ((0, 2),)))
    for _ in turns(50):
        want = x + turned + y
        kernel(x, turned, y, y)
        assert same_bits(y, want)
    own = EagerBackend().compile(chain(SHAPE, "negative"))
    a, b = operands()
    own(a, b, np.empty_like(a))
    for _ in turns(20):
        with pytest.raises(ValueError, match=r"broadcast|shape"):
            own(a, b[:5], np.empty_like(a))


@pytest.mark.usefixtures("waiting")
def test_a_single_half_that_refuses_is_an_error(monkeypatch):
    """As when its scratch cannot be allocated: the other half may have overwritten the inputs."""
    made = []

    def noted(address, library, numbers, refused, lock):
        numbers = list(numbers)
        if lock == WITHOUT_GIL:
            numbers[-1] += 1  # as if the arrays were larger
        made.append(lock)
        return builtin_of(address, library, numbers, refused, lock)

    monkeypatch.setattr(tiering, "builtin_of", noted)
    x, y = operands((1000,))
    kernel, out = machine_code(chain((1000,), "negative")), np.empty(1000, np.float32)
    failed = 0
    for _ in turns(50):
        try:
            kernel(x, y, out)
        except MemoryError:
            failed += 1
    assert failed > 0
    assert {REPORT_REFUSAL, WITHOUT_GIL} <= set(made)


def test_a_single_half_that_refuses_in_a_woken_thread_is_an_error(monkeypatch):
    monkeypatch.setattr(tiering, "SPLIT", 0)
    made = []

    def noted(address, library, numbers, refused, lock):
        numbers = list(numbers)
        made.extend([lock] if refused is tiering._refuse else [])
        if refused is tiering._refuse and len(made) == 2:
            numbers[-1] += 1  # as if the arrays were larger
        return builtin_of(address, library, numbers, refused, lock)

    monkeypatch.setattr(tiering, "builtin_of", noted)
    handoff.forget()
    x, y = operands((1000,))
    kernel = tiering.jit_kernel(chain((1000,), "negative"))
    kernel(x, y, np.empty(1000, np.float32))
    with pytest.raises(MemoryError):
        kernel(x, y, np.empty(1000, np.float32))
    assert made == [RELEASE_GIL, RELEASE_GIL]


def test_a_busy_thread_lets_others_use_the_worker_in_between(monkeypatch):
    monkeypatch.setattr(handoff, "PATIENCE", 10**9)
    monkeypatch.setattr(handoff, "_code", handoff._code.__wrapped__)
    thread = threading.Thread(target=handoff.serve.__wrapped__(compiler()), daemon=True)
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    kernel(x, y, np.empty_like(x))
    handoff.forget()
    thread.start()
    end = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < end:
        kernel(x, y, np.empty_like(x))
    assert not thread.is_alive()


@pytest.mark.usefixtures("waiting")
def test_threads_take_turns_with_the_waiting_worker():
    errors = []

    def work(seed):
        x, y = operands(seed=seed)
        kernel, want = machine_code(chain(SHAPE, "negative")), -(x * 2 + y)
        try:
            for _ in turns(400):
                out = np.empty_like(x)
                kernel(x, y, out)
                assert same_bits(out, want)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    assert handed(lambda: [[t.start() for t in threads], [t.join() for t in threads]]) > 5
    assert errors == []


@pytest.mark.usefixtures("waiting")
def test_a_forked_child_has_no_waiting_thread():
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    kernel(x, y, np.empty_like(x))
    for _ in range(5):
        child = os.fork()
        if not child:
            signal.alarm(30)  # nobody waits for it longer
            good = handed(lambda: [kernel(x, y, np.empty_like(x)) for _ in range(20)]) == 0
            os._exit(0 if good and same_bits(kernel(x, y, np.empty_like(x))[0], -(x * 2 + y)) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_woken_thread_waits_for_more(monkeypatch):
    monkeypatch.setattr(tiering, "SPLIT", 0)
    waited = []
    monkeypatch.setattr(tiering, "helper", lambda own: lambda: waited.append(own))
    handoff.forget()
    x, y = operands((400_000,))
    kernel = machine_code(chain((400_000,), "tanh"))
    for _ in range(200):
        kernel(x, y, np.empty_like(x))
    assert waited  # unless the machine was busy each time, so that one thread ran both halves
    assert isinstance(waited[0], type(compiler()))


def test_a_worker_that_waits_in_vain_waits_less_often(monkeypatch):
    one, turns_taken, done = handoff.Helper(compiler()), [], []

    def serve():
        turns_taken.append(len(done))
        HAND_OFFS.count += len(done) >= 90

    monkeypatch.setattr(one, "_serve", serve)
    while len(done) < 100:
        one()
        done.append(True)
    assert turns_taken == [0, 2, 6, 14, 30, 62, *range(94, 100)]


def test_a_busy_worker_continues_unless_others_wait(monkeypatch):
    one, turns_taken = handoff.Helper(compiler()), []

    def serve():
        turns_taken.append(1)
        HAND_OFFS.count += handoff.MAX_SERVED

    monkeypatch.setattr(one, "_serve", serve)
    monkeypatch.setattr(handoff, "has_tasks", lambda: len(turns_taken) == 5)
    one()
    assert len(turns_taken) == 5


def test_functions_are_freed_with_their_kernel():
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    kernel(x, y, np.empty_like(x))
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        machine_code(chain(SHAPE, "negative"))(x, y, np.empty_like(x))
    gc.collect()
    assert len(gc.get_objects()) - before < 20


PROGRAM = """
import numpy as np
import twofold as mx
x = mx.nd.array(np.ones(1_000_000))
for _ in range(60):
    y = (x * 2 + 1).tanh()
    y.wait_to_read()
assert float(y.asnumpy()[5]) > 0.99
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_process_can_exit_while_the_worker_waits(seed):
    environment = os.environ | {"TWOFOLD_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
