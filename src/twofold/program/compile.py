"""Compiles a graph for one backend: lower → simplify → layout → fuse → plan → straight-line Python source over the backend's calls.

The source of a program is one function of its leaves. Scratch memory is static: an instance of it is checked out for each run,
so that threads never share one, and put back afterwards. Results are fresh arrays, unless a donated leaf takes them.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, cached_property, partial
from math import prod
from time import perf_counter_ns
from traceback import walk_tb
from typing import Any

from ..backend.kernel import SIMPLE, ArrayType, Call, KernelStep, OperandType, ProgramTraits, Ref, RowProgram, Steps, code_of
from ..backend.protocol import Backend
from ..config import SETTINGS
from ..device import Device
from ..dtype import WEAK, promote
from ..errors import KernelCompileError, MXNetError
from ..graph.build import item
from ..graph.channels_last import IMAGES, with_channels_last
from ..graph.fuse import Big, Step, is_big, steps_of, with_epilogues
from ..graph.ir import Application, Constant, Leaf, Node, applies, is_const, number_of, operators_of, unshaped
from ..graph.memory_plan import MemoryPlan, Place, plan_memory
from ..graph.rewrite import lower, simplify
from ..graph.row_results import kept
from ..graph.rows import compared, gathered, summed
from ..graph.slices import narrowed
from ..graph.verify import verify
from ..opdef.spec import Op
from ..ops import primitive_reduce
from ..ops.custom import user_backward, user_forward
from ..ops.primitive_arithmetic import clip
from ..ops.primitive_gather import index_add, take_along_axis
from ..ops.primitive_reduce import matmul
from ..ops.primitive_shape import contiguous, full, iota, reshape, slice
from ..scheduler.observers import LISTENERS, report
from . import declared  # noqa: F401  (tells adapters of the element-wise primitives)
from .constants import without_constants
from .control_flow import DECIDED, LOOPS, call_for_loop
from .cost import nanoseconds_of
from .draws import drawn_nodes
from .replay import replayed, traits_of
from .stepwise import Part, in_steps
from .watched import PROGRAM, Mark, Title, Watched, mark, with_entry

#: Scratch of a program larger than this (bytes) is allocated for each run instead of being kept.
KEEP_SCRATCH = 1 << 18
#: Fresh values larger than this (bytes) are released right after their last use rather than at the program's end.
RELEASE = 1 << 16

#: What tracebacks call the source of programs.
FILE = "<twofold program>"

#: Primitives that are not element-wise whose results are C-contiguous.
PACKED = frozenset({primitive_reduce.sum, primitive_reduce.max, primitive_reduce.min, matmul, contiguous, index_add})

#: Primitives that call a method of a user's object, their first operand.
USER_CODE = {user_forward: "forward", user_backward: "backward"}


class Program:
    """A compiled graph.

    Parameters
    ----------
    outputs
        Nodes to compute.
    leaves
        The inputs, in the order in which `run` takes their arrays (Python scalars for leaves of weak type).
    backend
        Who runs it.
    donated
        Leaves whose memory results may take.
    boundaries
        Nodes that stand for arrays a caller could hold (see `graph.rewrite.lower`).
    big
        Elements from which element-wise nodes fuse into kernels; the backend's, or the setting ``defer_elements``, if None.
    in_place, share
        Memory optimisations, to be switched off for measurements.
    fold
        Whether what depends on no leaf is computed now, once.
    title
        What observers are told that it is.
    device
        Where it will run; None if on any of the backend's.

    Attributes
    ----------
    constants
        Leaves for what was computed once, with the arrays.
    run
        ``run(arrays) -> list of arrays``; a partial of the backend's ``quietly``, whose argument is the program itself.
    replay
        How the backend runs it at once; None if it does not.
    overwrites
        Whether it may write over memory of its inputs.
    plan, steps, source
        What was decided, for `explain`.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        leaves: Sequence[Node],
        backend: Backend,
        *,
        donated: Collection[Node] = (),
        boundaries: Collection[Node] = (),
        big: int | None = None,
        in_place: bool = True,
        share: bool = True,
        fold: bool = True,
        title: Title = PROGRAM,
        device: Device | None = None,
    ) -> None:
        start = perf_counter_ns()
        self.backend, self.leaves = backend, list(leaves)
        least = cache(partial(_fused_from, backend)) if big is None else big
        self.outputs = _arranged(simplify(lower(list(outputs), boundaries)), backend, least)
        verify(self.outputs, self.leaves)
        self.constants: dict[Leaf, Any] = {}
        if fold and backend.plain is not None:  # elsewhere each device would need its own
            self.outputs, self.constants = without_constants(self.outputs, USER_CODE.keys() | LOOPS, self._computed)
        unique = list(dict.fromkeys(self.outputs))
        self.reshaped = _reshaped(unique)
        steps = steps_of(unique, least, backend.row_reductions, backend.whole_rows, backend.few_kernels)
        self.steps = with_epilogues(steps, unique, backend.epilogues if SETTINGS.epilogues else ())
        singles = [s.nodes[0] for s in self.steps if not s.is_kernel]
        calls = {n: call_of(n, backend) for n in singles if n.sig.op is not item}
        own = {n for n in singles if n not in calls or not calls[n].into}
        self.plan: MemoryPlan = plan_memory(
            self.steps,
            [*self.leaves, *self.constants],
            [self.reshaped.get(o, o) for o in unique],
            donated=donated,
            fixed=own.__contains__,
            in_place=in_place,
            share=share,
        )
        printer = Printer(self, calls)
        self.source = printer.source()
        self.kernels, self._forms = printer.kernels, printer.forms
        self._lines = [(begin + printer.body, end + printer.body) for begin, end, _ in printer.lines_of]
        printer.env |= {"listeners": LISTENERS, "watched": Watched(self, title, printer.env, printer.body, printer.marks)}
        exec(code_of(with_entry(self.source), FILE), printer.env)
        self._scratch: list[Any] = printer.env.get("pool", [])
        run: Callable[[Sequence[Any]], list[Any]] = printer.env["program"]
        if not LISTENERS and not any(n.sig.op in USER_CODE for n in singles):
            backend.foresee(run, [ArrayType(n.shape, n.dtype) for n in self.leaves], device)
        told = partial(in_steps, self.source, printer.body, printer.lines_of, printer.env)
        self.replay = backend.replay(run, partial(self._traits, set(donated), told))
        self.overwrites = bool(self.plan.donated) or (self.replay is not None and not set(donated).isdisjoint(self.leaves))
        self.run: Callable[[Sequence[Any]], list[Any]] = partial(
            backend.quietly, run if self.replay is None else partial(replayed, self.replay, run)
        )
        if LISTENERS:
            report(title.name, "compile", start)

    def _traits(self, dead: set[Node], told: Callable[[Steps, Sequence[Any]], list[Any]]) -> ProgramTraits:
        """What it does, given the leaves that nobody looks at when it has run, and its form that tells of its steps."""
        taken, left = ([k for k, n in enumerate(self.leaves) if n in nodes] for nodes in (self.plan.donated, dead))
        return traits_of(self.outputs, self.steps, taken, left, USER_CODE.keys() | DECIDED)._replace(in_steps=told)

    def _computed(self, nodes: list[Node]) -> list[Any]:
        return Program(nodes, [], self.backend, fold=False, title=Title("constants", "compile")).run([])

    @cached_property
    def nanoseconds(self) -> float:
        """About how long it takes on one core."""
        return nanoseconds_of(self.steps)

    @property
    def scratch(self) -> list[Any]:
        """The arrays that are kept from run to run; several may look into one memory."""
        return [array for instance in list(self._scratch) for array in instance]

    def nodes_at(self, error: BaseException) -> Sequence[Node]:
        """The nodes of the step in which a run failed; none where the error does not say which that was."""
        cause: BaseException | None = error
        while cause is not None:
            for frame, line in walk_tb(cause.__traceback__):
                if frame.f_code.co_filename == FILE:
                    at = line - 2  # of the source: lines count from 1, and there is one more for observers
                    return next((s.nodes for s, (begin, end) in zip(self.steps, self._lines, strict=True) if begin <= at < end), ())
            cause = cause.__cause__
        return ()

    def explain(self) -> str:
        """The steps in order, kernels with what they fuse and in which form they run, and how many of a kind run at once."""
        return "\n".join(map(self._told, self.steps))

    def _told(self, step: Step) -> str:
        nodes = step.members[0] if step.members else step.nodes
        text = " + ".join(n.sig.op.name for n in nodes)
        form = self.backend.form_of(self._forms[step]) if step in self._forms else ""
        return (f"{len(step.members)} at once: " if step.members else "") + text + (f"  ({form})" if form else "")


