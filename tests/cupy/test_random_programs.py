"""Random NDArray programs that move data between the host and two GPUs: NumPy's bits in every schedule.

Without some wait or memory rule, a search over programs and schedules finds wrong bits.
"""

import gc
import random

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import IndexingError
from twofold.imperative import window
from twofold.scheduler import streams as order

from tests.cupy.conftest import SIMULATION
from tests.fakes.simulation import SCHEDULES

cupy = pytest.importorskip("cupy")
memory = pytest.importorskip("twofold_cupy.memory")
streams = pytest.importorskip("twofold_cupy.streams")
transfers = pytest.importorskip("twofold_cupy.transfers")
pytestmark = pytest.mark.skipif(SIMULATION is None, reason="needs the simulation's schedules")
#: Larger than what CUDA stages by itself, so that pinned memory is used.
SIZE, SLOTS, LENGTH = 20_000, 4, 24
PROGRAMS = 12
#: Each program runs in this many seeded schedules, and in "late" and "issue".
MIXTURES = 3
TURN = np.random.default_rng(0).permutation(SIZE)


def host(number):
    return np.random.default_rng(number).uniform(-1, 1, SIZE).astype(np.float32)


class Arrays:
    """The arrays under test: slots on two GPUs, and arrays copied to the host meanwhile."""

    def __init__(self, gpus: list[mx.Context]) -> None:
        self.gpus = gpus
        self.turn = {ctx: nd.array(TURN, dtype="int32", ctx=ctx) for ctx in gpus}
        self.theirs = []
        for k in range(len(gpus)):
            with cupy.cuda.Device(k):
                self.theirs.append(cupy.cuda.Stream(non_blocking=True))
        self.slots = [self.fresh(k, k) for k in range(SLOTS)]

    def fresh(self, number, place):
        return nd.array(host(number), ctx=self.gpus[place % 2])

    def beside(self, a, b):
        return b.as_in_context(a.context)

    def move(self, a):
        return a.as_in_context(self.gpus[1 - self.gpus.index(a.context)])

    def fetched(self, a):
        return a.as_in_context(mx.cpu())

    def turned(self, a, b):
        x = nd.take(a, self.turn[a.context], mode="raise")
        return nd.concat(x[SIZE // 2 :], x[: SIZE // 2], dim=0) + self.beside(a, b)

    def lent(self, number, a):
        """Another library's memory, which it computes in its own stream and reuses at once."""
        at = self.gpus.index(a.context)
        with cupy.cuda.Device(at), self.theirs[at]:
            given = cupy.empty(SIZE, np.float32)
            given.fill(number)
            mine = nd.from_dlpack(given)
            del given
            out = mine + a
            window.flush_all()
            del mine
            cupy.empty(SIZE, np.float32).fill(-1)
        return out

    def seen(self, a):
        """Doubles an array, as another library would in its own stream."""
        at = self.gpus.index(a.context)
        with cupy.cuda.Device(at), self.theirs[at]:
            out = cupy.from_dlpack(a) * 2
            self.theirs[at].synchronize()
        return nd.array(cupy.asnumpy(out, stream=self.theirs[at]), ctx=a.context)

    def issue(self):
        window.flush_all()

    def bits(self, arrays):
        return [a.asnumpy() for a in arrays]


class Plain:
    """The same on NumPy arrays."""

    def __init__(self) -> None:
        self.slots = [host(k) for k in range(SLOTS)]

    fresh = staticmethod(lambda number, place: host(number))
    beside = staticmethod(lambda a, b: b)
    move = fetched = staticmethod(np.copy)
    turned = staticmethod(lambda a, b: np.roll(a[TURN], -(SIZE // 2)) + b)
    lent = staticmethod(lambda number, a: np.float32(number) + a)
    seen = staticmethod(lambda a: a * 2)
    issue = staticmethod(lambda: None)
    bits = staticmethod(list)


def executed(seed, api):
    """The results of a seed's program: the arrays copied to the host, and its slots."""
    draw, slots, found = random.Random(seed), api.slots, []
    for number in range(LENGTH):
        i, j, u = draw.randrange(SLOTS), draw.randrange(SLOTS), draw.randrange(1, 8) / 8
        a, b = slots[i], slots[j]
        kind = draw.randrange(11)
        if kind < 2:
            slots[i] = (a + api.beside(a, b)) * u
        elif kind == 2:
            a *= u
        elif kind == 3:
            a[:] = api.beside(a, b) - a
        elif kind == 4:
            slots[i] = api.fresh(number, j)
        elif kind == 5:
            slots[i] = api.move(a)
        elif kind == 6:
            found.append(api.fetched(a))
        elif kind == 7:
            slots[i] = api.turned(a, b)
        elif kind == 8:
            slots[i] = api.lent(number, a)
        elif kind == 9:
            slots[i] = api.seen(a)
        else:
            a[SIZE // 2 :] = api.beside(a, b)[: SIZE // 2]
        del a, b
        api.issue()
    return api.bits([*found, *slots])


def is_right(seed, gpus, backend, schedule):
    """Whether a program gives NumPy's bits in a schedule; new memory holds no correct results of an earlier run."""
    gc.collect()
    backend.trim()
    SIMULATION.schedule(*schedule)
    try:
        got = executed(seed, Arrays(gpus))
    except IndexingError:  # from overwritten indices
        return False
    finally:
        SIMULATION.schedule("late")
    return all(np.array_equal(g, w) for g, w in zip(got, executed(seed, Plain()), strict=True))


def schedules(seed):
    return [(SCHEDULES[0], 0), (SCHEDULES[1], 0), *[(SCHEDULES[2], seed * MIXTURES + k) for k in range(MIXTURES)]]


def wrong(gpus, backend):
    """The first program and schedule with a wrong result; None if there is none."""
    for seed in range(PROGRAMS):
        for schedule in schedules(seed):
            if not is_right(seed, gpus, backend, schedule):
                return seed, schedule
    return None


def test_programs_are_correct_in_every_schedule(gpus, backend):
    assert wrong(gpus, backend) is None


#: The omitted rules, each with the function that replaces it.
RULES = {
    "waits": (streams.Stream, "wait", lambda self, mark: None),
    "the host waits for what it reads": (streams.Stream, "synchronize", lambda self: None),
    "writes wait for copies": (window, "before_overwriting", lambda device: None),
    "a copy is waited for": (order.Arrival, "receive", lambda self: self.array),
    "memory is held": (memory.Memory, "hold", lambda self, array, mark: None),
    "memory of copies is given back late": (memory.Memory, "give_back", lambda self, stream, block: None),
    "memory of copies is used by two streams": (
        transfers.Transfers,
        "_new",
        lambda self, shape, dtype, stream: self._memory.empty(shape, dtype),
    ),
    "memory of others is lent": (memory.Memory, "lent", lambda self, array, stream: array),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_missing_rule_is_detected(rule, gpus, backend, monkeypatch):
    monkeypatch.setattr(*RULES[rule])
    assert wrong(gpus, backend) is not None
