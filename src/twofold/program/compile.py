"""Compiles a graph for one backend: passes, then a plan, then straight-line Python source that calls the backend.

A program's source is one function of its leaves. Scratch memory is allocated once and reused: each run checks out an instance and
puts it back, so that threads never share one. Results are new arrays, except where a leaf's memory is donated.
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import cache, cached_property, partial
from time import perf_counter_ns
from traceback import walk_tb
from weakref import ref

from ..backend.kernel import Array, Formed, ProgramTraits, Run
from ..backend.protocol import Backend, Launcher
from ..collector import RESTING
from ..device import Device
from ..graph.control_flow import SubGraph
from ..graph.fuse import Step, is_big
from ..graph.ir import Node
from ..graph.tables import Weight
from ..scheduler.observers import LISTENERS, report
from .code import Code
from .launch import launch_or_step, traits_of
from .passes import PassContext
from .plan import ProgramPlan, min_elements, nanoseconds_of
from .planning import planned
from .printer import Printer
from .profiling import ENTRY, PROGRAM, Profiled, Title

#: The file name of programs in tracebacks.
FILE = "<twofold program>"


#: As many nodes as take the memory of a program and of each of its steps, measured with networks of many kinds.
PROGRAM_NODES, STEP_NODES = 10, 5


class Program:
    """A compiled graph.

    Parameters
    ----------
    outputs
        The nodes to compute.
    leaves
        The inputs, in the order of `run`'s arrays (Python scalars for leaves of weak type).
    backend
        The backend that runs it.
    donated
        Leaves whose memory results may overwrite.
    boundaries
        Nodes whose values a caller could hold (see `graph.rewrite.lower`).
    big
        Minimum number of elements for nodes to fuse into kernels; None for the backend's choice or the setting ``defer_elements``.
    in_place, share
        Memory optimizations, which measurements switch off.
    fold
        Whether to compute nodes that depend on no leaf once, at compilation.
    title
        How it is reported to observers.
    device
        The device that it will run on; None if any of the backend's.

    Attributes
    ----------
    constants
        Arrays computed once, by the leaves that stand for them.
    run
        ``run(arrays) -> list of arrays``; a partial of the backend's ``quietly``, so that a run costs no extra Python call.
    launcher
        The captured form that the backend launches as a whole; None if the backend does not capture it.
    overwrites
        Whether it may overwrite its inputs' memory.
    passes
        Names of the passes that changed the graph, in order.
    plan, steps, code
        The memory plan, the steps, and the code.
    """

    @RESTING
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
        #: The programs of loops' bodies and branches.
        self._bodies: list[Program] = []
        #: The program whose code this one shares, to which observers refer.
        self._shared: Program | None = None
        target = backend.target
        # fusion asks about the same node several times
        least = cache(partial(min_elements, target)) if big is None else big
        folds = fold and target.shares_constants  # other backends need a copy per device
        context = PassContext(target, partial(is_big, least), boundaries, folds)
        plan, self.passes = planned(
            outputs,
            self.leaves,
            backend,
            context,
            compute=self._computed,
            compile_=self._sub_program,
            big=least,
            donated=donated,
            in_place=in_place,
            share=share,
        )
        self.outputs, self.constants = plan.outputs, plan.constants
        self.steps, self.plan = plan.steps, plan.memory
        printer = Printer(plan, backend)
        code = printer.code()
        self.kernels, self._forms = printer.kernels, printer.forms
        self._title, self._plan = title, plan
        #: Forms of the program that hand out results early, by the groups that they hand out.
        self._staged: dict[tuple[tuple[int, ...], ...], Run] = {}
        self._use(code)
        self._launch_by(backend.prepare(self._function, partial(_traits_of, plan, self.leaves, set(donated), code, device)))
        # a launcher may put results where dead inputs are, even if the plan donates none
        self.overwrites = bool(self.plan.donated) or (self.launcher is not None and not set(donated).isdisjoint(self.leaves))
        self._weight = Weight(PROGRAM_NODES + STEP_NODES * len(self.steps))
        if LISTENERS:
            report(title.name, "compile", start)

    def _use(self, code: Code) -> None:
        self.code = code
        self._scratch: list[tuple[Array, ...]] = code.env.get("pool", [])  # the list itself: the program checks instances out of it
        self._function = self._compiled(code)

    def _launch_by(self, launcher: Launcher | None) -> None:
        # partials of C functions: a run enters no Python frame but the program's own
        run = self._function if launcher is None else partial(launch_or_step, launcher, self._function)
        self.launcher = launcher
        self.run: partial[list[Array]] = partial(self.backend.quietly, run)

    def _compiled(self, code: Code) -> Run:
        # the text that runs differs from `source` by one statement, so that a program without observers pays one test of a global
        profiled = Profiled(ref(self), self._title, self._plan, code)
        return code.function(FILE, ENTRY, own={"__name__": __name__, "listeners": LISTENERS, "profiled": profiled})

    def run_in_stages(
        self, arrays: Sequence[Array], groups: tuple[tuple[int, ...], ...], tell: Callable[[int, Sequence[Array]], object]
    ) -> list[Array]:
        """`run`, on a backend that computes in the calling thread, which hands out results as soon as they are complete.

        Parameters
        ----------
        arrays
            The inputs.
        groups
            Numbers of results that are handed out together.
        tell
            Called, in this thread, with the number of a group and its arrays. They are not written any more, but may still be read.
            It is not called for a group with a result that only exists at the end, such as a copy of an input.

        Returns
        -------
        list
            All results.
        """
        # compiled once per grouping: a training loop uses the same groups in each iteration
        function = self._staged.get(groups)
        if function is None:
            step_of: dict[Node, int] = {n: t for t, step in enumerate(self._plan.steps) for n in step.nodes}
            # a result that no step makes (an input, a constant) is copied at the end, and its step is never requested
            completed = [step_of.get(o, 0) for o in self._plan.outputs]
            function = self._staged[groups] = self._compiled(self.code.in_stages(groups, completed))
        return self.backend.quietly(function, (arrays, tell))

    def for_owner(self) -> "Program":
        """The program with separate captured forms; the same program if the backend captures nothing.

        A captured form holds the addresses of its arrays, and memory for its results. Owners that shared a captured form would
        invalidate it for each other at every run, and its memory would outlive them.
        """
        if self.launcher is None:
            return self
        # shallow: source, plan and constants are shared, only the captured form is not
        own = copy(self)
        own._shared = self
        own._launch_by(self.launcher.separate())
        return own

    def _computed(self, nodes: list[Node]) -> list[Array]:
        return Program(nodes, [], self.backend, fold=False, title=Title("constants", "compile")).run([])

    def _sub_program(self, sub: SubGraph) -> Run:
        program = Program(sub.outputs, sub.leaves, self.backend)
        self._bodies.append(program)
        # the program around runs in `quietly` already
        return program._function if program.launcher is None else program.run

    @cached_property
    def source(self) -> str:
        """Its source text, without the test for observers."""
        return self.code.source()

    @cached_property
    def nanoseconds(self) -> float:
        """An estimate of its running time on one core."""
        return nanoseconds_of(self.steps)

    @property
    def scratch(self) -> list[object]:
        """The arrays kept from run to run; several may be views of one."""
        return [array for instance in list(self._scratch) for array in instance]

    def drop_scratch(self) -> None:
        """Free the arrays kept from run to run, where the program may not run again soon."""
        self._scratch.clear()

    def nodes_at(self, error: BaseException) -> Sequence[Node]:
        """The nodes of the step in which a run failed; empty if the error does not tell."""
        cause: BaseException | None = error
        while cause is not None:
            for frame, line in walk_tb(cause.__traceback__):
                if frame.f_code.co_filename == FILE:
                    at = line - 1  # lines of a source count from 1
                    spans = self.code.spans(ENTRY)
                    return next((s.nodes for s, (begin, end) in zip(self.steps, spans, strict=True) if begin <= at < end), ())
            cause = cause.__cause__
        return ()

    def explain(self) -> str:
        """The steps in order: the operations in each kernel, the form in which it runs, and how many similar kernels run in one call."""
        return "\n".join(f"{name}  ({form})" if form else name for name, form in self.described())

    def described(self) -> list[tuple[str, str]]:
        """What `explain` says of each step: its operations, and the form in which its kernel runs, if it has one."""
        return [(_name_of(step), self._form_of(step)) for step in self.steps]

    def _form_of(self, step: Step) -> str:
        kernel = self._forms.get(step)
        return kernel.form if isinstance(kernel, Formed) else ""


def _traits_of(plan: ProgramPlan, leaves: Sequence[Node], dead: set[Node], code: Code, device: Device | None) -> ProgramTraits:
    """The facts for the backend about a program, given the leaves that are dead after a run."""
    taken, left = ([k for k, n in enumerate(leaves) if n in nodes] for nodes in (plan.memory.donated, dead))
    return traits_of(plan, taken, left, code.in_steps, device)


def _name_of(step: Step) -> str:
    nodes = step.members[0] if step.members else step.nodes
    return (f"{len(step.members)} at once: " if step.members else "") + " + ".join(n.bound_op.op.name for n in nodes)
