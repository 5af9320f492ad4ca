"""Prints a plan as Python: each step as data (`StepCode`), its statements and the variables that they read and write."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

from ..backend.kernel import Array, ArrayType, KernelEpilogue, RowProgram
from ..backend.protocol import Backend
from ..dtype import WEAK, promote
from ..graph.build import item
from ..graph.fuse import Step
from ..graph.ir import Application, Constant, Node, applies
from ..graph.memory_plan import Place
from ..ops.primitive_shape import full, iota, reshape
from .code import CallCode, Code, Scratch, StepCode
from .control_flow import LOOPS
from .kernels import compile_kernel, drawn_nodes, is_line, may_copy, operand_dtype, row_program
from .plan import ProgramPlan, asked_of, is_made

#: Bytes of scratch memory that a program keeps: its smallest buffers. The others are allocated for each run.
KEEP_SCRATCH = 1 << 18
#: Backend-allocated values larger than this (bytes) are released after their last use rather than at the end.
RELEASE = 1 << 16


class Printer:
    """Emits the code of a plan, and compiles its kernels.

    Attributes
    ----------
    kernels, forms
        The row programs, and the compiled kernel of each step.
    """

    def __init__(self, plan: ProgramPlan, backend: Backend) -> None:
        self.plan, self.backend, self.target, self.memory = plan, backend, backend.target, plan.memory
        self.env: dict[str, Any] = {}
        self._made: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
        self._calls: list[CallCode] = []
        self.kernels: list[RowProgram] = []
        self.forms: dict[Step, Callable[..., None]] = {}
        self._drawn = drawn_nodes(plan.steps)
        #: The name of each node, of each place in memory, and of each Python scalar per dtype.
        self._name: dict[object, str] = {}
        self._allocators: list[str] = []
        #: The number of elements of each buffer.
        self._sizes: dict[int, int] = {}
        for n, place in self.memory.place.items():
            if place.kind == "buffer":
                self._sizes[place.number] = max(n.size, self._sizes.get(place.number, 0))
        #: Numbers of the buffers that the program keeps.
        self._kept = self._buffers_to_keep()
        #: The scratch memory, by variable: None for what is made in each run, by statements of its own.
        self._scratch: dict[str, Scratch | None] = {}
        self._per_run: list[str] = []
        #: Variables that exist before the current step, and those that this step reads, writes and defines.
        #: A variable that a step defines is not among those that it reads or writes: adapters must not wait for it.
        self._known: set[str] = set()
        self._lines: list[str] = []
        self._read: dict[str, None] = {}
        self._written: dict[str, None] = {}
        self._defined: list[str] = []

    def code(self) -> Code:
        """The whole program."""
        plan = self.plan
        # x: inputs, v: values of a run, b: scratch memory, c_ and others with an underscore: objects bound at compilation
        leaves = [f"x{k}" for k in range(len(plan.leaves))]
        self._name.update(zip(plan.leaves, leaves, strict=True))
        self._known.update(leaves)
        for node, array in plan.constants.items():
            self._name[node] = self._bind(array)
        releases = self._releases()
        steps = [self._step(step, releases.get(t, ())) for t, step in enumerate(plan.steps)]
        end, results = self._results()
        # a scratch variable that no step names, such as the buffer under a reshaped one, is not checked out
        touched = {name for s in steps for name in (*s.reads, *s.writes)}.union(self._read)
        kept = [each for each in self._scratch.values() if each is not None]
        used = [each.name for each in kept if each.name in touched]
        checkout = (self._checkout(", ".join(used), end) if used else []) + self._per_run
        return Code(leaves, checkout, steps, end, kept, used, self.env, self._allocators, results, self._made, self._calls)

    def _step(self, step: Step, dead: Sequence[Node]) -> StepCode:
        if step.epilogue == "kernel":
            self._convolution(step)
        elif step.epilogue:
            self._product(step)
        elif step.is_kernel:
            self._kernel(step)
        else:
            self._single(step.nodes[0])
        first = step.nodes[0]
        computes = first.bound_op.op is not item and (not first.bound_op.op.view or may_copy(first))
        made = "" if step.is_kernel or first.bound_op.op.view else self._name.get(first, "")
        known = self._known
        reads = tuple([name for name in self._read if name in known and name not in self._written])
        writes = tuple([name for name in self._written if name in known])
        # only variables of this run ("v"): inputs belong to the caller, scratch memory and constants to the program
        released = [name for n in dead if (name := self._name.get(n, "")).startswith("v")]
        known.update(self._defined)
        found = StepCode(self._lines, reads, writes, made if made.startswith("v") else "", released, computes)
        self._lines, self._read, self._written, self._defined = [], {}, {}, []
        return found

    def _bind(self, value: object, prefix: str = "c") -> str:
        """Add an object to the environment; returns its name."""
        name = f"{prefix}_{len(self.env)}"
        self.env[name] = value
        return name

    def _bind_made(self, prefix: str, function: Callable[..., Any], *arguments: Any) -> str:
        """Add what a function makes of types and numbers to the environment; returns its name."""
        name = self._bind(function(*arguments), prefix)
        self._made[name] = function, arguments
        return name

    def _allocator(self, shape: tuple[int, ...], dtype: str) -> str:
        name = self._bind_made("new", self.backend.allocator, shape, dtype)
        self._allocators.append(name)
        return name

    def _buffers_to_keep(self) -> set[int]:
        if not self.target.keeps_scratch or self.backend.device_count() > 1:  # scratch belongs to a device
            return set()
        kept, total = set(), 0
        for number, (size, _) in sorted(enumerate(self.memory.buffers), key=lambda pair: pair[1][0]):
            total += size
            if total > KEEP_SCRATCH:
                break
            kept.add(number)
        return kept

    def _checkout(self, names: str, end: list[str]) -> list[str]:
        """Check out an instance of the kept scratch memory, which is put back at the end."""
        self.env["pool"] = []  # list.pop and list.append are atomic, so that threads check out different instances without a lock
        end.insert(-1, "pool.append(S)")
        return [" try:", "  S = pool.pop()", " except IndexError:", "  S = fresh()", f" {names}, = S"]

    def _releases(self) -> dict[int, list[Node]]:
        """The large backend-allocated values that die after each step."""
        # a variable would hold its value until the program returns; `del` gives the memory to later steps through the backend's pool
        last: dict[Node, int] = {}
        views: dict[Node, Node] = {}  # a use of a view is a use of the value that owns its memory
        for t, step in enumerate(self.plan.steps):
            for n in step.nodes:
                if n.bound_op.op.view or n.bound_op.op is item:
                    views[n] = views.get(n.operands[0], n.operands[0])
                for i in n.operands:
                    last[views.get(i, i)] = t
        kept = {views.get(o, o) for o in self.plan.outputs}.union(views.values())
        out: dict[int, list[Node]] = {}
        for n, t in last.items():
            if self.memory.place.get(n) == Place("fresh") and n not in kept and n.nbytes > RELEASE:
                out.setdefault(t, []).append(n)
        return out

    def _results(self) -> tuple[list[str], list[str | None]]:
        """The return statement, and the variable of each result; None for those that it copies.

        Leaves, constants, repeated outputs and views of those are copied, so that callers never share memory.
        """
        # without the copy, a later write by the caller would change a constant, an argument or another result
        texts: list[str] = []
        results: list[str | None] = []
        taken = set()
        copy = self._bind(self.backend.xp.contiguous, "copy")
        for o in self.plan.outputs:
            place = self.memory.place.get(o, Place("constant"))
            made = o in self.plan.reshaped or is_made(o)
            own = made and place.kind in ("output", "leaf", "fresh") and o not in taken
            taken.add(o)
            text = self._operand(o, o.dtype if o.dtype not in WEAK else promote(o.dtype))
            texts.append(text if own else f"{copy}({text})")
            results.append(text if own else None)
        return [*self._lines, f"return [{', '.join(texts)}]"], results

    # names

    def _operand(self, n: Node, dtype: str) -> str:
        """The name of an operand; Python scalars become 0-d arrays of the operation's dtype."""
        name = self._operand_name(n, dtype)
        self._read[name] = None
        return name

    def _operand_name(self, n: Node, dtype: str) -> str:
        if isinstance(n, Constant):
            return self._bind_made("c", self.backend.scalar, n.number, dtype)
        if n.dtype in WEAK:
            key = n, dtype
            if key not in self._name:
                self._name[key] = f"{self._name[n]}_{dtype}"
                self.env["scalar"] = self.backend.scalar
                self._read[self._name[n]] = None
                self._defined.append(self._name[key])
                self._lines.append(f"{self._name[key]} = scalar({self._name[n]}, {dtype!r})")
            return self._name[key]
        # constant arrays are printed where they are read: they are not steps
        if n not in self._name and applies(n, full):
            self._name[n] = self._bind_made("c", self.backend.constant, n.bound_op.params["value"], n.shape, n.dtype)
        return self._name[n]

    def _define(self, n: Node, text: str) -> None:
        name = f"v{len(self._name)}"
        self._lines.append(f"{name} = {text}")
        self._defined.append(name)
        self._name[n] = name

    def _result(self, n: Node) -> str:
        """The variable of a result's memory, which the plan assigns or which is newly allocated."""
        name = self._name[n] = self._target(n) or self._fresh(n)
        self._written[name] = None
        return name

    def _fresh(self, n: Node) -> str:
        """Allocate memory for a result; returns its variable."""
        name = f"v{len(self._name)}"
        self._lines.append(f"{name} = {self._allocator(n.shape, n.dtype)}()")
        self._defined.append(name)
        self._name[self.memory.place[n]] = name
        return name

    def _target(self, n: Node) -> str | None:
        """The variable of the memory that the plan assigns to a node; None if it is yet to be allocated."""
        place = self.memory.place[n]
        if place.kind == "leaf":
            return f"x{place.number}"
        if place.kind != "buffer":
            return self._name.get(place)
        key = place, n.shape
        if key not in self._name:
            base, is_kept = self._buffer(place.number, n.dtype), place.number in self._kept
            if n.size < self._sizes[place.number]:
                part = slice(place.begin, place.begin + n.size)
                base = self._define_scratch(f"{base}[{part.start}:{part.stop}]", (base,), itemgetter(part) if is_kept else None)
            self._name[key] = base if n.shape == (n.size,) else self._reshaped(base, n.shape, is_kept)
        return self._name[key]

    def _buffer(self, number: int, dtype: str) -> str:
        """The variable of a buffer, an array of one axis."""
        place = Place("buffer", number)
        if place not in self._name:
            new = self._allocator((self._sizes[number],), dtype)
            self._name[place] = self._define_scratch(f"{new}()", (), new if number in self._kept else None)
        return self._name[place]

    def _reshaped(self, base: str, shape: tuple[int, ...], is_kept: bool) -> str:
        as_shape = self._bind_made(reshape.name, _reshaper, self.backend.xp.reshape, shape)
        return self._define_scratch(f"{as_shape}({base})", (base,), as_shape if is_kept else None)

    def _define_scratch(self, text: str, operands: tuple[str, ...], make: Callable[..., Array] | str | None) -> str:
        """Define a variable of the scratch memory: kept, as in `Scratch`, or made in each run if there is nothing that makes it."""
        name = f"b{len(self._scratch)}"
        self._scratch[name] = None if make is None else Scratch(name, make, operands, text)
        if make is None:
            self._per_run.append(f" {name} = {text}")
        self._known.add(name)
        return name

    # steps

    def _text(self, n: Application, source: str, out: str | None = None) -> str:
        call = self.plan.calls[n]
        names = {key: self._bind(value, key.strip("_")) for key, value in call.names.items()}
        if n.bound_op.op not in LOOPS and not n.bound_op.op.execution.user_method:
            self._calls.append(CallCode(*asked_of(n), CallCode.text_of(call), names))
        dtype = operand_dtype(n)
        # a number that the body of a loop reads keeps its kind, whatever the loop's other operands are
        own = n.bound_op.op in LOOPS
        operands = [self._operand(i, promote(i.dtype) if own and i.dtype in WEAK else dtype) for i in n.operands]
        return source.format(*operands, out=out, **names)

    def _single(self, n: Application) -> None:
        op = n.bound_op.op
        if applies(n, iota):
            make = partial(self.backend.xp.iota, **n.bound_op.params)
            if self.target.shares_constants:
                self._name[n] = self._bind(self.backend.quietly(make))
            else:  # made by the device at each run, in order with the other steps
                self._define(n, f"{self._bind(self.backend.for_each_device(make), iota.name)}()")
            return
        if op is item:
            self._define(n, f"{self._operand(n.operands[0], n.dtype)}[{n.bound_op.params['place']}]")
            return
        if self.memory.is_in_place(n):
            self._result(n)
            self._written.clear()  # by the steps of its operands
            return
        call = self.plan.calls[n]
        if op.view and self._name.get(n.operands[0]) in self._scratch and not may_copy(n):
            # a view of scratch memory is made once, with that memory
            text, make = self._text(n, call.text), None
            if self._scratch[self._name[n.operands[0]]] is not None:  # as kept as what it is a view of
                make = self._bind_made(op.name, _viewer, call.text, len(n.operands), call.names)
            self._name[n] = self._define_scratch(text, tuple(self._read), make)
            self._read.clear()
            return
        if not call.into:
            text = self._text(n, call.text)
            ready = op.view or len(n.parts) > 1 or is_line(n)
            self._define(n, text if ready else f"{self._bind(self.backend.as_array, 'array')}({text})")
        elif call.fresh is not None and self._is_allocated_by_call(n):
            self._define(n, self._text(n, call.fresh))
            self._name[self.memory.place[n]] = self._name[n]
        else:
            place = self.memory.place
            # the plan has put the result in its first operand's memory, so only changed elements are written
            update = bool(call.update) and place[n] == place.get(n.operands[0])
            out = self._result(n)
            # a call may consist of several statements
            self._lines += self._text(n, call.update if update else call.text, out).split("; ")

    def _is_allocated_by_call(self, n: Application) -> bool:
        """Whether the call may allocate a result itself. Large ones come from the backend's pool instead."""
        return n.shape != () and n.nbytes < RELEASE and self._target(n) is None

    def _kernel(self, step: Step) -> None:
        programs, arguments = [], []
        for nodes in step.members or (step.nodes,):
            program, inputs, outputs = row_program(nodes, self.memory, self._drawn)
            programs.append(program)
            arguments += [self._operand(i, dtype) for i, dtype in inputs]
            arguments += [self._result(n) for n in outputs]
        self.kernels.append(programs[0])
        name = self._bind_made("kernel", compile_kernel, self.backend, programs)
        self.forms[step] = self.env[name]
        self._lines.append(f"{name}({', '.join(arguments)})")

    def _convolution(self, step: Step) -> None:
        product, *nodes = step.nodes
        program, inputs, outputs = row_program(nodes, self.memory, self._drawn)
        # the kernel's input that the convolution makes itself: it is not among the arguments
        place = inputs.index((product, product.dtype))
        arguments = [self._operand(i, i.dtype) for i in product.operands]
        arguments += [self._operand(i, dtype) for k, (i, dtype) in enumerate(inputs) if k != place]
        arguments += [self._result(n) for n in outputs]
        types = tuple(ArrayType(i.shape, i.dtype) for i in product.operands)
        self.kernels.append(program)
        epilogue = KernelEpilogue(product.bound_op.op.name, product.bound_op.params, types, program, place)
        run = self._bind(self.backend.product(epilogue), "convolution")
        self._lines.append(f"{run}({', '.join(arguments)})")

    def _product(self, step: Step) -> None:
        product, added = step.nodes[:2]
        # the second node of ``sums`` is a sum beside the product, not an addition to it
        bias = [i for i in added.operands if i is not product] if step.epilogue != "sums" else []
        arguments = [self._operand(i, i.dtype) for i in (*product.operands, *bias)]
        arguments += [self._result(n) for n in (step.nodes if step.epilogue == "sums" else step.nodes[-1:])]
        run = self._bind(self.backend.product(step.epilogue), "product")
        self._lines.append(f"{run}({', '.join(arguments)})")


def _reshaper(as_shape: Callable[..., Array], shape: tuple[int, ...]) -> Callable[..., Array]:
    return partial(as_shape, shape=shape)


def _viewer(text: str, operands: int, names: dict[str, object]) -> Callable[..., Array]:
    return partial(_function_of(text, operands, tuple(names)), *names.values())


@lru_cache(256)
def _function_of(text: str, operands: int, names: tuple[str, ...]) -> Callable[..., Array]:
    """The function of a call: of the objects that its text refers to, and of the operands."""
    given = [f"operand{k}" for k in range(operands)]
    return eval(f"lambda {', '.join([*names, *given])}: {text.format(*given, **dict(zip(names, names, strict=True)))}")