def _arranged(outputs: list[Node], backend: Backend, least: Big) -> list[Node]:
    """The graph as a backend's algorithms and kernels want it: the same bits."""
    operators = operators_of(outputs)
    for concerned, arrange in _arrangements(backend, partial(is_big, least)):
        if not operators.isdisjoint(concerned):
            outputs = arrange(outputs)
            operators = operators_of(outputs)
    return outputs


Pass = Callable[[list[Node]], list[Node]]


def _arrangements(backend: Backend, big: Callable[[Application], bool]) -> Iterator[tuple[Collection[Op], Pass]]:
    """Passes in order, each with the primitives that a graph must have one of to be changed."""
    if SETTINGS.channels_last:
        yield IMAGES, partial(with_channels_last, gain=partial(_gain_of_channels_last, backend))
    yield (index_add,), summed
    if backend.row_reductions:
        yield (reshape,), kept
        yield (take_along_axis, index_add), compared if backend.whole_rows else partial(gathered, big=big)
    if backend.strided_kernels:
        yield (slice, contiguous), partial(narrowed, fuses=big, simple=SIMPLE)


def _fused_from(backend: Backend, n: Application) -> int:
    """Elements from which a node may be part of a kernel."""
    own = operand_dtype(n)
    least = backend.fuses_from(n.sig.op.name, [own if i.dtype in WEAK else i.dtype for i in n.operands], n.dtype)
    return SETTINGS.defer_elements if least is None else least


