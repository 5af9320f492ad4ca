"""Programs as CUDA graphs: the work that a program issues is captured once and is a single launch from then on.

A graph contains addresses. An input that stays at its address is read (and, if donated, written) in place; one that moves is copied
into static memory of the graph before each launch. Results live in the graph's memory and are lent to the caller; a result that is
still in use at the next launch is copied out from then on. Which inputs move and which results are retained is observed, not declared,
and each change of that set takes another capture.

A graph belongs to a runner, and a runner to the owner of the arrays: an executor has its own (`GraphRunner.separate`), so its graphs and
their memory end with it. The window of a training loop has no owner but its program, which the cache of programs keeps; its graphs live
until others need their place or their memory.
"""

import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import cupy
import numpy as np

from twofold.backend.kernel import Array, ProgramTraits, Run
from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory

from . import cudnn, limits
from .batched_copy import Copy, copy_batch
from .checks import RepeatedCheck
from .dry_run import dry_run, placeholder
from .graph_cache import Graphs
from .graph_io import Copied, Donated, Lent, NotCapturable, Result, Static, alike
from .library import memory as cupy_memory
from .memory import Memory
from .multi_stream import MultiStreamCapture
from .operands import is_constant
from .products import prepare
from .scalar_inputs import ScalarInputs
from .streams import Stream, entered

#: Fewest steps for which a graph pays.
MIN_STEPS = 3
#: Runs before the capture: the first unchanged, the second with the scalars in device memory, to compile the kernels of the capture.
OBSERVED_RUNS = 2
#: Captures of a specialization that may follow each other without waiting, and changes after which all of its arrays are treated as
#: moving. A graph that was launched PROVEN_LAUNCHES times has paid for itself, and resets both counts.
MAX_CAPTURES, MAX_CHANGES, PROVEN_LAUNCHES = 8, 3, 64
#: Runs to wait after a failed capture before capturing again; doubled with each capture, so that attempts become rare.
BACKOFF = 4
#: Input layouts of one program that are kept apart on a device; the least recently used is dropped.
MAX_SPECIALIZATIONS = 4

OUT_OF_MEMORY_ERRORS = (DeviceOutOfMemory, MemoryError, cupy_memory.OutOfMemoryError)


