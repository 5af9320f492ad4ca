"""Rules of ownership and order, each with the change that removes it from the code; `tests.mutants` tries them one by one.

Update a row when its code changes; its text must occur exactly once in its file.
"""

from typing import NamedTuple

#: Which tests must notice.
CORE = ("tests/core", "tests/scheduler")


class Mutant(NamedTuple):
    """One rule removed: a text that occurs once in a file is replaced."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...] = CORE


IMPERATIVE = "src/twofold/imperative/"
CACHE = "src/twofold/program/cache.py"
DISPATCH = IMPERATIVE + "dispatch.py"
CELL, WINDOW, WRITE = IMPERATIVE + "cell.py", IMPERATIVE + "window.py", IMPERATIVE + "write.py"
INVOKE, RECORD, SCOPE = IMPERATIVE + "invoke.py", IMPERATIVE + "tape.py", IMPERATIVE + "scope.py"
RECORDING = IMPERATIVE + "recording.py"
BACKWARD, FAST, RESIDUALS, ARRAY = IMPERATIVE + "backward.py", IMPERATIVE + "fast.py", IMPERATIVE + "residuals.py", IMPERATIVE + "array.py"
PLAN, FUSE, IR = "src/twofold/graph/memory_plan.py", "src/twofold/graph/fuse.py", "src/twofold/graph/ir.py"
SLICES = "src/twofold/graph/slices.py"
CONVENTIONS = "src/twofold/opdef/conventions.py"
PRINTER, PROGRAM_PLAN = "src/twofold/program/printer.py", "src/twofold/program/plan.py"
DEFERRAL, FORKS, SCALARS = IMPERATIVE + "deferral.py", IMPERATIVE + "forks.py", IMPERATIVE + "scalars.py"
PENDING, TRANSFER, ARRIVAL = IMPERATIVE + "pending.py", IMPERATIVE + "transfer.py", "src/twofold/scheduler/streams.py"
VARIABLE, QUEUE = "src/twofold/scheduler/variable.py", "src/twofold/scheduler/queue.py"
BLOCKED, NUMPY, NAMESPACE = (f"backends/twofold_numpy/{name}.py" for name in ("blocked", "adapter", "namespace"))
WORKERS = "src/twofold/backend/workers.py"

MUTANTS = (
    # who sees a value
    Mutant(
        "a tape's saved value is lent",
        CELL,
        "        b = self.sharing\n        if b is None or b is tape.ref or",
        "        return self\n        if False or",
    ),
    Mutant(
        "lending to a second tape is for good",
        CELL,
        "        elif b.__class__ is not Value and self.sharing is not PINNED:  # an alias",
        "        elif False:  # an alias",
    ),
    Mutant(
        "lending an alias keeps its owner",
        CELL,
        "        elif b.__class__ is not Value and self.sharing is not PINNED:  # an alias",
        "        else:  # an alias",
    ),
    Mutant("a tape saves a copy of exported memory", CELL, "elif self.pinned:", "elif False:"),
    Mutant(
        "sharing an alias keeps its owner",
        CELL,
        "if self.sharing.__class__ is not Value and self.sharing is not PINNED:",
        "if self.sharing is not PINNED:",
    ),
    Mutant(
        "sharing keeps an export",
        CELL,
        "if self.sharing.__class__ is not Value and self.sharing is not PINNED:",
        "if self.sharing.__class__ is not Value:",
    ),
    Mutant(
        "what is shared is not written", CELL, "            self.sharing = ALWAYS\n\n    def shown", "            pass\n\n    def shown"
    ),
    Mutant(
        "a value that a window reads is not written",
        CELL,
        "if self.data is None or (producer is not None and not producer[0].is_done):",
        "if self.data is None:",
    ),
    Mutant(
        "a value that somebody borrowed is not written", CELL, "return b is None or (b.__class__ is ref and b() is None)", "return True"
    ),
    Mutant(
        "a value is written in place again when its tape is gone",
        CELL,
        "return b is None or (b.__class__ is ref and b() is None)",
        "return b is None",
    ),
    Mutant("an alias holds its owner", CELL, "owner.device, owner.shown())", "owner.device, None)"),
    Mutant("what an alias shows is borrowed while it lives", CELL, "            self.sharing = seen\n", "            self.share()\n"),
    Mutant("the owner of an alias is shown", CELL, "            self.sharing = seen\n", "            pass\n"),
    Mutant("all aliases hold the same", CELL, "            return held\n", "            pass\n"),
    Mutant(
        "the window is read before the data", CELL, "producer, data = self.producer, self.data", "data, producer = self.data, self.producer"
    ),
    # windows
    Mutant(
        "a borrowed leaf is not donated",
        WINDOW,
        "seen_elsewhere = not (b is None or (b.__class__ is ref and b() is None))",
        "seen_elsewhere = False",
    ),
    Mutant("a leaf of two windows is not written", WINDOW, "            v.share()\n", "            pass\n"),
    Mutant(
        "a window holds leaves that others see",
        WINDOW,
        "        if seen_elsewhere:\n            self.held",
        "        if False:\n            self.held",
    ),
    Mutant(
        "a window holds alias leaves",
        WINDOW,
        "        if seen_elsewhere:\n            self.held",
        "        if seen_elsewhere and b.__class__ is not Value:\n            self.held",
    ),
    Mutant(
        "a window holds what shares a result",
        WINDOW,
        "        if seen_elsewhere:\n            self.held",
        "        if b.__class__ is Value:\n            self.held",
    ),
    Mutant(
        "a value remembers the window that reads it",
        WINDOW,
        "        v.producer = self, node  # no write in place until this window has run\n",
        "",
    ),
    Mutant(
        "closed is not done",
        CELL,
        "(producer is not None and not producer[0].is_done)",
        "(producer is not None and not producer[0].closed)",
    ),
    Mutant("a window is closed by one call", WINDOW, "if not w.taken.acquire(blocking=False):", "if False:"),
    Mutant("only dead leaves are donated", WINDOW, "if r is not None and r() is None])", "if r is not None])"),
    Mutant(
        "a program that donates is for those dead leaves",
        WINDOW,
        "key = wanted, dead, w.device.device_type",
        "key = wanted, w.device.device_type",
    ),
    Mutant("a program reads its own leaves", WINDOW, "arrays = [w.data[n] for n in found.reads]", "arrays = list(w.data.values())"),
    Mutant("a shared result is never written over", WINDOW, "                v.sharing = ALWAYS\n", "                pass\n"),
    Mutant("a result that is not shared may be written", WINDOW, "wanted.count(n) > 1) for n in wanted]", "True) for n in wanted]"),
    Mutant("a reader waits for the thread that runs", WINDOW, "    else:\n        QUEUE.wait(w)\n", ""),
    Mutant(
        "data before window",
        WINDOW,
        "                v.data = results[k]\n                v.producer = None\n",
        "                v.producer = None\n                v.data = results[k]\n",
    ),
    Mutant(
        "a closed window takes no operation",
        DEFERRAL,
        "            if w.closed:  # by another thread",
        "            if False:  # by another thread",
    ),
    Mutant("a closed window takes no twin", DEFERRAL, "return None if producer[0].closed else twin", "return twin"),
    Mutant("operands of other windows are computed", DEFERRAL, "force(v)\n    return w", "pass\n    return w"),
    Mutant("a window is bounded", DEFERRAL, "not w.closed and (w.is_full or", "not w.closed and ("),
    Mutant("a window holds the nodes of one tape", DEFERRAL, "w.tape not in (0, tape.serial)", "False"),
    Mutant("a tape that has run an operation at once is not whole", INVOKE, "        tape.whole = False\n", ""),
    Mutant(
        "a window that runs before backward keeps what that reads", WINDOW, "            w.save()\n            live", "            live"
    ),
    Mutant("windows bound the intern tables", DEFERRAL, "        bound_tables()\n", ""),
    Mutant(
        "a window that has run lets go",
        WINDOW,
        "            live = []  # the traceback of an interrupt keeps this frame\n            self.forget()\n",
        "            pass\n",
    ),
    Mutant("an error stays with its window", QUEUE, "                error = raised\n", "                error = interrupted(raised)\n"),
    Mutant("an interrupt is the error of its window", QUEUE, "                error = interrupted(raised)\n", ""),
    Mutant(
        "a window that can no longer run is done",
        WINDOW,
        "            w.forget()\n            QUEUE.abandon(w, interrupted(error))\n            raise\n",
        "            raise\n",
    ),
    Mutant(
        "an error is raised by waiting until it was",
        WINDOW,
        "            self.forget()\n        OPEN.pop(self.serial, None)\n",
        "            self.forget()\n            OPEN.pop(self.serial, None)\n",
    ),
    Mutant(
        "an error is raised by waiting once",
        WINDOW,
        "            found.append((w.serial, w.error))\n            OPEN.pop(w.serial, None)\n",
        "            found.append((w.serial, w.error))\n",
    ),
    Mutant("results are contiguous however grouped", WINDOW, "boundaries=held,", "boundaries=(),"),
    Mutant(
        "a result that is saved has a second value",
        WINDOW,
        "return self._value_to_save(owner.parts[k], tape)",
        "return self._value_to_save(owner.parts[k], tape, rec)",
    ),
    # writes
    Mutant("a write is not in place where others look", WRITE, "if v.exclusive or v.pinned:\n", "if True:\n"),
    Mutant("a write to exported memory is in place", WRITE, "if v.exclusive or v.pinned:\n", "if v.exclusive:\n"),
    Mutant(
        "an update is not in place where others look", WRITE, "or is_tracked(val) or not (v.exclusive or v.pinned):", "or is_tracked(val):"
    ),
    Mutant("an update of a recorded array is recorded", WRITE, "or is_tracked(v) or is_tracked(val) or not (", "or not ("),
    Mutant(
        "an update by a recorded array is recorded",
        WRITE,
        "    else:\n        if is_tracked(val):\n            return False\n        data = v\n",
        "    else:\n        data = v\n",
    ),
    Mutant(
        "a write of a recorded array is recorded",
        WRITE,
        "    tracked = is_tracked(v) or is_tracked(val)\n",
        "    tracked = is_tracked(v)\n",
    ),
    Mutant("a write in place makes a new leaf", WRITE, "        renew_leaf(v)\n    else:\n", "    else:\n"),
    Mutant(
        "an update in place makes a new leaf",
        WRITE,
        "    if v.__class__ is Value:\n        renew_leaf(v)\n    return True",
        "    return True",
    ),
    Mutant(
        "a constant written in place is a new leaf too",
        WRITE,
        "    entry = v.entry\n    if entry is not None:\n        shape",
        "    entry = v.entry\n    if entry is not None and entry.grad is not None:\n        shape",
    ),
    Mutant(
        "a variable written in place stays one",
        WRITE,
        "entry.grad.tracked), (), (), None, entry.grad)",
        "entry.grad.tracked), (), (), None, None)",
    ),
    Mutant("marking leaves what a tape saved", WRITE, "if v.sharing is not None or (v.entry is", "if False and (v.entry is"),
    Mutant("what is marked is an alias", WRITE, "cell._content = v = alias(data_of(v), v)", "cell._content = v = Value(data_of(v))"),
    Mutant(
        "a look without record is an alias",
        WRITE,
        "return alias(data_of(v), v) if pending is None else pending",
        "return Value(data_of(v)) if pending is None else pending",
    ),
    Mutant("what a view shows is an alias", WRITE, "return alias(data, v) if data is seen else", "return Value(data) if data is seen else"),
    # records
    Mutant("a result that is saved is borrowed", INVOKE, "        out.sharing = ref(twin)  # a write", "        # a write"),
    Mutant(
        "the second value of a result that is saved is borrowed",
        INVOKE,
        "Value(out.data, None, None, out.device, ALWAYS)",
        "Value(out.data)",
    ),
    Mutant(
        "an operation on exported memory does not join in short",
        DISPATCH,
        "            elif v.sharing is PINNED or (v.sharing.__class__ is Value and v.pinned):\n",
        "            elif False:\n",
    ),
    Mutant("joining in short has the device's window", DISPATCH, "            if v.device is not CPU:\n                return False\n", ""),
    Mutant("a number has a leaf of its own", DEFERRAL, "w.data[scalar] = values[nodes.index(scalar)]", "w.data[scalar] = 0.0"),
    Mutant("backward joins only what is pending", BACKWARD, "lazy = lazy or v is None", "lazy = False"),
    Mutant(
        "an iteration begins a new window", SCOPE, "        flush_complete()\n    bound_tables()\n", "        pass\n    bound_tables()\n"
    ),
    Mutant("an operand that is saved is borrowed", RECORDING, "                v.sharing = tape.ref\n", "                pass\n"),
    Mutant("exported memory is read at once", INVOKE, "exposed=lazy and is_exposed(contents)", "exposed=False"),
    Mutant("backward reads exported memory at once", BACKWARD, "not all(map(may_wait, values))", "False"),
    Mutant(
        "a leaf has a number of its own",
        RECORDING,
        "not entry.inputs and isinstance(entry.node, Leaf) and entry.node.name == tape.leaves:",
        "not entry.inputs:",
    ),
    Mutant(
        "a float has a number of its own", RECORDING, "scalar_leaf(x, tape.leaves)\n    tape.leaves += 1\n", "scalar_leaf(x, tape.leaves)\n"
    ),
    Mutant("a float is not part of the structure", SCALARS, "return x.__class__ is bool or (", "return x.__class__ in (bool, float) or ("),
    Mutant("an older tape is bridged", RECORDING, "        bridge = (entry,) if", "        bridge = () if True else (entry,) if"),
    Mutant("what was used is a constant", RECORDING, "if entry is not None and entry.is_used:", "if False:"),
    Mutant("a bridge to what was used is a constant", RECORD, "return bool(self.inputs) and self.inputs[0].is_used", "return False"),
    Mutant(
        "a key stands where the operator wants it",
        INVOKE,
        "return [*args[:at], key, *args[at:]], [*contents[:at], key, *contents[at:]]",
        "return [*args, key], [*contents, key]",
    ),
    Mutant("a draw has a key of its own", IMPERATIVE + "generator.py", "at = next(self._numbers)", "at = 0"),
    Mutant("leaves let go of a closed tape", RECORD, "                entry.tape = None\n", "                pass\n"),
    Mutant(
        "a scope closes its tape",
        SCOPE,
        "                tls.tape.close()\n            tls.tape = tape",
        "                pass\n            tls.tape = tape",
    ),
    Mutant("scopes bound the intern tables", SCOPE, "    bound_tables()\n    tls.tape = Tape()\n", "    tls.tape = Tape()\n"),
    Mutant("numbering starts again after a backward", SCOPE, "        tls.tape.close()\n        _begin()\n", "        pass\n"),
    Mutant("the short path saves no record", FAST, "save(entry, (a,), (out,), tape)", "save(entry, (a,), (v,), tape)"),
    Mutant(
        "the short path borrows a result",
        FAST,
        "    v.sharing = tape.ref\n                return r\n",
        "    pass\n                return r\n",
    ),
    Mutant("a saved operand that others hold is lent", RECORDING, "                v = v.lend(tape)\n", "                pass\n"),
    Mutant("the short path asks for equal dtypes", FAST, 'same = "a.dtype is b.dtype"', 'same = "True"'),
    Mutant(
        "the long path asks for equal dtypes", CONVENTIONS, "if (op.elementwise or op.front.alike) and len(set(same)) > 1:", "if False:"
    ),
    # backward
    Mutant(
        "backward clears what it used",
        BACKWARD,
        "        for entry in () if self.retain else self.used.values():\n            entry.saved, entry.tape = (), None\n",
        "",
    ),
    Mutant(
        "a known backward clears what it used",
        BACKWARD,
        "        for entry in entries:\n            entry.saved, entry.tape = (), None\n",
        "        pass\n",
    ),
    Mutant("a used graph is refused", BACKWARD, "if any(h.tape is None for h, _ in inner):", "if False:"),
    Mutant("newest tape first", BACKWARD, "here = self._take_heads(max(self.todo))", "here = self._take_heads(min(self.todo))"),
    Mutant(
        "a bridge comes before the tape that it continues",
        BACKWARD,
        "return _serial(entry.inputs[0]) + 0.5 if isinstance(entry.node, Leaf) and entry.inputs else 0",
        "return 0",
    ),
    Mutant(
        "gradients of a variable on two tapes add up",
        BACKWARD,
        "entry.grad, grad if before is None else self.summed([before[1], grad])",
        "entry.grad, grad",
    ),
    Mutant(
        "a head that is a leaf's gradient is copied",
        BACKWARD,
        "if g is None else self.copied(g)) for h, g in leaves]",
        "if g is None else g) for h, g in leaves]",
    ),
    Mutant("a recorded gradient aliases what it reads", BACKWARD, "seen := alias(data_of(v), v))", "seen := Value(data_of(v)))"),
    Mutant(
        "a recorded gradient has memory of its own", BACKWARD, "        if o in taken and isinstance(found, Cell):", "        if False:"
    ),
    Mutant(
        "a recorded gradient computes tracked residuals again",
        BACKWARD,
        'if what[0] == "res" and not residuals and cache_of(entry.node).tracked[what[1]]:',
        "if False:",
    ),
    Mutant("backward does not record", BACKWARD, "    if not create_graph:\n        tls.tape = None\n", ""),
    Mutant("grad_req add adds", BACKWARD, 'if variable.req == "add":', "if False:"),
    Mutant("grad_req null leaves", BACKWARD, '        if variable.req == "null":\n            continue\n', ""),
    Mutant(
        "bodies are those of this generation",
        RESIDUALS,
        "return run_rule(G, node.bound_op, node.inputs) if node.body else ()",
        "return node.body",
    ),
    Mutant("a tracked residual's inputs are saved for its gradient", RESIDUALS, "    if any(cache.tracked):", "    if False:"),
    Mutant("programs fall with their generation", CACHE, "TABLES.dependents.append(PROGRAMS.clear)", ""),
    Mutant("programs that were used lately are kept", CACHE, "                if found.used:\n", "                if False:\n"),
    Mutant("a pinned window runs before the export", ARRAY, "        flush_all()  # windows", "        # windows"),
    # programs
    Mutant(
        "only what dies is written over",
        PLAN,
        "if i not in inside and self.last[i] == t and self._reusable(i)]",
        "if i not in inside and self._reusable(i)]",
    ),
    Mutant(
        "only what was donated is written over", PLAN, '(place.kind == "leaf" and place.number in self.writable)', 'place.kind == "leaf"'
    ),
    Mutant("a kernel reads an operand before it is written over", PLAN, "read[d] <= k and d not in self.viewed", "d not in self.viewed"),
    Mutant("what a kernel reads by a view is not written over", PLAN, "read[d] <= k and d not in self.viewed", "read[d] <= k"),
    Mutant("a choice is not made over its operands", PLAN, " and n.bound_op.op.layout.may_overwrite:", ":"),
    Mutant(
        "a result over a leaf has its dtype", PLAN, "if d.shape == n.shape and d.dtype == n.dtype), None)", "if d.shape == n.shape), None)"
    ),
    Mutant(
        "memory of a dead value is its own dtype's and size's",
        PLAN,
        "free = self.free.get(wanted)",
        "free = next((f for f in self.free.values() if f), None)",
    ),
    Mutant("an array that is read later is not updated in place", PLAN, "fit = first if first in dying and ", "fit = first if "),
    Mutant(
        "a buffer with former tenants stays",
        PLAN,
        "if fit is not None and all(t.shape == n.shape for t in self.tenants[self.plan.place[fit]]):",
        "if fit is not None:",
    ),
    Mutant(
        "what several kernels at once read is written by none",
        PLAN,
        "                    self.viewed.add(i)\n",
        "                    pass\n",
    ),
    Mutant("a product writes over none of its operands", PLAN, "        if step.epilogue:", "        if False:"),
    Mutant("no kernel writes over what another reads at the same time", PLAN, " and n in self.reader.get(d, (n,)))", ")"),
    Mutant("outputs live to the end", PLAN, "        for o in self.outputs:\n            self.last[self.owner(o)] = len(self.steps)\n", ""),
    Mutant(
        "a view is recorded as its root is when the scope has ended",
        ARRAY,
        "array._read_recorded() if isinstance(array, ViewMixin) else array._content",
        "array._content",
    ),
    Mutant("a view goes on with its root's tape", ARRAY, "if tls.tape is not None or tape is None:", "if True:"),
    Mutant(
        "a view of a variable that is a view is part of it",
        ARRAY,
        "type(cell)._root is None or cell._gradient is not None",
        "type(cell)._root is None",
    ),
    Mutant(
        "a view lives in its owner",
        PLAN,
        "                    self.root[n] = self.owner(n.operands[0])",
        "                    self.root[n] = n",
    ),
    Mutant("what the backend allocates has no place", PLAN, "elif self.fixed(n):", "elif False:"),
    Mutant("a value is released after its last use", PRINTER, "and n not in kept and n.nbytes > RELEASE", "and n.nbytes > RELEASE"),
    Mutant("what a view looks into is not released", PRINTER, ".union(views.values())", ""),
    Mutant("a reshape that may copy is made at every run", PRINTER, " and not may_copy(n):", ":"),
    Mutant(
        "a view is not a result of its own",
        PROGRAM_PLAN,
        "isinstance(n, Application) and not n.bound_op.op.view and not applies(n, iota)",
        "isinstance(n, Application) and not applies(n, iota)",
    ),
    Mutant("a constant is not a result of its own", PROGRAM_PLAN, " and not applies(n, iota)\n\n\ndef _reshaped", "\n\n\ndef _reshaped"),
    Mutant(
        "a leaf is not a result of its own",
        PROGRAM_PLAN,
        "return isinstance(n, Application) and not n.bound_op",
        "return isinstance(n, Leaf) or not n.bound_op",
    ),
    Mutant("memory is shared by one reshaped result only", PROGRAM_PLAN, "if owners[n] == 1}", "}"),
    Mutant("a repeated result is a copy", PRINTER, " and o not in taken\n", "\n"),
    Mutant("scratch is checked out", PRINTER, '"  S = pool.pop()"', '"  S = pool[-1]"'),
    Mutant("scratch is put back", PRINTER, '        end.insert(-1, "pool.append(S)")\n', ""),
    Mutant("user code sees copies", PROGRAM_PLAN, "(*[copy(a) for a in arrays])", "(*arrays)"),
    Mutant(
        "user code gives copies",
        PROGRAM_PLAN,
        "return [copy(r) for r in results] if isinstance(results, list) else copy(results)",
        "return results",
    ),
    Mutant(
        "a ufunc of strided operands writes in row-major order",
        "backends/twofold_numpy/calls.py",
        """fresh = f"{{f}}({operands}, order='C')\"""",
        """fresh = f"{{f}}({operands})\"""",
    ),
    Mutant("the backend's results are in row-major order", NUMPY, 'np.asarray(value, order="C")', "np.asarray(value)"),
    Mutant("einsum of one operand is a copy", NAMESPACE, "return np.array(out) if len(arrays) == 1 else out", "return out"),
    Mutant("zero is not cached with its sign lost", NUMPY, "            if value != 0.0:\n", "            if True:\n"),
    Mutant("constants are told apart by their bits", "src/twofold/opdef/params.py", ", value.hex()", ", value"),
    # kernels
    Mutant("a choice in a kernel is not made over its operands", BLOCKED, 'if step.op != "where":', "if True:"),
    Mutant("scratch of a kernel lives to its last reader", BLOCKED, "and last[r.value] == t and r.value in held]", "and r.value in held]"),
    Mutant(
        "scratch of a kernel is given up once",
        BLOCKED,
        "free += [held[d] for d in dying if held[d] != held.get(t)]",
        "free += [held[d] for d in dying]",
    ),
    Mutant("scratch of a kernel has its value's dtype", BLOCKED, "return self.scratch[k] == step.dtype and ", "return "),
    Mutant("scratch of a kernel has its value's rows", BLOCKED, " and (k in self.row_scratch) == step.row\n", "\n"),
    Mutant("halves of a kernel meet", BLOCKED, "_run(kernel, flat, half, rows,", "_run(kernel, flat, half + step, rows,"),
    Mutant("scratch of a kernel is checked out", BLOCKED, "waiting.pop(kinds, None) or", "waiting.get(kinds) or"),
    Mutant("a piece that was begun is waited for", WORKERS, "for _ in range(theirs)]", "for _ in range(0)]"),
    Mutant("a task that is not needed keeps nothing", WORKERS, "def help_out() -> None:", "def help_out(kept=pieces) -> None:"),
    Mutant("a forked child has no threads", WORKERS, "os.register_at_fork(after_in_child=forget)\n", ""),
    Mutant("a half's warnings are off", WORKERS, '    np.seterr(all="ignore")\n', ""),
    Mutant(
        "a sum of 16-bit floats is rounded once",
        NAMESPACE,
        'if dtype.itemsize == 2 and dtype.kind in "fV":  # 16-bit',
        "if False:  # 16-bit",
    ),
    Mutant("a sum is by blocks of the row", NAMESPACE, "    if row <= BLOCK:\n", "    if True:\n"),
    # tasks
    Mutant(
        "a task runs after the one that writes what it reads",
        VARIABLE,
        "                task.before.add(writer)\n",
        "                pass\n",
    ),
    Mutant(
        "a task runs after those that read what it writes",
        VARIABLE,
        "        task.before.update(t for t in self.readers if not t.is_done)\n",
        "",
    ),
    Mutant(
        "a task runs after the one that writes what it writes",
        VARIABLE,
        "        if self.writer is not None and not self.writer.is_done:\n            task.before.add(self.writer)\n",
        "",
    ),
    Mutant("readers are noted", VARIABLE, "        self.readers.append(task)\n", ""),
    Mutant("a reader gets the error of what it reads", VARIABLE, "            task.sources.append(writer)\n", ""),
    Mutant("an error outlives its task", VARIABLE, "not writer.is_done or writer.error is not None", "not writer.is_done"),
    Mutant("a task runs once", QUEUE, "            if task.runner:\n                return []\n", ""),
    Mutant("a task is ready when all before it are done", QUEUE, "                if not later.before:\n", "                if True:\n"),
    Mutant("submitting too much waits", QUEUE, "            self._make_room(task.nbytes)\n", "            pass\n"),
    Mutant("the queue is drained before a fork", FORKS, "    QUEUE.pause()\n", ""),
    Mutant("a child runs tasks at once", FORKS, "    QUEUE.in_child()\n", ""),
    Mutant("what a task reads is not written", PENDING, "            v.producer = reader, ArrayType(*v.type)\n", "            pass\n"),
    Mutant("what a task and a window read is not written", PENDING, "            v.share()\n", "            pass\n"),
    Mutant("a whole step begins a window", "src/twofold/executor/part_runner.py", "        flush_complete()\n", "        pass\n"),
    Mutant(
        "what a step's backward reads is lent",
        "src/twofold/executor/part_runner.py",
        "            lent = v.lend(tape)\n",
        "            lent = v\n",
    ),
    Mutant(
        "what a task will make is not written before the next has read it",
        PENDING,
        "            v.share()  # once computed it must not be overwritten before this task has read it\n",
        "            pass\n",
    ),
    Mutant("what runs later reads a copy of exported memory", PENDING, "if v.pinned else v", "if False else v"),
    Mutant(
        "an executor's operands are the arrays' own contents",
        "src/twofold/executor/transport.py",
        "        v = steady(cell._capture())\n",
        "        v = cell._content if isinstance(cell._content, Value) else Value(cell._content)\n",
    ),
    # queues of devices
    Mutant(
        "a copy waits for what is computed where it comes from",
        ARRIVAL,
        "            self._backend.wait(queue, self._backend.record(self._backend.stream(source)))\n",
        "            pass\n",
    ),
    Mutant("using a copy waits for it", ARRIVAL, "        self._backend.wait(self._backend.stream(self._device), self._mark)\n", ""),
    Mutant("what is copied is not written over", ARRIVAL, "            backend.wait(backend.stream(device), mark)\n", "            pass\n"),
    Mutant("a window asks before it writes over memory", WINDOW, "            before_overwriting(w.device)\n", "            pass\n"),
    Mutant("a copy to the host waits for what is computed", TRANSFER, "            backend.wait(queue, mark)\n", ""),
    Mutant("a copy has a queue of its own", TRANSFER, "        with queue:\n", "        if True:\n"),
    # slices before kernels
    Mutant(
        "a value that is needed whole is not computed in parts",
        SLICES,
        "not n.bound_op.op.elementwise or None in parts or",
        "not n.bound_op.op.elementwise or",
    ),
    Mutant("a copy that others read is made", SLICES, "return n not in self.outputs and is_read", "return n not in self.outputs"),
    Mutant("a view that leaves a program is copied", SLICES, "return n not in self.outputs and is_read", "return is_read"),
)
