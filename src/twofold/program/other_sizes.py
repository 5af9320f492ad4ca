"""Programs for arrays of another size, made from one that was planned instead of planned anew.

A filter leaves another number of elements at every call, and each number is another graph. Such graphs have one *form*: they differ in one
size, and in what follows from it. Of a form the first `SAMPLES` graphs are planned. If their programs have the same form too, step by step
and number by number, the others are made from one of them: its kernels and memory are made for the new size, its text is the same.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from ..backend.kernel import Array, Run
from ..backend.protocol import Backend
from ..device import Device
from ..graph.ir import Application, Constant, Leaf, Node
from ..graph.tables import TABLES, Weight
from ..opdef.params import exact
from ..scheduler.observers import LISTENERS
from .cache import Cache, CacheEntry
from .code import Code
from .compile import ENTRY, FILE, PROGRAM_NODES, Program
from .profiling import Title

#: A size that changes is at least LEAST. A number that differs from a multiple of it by up to NEAR follows from it.
LEAST, NEAR = 4096, 16
#: Programs of a form that are planned before others are made from them. Two would tell constants from sizes; the third is the proof.
SAMPLES = 3
#: A program is made from a sample for sizes up to so many times smaller than all samples, or larger: thresholds decide how steps are cut.
RANGE = 4


class Relative(NamedTuple):
    """A number that follows from the size: ``times * size + plus``, as an int or a float."""

    times: int
    plus: int
    kind: type


def _relative(number: float, size: int) -> Relative | None:
    if number.__class__ not in (int, float) or not size - NEAR <= number < float("inf") or number != int(number):
        return None
    times, plus = divmod(int(number) + NEAR, size)
    return Relative(times, plus - NEAR, number.__class__) if times and plus <= 2 * NEAR else None


def form_of(value: Any, size: int) -> Hashable:
    """A value of tuples, numbers and other objects as a key, in which the numbers that follow from a size are relative to it."""
    if isinstance(value, (tuple, list)):
        return value.__class__, *[form_of(v, size) for v in value]
    if isinstance(value, dict):
        return dict, *[(key, form_of(v, size)) for key, v in value.items()]
    return _relative(value, size) or exact(value)


def resizer(value: Any, size: int) -> Callable[[int], Any] | None:
    """The function of another size that gives a value with the numbers that follow from this size; None if none does."""
    if isinstance(value, (tuple, list)):
        parts = [(k, change) for k, v in enumerate(value) if (change := resizer(v, size)) is not None]
        build = getattr(value, "_make", value.__class__)
        return partial(_with_parts, build, list(value), parts) if parts else None
    if isinstance(value, dict):
        items = resizer(tuple(value.values()), size)
        return None if items is None else lambda new: dict(zip(value, items(new), strict=True))
    found = _relative(value, size)
    return None if found is None else lambda new: found.kind(found.times * new + found.plus)


def _with_parts(build: Callable[[list[Any]], Any], values: list[Any], parts: list[tuple[int, Callable[[int], Any]]], new: int) -> Any:
    values = values.copy()
    for k, change in parts:
        values[k] = change(new)
    return build(values)


def graph_form(outputs: Sequence[Node], nodes: Sequence[Node], donated: Collection[Node]) -> tuple[Hashable, int] | None:
    """The form of a graph, given all its nodes in order, and its size: the shortest long axis of its inputs. None if none is long."""
    size = min([axis for n in nodes if isinstance(n, Leaf) for axis in n.shape if axis >= LEAST], default=0)
    if not size:
        return None
    number: dict[Node | None, int] = {n: k for k, n in enumerate(nodes)}
    rows: list[Hashable] = [tuple([number[n] for n in outputs])]
    for n in nodes:
        if isinstance(n, Constant):
            rows.append(exact(n.number))
        elif isinstance(n, Application):
            operands = tuple([number.get(i, -1) for i in n.inputs])
            rows.append((n.bound_op.op, form_of(n.bound_op.params, size), n.bound_op.legacy, operands, n.dtype, form_of(n.shape, size)))
        else:
            rows.append((n.dtype, form_of(n.shape, size), n.tracked, n in donated))
    return tuple(rows), size


def _program_form(program: Program, size: int) -> Hashable | None:
    """A program as a key, relative to its size; None if it has steps that depend on sizes in other ways, or arrays of its own."""
    operators = {n.bound_op.op for step in program.steps for n in step.nodes}
    if not all(op.elementwise or op.view or op.algebra.moves or op.execution.row_reduction for op in operators):
        return None
    code = program.code
    # other functions hold objects that depend on sizes, which neither the text nor the code's parts show
    if not all(isinstance(each.make, (str, itemgetter)) for each in code.scratch):
        return None
    own = {"pool", *code.made, *[name for call in code.calls for name in call.names.values()]}
    others = [(name, value) for name, value in code.env.items() if name not in own]
    if not all(callable(value) for _, value in others):
        return None
    made = [(name, function, form_of(arguments, size)) for name, (function, arguments) in code.made.items()]
    return code.source(), tuple(made), form_of(code.calls, size), tuple(others)


class _NoPool(list[object]):
    """Keeps no scratch memory from run to run: each of many sizes would keep its own, though few of them come again."""

    def append(self, instance: object, /) -> None:
        """Drop an instance."""


class _Pattern:
    """What changes in a program's code with the size.

    Parameters
    ----------
    code, size
        The program's.
    """

    def __init__(self, code: Code, size: int) -> None:
        self.code = code
        self._made = [(name, f, change) for name, (f, given) in code.made.items() if (change := resizer(given, size)) is not None]
        self._calls = [(c, change) for c in code.calls if (change := resizer((c.params, c.inputs, c.outputs), size)) is not None]

    def code_for(self, size: int, backend: Backend) -> Code | None:
        """The code for another size; None if the backend calls a primitive in another way there."""
        env = dict(self.code.env)
        if "pool" in env:
            env["pool"] = _NoPool()
        for name, function, change in self._made:
            env[name] = function(*change(size))
        for c, change in self._calls:
            params, inputs, outputs = change(size)
            call = backend.call(c.op, params, inputs, *outputs)
            if c.text_of(call) != c.text:
                return None
            env.update({name: call.names[key] for key, name in c.names.items()})
        return self.code._replace(env=env)


class _Planned:
    """The program that planning makes of a graph, for what needs its own nodes: observers, and errors that name a line."""

    def __init__(self, make: Callable[[], Program]) -> None:
        self._make = make

    @cached_property
    def program(self) -> Program:
        """The program."""
        return self._make()

    def __call__(self, leaves: Sequence[Array]) -> list[Array]:
        """Run it."""
        return self.program.run(leaves)


class ResizedProgram(Program):
    """A program made from one of another size. What it says of its steps, but for their text, is of that size.

    Parameters
    ----------
    sample
        The program of another size.
    leaves, code
        Its inputs and code.
    planned
        What planning makes of its graph.
    """

    def __init__(self, sample: Program, leaves: Sequence[Node], code: Code, planned: _Planned) -> None:
        self.__dict__.update(sample.__dict__)
        self.leaves, self._staged, self._planned = list(leaves), {}, planned
        self._use(code)
        self._launch_by(None)
        self._weight = Weight(PROGRAM_NODES)

    def _compiled(self, code: Code) -> Run:
        # the form in stages takes other arguments, and has a line in this place too
        entry = ENTRY if code is self.code else "pass"
        return code.function(FILE, entry, own={"__name__": __name__, "listeners": LISTENERS, "profiled": self._planned})

    def run_in_stages(
        self, arrays: Sequence[Array], groups: tuple[tuple[int, ...], ...], tell: Callable[[int, Sequence[Array]], object]
    ) -> list[Array]:
        """As of a program that was planned, which observers see."""
        run = self._planned.program.run_in_stages if LISTENERS else super().run_in_stages
        return run(arrays, groups, tell)

    def nodes_at(self, error: BaseException) -> Sequence[Node]:
        """The nodes of the step in which a run failed; empty if the error does not tell."""
        return self._planned.program.nodes_at(error)


class _Sample:
    """A program that was planned, and its size."""

    def __init__(self, program: Program, size: int) -> None:
        self.program, self.size = program, size

    @cached_property
    def form(self) -> Hashable | None:
        """See `_program_form`."""
        return _program_form(self.program, self.size)

    @cached_property
    def pattern(self) -> _Pattern:
        """What changes in it with the size."""
        return _Pattern(self.program.code, self.size)


class _Form(CacheEntry):
    """The programs of one form that were planned.

    Attributes
    ----------
    samples
        Those that others are compared with and made from.
    state
        ``open`` while there are too few of them, ``common`` if programs of other sizes can be made from them, ``none`` if not.
    """

    def __init__(self) -> None:
        self.samples: list[_Sample] = []
        self.state: Literal["open", "common", "none"] = "open"

    def add(self, program: Program, size: int) -> None:
        """Add a program that was planned."""
        if self.state == "none":
            return
        samples = sorted([*self.samples, _Sample(program, size)], key=lambda s: s.size)
        if samples[0].form is None or any(s.form != samples[0].form for s in samples):
            if self.state == "open":  # thresholds may cut steps otherwise far away from the others
                self.samples, self.state = [], "none"
            return
        if len({s.size for s in samples}) >= SAMPLES:
            self.state = "common"
        # of a common form, the smallest and the largest are enough
        self.samples = [samples[0], samples[-1]] if self.state == "common" else samples

    def resized(self, backend: Backend, leaves: Sequence[Node], size: int, planned: _Planned) -> Program | None:
        """A program of that size; None if there is none that it can be made from."""
        samples = self.samples
        if self.state != "common" or not samples[0].size <= size * RANGE or not size <= samples[-1].size * RANGE:
            return None
        sample = samples[-1]
        code = sample.pattern.code_for(size, backend)
        return None if code is None else ResizedProgram(sample.program, leaves, code, planned)


FORMS = Cache(512)
TABLES.programs.append(FORMS.drop)


def program_of_form(
    outputs: Sequence[Node],
    leaves: Sequence[Node],
    backend: Backend,
    *,
    donated: Collection[Node],
    boundaries: Sequence[Node],
    title: Title,
    device: Device,
) -> Program:
    """The program of a graph, made from one of another size if there is a form that fits.

    The parameters are those of `Program`; the device is the host's, and the ``boundaries`` are all nodes of the graph, inputs before users.
    """
    plan = partial(Program, outputs, leaves, backend, donated=donated, boundaries=boundaries, title=title, device=device)
    form_and_size = None if LISTENERS else graph_form(outputs, boundaries, donated)
    if form_and_size is None:
        return plan()
    key, size = form_and_size
    form = FORMS.get_or((key, backend, title), _Form)
    program = form.resized(backend, leaves, size, _Planned(plan))
    if program is None:
        program = plan()
        form.add(program, size)
    return program