class GraphRunner:
    """Runs a program by graph launches if possible, otherwise step by step.

    Parameters
    ----------
    graphs
        The adapter's graph cache.
    run
        The program, as a function that runs it step by step.
    traits
        The adapter's facts about it.
    """

    def __init__(self, graphs: Graphs, run: Run, traits: ProgramTraits) -> None:
        self.graphs, self.run, self.traits = graphs, run, traits
        self._reason = f"{', '.join(traits.host)} runs on the host" if traits.host else ""
        graphs.counts.refused += bool(self._reason)
        self._specializations: dict[Any, Specialization] = {}
        self._lock = threading.RLock()

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for inputs."""
        stream = entered()
        # graphs are launched on compute streams; on another one, such as that of a capture, the program is a part of other work
        if self._reason or stream is None or stream.purpose != "compute":
            return self.run(arrays)
        key = (stream.device, *[_memory_layout(a) for a in arrays])
        with self._lock:
            specialization = self._specializations.get(key)
            if specialization is not None:
                self._specializations[key] = self._specializations.pop(key)  # to the end: the first is the least recently used
            else:
                others = [k for k in self._specializations if k[0] == stream.device]
                if len(others) >= MAX_SPECIALIZATIONS:
                    del self._specializations[others[0]]
                specialization = self._specializations[key] = Specialization(self, arrays, stream)
            return specialization.run(arrays)

    def separate(self) -> "GraphRunner":
        """Another runner of the same program, with separate graphs."""
        return self if self._reason else GraphRunner(self.graphs, self.run, self.traits)

    @property
    def state(self) -> str:
        """How the program runs, and why not as a graph, for `explain`."""
        if self._reason:
            return f"step by step: {self._reason}"
        return "; ".join(dict.fromkeys(c.state for c in list(self._specializations.values()))) or "step by step so far"


def _memory_layout(a: Array) -> Any:
    """The properties, besides the address, that two inputs of one graph must share; the program fixes the shapes."""
    if isinstance(a, cupy.ndarray):
        return a._c_contiguous or a.strides
    return "constant" if is_constant(a) else "number"


def _addresses(arrays: Sequence[Array]) -> list[Array]:
    return [a.data.ptr if isinstance(a, cupy.ndarray) else None for a in arrays]


class Specialization:
    """A program on one device for one combination of input layouts: observations about its arrays, and its graph if it has one.

    Parameters
    ----------
    runner
        The program's runner.
    arrays
        The first inputs.
    stream
        The device's compute stream.

    Attributes
    ----------
    moving
        Indices of the inputs whose addresses change.
    retained
        Indices of the results that are still in use at the next run.
    loop_carried
        Maps a result to the dead input that it becomes in the next run: a weight that no step updates in place. The graph ends
        with a copy of the result into the input's memory, so that the weight stays at its address.
    """

    def __init__(self, runner: GraphRunner, arrays: Sequence[Array], stream: Stream) -> None:
        self.graphs, self.program, self.traits, self.stream = runner.graphs, runner.run, runner.traits, stream
        self.moving: set[int] = set()
        self.retained: set[int] = set()
        self.loop_carried: dict[int, int] = {}
        self.graph: CapturedGraph | None = None
        self._scalar_positions = [k for k, a in enumerate(arrays) if not isinstance(a, cupy.ndarray)]
        self.scalars: ScalarInputs | None = None
        self._last_run: tuple[list[Any], list[Any]] | None = None
        self._reason = self._postponed = ""
        self._backoff = 0
        self._reset()

    def _reset(self) -> None:
        """Forget what was observed. The scalars' buffer goes too: the next graph must not read slots that are no longer written."""
        self.scalars = None
        self.moving.clear()
        self.retained.clear()
        self.loop_carried.clear()
        self._observed_runs = self._capture_count = self._change_count = 0

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for inputs."""
        if self._reason:
            return self.program(arrays)
        graph = self.graph
        if graph is not None and not self._drop_if_stale(graph, arrays):
            return graph.launch(arrays)
        if self._observed_runs < OBSERVED_RUNS:
            return self._run_and_observe(arrays)
        if self._backoff:
            self._backoff -= 1
            return self.program(arrays)
        try:
            graph = self._capture(arrays)
        except NotCapturable as error:
            self._refuse(_first_line(error))
        except Exception as error:  # memory may be full, or another library uses the device: either may be temporary
            self.graphs.counts.failed += 1
            self._postpone(f"{type(error).__name__}: {_first_line(error)}")
        else:
            return graph.launch(arrays)
        return self.program(arrays)  # a capture executes nothing, so the inputs have not changed

    def _refuse(self, reason: str) -> None:
        """Run step by step from now on: the program, or the behavior of its arrays, forbids a capture."""
        self._reason, self.graph = reason, None
        self.graphs.counts.refused += 1

    def _postpone(self, reason: str) -> None:
        """Run step by step for a while, twice as long after each capture."""
        self._postponed, self._backoff, self.graph = reason, BACKOFF << self._capture_count, None

    def _drop_if_stale(self, graph: "CapturedGraph", arrays: Sequence[Array]) -> bool:
        """Drop the graph if inputs have moved or results are still in use; return whether it was dropped."""
        moved, used = graph.changed_addresses(arrays), graph.in_use()
        if used:
            self.graphs.memory.collect()  # an event that the stream has now passed may be all that held a loan
            used = graph.in_use()
        if not moved and not used:
            return False
        self._forget(graph)
        if graph.launches >= PROVEN_LAUNCHES:
            self._reset()
            return True
        self.moving.update(moved)
        self.retained.update(used)
        self._change_count += 1
        if self._change_count >= MAX_CHANGES:  # copying everything costs less than repeated captures
            self.moving.update(k for k, a in enumerate(arrays) if isinstance(a, cupy.ndarray))
            self.retained.update(range(len(graph.results)))
        self.loop_carried = {k: at for k, at in self.loop_carried.items() if at not in self.moving}
        return True

    def on_evicted(self, graph: "CapturedGraph") -> None:
        """Forget a graph that the cache evicts."""
        if self.graph is graph:
            self._forget(graph)

    def _forget(self, graph: "CapturedGraph") -> None:
        """Drop a graph; further captures are postponed if earlier ones did not pay."""
        self.graph = None
        if graph.launches >= PROVEN_LAUNCHES:
            self._capture_count = 0
        elif self._capture_count >= MAX_CAPTURES:
            self._postpone(f"its graph was dropped {self._capture_count} times")

    def _run_and_observe(self, arrays: Sequence[Array]) -> list[Array]:
        """Run step by step, noting the inputs' addresses and the results' fate; the second time with the scalars in device memory."""
        addresses, given = _addresses(arrays), arrays
        if self._observed_runs and self._scalar_positions:
            if self.scalars is None:
                self.scalars = ScalarInputs(self._scalar_positions, self.graphs.memory)
            given = self.scalars.substitute(arrays)
        results = self.program(given)
        if not self._observed_runs and self._scalar_positions and SETTINGS.compile_threads:
            self._compile_in_background(arrays)
        self._last_run = addresses, [weakref.ref(r) for r in results]  # weak references: results kept alive here would look retained
        self._observed_runs += 1
        if self.scalars is not None and not self.scalars.is_complete:
            self._refuse("a scalar is read in too many dtypes")
        return results

    def _compile_in_background(self, arrays: Sequence[Array]) -> None:
        """Compile the kernels that the next run will launch, which read scalars from memory, in the background."""
        try:
            scalars = self.scalars = ScalarInputs(self._scalar_positions, self.graphs.memory)
        except OUT_OF_MEMORY_ERRORS:
            return  # the next run will raise it
        stand_ins = [placeholder(a.shape, a.dtype, a.strides) if isinstance(a, cupy.ndarray) else a for a in arrays]
        dry_run(lambda given: (copy_batch(np.zeros(1, np.uint64), 0, ()), self.program(scalars.substitute(given))), stand_ins)

    def _capture(self, arrays: Sequence[Array]) -> "CapturedGraph":
        if self._last_run is not None:  # assume that successive runs are related as the last run and this one are
            addresses, results = self._last_run
            self.loop_carried = self._find_loop_carried(arrays, [r() for r in results])
            moved = {k for k, (a, b) in enumerate(zip(addresses, _addresses(arrays), strict=True)) if a != b}
            self.moving.update(moved - set(self.loop_carried.values()))
            self.retained.update(k for k, r in enumerate(results) if r() is not None and k not in self.loop_carried)
            self._last_run = None
        copied = bool(self.moving or self.scalars) + bool(self.retained)  # one launch for all copies in, one for all copies out
        if self.traits.steps <= 1 + copied:
            raise NotCapturable(f"{self.traits.steps} steps, no more than a graph launch and its copies")
        self._capture_count += 1
        # Counted before the attempt, so that failures lengthen the pause of `_postpone`, too.
        graph = self.graph = CapturedGraph(self, arrays)
        self.graphs.add(graph)
        return graph

    def _find_loop_carried(self, arrays: Sequence[Array], results: Sequence[Array]) -> dict[int, int]:
        # a result of the last run that is an input of this one, at the same address, and dead after it
        free = {arrays[k].data.ptr: k for k in self.traits.dead - self.traits.donated if isinstance(arrays[k], cupy.ndarray)}
        found = {k: free.get(r.data.ptr) for k, r in enumerate(results) if isinstance(r, cupy.ndarray) and r.nbytes}
        return {k: at for k, at in found.items() if at is not None and alike(results[k], arrays[at])}

    @property
    def state(self) -> str:
        """How this specialization runs, for `explain`."""
        if self._reason:
            return f"step by step: {self._reason}"
        if self.graph is None:
            return f"step by step for now: {self._postponed}" if self._backoff else "step by step so far"
        return self.graph.state


class CapturedGraph:
    """A captured graph with its private memory pool.

    Parameters
    ----------
    specialization
        The observations about the program so far decide which arrays are copied.
    arrays
        The inputs; the graph contains the addresses of those that do not move.
    """

    def __init__(self, specialization: Specialization, arrays: Sequence[Array]) -> None:
        own, traits = specialization, specialization.traits
        self._specialization, self._graphs, self._memory = weakref.ref(own), own.graphs, own.graphs.memory
        self._stream, self._scalars, self._steps = own.stream, own.scalars, traits.steps
        self.pool, self.device = limits.PrivatePool(partial(_allocate, self._memory)), own.stream.device
        self.last_used, self.launches = next(self._graphs.time), 0
        given = list(arrays) if self._scalars is None else self._scalars.substitute(arrays)
        with self._graphs.capturing(self._stream.device) as streams:
            for stream in streams:
                _prepare(stream, traits.primitives)
            with cupy.cuda.using_allocator(self.pool.malloc):
                self._inputs = {k: Static(arrays[k]) for k in sorted(own.moving)}
                for k, static in self._inputs.items():
                    given[k] = static.array
                branches = MultiStreamCapture(streams, self.pool.malloc)
                program = own.program if traits.in_steps is None else partial(branches.run, traits.in_steps)
                self._graph, made, self._checks = _capture(streams, partial(_run, program, own.loop_carried), given)
                self._branches = branches.used
        written = {*self._inputs, *(() if self._scalars is None else self._scalars.positions)}
        self._fixed_addresses = [(k, a.data.ptr) for k, a in enumerate(given) if isinstance(a, cupy.ndarray) and k not in written]
        donated = {given[k].data.ptr: k for k in traits.donated if isinstance(given[k], cupy.ndarray)}
        self.results = [self._result(k, r, donated, own.loop_carried, k in own.retained) for k, r in enumerate(made)]
        self._lent = [r for r in self.results if isinstance(r, Lent)]

    def _result(self, k: int, array: Array, donated: dict[int, int], loop_carried: dict[int, int], is_retained: bool) -> Result:
        if not isinstance(array, cupy.ndarray):
            raise NotCapturable(f"result {k} is a constant, not an array on the device")
        at = donated.get(array.data.ptr) if array.nbytes else None
        if at is not None:
            return Donated(array, at, self._inputs.get(at))
        if k in loop_carried:
            return Donated(array, loop_carried[k], None)
        if is_retained or not array.nbytes:
            return Copied(array, self._memory)
        return Lent(array, k, self._stream.device, self.pool)

    def changed_addresses(self, arrays: Sequence[Array]) -> list[int]:
        """Indices of the inputs that are not at the addresses in the graph."""
        return [k for k, address in self._fixed_addresses if arrays[k].data.ptr != address]

    def in_use(self) -> list[int]:
        """Indices of the results that were lent and are still in use."""
        return [r.number for r in self._lent if r.is_in_use]

    def launch(self, arrays: Sequence[Array]) -> list[Array]:
        """Copy the moved inputs in, launch the graph, copy the retained results out; at most three launches."""
        # each launch of the graph writes the same notes, so those of the last launch must be read first
        for check in self._checks:
            check.before()
        out: list[Copy] = []
        results = [r.given(arrays, out) for r in self.results]
        words = NO_WORDS if self._scalars is None else self._scalars.stale_words(arrays)
        into = [static.copy_from(arrays[k]) for k, static in self._inputs.items()]
        if words.size or into:
            copy_batch(words, 0 if self._scalars is None else self._scalars.address, into)
        if words.size and self._scalars is not None:
            self._scalars.mark_written()
        self._graph.launch(self._stream.cuda)
        if out:
            copy_batch(NO_WORDS, 0, out)
        for check in self._checks:
            check.after()
        self.last_used = next(self._graphs.time)
        self.launches += 1
        self._graphs.counts.launched += 1
        return results

    def evict(self) -> None:
        """Tell the specialization, if it still exists, that the graph is gone."""
        specialization = self._specialization()
        if specialization is not None:
            specialization.on_evicted(self)

    @property
    def state(self) -> str:
        """The graph's size, and the copies for each launch."""
        scalars = 0 if self._scalars is None else len(self._scalars)
        out = sum(r.is_copied for r in self.results)
        branches = f" on {self._branches} streams" if self._branches > 1 else ""
        return f"one CUDA graph of {self._steps} steps{branches}; copies {len(self._inputs)} inputs, {scalars} scalars and {out} results"

    def __del__(self) -> None:
        """Hand everything that the last launch may still use to `Memory`, which frees it when the stream has passed that launch."""
        owned = [vars(self).get(name) for name in ("_graph", "_inputs", "results", "_scalars", "_checks", "_lent")]
        self._memory.give_back(self._stream, _Remains(owned, vars(self).get("pool")))


