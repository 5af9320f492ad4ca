"""Kernels split over two threads without the interpreter in between: the bits of one thread, whichever thread waits, forks or exits."""

import ctypes
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
from twofold.config import SETTINGS
from twofold.testing.backend_conformance import step
from twofold_numpy.jit import handoff, tiering
from twofold_numpy.jit.callables import REPORT_REFUSAL, WITHOUT_GIL, builtin_of
from twofold_numpy.jit.compiler import compiler

from tests.backend.jit import EagerBackend, chain, fresh, machine_code, same_bits, two_threads
from tests.backend.test_jit_rows import softmax

__all__ = ["fresh", "two_threads"]
SHAPE = (37, 129)


@pytest.fixture(autouse=True)
def _all_sizes(fresh, two_threads):
    """Every kernel is split, and a helper is there."""


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


def test_without_helpers_one_thread_does_all_the_work(monkeypatch):
    handoff.stop()
    monkeypatch.setattr(tiering, "WAKE", 10**12)
    x, y = operands()
    out = np.empty(SHAPE, np.float32)
    kernel = machine_code(chain(SHAPE, "negative"))
    assert handed(lambda: kernel(x, y, out)) == 0
    assert same_bits(out, -(x * 2 + y))


def test_a_kernel_that_is_worth_it_starts_the_helpers():
    handoff.stop()
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    assert [handed(lambda: kernel(x, y, np.empty_like(x))) for _ in range(2)] == [0, 1]


def test_helpers_follow_the_setting(monkeypatch):
    for count in (4, 2, 1, 3):
        monkeypatch.setattr(SETTINGS, "threads", count)
        handoff.start(compiler())
        names = [t.name for t in threading.enumerate() if t.name.startswith("twofold-helper")]
        assert sorted(names) == [f"twofold-helper-{k}" for k in range(count - 1)]
        x, y = operands()
        kernel = machine_code(chain(SHAPE, "negative"))
        for _ in turns(30):
            (got,) = kernel(x, y, np.empty_like(x))
            assert same_bits(got, -(x * 2 + y))


def test_nothing_is_offered_for_a_while_after_a_helper_was_late():
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    handoff._board[handoff.ALONE] = time.monotonic_ns() + 10**11
    assert handed(lambda: kernel(x, y, np.empty_like(x))) == 0
    handoff._board[handoff.ALONE] = time.monotonic_ns()
    assert handed(lambda: kernel(x, y, np.empty_like(x))) == 1


JOIN = """
define void @kernel(ptr %board, i64 %theirs, i64 %fair, i64 %slow) {
  %nothing = call i64 @join(ptr %board, i64 %theirs, i64 %fair, i64 %slow, i1 false)
  ret void
}
"""


@pytest.mark.parametrize(
    ("longest", "fair", "is_late"),
    [(10**7, 10**6, True), (10**5, 10**6, False), (10**7, 10**10, False)],
    ids=["lost its core", "was woken", "in time"],
)
def test_a_helper_is_late_if_it_computes_slowly_not_if_it_begins_late(longest, fair, is_late):
    own = compiler()
    text = handoff.module("serve", own.triple.startswith("x86")).replace("define ptr @kernel", "define internal ptr @serves")
    integer, board = ctypes.c_int64, (ctypes.c_int64 * len(handoff._board))()
    join = own.function(text + JOIN, None, ctypes.c_void_p, integer, integer, integer)
    board[handoff.OWNER], board[handoff.LONGEST], board[handoff.ALONE] = 1, longest, 1
    begin = time.monotonic_ns()
    waiting = threading.Thread(target=join, args=(ctypes.addressof(board), 1, fair, 10**6))  # releases the GIL
    waiting.start()
    time.sleep(0.02)
    board[handoff.FINISHED] = 1
    waiting.join()
    assert board[handoff.OWNER] == 0
    # four times what was lost, at least
    assert (board[handoff.ALONE] > begin + 4 * 10**7) == (board[handoff.LEVEL] > 4 * 10**7) == is_late
    assert is_late or board[handoff.ALONE] == 0


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


def test_threads_take_turns_with_the_helper():
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


def test_a_forked_child_starts_its_own_helpers():
    x, y = operands()
    kernel = machine_code(chain(SHAPE, "negative"))
    kernel(x, y, np.empty_like(x))
    for _ in range(5):
        child = os.fork()
        if not child:
            signal.alarm(30)  # nobody waits for it longer
            good = [handed(lambda: kernel(x, y, np.empty_like(x))) for _ in range(2)] == [0, 1]
            os._exit(0 if good and same_bits(kernel(x, y, np.empty_like(x))[0], -(x * 2 + y)) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
