"""Rules of ownership and order, each with the edit that removes it from the code; `tests.mutants` tries them one by one.

A rule names a function and edits what is found there: see `tests.edits`. Where code moves, the place of its rules follows.
"""

from typing import NamedTuple

from tests.edits import Edit, always, argument, drop, edited, never, parameter, replace, unwrap

#: Which tests must notice.
CORE = ("tests/core", "tests/scheduler")


class Mutant(NamedTuple):
    """One rule removed: an edit of ``module:function``, in a package of src/twofold/ or backends/, or of a file that is not Python."""

    name: str
    place: str
    edit: Edit
    tests: tuple[str, ...] = CORE

    @property
    def file(self) -> str:
        """The file, below the root of the repository."""
        module = self.place.partition(":")[0]
        folder = "backends" if module.startswith("twofold_") else "src/twofold"
        return f"{folder}/{module}" if self.function is None else f"{folder}/{module.replace('.', '/')}.py"

    @property
    def function(self) -> str | None:
        """The function or class, or ``""`` for the module; None in a file that is not Python."""
        _, colon, name = self.place.partition(":")
        return name if colon else None

    def applied_to(self, text: str) -> str:
        """The text of the file without the rule."""
        return edited(text, self.function, self.edit)


MUTANTS = (
    # who sees a value
    Mutant("a tape's saved value is lent", "imperative.cell:Value.lend", replace("b = self.sharing", "return self")),
    Mutant(
        "lending to a second tape is for good",
        "imperative.cell:Value.lend",
        never("b.__class__ is not Value and self.sharing is not PINNED"),
    ),
    Mutant(
        "lending an alias keeps its owner", "imperative.cell:Value.lend", always("b.__class__ is not Value and self.sharing is not PINNED")
    ),
    Mutant("a tape saves a copy of exported memory", "imperative.cell:Value.lend", never("self.pinned")),
    Mutant(
        "sharing an alias keeps its owner",
        "imperative.cell:Value.share",
        replace("self.sharing.__class__ is not Value and self.sharing is not PINNED", "self.sharing is not PINNED"),
    ),
    Mutant(
        "sharing keeps an export",
        "imperative.cell:Value.share",
        replace("self.sharing.__class__ is not Value and self.sharing is not PINNED", "self.sharing.__class__ is not Value"),
    ),
    Mutant("what is shared is not written", "imperative.cell:Value.share", drop("self.sharing = ALWAYS")),
    Mutant(
        "a value that a window reads is not written",
        "imperative.cell:Value.exclusive",
        replace(
            "self.data is None or (producer is not None and (not producer[0].is_done)) or self.writers >= REPLACING", "self.data is None"
        ),
    ),
    Mutant(
        "a value that somebody borrowed is not written",
        "imperative.cell:Value.exclusive",
        always("is_unshared(self.sharing)"),
    ),
    Mutant(
        "a value is written in place again when its tape is gone",
        "imperative.cell:is_unshared",
        replace("(by := sharing) is None or (by.__class__ is ref and by() is None)", "sharing is None"),
    ),
    Mutant("an alias holds its owner", "imperative.cell:alias", replace("owner.shown()", "None")),
    Mutant("what an alias shows is borrowed while it lives", "imperative.cell:Value.shown", replace("self.sharing = seen", "self.share()")),
    Mutant("the owner of an alias is shown", "imperative.cell:Value.shown", drop("self.sharing = seen")),
    Mutant(
        "all aliases hold the same",
        "imperative.cell:Value.shown",
        drop("if b.__class__ is ref and (held := b()).__class__ is Value and held.sharing is self: ..."),
    ),
    Mutant(
        "the window is read before the data",
        "imperative.cell:Value.type",
        replace("producer, data = (self.producer, self.data)", "data, producer = (self.data, self.producer)"),
    ),
    # windows
    Mutant("a borrowed leaf is not donated", "imperative.window:Window.enter", never("not is_unshared(v.sharing)")),
    Mutant("a leaf of two windows is not written", "imperative.window:Window.enter", drop("v.share()")),
    Mutant(
        "a window holds leaves that others see",
        "imperative.window:Window.enter",
        replace("if seen_elsewhere:\n    self.held[node] = v", "if False:\n    self.held[node] = v"),
    ),
    Mutant(
        "a window holds alias leaves",
        "imperative.window:Window.enter",
        replace("if seen_elsewhere:\n    self.held[node] = v", "if seen_elsewhere and b.__class__ is not Value:\n    self.held[node] = v"),
    ),
    Mutant(
        "a window holds what shares a result",
        "imperative.window:Window.enter",
        replace("if seen_elsewhere:\n    self.held[node] = v", "if b.__class__ is Value:\n    self.held[node] = v"),
    ),
    Mutant("a value remembers the window that reads it", "imperative.window:Window.enter", drop("v.producer = (self, node)")),
    Mutant("closed is not done", "imperative.cell:Value.exclusive", replace("producer[0].is_done", "producer[0].closed")),
    Mutant("a window is closed by one call", "imperative.window:close", never("not w.taken.acquire(blocking=False)")),
    Mutant("only dead leaves are donated", "imperative.window:close", replace("r is not None and r() is None", "r is not None")),
    Mutant(
        "a program that donates is for those dead leaves",
        "imperative.window_program:program_key",
        replace("(wanted, dead, w.device.device_type)", "(wanted, w.device.device_type)"),
    ),
    Mutant("a program reads its own leaves", "imperative.window:_run", replace("found.reads", "w.data")),
    Mutant("a shared result is never written over", "imperative.window:_run", drop("v.sharing = ALWAYS")),
    Mutant("a result that is not shared may be written", "imperative.window_program:program_of", always("uses[n] > 1")),
    Mutant("a reader waits for the thread that runs", "imperative.window:flush", drop("QUEUE.wait(w)")),
    Mutant(
        "data before window",
        "imperative.window:_run",
        replace("v.data = results[k]\nv.producer = None", "v.producer = None\nv.data = results[k]"),
    ),
    Mutant("a closed window takes no operation", "imperative.deferral:defer", never("is_closed(w)")),
    Mutant("a closed window takes no twin", "imperative.deferral:twin_of", replace("None if producer[0].closed else twin", "twin")),
    Mutant("operands of other windows are computed", "imperative.deferral:_window_for", drop("force(v)")),
    Mutant(
        "a window is bounded",
        "imperative.deferral:_window_for",
        replace(
            "is_full(w) or (tape is not None and w.tape not in (0, tape.serial))", "tape is not None and w.tape not in (0, tape.serial)"
        ),
    ),
    Mutant("a window holds the nodes of one tape", "imperative.deferral:_window_for", never("w.tape not in (0, tape.serial)")),
    Mutant("a tape that has run an operation at once is not whole", "imperative.invoke:_record", drop("tape.whole = False")),
    Mutant("a window that runs before backward keeps what that reads", "imperative.window:close", drop("w.save()")),
    Mutant("windows bound the intern tables", "imperative.deferral:_window_for", drop("bound_tables()")),
    Mutant("a window that has run lets go", "imperative.window:Window._run_closed", drop("self.forget()")),
    Mutant("an error stays with its window", "scheduler.queue:Queue._perform", replace("error = raised", "error = interrupted(raised)")),
    Mutant("an interrupt is the error of its window", "scheduler.queue:Queue._perform", drop("error = interrupted(raised)")),
    Mutant("a window that can no longer run is done", "imperative.window:close", drop("w.forget()\nQUEUE.abandon(w, interrupted(error))")),
    Mutant(
        "an error is raised by waiting until it was",
        "imperative.window:Window._run_closed",
        replace("self.forget()", "self.forget()\nOPEN.pop(self.serial, None)"),
    ),
    Mutant(
        "an error is raised by waiting once",
        "imperative.waiting:wait_for_all",
        replace("w.error is not None and OPEN.pop(w.serial, None)", "w.error is not None"),
    ),
    Mutant(
        "an error is raised by reading or by waiting", "imperative.window:force", drop("OPEN.pop(getattr(producer[0], 'serial', 0), None)")
    ),
    Mutant("results are contiguous however grouped", "imperative.window_program:program_of", argument("boundaries", "()")),
    Mutant(
        "a result that is saved has a second value",
        "imperative.window:Window._saved",
        replace("self._value_to_save(owner.parts[k], tape)", "self._value_to_save(owner.parts[k], tape, entry)"),
    ),
    # writes
    Mutant("a write is not in place where others look", "imperative.write:_change_part", always("v.exclusive or v.pinned")),
    Mutant("a write to exported memory is in place", "imperative.write:_change_part", replace("v.exclusive or v.pinned", "v.exclusive")),
    Mutant("an update is not in place where others look", "imperative.write:update_in_place", never("not (v.exclusive or v.pinned)")),
    Mutant(
        "an update of a recorded array is recorded",
        "imperative.write:update_in_place",
        replace(
            "is_tracked(v) or is_tracked(val)",
            "is_tracked(val)",
        ),
    ),
    Mutant(
        "an update by a recorded array is recorded",
        "imperative.write:update_in_place",
        replace("is_tracked(v) or is_tracked(val)", "is_tracked(v)"),
    ),
    Mutant(
        "a write of a recorded array is recorded", "imperative.write:write", replace("is_tracked(v) or is_tracked(val)", "is_tracked(v)")
    ),
    Mutant("a write in place makes a new leaf", "imperative.write:_change_part", drop("renew_leaf(v)")),
    Mutant("an update in place makes a new leaf", "imperative.write:update_in_place", drop("if v.__class__ is Value:\n    ...")),
    Mutant(
        "a constant written in place is a new leaf too",
        "imperative.write:renew_leaf",
        replace("entry is not None", "entry is not None and entry.grad is not None"),
    ),
    Mutant(
        "a variable written in place stays one",
        "imperative.write:renew_leaf",
        replace(
            "TapeEntry(leaf('variable', shape, dtype, entry.grad.tracked), (), (), None, entry.grad)",
            "TapeEntry(leaf('variable', shape, dtype, entry.grad.tracked), (), (), None, None)",
        ),
    ),
    Mutant(
        "marking leaves what a tape saved",
        "imperative.write:mark",
        replace(
            "v.sharing is not None or (v.entry is not None and v.entry.tape is not None)",
            "False and (v.entry is not None and v.entry.tape is not None)",
        ),
    ),
    Mutant("what is marked is an alias", "imperative.write:mark", replace("alias(data_of(v), v)", "Value(data_of(v))")),
    Mutant("a look without record is an alias", "imperative.write:untracked", replace("alias(data_of(v), v)", "Value(data_of(v))")),
    Mutant("what a view shows is an alias", "imperative.write:read", replace("alias(data, v)", "Value(data)")),
    # records
    Mutant("a result that is saved is borrowed", "imperative.invoke:_twins", drop("out.sharing = ref(twin)")),
    Mutant(
        "the second value of a result that is saved is borrowed",
        "imperative.invoke:_twins",
        replace("Value(out.data, None, None, out.device, ALWAYS)", "Value(out.data)"),
    ),
    Mutant(
        "an operation on exported memory does not join in short",
        "imperative.dispatch:joined_device",
        never("is_exposed(v)"),
    ),
    Mutant(
        "joining in short has the device's window",
        "imperative.dispatch:joined_device",
        replace("return where if lazy else None", "return CPU if lazy else None"),
    ),
    Mutant("a number has a leaf of its own", "imperative.deferral:_known_node", replace("values[nodes.index(scalar)]", "0.0")),
    Mutant("backward joins only what is pending", "imperative.backward_program:Backward.gradients", never("lazy or v is None")),
    Mutant("an iteration begins a new window", "imperative.scope:_begin", drop("flush_complete()")),
    Mutant("an operand that is saved is borrowed", "imperative.cell:lent", drop("v.sharing = tape.ref")),
    Mutant("exported memory is read at once", "imperative.invoke:_inspected", never("exposed or is_exposed(v)")),
    Mutant(
        "backward reads exported memory at once", "imperative.backward_program:Backward.gradients", never("not all(map(may_wait, values))")
    ),
    Mutant(
        "a leaf has a number of its own",
        "imperative.recording:enter",
        replace(
            "entry is not None and (not entry.inputs) and isinstance(entry.node, Leaf) and (entry.node.name == tape.leaves)",
            "entry is not None and (not entry.inputs)",
        ),
    ),
    Mutant("a float has a number of its own", "imperative.recording:scalar_entry", drop("tape.leaves += 1")),
    Mutant(
        "a float is not part of the structure",
        "imperative.scalars:is_literal",
        replace("x.__class__ is bool", "x.__class__ in (bool, float)"),
    ),
    Mutant("an older tape is bridged", "imperative.recording:enter", replace("(entry,) if ... else entry.inputs", "()")),
    Mutant("what was used is a constant", "imperative.recording:enter", never("entry is not None and entry.is_used")),
    Mutant(
        "a bridge to what was used is a constant",
        "imperative.tape:TapeEntry.is_used",
        never("bool(self.inputs) and self.inputs[0].is_used"),
    ),
    Mutant(
        "a key stands where the operator wants it",
        "imperative.invoke:_with_key",
        replace("([*args[:at], key, *args[at:]], [*contents[:at], key, *contents[at:]])", "([*args, key], [*contents, key])"),
    ),
    Mutant("a draw has a key of its own", "imperative.generator:Generator.next_key", replace("next(self._numbers)", "0")),
    Mutant("leaves let go of a closed tape", "imperative.tape:close_tape", drop("entry.tape = None")),
    Mutant("a scope closes its tape", "imperative.scope:Scope.__exit__", drop("close_tape(ended)")),
    Mutant("scopes bound the intern tables", "imperative.scope:_begin", drop("bound_tables()")),
    Mutant("numbering starts again after a backward", "imperative.scope:renumber", drop("close_tape(tape)\n_begin()")),
    Mutant("the short path saves no record", "calls.fragments:return_recorded", replace("(out,)", "(made,)")),
    Mutant("the short path borrows a result", "calls.fragments:return_recorded", drop("made.sharing = tape.ref")),
    Mutant("a saved operand that others hold is lent", "imperative.cell:lent", replace("v.lend(tape)", "v")),
    Mutant("the short path asks for equal dtypes", "calls.fragments:agree", replace("a.dtype is b.dtype", "True")),
    Mutant(
        "the long path asks for equal dtypes",
        "opdef.conventions:check_legacy",
        never("(op.elementwise or op.front.alike) and len(set(same)) > 1"),
    ),
    # backward
    Mutant(
        "backward clears what it used",
        "imperative.backward:_Pass.run",
        drop("for entry in () if self.retain else self.used.values():\n    ..."),
    ),
    Mutant("a known backward clears what it used", "imperative.backward:_run_cached", drop("for entry in entries:\n    ...")),
    Mutant("a used graph is refused", "imperative.backward:_Pass._gradients", never("any((h.tape is None for h, _ in inner))")),
    Mutant("newest tape first", "imperative.backward:_Pass.run", replace("max", "min")),
    Mutant(
        "a bridge comes before the tape that it continues",
        "imperative.backward:_serial",
        replace("_serial(entry.inputs[0]) + 0.5 if isinstance(entry.node, Leaf) and entry.inputs else 0", "0"),
    ),
    Mutant(
        "gradients of a variable on two tapes add up",
        "imperative.backward:_Pass.run",
        replace("grad if before is None else self.summed([before[1], grad])", "grad"),
    ),
    Mutant("a head that is a leaf's gradient is copied", "imperative.backward:_Pass._gradients", replace("self.copied(g)", "g")),
    Mutant(
        "a recorded gradient aliases what it reads",
        "imperative.backward:recorded_gradients",
        replace("alias(data_of(v), v)", "Value(data_of(v))"),
    ),
    Mutant(
        "a recorded gradient has memory of its own",
        "imperative.backward:recorded_gradients",
        never("o in taken and isinstance(found, Cell)"),
    ),
    Mutant(
        "a recorded gradient computes tracked residuals again",
        "imperative.backward_program:Backward._saved",
        never("what[0] == 'res' and (not residuals) and cache_of(entry.node).tracked[what[1]]"),
    ),
    Mutant("backward does not record", "imperative.backward:run_backward", drop("if not create_graph:\n    ...")),
    Mutant("grad_req add adds", "imperative.backward:assign", never("variable.req == 'add'")),
    Mutant("grad_req null leaves", "imperative.backward:assign", drop("if variable.req == 'null':\n    ...")),
    Mutant(
        "bodies are those of this generation",
        "imperative.residuals:_renewed",
        replace("run_rule(G, node.bound_op, node.inputs) if node.body else ()", "node.body"),
    ),
    Mutant("a tracked residual's inputs are saved for its gradient", "imperative.residuals:_derive", never("any(cache.tracked)")),
    Mutant("programs fall with their generation", "program.cache:", drop("TABLES.programs.append(PROGRAMS.drop)")),
    Mutant("programs that were used lately are kept", "program.cache:Cache.add", never("found.used")),
    Mutant("a pinned window runs before the export", "imperative.array:Array._pinned", drop("flush_all()")),
    # programs
    Mutant("only what dies is written over", "graph.memory_plan:_MemoryPlanner._place_step", always("self.last[i] == t")),
    Mutant(
        "only what was donated is written over",
        "graph.memory_plan:_MemoryPlanner._reusable",
        replace("place.kind == 'leaf' and place.number in self.writable", "place.kind == 'leaf'"),
    ),
    Mutant("a kernel reads an operand before it is written over", "graph.memory_plan:_MemoryPlanner._place", always("read[d] <= k")),
    Mutant("what a kernel reads by a view is not written over", "graph.memory_plan:_MemoryPlanner._place", always("d not in self.viewed")),
    Mutant(
        "a choice is not made over its operands", "graph.memory_plan:_MemoryPlanner._place", always("n.bound_op.op.layout.may_overwrite")
    ),
    Mutant(
        "a result over a leaf has its dtype",
        "graph.memory_plan:_MemoryPlanner._place",
        replace("d.shape == n.shape and d.dtype == n.dtype", "d.shape == n.shape"),
    ),
    Mutant(
        "memory of a dead value is its own dtype's and size's",
        "graph.memory_plan:_MemoryPlanner._buffer",
        replace("self.free.get(wanted)", "next((f for f in self.free.values() if f), None)"),
    ),
    Mutant(
        "an array that is read later is not updated in place",
        "graph.memory_plan:_MemoryPlanner._place",
        replace("first in dying and first not in self.viewed", "first not in self.viewed"),
    ),
    Mutant(
        "a value is computed in the memory of one concatenation only",
        "graph.memory_plan:_MemoryPlanner._is_movable",
        replace("is_new and n not in self.outputs and n not in self.root", "is_new and n not in self.outputs"),
    ),
    Mutant(
        "a value is computed in a concatenation's memory only if it is adjacent there",
        "graph.memory_plan:_MemoryPlanner._join",
        replace("prod(shape[:normalized_axis(axis, len(shape))]) != 1", "False"),
    ),
    Mutant(
        "a concatenation is copied unless every operand is where it will be",
        "graph.memory_plan:MemoryPlan.is_in_place",
        replace("place._replace(begin=b)", "place"),
    ),
    Mutant(
        "a buffer with former tenants stays",
        "graph.memory_plan:_MemoryPlanner._place_output",
        replace("fit is not None and all((t.shape == n.shape for t in self.tenants[self.plan.place[fit]]))", "fit is not None"),
    ),
    Mutant(
        "what several kernels at once read is written by none", "graph.memory_plan:_MemoryPlanner._set_readers", drop("self.viewed.add(i)")
    ),
    Mutant("a product writes over none of its operands", "graph.memory_plan:_MemoryPlanner._set_readers", never("step.epilogue")),
    Mutant(
        "no kernel writes over what another reads at the same time",
        "graph.memory_plan:_MemoryPlanner._place",
        always("n in self.reader.get(d, (n,))"),
    ),
    Mutant("outputs live to the end", "graph.memory_plan:_MemoryPlanner._liveness", drop("for o in self.outputs:\n    ...")),
    Mutant(
        "a view is recorded as its root is when the scope has ended",
        "imperative.array:record_of",
        replace("array._read_recorded() if is_view(array) else array._held", "array._content"),
    ),
    Mutant(
        "a view goes on with its root's tape", "imperative.views:Viewable._read_recorded", always("tls.tape is not None or tape is None")
    ),
    Mutant(
        "a view of a variable that is a view is part of it",
        "imperative.views:view_of",
        replace("cell._held is not None or cell._gradient is not None", "cell._held is not None"),
    ),
    Mutant("a view lives in its owner", "graph.memory_plan:_MemoryPlanner._liveness", replace("self.owner(n.operands[0])", "n")),
    Mutant("what the backend allocates has no place", "graph.memory_plan:_MemoryPlanner._place_step", never("self.fixed(n)")),
    Mutant("a value is released after its last use", "program.printer:Printer._releases", always("n not in kept")),
    Mutant(
        "what a view looks into is not released",
        "program.printer:Printer._releases",
        replace("{views.get(o, o) for o in self.plan.outputs}.union(views.values())", "{views.get(o, o) for o in self.plan.outputs}"),
    ),
    Mutant("a reshape that may copy is made at every run", "program.printer:Printer._single", always("not may_copy(n)")),
    Mutant("a view is not a result of its own", "program.plan:is_made", always("not n.bound_op.op.view")),
    Mutant("a constant is not a result of its own", "program.plan:is_made", always("not applies(n, iota)")),
    Mutant(
        "a leaf is not a result of its own",
        "program.plan:is_made",
        replace(
            "isinstance(n, Application) and (not n.bound_op.op.view) and (not applies(n, iota))",
            "isinstance(n, Leaf) or (not n.bound_op.op.view and (not applies(n, iota)))",
        ),
    ),
    Mutant(
        "memory is shared by one reshaped result only",
        "program.plan:_reshaped",
        replace("{o: n for o, n in found.items() if owners[n] == 1}", "{o: n for o, n in found.items()}"),
    ),
    Mutant("a repeated result is a copy", "program.printer:Printer._results", always("o not in taken")),
    Mutant("scratch is checked out", "program.printer:Printer._checkout", replace("'  S = pool.pop()'", "'  S = pool[-1]'")),
    Mutant("scratch is put back", "program.printer:Printer._checkout", drop("end.insert(-1, 'pool.append(S)')")),
    Mutant("user code sees copies", "program.plan:_call_user", replace("[copy(a) for a in arrays]", "arrays")),
    Mutant(
        "user code gives copies",
        "program.plan:_call_user",
        replace("[copy(r) for r in results] if isinstance(results, list) else copy(results)", "results"),
    ),
    Mutant(
        "a ufunc of strided operands writes in row-major order",
        "twofold_numpy.calls:call_for",
        replace("f\"{{f}}({operands}, order='C')\"", "f'{{f}}({operands})'"),
    ),
    Mutant(
        "the backend's results are in row-major order",
        "twofold_numpy.adapter:NumpyBackend.as_array",
        replace("np.asarray(value, order='C')", "np.asarray(value)"),
    ),
    Mutant(
        "einsum of one operand is a copy",
        "twofold_numpy.namespace:NumpyNamespace.einsum",
        replace("np.array(out) if len(arrays) == 1 else out", "out"),
    ),
    Mutant("zero is not cached with its sign lost", "twofold_numpy.adapter:NumpyBackend.scalar", always("value != 0.0")),
    Mutant("constants are told apart by their bits", "opdef.params:exact", replace("value.hex()", "value")),
    # kernels
    Mutant(
        "a choice in a kernel is not made over its operands", "twofold_numpy.blocked:_Printer._scratch_for", always("step.op != 'where'")
    ),
    Mutant("scratch of a kernel lives to its last reader", "twofold_numpy.blocked:_Printer._print", always("last[r.value] == t")),
    Mutant(
        "scratch of a kernel is given up once",
        "twofold_numpy.blocked:_Printer._print",
        replace("[held[d] for d in dying if held[d] != held.get(t)]", "[held[d] for d in dying]"),
    ),
    Mutant(
        "scratch of a kernel has its value's dtype",
        "twofold_numpy.blocked:_Printer._fits",
        replace("self.scratch[k] == step.dtype and (k in self.row_scratch) == step.row", "(k in self.row_scratch) == step.row"),
    ),
    Mutant(
        "scratch of a kernel has its value's rows",
        "twofold_numpy.blocked:_Printer._fits",
        replace("self.scratch[k] == step.dtype and (k in self.row_scratch) == step.row", "self.scratch[k] == step.dtype"),
    ),
    Mutant(
        "halves of a kernel meet",
        "twofold_numpy.blocked:_in_blocks.run",
        replace("_run(kernel, given, half, rows, scratch, is_kept)", "_run(kernel, given, half + step, rows, scratch, is_kept)"),
    ),
    Mutant("scratch of a kernel is checked out", "twofold_numpy.blocked:_run", replace("waiting.pop(kinds, None)", "waiting.get(kinds)")),
    Mutant("a piece that was begun is waited for", "backend.workers:run_all", replace("len(pieces) - len(own)", "0")),
    Mutant("a task that is not needed keeps nothing", "backend.workers:run_all.help_out", parameter("kept=pieces")),
    Mutant("a forked child has no threads", "backend.workers:", drop("os.register_at_fork(after_in_child=forget)")),
    Mutant("a half's warnings are off", "backend.workers:_serve", drop("np.seterr(all='ignore')")),
    Mutant(
        "a sum of 16-bit floats is rounded once", "twofold_numpy.namespace:tree_sum", never("dtype.itemsize == 2 and dtype.kind in 'fV'")
    ),
    Mutant("a sum is by blocks of the row", "twofold_numpy.namespace:tree_sum", always("row <= BLOCK")),
    # tasks
    Mutant("a task runs after the one that writes what it reads", "scheduler.variable:Var.read_by", drop("task.before.add(writer)")),
    Mutant(
        "a task runs after those that read what it writes",
        "scheduler.variable:Var.written_by",
        drop("task.before.update((t for t in self.readers if not t.is_done))"),
    ),
    Mutant(
        "a task runs after the one that writes what it writes",
        "scheduler.variable:Var.written_by",
        drop("if self.writer is not None and (not self.writer.is_done):\n    ..."),
    ),
    Mutant("readers are noted", "scheduler.variable:Var.read_by", drop("self.readers.append(task)")),
    Mutant("a reader gets the error of what it reads", "scheduler.variable:Var.read_by", drop("task.sources.append(writer)")),
    Mutant(
        "an error outlives its task",
        "scheduler.variable:Var.read_by",
        replace("not writer.is_done or writer.error is not None", "not writer.is_done"),
    ),
    Mutant("a task runs once", "scheduler.queue:Queue._run", drop("if task.runner or task.is_done:\n    ...")),
    Mutant("a task is ready when all before it are done", "scheduler.queue:Queue._finish", always("not later.before")),
    Mutant("submitting too much waits", "scheduler.queue:Queue.submit", drop("self._make_room(task.nbytes)")),
    Mutant("the queue is drained before a fork", "imperative.forks:_before_fork", drop("QUEUE.pause()")),
    Mutant("a child runs tasks at once", "imperative.forks:_in_child", drop("QUEUE.in_child()")),
    Mutant("what a task reads is not written", "imperative.pending:_lend", drop("v.producer = (reader, ArrayType(*v.type))")),
    Mutant("what a task and a window read is not written", "imperative.pending:_lend", drop("v.share()")),
    Mutant("a whole step begins a window", "executor.part_runner:PartRunner.forward", drop("flush_complete()")),
    Mutant("what a step's backward reads is lent", "executor.part_runner:_saved", replace("lent(v, tape)", "v")),
    Mutant("what a task will make is not written before the next has read it", "imperative.pending:issue", drop("v.share()")),
    Mutant("what runs later reads a copy of exported memory", "imperative.cell:Value.steady", never("self.pinned")),
    Mutant("what waits reads a copy of a small view of exported memory", "imperative.invoke:_captured", drop("v = v.steady()")),
    Mutant(
        "an executor's operands are the arrays' own contents",
        "executor.transport:values_on",
        replace("cell._capture().steady()", "cell._content if isinstance(cell._content, Value) else Value(cell._content)"),
    ),
    # queues of devices
    Mutant(
        "a copy waits for what is computed where it comes from",
        "scheduler.streams:Arrival.__init__",
        drop("self._backend.wait(queue, self._backend.record(self._backend.stream(source)))"),
    ),
    Mutant(
        "using a copy waits for it",
        "scheduler.streams:Arrival.receive",
        drop("self._backend.wait(self._backend.stream(self._device), self._mark)"),
    ),
    Mutant(
        "what is copied is not written over", "scheduler.streams:before_overwriting", drop("backend.wait(backend.stream(device), mark)")
    ),
    Mutant("a window asks before it writes over memory", "imperative.window:_run", drop("before_overwriting(w.device)")),
    Mutant("a copy to the host waits for what is computed", "imperative.transfer:_fetched.fetch", drop("backend.wait(queue, mark)")),
    Mutant("a copy has a queue of its own", "imperative.transfer:_fetched.fetch", unwrap("with queue")),
    # slices before kernels
    Mutant("a value that is needed whole is not computed in parts", "graph.slices:_Graph._splits", never("None in parts")),
    Mutant("a copy that others read is made", "graph.slices:_Graph._is_for_kernels", always("is_read")),
    Mutant("a view that leaves a program is copied", "graph.slices:_Graph._is_for_kernels", always("n not in self.outputs")),
)