def _gain_of_channels_last(backend: Backend, n: Application) -> float | None:
    inputs = [ArrayType(i.shape, i.dtype) for i in n.operands]
    return backend.gain_of_channels_last(n.sig.op.name, n.sig.params, inputs)


def operand_type(node: Node) -> OperandType:
    """A node's type as an operand; what a leaf holds may be strided, what a program makes is not, but for views."""
    return OperandType(node.shape, node.dtype, _is_packed(node))


def call_of(node: Application, backend: Backend) -> Call:
    """How the backend runs a primitive node."""
    if node.sig.op in LOOPS:
        return call_for_loop(node, backend, lambda sub: Program(sub.outputs, sub.leaves, backend))
    if node.sig.op in USER_CODE:
        operands = ", ".join(f"{{{k}}}" for k in range(len(node.inputs)))
        return Call(f"run({operands})", {"run": partial(_call_user, USER_CODE[node.sig.op], backend.xp.contiguous)})
    inputs = [operand_type(i) for i in node.operands]
    return backend.call(node.sig.op.name, node.sig.params, inputs, ArrayType(node.shape, node.dtype))


def _call_user(method: str, copy: Callable[[Any], Any], handle: Any, *arrays: Any) -> Any:
    """Run user code on copies, which it may keep or write into; it may return what it was given, or keep what it returns."""
    results = getattr(handle, method)(*[copy(a) for a in arrays])
    return [copy(r) for r in results] if isinstance(results, list) else copy(results)


def operand_dtype(node: Application) -> str:
    """The dtype in which Python scalars among an element-wise node's operands are written."""
    op = node.sig.op
    dtypes = [i.dtype for i in node.operands]
    if op is clip or not op.elementwise:
        return dtypes[0] if dtypes[0] not in WEAK else node.dtype
    if op.result == "tail":
        return node.dtype
    return promote(*dtypes)


