"""Whole programs as CUDA graphs: what a program issues is captured once, and launched at once from then on.

A graph has addresses in it. Inputs that lie where they lay when it was captured are read, and if donated written, where they are;
those that move are copied into memory of the graph. Results lie in memory of the graph, lent to whoever gets them: those that are
still in use at the next launch are copied out from then on. Both are found by looking on, and each change is another capture.
"""

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any

import cupy
import numpy as np

from twofold.backend.kernel import ProgramTraits
from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory

from . import cudnn, limits
from .branches import Branches
from .checks import Recurring
from .exchange import Copied, Donated, Lent, NotCapturable, Result, Static, alike
from .handover import Copy, hand_over
from .library import memory as cupy_memory
from .library import runtime
from .memory import Memory
from .numbers import Numbers
from .operands import is_constant
from .products import prepare
from .rehearsal import phantom, rehearse
from .streams import Stream, entered

#: Steps from which a program is worth a graph.
LEAST = 3
#: How often a program runs before it is captured: once as it is, once with its numbers in the device's memory.
RUNS = 2
#: How often one program may be captured for inputs that lie in one way, and after how many changes all of its arrays count as moving;
#: counted anew after a graph that was launched so often that it was worth it.
MOST_CAPTURES, MOST_CHANGES, WORTH = 8, 3, 64
#: Runs, times two for each capture before, until a program that had no memory for its graph is captured again.
PAUSE = 4
#: Ways in which the inputs of a program may lie on a device that are told apart; those used last are kept.
MOST_LAYOUTS = 4
#: Graphs of a device, and the part of its memory that several may have; those used last are kept.
MOST_GRAPHS, SHARE = 64, 0.5

#: CUDA's status of a capture that something else broke, such as another library that waits for the whole device.
BROKEN_BY_OTHERS = 901

FULL = (DeviceOutOfMemory, MemoryError, cupy_memory.OutOfMemoryError)

Run = Callable[[Sequence[Any]], list[Any]]


class Counts:
    """What became of programs.

    Attributes
    ----------
    captured, launched, dropped
        Graphs made, launched, and given up for others or for their memory.
    refused
        Programs of enough steps, or ways in which their inputs lie, that run step by step for good.
    """

    captured = launched = dropped = refused = 0


class Graphs:
    """All graphs of an adapter.

    Parameters
    ----------
    memory
        Whose memory they are given up for, if there is none left.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory, self.counts = memory, Counts()
        self._live: weakref.WeakSet[Captured] = weakref.WeakSet()
        self._streams: dict[int, list[Stream]] = {}
        self._lock = threading.RLock()
        self.time = count()
        memory.reserves.append(self.drop)

    @contextmanager
    def capturing(self, device: int) -> Iterator[list[Stream]]:
        """The streams of a device on which one thread at a time captures, the first being current.

        No other part knows them: nobody may wait for them.
        """
        with self._lock:
            streams = self._streams.setdefault(device, [])
            most = max(SETTINGS.gpu_streams, 1)
            streams += [Stream(device, "capture") for _ in range(most - len(streams))]
            with streams[0]:
                yield streams[:most]

    def no_capture(self) -> AbstractContextManager[Any]:
        """A block during which no thread captures."""
        return self._lock

    def add(self, graph: "Captured") -> None:
        """Keep a new graph, instead of those used longest ago if they are too many or too much. Its device is current."""
        with self._lock:
            self.counts.captured += 1
            self._live.add(graph)
            others = sorted([g for g in self._live if g is not graph and g.device == graph.device], key=lambda g: g.used)
        bound = SHARE * (limits.limit() or runtime.memGetInfo()[1])
        while others and (len(others) >= MOST_GRAPHS or self.nbytes(graph.device) > bound):
            self._drop([others.pop(0)])

    def drop(self) -> None:
        """Give up all graphs: programs that run again are captured again."""
        with self._lock:
            live = list(self._live)
        self._drop(live)

    def _drop(self, graphs: Sequence["Captured"]) -> None:
        with self._lock:
            self._live.difference_update(graphs)
            self.counts.dropped += len(graphs)
        for graph in graphs:
            graph.leave()

    def nbytes(self, device: int) -> int:
        """Bytes of a device's memory that graphs have for themselves."""
        with self._lock:
            return sum(g.pool.total_bytes() for g in self._live if g.device == device)

    def __len__(self) -> int:
        with self._lock:
            return len(self._live)


