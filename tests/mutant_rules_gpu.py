"""Rules of order and of held memory in the CuPy adapter, each with the change that removes it: see `tests.mutants`.

Every wait of the adapter is included, and every mark that it waits for.
"""

from tests.mutant_rules import Mutant

#: Files of tests/cupy that must notice.
GPUS = ("random_programs", "streams", "hazards")
NOTES, GRAPHS = ("checks", "capture"), ("hazards", "capture", "capture_limits")
BRANCHES = ("multi_stream",)


def _rule(name: str, file: str, text: str, replacement: str = "", tests: tuple[str, ...] = GPUS) -> Mutant:
    paths = tuple(f"tests/cupy/test_{t}.py" for t in tests)
    return Mutant(f"GPUs: {name}", f"backends/twofold_cupy/{file}.py", text, replacement, paths)


GPU_MUTANTS = (
    _rule("a stream waits for a mark", "streams", "        self.cuda.wait_event(mark.event)\n"),
    _rule(
        "a later mark of a stream is waited for",
        "streams",
        "if self._waited.get(mark.stream, 0) >= mark.number:",
        "if mark.stream in self._waited:",
    ),
    _rule("marks of a stream have numbers", "streams", "number = next(self._marks)", "number = 1"),
    _rule("a mark is after what was issued", "streams", "            event.record(self.cuda)\n"),
    _rule("the host waits for a stream", "streams", "self.record().event.synchronize()", "self.record()"),
    _rule(
        "a stream is current in its block",
        "streams",
        "        self.cuda.__enter__()\n",
        "        cupy.cuda.get_current_stream().__enter__()\n",
    ),
    _rule("pinned memory is kept until it was read", "transfers", "if array.nbytes > STAGED_BY_CUDA:", "if False:"),
    _rule("what the host gets has arrived", "transfers", "        stream.synchronize()\n"),
    _rule("a copy between devices waits for its source", "transfers", "            stream.wait(home.record())\n", "            pass\n"),
    _rule("a copy waits for its source to be packed", "transfers", "if source is not array or stream.purpose", "if stream.purpose"),
    _rule("a copy by a compute stream waits for its source", "transfers", ' or stream.purpose == "compute":', ":"),
    _rule(
        "the source of a copy between devices is kept",
        "transfers",
        "stream.cuda)\n        self._memory.hold(source, stream.record())\n",
        "stream.cuda)\n",
    ),
    _rule("what a copy stream fills has memory of its own kind", "transfers", 'if stream.purpose == "compute":', "if True:"),
    _rule("what is held is kept", "memory", "        self._held.append((mark, array))\n"),
    _rule("what is held is kept until its mark", "memory", "[] if pair[0].event.done else [pair]", "[]"),
    _rule("what is given back is kept until a mark", "memory", "self._held.extend([] if mark is None else [(mark, block)])", "del block"),
    _rule("memory of copies is kept for the compute stream", "memory", "self, self._streams.of(stream.device))", "self, stream)"),
    _rule("memory of others is kept for the compute stream", "memory", "_Loan(array, self, user), array", "array, array"),
    _rule("full memory waits for what is kept", "memory", "                mark.event.synchronize()\n", "                pass\n"),
    _rule("what others compute is waited for", "adapter", 'stream=self.stream(Device("gpu", device)).cuda.ptr', "stream=-1"),
    _rule(
        "others wait for what is computed",
        "adapter",
        "self._on(array.device.id, partial(shared.__dlpack__, stream=stream, **options))",
        "shared.__dlpack__(stream=stream, **options)",
    ),
    _rule(
        "memory that others read is kept for their stream",
        "adapter",
        "Consumer(self.streams.of(array.device.id), stream)",
        "self.streams.of(array.device.id)",
    ),
    _rule("memory that others capture is kept", "memory", "[(stream, block)] if mark is None else []", "[]"),
    _rule("a capsule is not waited for during a capture", "adapter", "with self.graphs.no_capture():", "if True:"),
    _rule(
        "numbers are written again for a new graph",
        "capture",
        "        self.scalars = None\n        self.moving.clear()",
        "        self.moving.clear()",
    ),
    _rule("all queues of a device are waited for", "adapter", "            self._mapped(stream.synchronize)\n", "            pass\n"),
    _rule("all work of a device is waited for", "adapter", "self._on(device.device_id, runtime.deviceSynchronize)", "pass"),
    _rule(
        "work for a device joins its stream",
        "adapter",
        "        with stream:\n            return self._mapped",
        "        if True:\n            return self._mapped",
    ),
    _rule("cuBLAS runs in its stream", "cublas", "_check(_library().cublasSetStream_v2(self._handle, stream.cuda.ptr))", "pass"),
    _rule("cuBLASLt runs in its stream", "cublaslt", "self._stream.ptr)", "0)", tests=("epilogues",)),
    _rule(
        "a note is read when the device has passed it", "checks", "c.found is None and c.mark.event.done]", "c.found is None]", tests=NOTES
    ),
    _rule(
        "a launch waits until the last one's note was read",
        "checks",
        "            check.mark.event.synchronize()\n",
        "            pass\n",
        tests=NOTES,
    ),
    _rule("a launch has its own look at the note", "checks", "        self.checks.finish(self.note)\n", "        pass\n", tests=NOTES),
    _rule(
        "what a launch reports is checked", "checks", "        self.checks.watch(self.note, self.stream)\n", "        pass\n", tests=NOTES
    ),
    _rule(
        "threads take turns with a graph",
        "capture",
        "        with self._lock:\n            specialization =",
        "        if True:\n            specialization =",
        tests=GRAPHS,
    ),
    _rule(
        "threads take turns in capturing",
        "capture",
        "        with self._lock:\n            streams = self._streams",
        "        if True:\n            streams = self._streams",
        tests=GRAPHS,
    ),
    _rule(
        "graphs are launched in compute streams",
        "capture",
        ' or stream is None or stream.purpose != "compute":',
        " or stream is None:",
        tests=GRAPHS,
    ),
    _rule(
        "inputs are copied into a graph before it is launched",
        "capture",
        "            copy_batch(words, 0 if",
        "            copy_batch(NO_WORDS, 0 if",
        tests=GRAPHS,
    ),
    _rule("results are copied out of a graph", "capture", "            copy_batch(NO_WORDS, 0, out)\n", "            pass\n", tests=GRAPHS),
    _rule("a step waits for those before it", "multi_stream", "        self._wait(needed)\n        if not", "        if not", BRANCHES),
    _rule("a step that writes waits for readers", "multi_stream", "block.users if writes else block.writers", "block.writers", BRANCHES),
    _rule("readers are known", "multi_stream", "block._replace(readers=(*block.readers, self._step))", "block", BRANCHES),
    _rule("writers are known", "multi_stream", "Block(block.end, (self._step,), ())", "Block(block.end, (), ())", BRANCHES),
    _rule("an allocation waits for the memory's last user", "multi_stream", "                self._wait(block.users)\n", "", BRANCHES),
    _rule("what is left of a block is known", "multi_stream", "((start, low), (high, block.end))", "()", BRANCHES),
    _rule("blocks that overlap are one", "multi_stream", "for u in b.users))", "for u in b.users[:1]))", BRANCHES),
    _rule("a stream takes part from the begin on", "multi_stream", "            self._wait_for((0, 0))\n", "            pass\n", BRANCHES),
    _rule(
        "all branches are joined",
        "multi_stream",
        "for number, count in enumerate(self._count) if count)",
        "for number, count in ())",
        BRANCHES,
    ),
    _rule(
        "a step is marked when it is over",
        "multi_stream",
        "self._streams[k].record(), after, len",
        "self._issued[0, 0].mark, after, len",
        BRANCHES,
    ),
    _rule(
        "branches share what the host looks at", "capture", "        stream.checks = checks\n", "        origin.checks = checks\n", BRANCHES
    ),
    Mutant(
        "GPUs: writes to existing memory are reported",
        "src/twofold/program/printer.py",
        "writes = tuple([name for name in self._written if name in known])",
        "writes = ()",
        ("tests/cupy/test_multi_stream.py",),
    ),
)