class Printer:
    """Emits the source of a program and collects what it refers to."""

    def __init__(self, program: Program, calls: dict[Application, Call]) -> None:
        self.program, self.backend, self.plan, self.calls = program, program.backend, program.plan, calls
        self.env: dict[str, Any] = {}
        self.static: list[str] = []
        self.static_names: dict[str, None] = {}  # in order, looked up often
        self.lines: list[str] = []
        self.name: dict[Any, str] = {}
        self.kernels: list[RowProgram] = []
        self.forms: dict[Step, Callable[..., None]] = {}
        self.drawn = drawn_nodes(program.steps)
        #: Steps for observers, and how many lines of the source stand before the body.
        self.marks: list[Mark] = []
        self.body = 0
        #: Where the lines of each step begin and end in the body, and the variables that hold its results.
        self.lines_of: list[Part] = []

    def bind(self, value: Any, prefix: str = "c") -> str:
        """A name of the environment for a value."""
        name = f"{prefix}_{len(self.env)}"
        self.env[name] = value
        return name

    def source(self) -> str:
        """The whole text."""
        program = self.program
        for k, node in enumerate(program.leaves):
            self.name[node] = f"x{k}"
        for node, array in program.constants.items():
            self.name[node] = self.bind(array)
        releases = self._releases()
        for t, step in enumerate(program.steps):
            begin = len(self.lines)
            self._product(step) if step.epilogue else self._kernel(step) if step.is_kernel else self._single(step.nodes[0])
            self.lines_of.append((begin, len(self.lines), self._results_of(step)))
            self._mark(begin, step)
            self.lines += [f"del {self.name[n]}" for n in releases.get(t, ()) if self.name.get(n, "").startswith("v")]
        results = self._results()
        words = frozenset(re.findall(r"\w+", "\n".join(self.lines + results)))
        used = [n for n in self.static_names if n in words]
        lines = ["def program(L):"]
        if program.leaves:
            lines.append(f" {', '.join(self.name[n] for n in program.leaves)}, = L")
        if used:
            lines += self._checkout(", ".join(used), results)
        self.body = len(lines)
        lines += [" " + line for line in self.lines + results]
        if used:
            lines += ["def fresh():", *[" " + line for line in self.static], f" return ({', '.join(used)},)"]
        return "\n".join(lines)

    def _results_of(self, step: Step) -> list[str] | None:
        first = step.nodes[0]
        if first.sig.op is item or (first.sig.op.view and not _may_copy(first)):
            return None
        return [self.name[n] for nodes in step.members or (step.nodes,) for n in nodes if n in self.name]

    def _mark(self, begin: int, step: Step) -> None:
        made = self.name.get(step.nodes[0], "") if not step.is_kernel and not step.nodes[0].sig.op.view else ""
        results = [n for n in step.nodes if not step.is_kernel or self.plan.place[n].kind != "kernel"]
        found = mark(begin, len(self.lines), step.nodes, results, made if made.startswith("v") else "")
        if found is not None:
            self.marks.append(found)

    def _checkout(self, names: str, results: list[str]) -> list[str]:
        """Take an instance of the scratch memory for this run, or make one; small ones are put back at the end."""
        keeps = self.backend.keeps_scratch and self.backend.device_count() == 1  # a device uses none of another
        if not keeps or sum(n for n, _ in self.plan.buffers) > KEEP_SCRATCH:
            return [f" {names}, = fresh()"]
        self.env["pool"] = []
        results.insert(0, "pool.append(S)")
        return [" try:", "  S = pool.pop()", " except IndexError:", "  S = fresh()", f" {names}, = S"]

    def _releases(self) -> dict[int, list[Node]]:
        """Step to the backend-allocated values that are not needed after it."""
        last: dict[Node, int] = {}
        views: dict[Node, Node] = {}
        for t, step in enumerate(self.program.steps):
            for n in step.nodes:
                if n.sig.op.view or n.sig.op is item:
                    views[n] = views.get(n.operands[0], n.operands[0])
                for i in n.operands:
                    last[views.get(i, i)] = t
        kept = {views.get(o, o) for o in self.program.outputs}.union(views.values())
        out: dict[int, list[Node]] = {}
        for n, t in last.items():
            if self.plan.place.get(n) == Place("fresh") and n not in kept and n.nbytes > RELEASE:
                out.setdefault(t, []).append(n)
        return out

    def _results(self) -> list[str]:
        """One text per output; leaves, constants, repeated outputs and views of them are copied: nobody may see them change."""
        texts, taken = [], set()
        copy = self.bind(self.backend.xp.contiguous, "copy")
        for o in self.program.outputs:
            place = self.plan.place.get(o, Place("constant"))
            made = o in self.program.reshaped or _is_made(o)
            own = made and place.kind in ("output", "leaf", "fresh") and o not in taken
            taken.add(o)
            text = self._operand(o, o.dtype if o.dtype not in WEAK else promote(o.dtype))
            texts.append(text if own else f"{copy}({text})")
        return [f"return [{', '.join(texts)}]"]

    def _operand(self, n: Node, dtype: str) -> str:
        """The name of a value; Python scalars as 0-d arrays of the operation's dtype."""
        if isinstance(n, Constant):
            return self.bind(self.backend.scalar(n.number, dtype))
        if n.dtype in WEAK:
            key = n, dtype
            if key not in self.name:
                self.name[key] = f"{self.name[n]}_{dtype}"
                self.env["scalar"] = self.backend.scalar
                self.lines.append(f"{self.name[key]} = scalar({self.name[n]}, {dtype!r})")
            return self.name[key]
        if n not in self.name and applies(n, full):
            self.name[n] = self.bind(self.backend.constant(n.sig.params["value"], n.shape, n.dtype))
        return self.name[n]

    def _operands(self, n: Application) -> list[str]:
        dtype = operand_dtype(n) if n.inputs else n.dtype
        return [self._operand(i, dtype) for i in n.operands]

    def _text(self, n: Application, out: str | None) -> str:
        call = self.calls[n]
        names = {key: self.bind(value, key.strip("_")) for key, value in call.names.items()}
        text = call.text
        for key, whole in names.items():
            text = _rename(text, key, whole)
        return text.format(*self._operands(n), out=out)

    def _single(self, n: Application) -> None:
        if n.sig.op is iota:
            if self.backend.device_count() > 1 or self.backend.kind != "cpu":  # launched as the steps around it
                made = self.backend.for_each_device(partial(self.backend.xp.iota, **n.sig.params))
                self._define(n, f"{self.bind(made, 'iota')}()")
                return
            # a constant of the program
            self.name[n] = self.bind(self.backend.quietly(partial(self.backend.xp.iota, **n.sig.params)))
            return
        if n.sig.op is item:
            self._define(n, f"{self.name[n.inputs[0]]}[{n.sig.params['place']}]")
            return
        call = self.calls[n]
        if n.sig.op.view:
            self._view(n)
        elif not call.into:
            text = self._text(n, None)
            ready = len(n.parts) > 1 or _is_line(n)
            self._define(n, text if ready else f"{self.bind(self.backend.as_array, 'array')}({text})")
        else:
            out = self._target(n)
            by_itself = call.or_fresh and n.shape != () and n.nbytes < RELEASE  # what is larger comes from the backend's pool
            if out is None and by_itself and not (n.sig.op.elementwise and any(map(_is_strided, n.operands))):
                self._define(n, self._text(n, None))
                self.name[self.plan.place[n]] = self.name[n]
                return
            if out is None:
                out = self._fresh(n)
            self.lines += self._text(n, out).split("; ")
            self.name[n] = out

    def _view(self, n: Application) -> None:
        text = self._text(n, None)
        if self.name[n.operands[0]] in self.static_names and not _may_copy(n):  # a view of static memory is made once
            name = f"b{len(self.static_names)}"
            self.static.append(f"{name} = {text}")
            self.static_names[name] = None
            self.name[n] = name
        else:
            self._define(n, text)

    def _define(self, n: Node, text: str) -> None:
        name = f"v{len(self.name)}"
        self.lines.append(f"{name} = {text}")
        self.name[n] = name

    def _fresh(self, n: Node) -> str:
        """Memory of a result, allocated now."""
        name = f"v{len(self.name)}"
        self.lines.append(f"{name} = {self.bind(self.backend.allocator(n.shape, n.dtype), 'new')}()")
        self.name[self.plan.place[n]] = name
        return name

    def _target(self, n: Node) -> str | None:
        """The name of the memory that the plan gives a node; None if it is to be allocated now."""
        place = self.plan.place[n]
        if place.kind == "leaf":
            return f"x{place.number}"
        if place.kind != "buffer":
            return self.name.get(place)
        key = place, n.shape
        if key not in self.name:
            base = self.name.get(place)
            if base is None:
                base = self.name[place] = self._static(self.bind(self.backend.allocator((n.size,), n.dtype), "new") + "()")
            reshape = self.bind(self.backend.xp.reshape, "reshape")
            self.name[key] = self._static(f"{reshape}({base}, shape={n.shape})")
        return self.name[key]

    def _static(self, text: str) -> str:
        name = f"b{len(self.static_names)}"
        self.static.append(f"{name} = {text}")
        self.static_names[name] = None
        return name

    # kernels

    def _kernel(self, step: Step) -> None:
        programs, operands = [], []
        for nodes in step.members or (step.nodes,):
            program, inputs, outputs = row_program(nodes, self.plan, self.drawn)
            programs.append(program)
            operands += [self._operand(i, dtype) for i, dtype in inputs]
            for n in outputs:
                self.name[n] = self._target(n) or self._fresh(n)
            operands += [self.name[n] for n in outputs]
        self.kernels.append(programs[0])
        self.forms[step] = _compiled(self.backend, programs)
        kernel = self.bind(self.forms[step], "kernel")
        self.lines.append(f"{kernel}({', '.join(operands)})")

    def _product(self, step: Step) -> None:
        product, added = step.nodes[:2]
        bias = [i for i in added.operands if i is not product] if step.epilogue != "sums" else []
        operands = [self._operand(i, i.dtype) for i in (*product.operands, *bias)]
        results = step.nodes if step.epilogue == "sums" else step.nodes[-1:]
        for n in results:
            self.name[n] = self._target(n) or self._fresh(n)
        run = self.bind(self.backend.product(step.epilogue), "product")
        self.lines.append(f"{run}({', '.join([*operands, *[self.name[n] for n in results]])})")