class GraphReplay:
    """A program's function that launches graphs where it can.

    Parameters
    ----------
    graphs
        Those of the adapter.
    run
        The program's function.
    traits
        What it does.
    """

    def __init__(self, graphs: Graphs, run: Run, traits: ProgramTraits) -> None:
        self.graphs, self.run, self.traits = graphs, run, traits
        self._reason = f"{', '.join(traits.host)} runs on the host" if traits.host else ""
        graphs.counts.refused += bool(self._reason)
        self._courses: dict[Any, Course] = {}
        self._lock = threading.RLock()

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for inputs."""
        stream = entered()
        if self._reason or stream is None or stream.purpose != "compute":
            return self.run(arrays)
        key = (stream.device, *[_lies(a) for a in arrays])
        with self._lock:
            course = self._courses.get(key)
            if course is not None:
                self._courses[key] = self._courses.pop(key)  # the last one: that used longest ago is the first
            else:
                others = [k for k in self._courses if k[0] == stream.device]
                if len(others) >= MOST_LAYOUTS:
                    del self._courses[others[0]]
                course = self._courses[key] = Course(self, arrays, stream)
            return course.run(arrays)

    @property
    def state(self) -> str:
        """How it runs."""
        if self._reason:
            return f"step by step: {self._reason}"
        return "; ".join(dict.fromkeys(c.state for c in list(self._courses.values()))) or "step by step so far"


def _lies(a: Any) -> Any:
    """What has to be equal for one graph to serve two inputs, beside the address."""
    if isinstance(a, cupy.ndarray):
        return a._c_contiguous or a.strides
    return "constant" if is_constant(a) else "number"


def _addresses(arrays: Sequence[Any]) -> list[Any]:
    return [a.data.ptr if isinstance(a, cupy.ndarray) else None for a in arrays]


class Course:
    """A program on a device and inputs that lie in one way: what is known of their addresses, and its graph once it has one.

    Parameters
    ----------
    replay
        Of the program.
    arrays
        The first inputs.
    stream
        The device's compute stream.

    Attributes
    ----------
    moving
        Places of the inputs whose addresses change.
    lasting
        Places of the results that are in use at the next run.
    carried
        Places of results to those of dead inputs, of which one run's result is the next run's input: a weight that no step of the
        program writes in place. Its memory is written at the graph's end.
    """

    def __init__(self, replay: GraphReplay, arrays: Sequence[Any], stream: Stream) -> None:
        self.graphs, self.program, self.traits, self.stream = replay.graphs, replay.run, replay.traits, stream
        self.moving: set[int] = set()
        self.lasting: set[int] = set()
        self.carried: dict[int, int] = {}
        self.graph: Captured | None = None
        self._numbers_at = [k for k, a in enumerate(arrays) if not isinstance(a, cupy.ndarray)]
        self.numbers: Numbers | None = None
        self._before: tuple[list[Any], list[Any]] | None = None
        self._reason = self._failed = ""
        self._pause = 0
        self._begin()

    def _begin(self) -> None:
        """Know nothing; numbers are written anew when they are first read."""
        self.numbers = None
        self.moving.clear()
        self.lasting.clear()
        self.carried.clear()
        self._runs = self._captures = self._changes = 0

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for inputs."""
        if self._reason:
            return self.program(arrays)
        graph = self.graph
        if graph is not None and not self._differs(graph, arrays):
            return graph.launch(arrays)
        if self._runs < RUNS:
            return self._observed(arrays)
        if self._pause:
            self._pause -= 1
            return self.program(arrays)
        try:
            graph = self._captured(arrays)
        except Exception as error:
            if isinstance(error, FULL) or getattr(error, "status", 0) == BROKEN_BY_OTHERS:  # it may do later on
                self._failed, self._pause = _first_line(error), PAUSE << self._captures
                return self.program(arrays)
            self._refuse(_first_line(error) if isinstance(error, NotCapturable) else f"{type(error).__name__}: {_first_line(error)}")
            return self.program(arrays)  # nothing has run yet
        return graph.launch(arrays)

    def _refuse(self, reason: str) -> None:
        self._reason, self.graph = reason, None
        self.graphs.counts.refused += 1

    def _differs(self, graph: "Captured", arrays: Sequence[Any]) -> bool:
        """Whether inputs have moved or results are still in use; then the graph is given up."""
        moved, used = graph.moved(arrays), graph.in_use()
        if used:
            self.graphs.memory.collect()
            used = graph.in_use()
        if not moved and not used:
            return False
        self.graph = None
        if graph.launches >= WORTH:
            self._begin()
            return True
        self.moving.update(moved)
        self.lasting.update(used)
        self._changes += 1
        if self._changes >= MOST_CHANGES:
            self.moving.update(k for k, a in enumerate(arrays) if isinstance(a, cupy.ndarray))
            self.lasting.update(range(len(graph.results)))
        self.carried = {k: at for k, at in self.carried.items() if at not in self.moving}
        return True

    def lost(self, graph: "Captured") -> None:
        """Go on without a graph that is given up for others."""
        if self.graph is graph:
            self.graph = None
            if graph.launches >= WORTH:
                self._captures = 0

    def _observed(self, arrays: Sequence[Any]) -> list[Any]:
        """Run step by step, and note where the inputs are and what becomes of the results; the second time with numbers in memory."""
        addresses, given = _addresses(arrays), arrays
        if self._runs and self._numbers_at:
            if self.numbers is None:
                self.numbers = Numbers(self._numbers_at, self.graphs.memory)
            given = self.numbers.replaced(arrays)
        results = self.program(given)
        if not self._runs and self._numbers_at and SETTINGS.compile_threads:
            self._foresee(arrays)
        self._before = addresses, [weakref.ref(r) for r in results]
        self._runs += 1
        if self.numbers is not None and not self.numbers.is_known:
            self._refuse("a number is read in many dtypes")
        return results

    def _foresee(self, arrays: Sequence[Any]) -> None:
        """Have the kernels compiled that the next run will launch, when numbers are in memory."""
        try:
            numbers = self.numbers = Numbers(self._numbers_at, self.graphs.memory)
        except FULL:
            return  # the next run will say so
        stand_ins = [phantom(a.shape, a.dtype, a.strides) if isinstance(a, cupy.ndarray) else a for a in arrays]
        rehearse(lambda given: (hand_over(np.zeros(1, np.uint64), 0, ()), self.program(numbers.replaced(given))), stand_ins)

    def _captured(self, arrays: Sequence[Any]) -> "Captured":
        if self._before is not None:  # what is so from the last run to this one will be so for a while
            addresses, results = self._before
            self.carried = self._carried(arrays, [r() for r in results])
            moved = {k for k, (a, b) in enumerate(zip(addresses, _addresses(arrays), strict=True)) if a != b}
            self.moving.update(moved - set(self.carried.values()))
            self.lasting.update(k for k, r in enumerate(results) if r() is not None and k not in self.carried)
            self._before = None
        copied = bool(self.moving or self.numbers) + bool(self.lasting)
        if self.traits.steps <= 1 + copied:
            raise NotCapturable(f"{self.traits.steps} steps are as few as a graph with its copies")
        if self._captures >= MOST_CAPTURES:
            raise NotCapturable(self._failed or f"its graph was given up {self._captures} times")
        self._captures += 1
        graph = self.graph = Captured(self, arrays)
        self._failed = ""
        self.graphs.add(graph)
        return graph

    def _carried(self, arrays: Sequence[Any], results: Sequence[Any]) -> dict[int, int]:
        free = {arrays[k].data.ptr: k for k in self.traits.dead - self.traits.donated if isinstance(arrays[k], cupy.ndarray)}
        found = {k: free.get(r.data.ptr) for k, r in enumerate(results) if isinstance(r, cupy.ndarray) and r.nbytes}
        return {k: at for k, at in found.items() if at is not None and alike(results[k], arrays[at])}

    @property
    def state(self) -> str:
        """How it runs."""
        if self._reason:
            return f"step by step: {self._reason}"
        if self.graph is None:
            return f"step by step for now: {self._failed}" if self._pause else "step by step so far"
        return self.graph.state


