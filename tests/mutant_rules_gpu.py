"""Rules of order and of held memory in the CuPy adapter, each with the edit that removes it: see `tests.mutants`.

Every wait of the adapter is included, and every mark that it waits for.
"""

from tests.edits import Edit, always, drop, never, replace, unwrap
from tests.mutant_rules import Mutant

#: Files of tests/cupy that must notice.
GPUS = ("random_programs", "streams", "hazards")
NOTES, GRAPHS = ("checks", "capture"), ("hazards", "capture", "capture_limits")
BRANCHES = ("multi_stream",)


def _rule(name: str, place: str, edit: Edit, tests: tuple[str, ...] = GPUS) -> Mutant:
    return Mutant(f"GPUs: {name}", f"twofold_cupy.{place}", edit, tuple(f"tests/cupy/test_{t}.py" for t in tests))


GPU_MUTANTS = (
    _rule("a stream waits for a mark", "streams:Stream.wait", drop("self.cuda.wait_event(mark.event)")),
    _rule(
        "a later mark of a stream is waited for",
        "streams:Stream.wait",
        replace("self._waited.get(mark.stream, 0) >= mark.number", "mark.stream in self._waited"),
    ),
    _rule("marks of a stream have numbers", "streams:Stream.record", replace("next(self._marks)", "1")),
    _rule("a mark is after what was issued", "streams:Stream.record", drop("event.record(self.cuda)")),
    _rule("the host waits for a stream", "streams:Stream.synchronize", replace("self.record().event.synchronize", "self.record")),
    _rule("a stream is current in its block", "streams:Stream.__enter__", replace("self.cuda", "cupy.cuda.get_current_stream()")),
    _rule("pinned memory is kept until it was read", "transfers:Transfers.from_host", never("array.nbytes > STAGED_BY_CUDA")),
    _rule("what the host gets has arrived", "transfers:Transfers.to_host", drop("stream.synchronize()")),
    _rule("a copy between devices waits for its source", "transfers:Transfers._from_another", drop("stream.wait(home.record())")),
    _rule(
        "a copy waits for its source to be packed",
        "transfers:Transfers._from_another",
        replace("source is not array or stream.purpose == 'compute'", "stream.purpose == 'compute'"),
    ),
    _rule(
        "a copy by a compute stream waits for its source",
        "transfers:Transfers._from_another",
        replace("source is not array or stream.purpose == 'compute'", "source is not array"),
    ),
    _rule(
        "the source of a copy between devices is kept",
        "transfers:Transfers._from_another",
        drop("self._memory.hold(source, stream.record())"),
    ),
    _rule("what a copy stream fills has memory of its own kind", "transfers:Transfers._new", always("stream.purpose == 'compute'")),
    _rule("what is held is kept", "memory:Memory.hold", drop("self._held.append((mark, array))")),
    _rule("what is held is kept until its mark", "memory:Memory.collect", replace("[] if pair[0].event.done else [pair]", "[]")),
    _rule(
        "what is given back is kept until a mark",
        "memory:Memory.collect",
        replace("self._held.extend([] if mark is None else [(mark, block)])", "del block"),
    ),
    _rule(
        "memory of copies is kept for the compute stream",
        "memory:Memory.empty_for_copy",
        replace("self._streams.of(stream.device)", "stream"),
    ),
    _rule("memory of others is kept for the compute stream", "memory:Memory.lent", replace("_Loan(array, self, user)", "array")),
    _rule("full memory waits for what is kept", "memory:Memory.release", drop("mark.event.synchronize()")),
    _rule(
        "what others compute is waited for",
        "adapter:CupyBackend.from_dlpack",
        replace("self.stream(interned('gpu', device)).cuda.ptr", "-1"),
    ),
    _rule(
        "others wait for what is computed",
        "adapter:CupyBackend.to_dlpack",
        replace(
            "self._on(array.device.id, partial(shared.__dlpack__, stream=stream, **options))", "shared.__dlpack__(stream=stream, **options)"
        ),
    ),
    _rule(
        "memory that others read is kept for their stream",
        "adapter:CupyBackend.to_dlpack",
        replace("Consumer(self.streams.of(array.device.id), stream)", "self.streams.of(array.device.id)"),
    ),
    _rule("memory that others capture is kept", "memory:Memory.collect", replace("[(stream, block)] if mark is None else []", "[]")),
    _rule("a capsule is not waited for during a capture", "adapter:CupyBackend.synchronize", unwrap("with self.graphs.no_capture()")),
    _rule("numbers are written again for a new graph", "capture:Specialization._reset", drop("self.scalars = None")),
    _rule("all queues of a device are waited for", "adapter:CupyBackend.synchronize", drop("self._mapped(stream.synchronize)")),
    _rule(
        "all work of a device is waited for",
        "adapter:CupyBackend.synchronize",
        drop("self._on(device.device_id, runtime.deviceSynchronize)"),
    ),
    _rule("work for a device joins its stream", "adapter:CupyBackend._on", unwrap("with stream")),
    _rule(
        "cuBLAS runs in its stream", "cublas:Handle.__init__", drop("_check(_library().cublasSetStream_v2(self._handle, stream.cuda.ptr))")
    ),
    _rule("cuBLASLt runs in its stream", "cublaslt:Products.product", replace("self._stream.ptr", "0"), tests=("epilogues",)),
    _rule(
        "a note is read when the device has passed it",
        "checks:Checks._collect",
        replace("c.found is None and c.mark.event.done", "c.found is None"),
        tests=NOTES,
    ),
    _rule("a launch waits until the last one's note was read", "checks:Checks.finish", drop("check.mark.event.synchronize()"), tests=NOTES),
    _rule("a launch has its own look at the note", "checks:RepeatedCheck.before", drop("self.checks.finish(self.note)"), tests=NOTES),
    _rule("what a launch reports is checked", "checks:RepeatedCheck.after", drop("self.checks.watch(self.note, self.stream)"), tests=NOTES),
    _rule("threads take turns with a graph", "capture:GraphRunner.__call__", unwrap("with self._lock"), tests=GRAPHS),
    _rule("threads take turns in capturing", "graph_cache:Graphs.capturing", unwrap("with self._lock"), tests=GRAPHS),
    _rule("graphs are launched in compute streams", "capture:GraphRunner.__call__", never("stream.purpose != 'compute'"), tests=GRAPHS),
    _rule(
        "inputs are copied into a graph before it is launched",
        "capture:CapturedGraph.launch",
        replace("copy_batch(words, ..., into)", "copy_batch(NO_WORDS, 0 if self._scalars is None else self._scalars.address, into)"),
        tests=GRAPHS,
    ),
    _rule("results are copied out of a graph", "capture:CapturedGraph.launch", drop("copy_batch(NO_WORDS, 0, out)"), tests=GRAPHS),
    _rule("a step waits for those before it", "multi_stream:MultiStreamCapture._enter", drop("self._wait(needed)"), BRANCHES),
    _rule(
        "a step that writes waits for readers",
        "multi_stream:MultiStreamCapture.step",
        replace("block.users if writes else block.writers", "block.writers"),
        BRANCHES,
    ),
    _rule(
        "readers are known",
        "multi_stream:MultiStreamCapture.step",
        replace("block._replace(readers=(*block.readers, self._step))", "block"),
        BRANCHES,
    ),
    _rule("writers are known", "multi_stream:MultiStreamCapture.step", replace("(self._step,)", "()"), BRANCHES),
    _rule(
        "an allocation waits for the memory's last user",
        "multi_stream:MultiStreamCapture.malloc",
        drop("self._wait(block.users)"),
        BRANCHES,
    ),
    _rule(
        "what is left of a block is known",
        "multi_stream:MultiStreamCapture.malloc",
        replace("((start, low), (high, block.end))", "()"),
        BRANCHES,
    ),
    _rule("blocks that overlap are one", "multi_stream:UsedMemory.pop_merged", replace("b.users", "b.users[:1]"), BRANCHES),
    _rule("a stream takes part from the begin on", "multi_stream:MultiStreamCapture._enter", drop("self._wait_for((0, 0))"), BRANCHES),
    _rule(
        "all branches are joined",
        "multi_stream:MultiStreamCapture.join",
        replace("((number, count) for number, count in enumerate(self._count) if count)", "((number, count) for number, count in ())"),
        BRANCHES,
    ),
    _rule(
        "a step is marked when it is over",
        "multi_stream:MultiStreamCapture._end_step",
        replace("self._streams[k].record()", "self._issued[0, 0].mark"),
        BRANCHES,
    ),
    _rule(
        "branches share what the host looks at", "capture:_capture", replace("stream.checks = checks", "origin.checks = checks"), BRANCHES
    ),
    _rule(
        "threads that are in several warps wait for the block",
        "reductions:_filled",
        replace("WARP if rows else 0", "WARP"),
        ("long_axes",),
    ),
    Mutant(
        "GPUs: writes to existing memory are reported",
        "program.printer:Printer._step",
        replace("tuple([name for name in self._written if name in known])", "()"),
        ("tests/cupy/test_multi_stream.py",),
    ),
)