def _compiled(backend: Backend, programs: Sequence[RowProgram]) -> Callable[..., None]:
    program = programs[0]
    try:
        return backend.compile(program) if len(programs) == 1 else backend.compile_together(programs)
    except backend.out_of_memory as error:
        raise backend.failure(error) from error  # type: ignore[arg-type]
    except MXNetError:
        raise
    except Exception as error:
        what = f"{backend.kind}: the kernel {program.name} cannot be compiled"
        raise KernelCompileError(what, f"{type(error).__name__}: {error}", "see the cause above") from error


def _may_copy(n: Application) -> bool:
    """Whether running a view operation may copy: reshaping what is not in row-major order."""
    return n.sig.op is reshape and _is_strided(n.operands[0])


def _is_strided(n: Node) -> bool:
    source = unshaped(n)
    return isinstance(source, Application) and source.sig.op.view


def _is_made(n: Node) -> bool:
    """Whether a program computes a node into memory of its own."""
    return isinstance(n, Application) and not n.sig.op.view and n.sig.op is not iota


def _reshaped(outputs: Sequence[Node]) -> dict[Node, Node]:
    """Outputs that are another shape of a value nobody else gets, with that value: its memory is the output's."""
    found: dict[Node, Node] = {}
    for o in outputs:
        if applies(o, reshape) and _is_made(o.operands[0]) and not is_const(o.operands[0]):
            found[o] = o.operands[0]
    owners = Counter(found.get(o, o) for o in outputs)
    return {o: n for o, n in found.items() if owners[n] == 1}