class Captured:
    """A graph of a program, with all memory that it has for itself.

    Parameters
    ----------
    course
        Whose graph it is: after the last run before it, with what is known by then.
    arrays
        The inputs, of which the addresses go into the graph.
    """

    def __init__(self, course: Course, arrays: Sequence[Any]) -> None:
        self._course, self._graphs, self._memory = weakref.ref(course), course.graphs, course.graphs.memory
        self._stream, self._numbers, self._steps = course.stream, course.numbers, course.traits.steps
        self.pool, self.device = limits.PrivatePool(partial(_allocated, self._memory)), course.stream.device
        self.used, self.launches = next(self._graphs.time), 0
        given = list(arrays) if self._numbers is None else self._numbers.replaced(arrays)
        with self._graphs.capturing(self._stream.device) as streams:
            for stream in streams:
                _prepare(stream, course.traits.primitives)
            with cupy.cuda.using_allocator(self.pool.malloc):
                self._inputs = {k: Static(arrays[k]) for k in sorted(course.moving)}
                for k, static in self._inputs.items():
                    given[k] = static.array
                branches = Branches(streams, self.pool.malloc)
                steps = course.traits.in_steps
                program = course.program if steps is None else partial(branches.run, steps)
                self._graph, made, self._checks = _captured(streams, partial(_run, program, course.carried), given)
                self._branches = branches.used
        self._fixed = [(k, a.data.ptr) for k, a in enumerate(given) if isinstance(a, cupy.ndarray) and self._is_fixed(k, a)]
        donated = {given[k].data.ptr: k for k in course.traits.donated if isinstance(given[k], cupy.ndarray)}
        self.results = [self._result(k, r, donated, course.carried, k in course.lasting) for k, r in enumerate(made)]
        self._lent = [r for r in self.results if isinstance(r, Lent)]

    def _is_fixed(self, k: int, a: Any) -> bool:
        return k not in self._inputs and (self._numbers is None or k not in self._numbers.inputs)

    def _result(self, k: int, array: Any, donated: dict[int, int], carried: dict[int, int], is_lasting: bool) -> Result:
        if not isinstance(array, cupy.ndarray):
            raise NotCapturable(f"result {k} is no array")
        at = donated.get(array.data.ptr) if array.nbytes else None
        if at is not None:
            return Donated(array, at, self._inputs.get(at))
        if k in carried:
            return Donated(array, carried[k], None)
        if is_lasting or not array.nbytes:
            return Copied(array, self._memory)
        return Lent(array, k, self._stream.device, self.pool)

    def moved(self, arrays: Sequence[Any]) -> list[int]:
        """Places of the inputs that do not lie where the graph reads them."""
        return [k for k, address in self._fixed if arrays[k].data.ptr != address]

    def in_use(self) -> list[int]:
        """Places of the results that were lent and are still in use."""
        return [r.number for r in self._lent if r.is_in_use]

    def launch(self, arrays: Sequence[Any]) -> list[Any]:
        """Issue the program: what has to be copied, the graph, and what has to be copied out."""
        for check in self._checks:
            check.before()
        out: list[Copy] = []
        results = [r.given(arrays, out) for r in self.results]
        words = NOTHING if self._numbers is None else self._numbers.changed(arrays)
        into = [static.copy_of(arrays[k]) for k, static in self._inputs.items()]
        if words.size or into:
            hand_over(words, 0 if self._numbers is None else self._numbers.place, into)
        if words.size and self._numbers is not None:
            self._numbers.sent()
        self._graph.launch(self._stream.cuda)
        if out:
            hand_over(NOTHING, 0, out)
        for check in self._checks:
            check.after()
        self.used = next(self._graphs.time)
        self.launches += 1
        self._graphs.counts.launched += 1
        return results

    def leave(self) -> None:
        """Have the program run without the graph."""
        course = self._course()
        if course is not None:
            course.lost(self)

    @property
    def state(self) -> str:
        """What it is, and what is copied for it."""
        numbers = 0 if self._numbers is None else len(self._numbers)
        out = sum(r.is_copied for r in self.results)
        branches = f" on {self._branches} streams" if self._branches > 1 else ""
        return (
            f"one CUDA graph of {self._steps} steps{branches}; {len(self._inputs)} inputs, {numbers} numbers and {out} results are copied"
        )

    def __del__(self) -> None:
        """Keep what the last launch may still use until that is done."""
        owned = [vars(self).get(name) for name in ("_graph", "_inputs", "results", "_numbers", "_checks", "_lent")]
        self._memory.give_back(self._stream, _Left(owned, vars(self).get("pool")))