class _Remains:
    """The remains of a graph until its last launch is done; then its memory is freed, except for blocks that lent results use."""

    def __init__(self, owned: list[Any], pool: limits.PrivatePool | None) -> None:
        self._owned, self._pool = owned, pool

    def __del__(self) -> None:
        """Free the graph before its pool: the graph's kernels use the pool's memory."""
        self._owned.clear()
        if self._pool is not None:
            self._pool.release()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


NO_WORDS = np.zeros(0, np.uint64)
#: Primitives that may call cuDNN, and those that may call cuBLAS, whose handles must exist before a capture begins.
CONVOLUTIONS = frozenset({"convolve", "convolve_data", "convolve_weight"})
PRODUCTS = frozenset({"matmul", "einsum"}) | CONVOLUTIONS


def _allocate(memory: Memory, size: int) -> Any:
    """Allocate device memory for a graph's pool.

    If this fails, memory is freed elsewhere and the allocation is tried again. CuPy's pool would retry by releasing its own free blocks,
    but earlier steps of the graph being captured have used those: their addresses are in the graph.
    """
    try:
        return limits.private(size)
    except cupy_memory.OutOfMemoryError:
        return memory.retry(lambda: limits.private(size))


def _prepare(stream: Stream, primitives: frozenset[str]) -> None:
    """Create the library handles of a stream, which allocate memory and cannot be created during a capture."""
    with stream:
        if primitives & PRODUCTS:
            prepare(stream)
        if primitives & CONVOLUTIONS and SETTINGS.cudnn and cudnn.library() is not None:
            cudnn.prepare(stream)


def _run(program: Run, loop_carried: dict[int, int], given: Sequence[Array]) -> list[Array]:
    """The body of a graph: the program, then copies of loop-carried results into their inputs' memory."""
    results = program(given)
    for k, at in loop_carried.items():
        given[at].data.copy_from_device_async(results[k].data, results[k].nbytes)
    return results


def _capture(streams: Sequence[Stream], run: Run, given: Sequence[Array]) -> tuple[Any, list[Any], list[RepeatedCheck]]:
    """Capture a program: its graph, its results, and the index checks that the host reads after each launch."""
    origin, checks = streams[0], []
    for stream in streams:
        stream.checks = checks
    origin.cuda.begin_capture()
    try:
        results = run(given)
    except BaseException:
        with suppress(Exception):  # a failed capture fails again when it ends; raise the first error
            origin.cuda.end_capture()
        raise
    finally:
        for stream in streams:
            stream.checks = None
    return origin.cuda.end_capture(), results, checks