def _is_packed(n: Node) -> bool:
    """Whether a value is known to be C-contiguous: an element-wise or reduced one that the program made, however reshaped."""
    n = unshaped(n)
    if not isinstance(n, Application) or n.sig.op.view:
        return False
    return n.sig.op.elementwise or n.sig.op in PACKED or _is_line(n)


def _is_line(n: Node) -> bool:
    """Whether a fresh array of this shape is C-contiguous in any order of axes: at most one of them is longer than one."""
    return n.shape != () and n.size == max(n.shape)


def _rename(text: str, key: str, full: str) -> str:
    """Replace a whole name in a template."""
    return re.sub(rf"(?<![\w.{{]){re.escape(key)}(?![\w}}])", full, text)


def row_program(
    nodes: Sequence[Application], plan: MemoryPlan, drawn: frozenset[Node] = frozenset()
) -> tuple[RowProgram, list[tuple[Node, str]], list[Application]]:
    """A group as plain data, with its inputs (a Python scalar once for each dtype that it is read in) and outputs in order."""
    number: dict[Node, int] = {n: k for k, n in enumerate(nodes)}
    inputs: dict[tuple[Node, str], int] = {}
    steps = []
    space = max((n.shape if n.sig.op.elementwise else n.operands[0].shape for n in nodes), key=lambda s: (prod(s), len(s)))
    has_rows = not all(n.sig.op.elementwise for n in nodes)
    for n in nodes:
        dtype = operand_dtype(n)
        args = []
        for i in n.operands:
            if i in number:
                args.append(Ref("step", number[i]))
            elif isinstance(i, Constant) or (is_const(i) and i.dtype == dtype):
                args.append(Ref("const", number_of(i)))
            else:
                given = i, dtype if i.dtype in WEAK else i.dtype
                args.append(Ref("in", inputs.setdefault(given, len(inputs))))
        op = n.sig.op
        steps.append(
            KernelStep(op.name, op.ufunc, op.c, tuple(args), n.dtype, dtype, tuple(n.sig.params.items()), has_rows and n.shape != space)
        )
    outputs = [n for n in nodes if plan.place[n].kind != "kernel"]
    name = "_".join(dict.fromkeys(n.sig.op.name for n in nodes))[:60]
    types = tuple(ArrayType(i.shape, dtype) for i, dtype in inputs)
    of_draws = frozenset(n.sig.op.name for n in nodes if not drawn.isdisjoint(n.operands))
    program = RowProgram(name, space, types, tuple(steps), tuple(number[n] for n in outputs), drawn=of_draws)
    return program, list(inputs), outputs