class _Left:
    """What a graph had, until its last launch is done: then its memory goes back, but for the blocks that lent results look into."""

    def __init__(self, owned: list[Any], pool: limits.PrivatePool | None) -> None:
        self._owned, self._pool = owned, pool

    def __del__(self) -> None:
        """Let go of it."""
        self._owned.clear()
        if self._pool is not None:
            self._pool.give_up()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


NOTHING = np.zeros(0, np.uint64)
#: Primitives that may call cuDNN, and those that may call cuBLAS.
CONVOLUTIONS = frozenset({"convolve", "convolve_data", "convolve_weight"})
PRODUCTS = frozenset({"matmul", "einsum"}) | CONVOLUTIONS


def _allocated(memory: Memory, size: int) -> Any:
    """New memory of the device. Where there is none, the pool must not give up blocks that the graph has in it to find some."""
    try:
        return limits.private(size)
    except cupy_memory.OutOfMemoryError:
        return memory.found(lambda: limits.private(size))


def _prepare(stream: Stream, primitives: frozenset[str]) -> None:
    """Have ready on a stream what libraries want there before it is captured."""
    with stream:
        if primitives & PRODUCTS:
            prepare(stream)
        if primitives & CONVOLUTIONS and SETTINGS.cudnn and cudnn.library() is not None:
            cudnn.prepare(stream)


def _run(program: Run, carried: dict[int, int], given: Sequence[Any]) -> list[Any]:
    """What goes into a graph: the program, and copies of results into the memory of inputs."""
    results = program(given)
    for k, at in carried.items():
        given[at].data.copy_from_device_async(results[k].data, results[k].nbytes)
    return results


def _captured(streams: Sequence[Stream], run: Run, given: Sequence[Any]) -> tuple[Any, list[Any], list[Recurring]]:
    """What a program issues as a graph, its results' memory, and what the host is to look at after each launch."""
    origin, checks = streams[0], []
    for stream in streams:
        stream.checks = checks
    origin.cuda.begin_capture()
    try:
        results = run(given)
    except BaseException:
        with suppress(Exception):  # it says once more that something failed
            origin.cuda.end_capture()
        raise
    finally:
        for stream in streams:
            stream.checks = None
    return origin.cuda.end_capture(), results, checks
