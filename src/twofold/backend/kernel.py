"""Fused kernels as plain data: steps of primitives, with their ufuncs and C expressions, over one iteration space."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Protocol

from ..device import Device
from ..dtype import ITEMSIZE


class Elementwise(NamedTuple):
    """Facts for adapters about an element-wise primitive.

    Attributes
    ----------
    ufunc, c
        NumPy's ufunc and the C expression, as in `KernelStep`.
    result
        The rule for the result's dtype: that of the ufunc (``"ufunc"``), ``"bool"``, the promotion of all operands but the first
        (``"tail"``), the first operand's (``"first"``), the parameter's (``"dtype"``), or the float dtype of the first (``"float"``).
    c_part
        The part of ``c_special.h`` that the C expression calls, see `c_text.PARTS`; "" for none.
    """

    ufunc: str | None
    c: str | None
    result: str
    c_part: str = ""


# Tables of what operators declare about primitives, by name. `program.kernels`, a layer above, fills them.

#: All primitives.
PRIMITIVES: set[str] = set()
#: Element-wise primitives.
ELEMENTWISE: dict[str, Elementwise] = {}
#: Primitives whose elements take no longer than reading and writing them.
SIMPLE: set[str] = set()
#: Primitives that may be part of a kernel as reductions over its last axis.
ROW_REDUCTIONS: set[str] = set()


#: An array of an adapter's library; the core passes it on without looking inside.
Array = Any


class Reference(NamedTuple):
    """A primitive in terms of NumPy functions, for adapters without their own implementation.

    Attributes
    ----------
    function
        Called with ``(np, *operands, **params)``; returns a tuple or list if there are several results.
    host
        Whether it takes NumPy arrays only, because it calls functions that do not work on other libraries' arrays.
    """

    function: Callable[..., Array]
    host: bool = False


#: References of primitives by name, filled like `ELEMENTWISE`.
REFERENCES: dict[str, Reference] = {}


#: An adapter's namespace of primitives, the ``xp`` of rules.
Namespace = Any
#: A program as a function of its inputs.
Run = Callable[[Sequence[Array]], list[Array]]
#: Parameters of a primitive by name.
Params = dict[str, Any]


class ArrayType(NamedTuple):
    """Shape and dtype name of an array."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * ITEMSIZE[self.dtype]


class OperandType(NamedTuple):
    """Shape and dtype name of an operand of a step, and whether it is known to be C-contiguous."""

    shape: tuple[int, ...]
    dtype: str
    contiguous: bool = False


class Ref(NamedTuple):
    """An operand of a step: input k (``"in"``), the result of step k (``"step"``), or a constant (``"const"``, its value)."""

    kind: str
    value: Any


class KernelStep(NamedTuple):
    """One primitive of a kernel.

    Attributes
    ----------
    op
        Name of the primitive.
    ufunc
        NumPy's ufunc, or None.
    c
        C expression with ``{0}``, ``{1}`` … for operands, or None.
    args
        Operands.
    dtype
        Dtype of the result.
    operand_dtype
        Dtype of constants among the operands.
    params
        Parameters of the primitive.
    row
        Whether the result has one element per row of the iteration space: a reduction over its last axis, or computed from such results.
    """

    op: str
    ufunc: str | None
    c: str | None
    args: tuple[Ref, ...]
    dtype: str
    operand_dtype: str
    params: tuple[tuple[str, Any], ...] = ()
    row: bool = False

    @property
    def result(self) -> str:
        """The rule for the result's dtype, see `Elementwise`; empty for a reduction."""
        return ELEMENTWISE[self.op].result if self.op in ELEMENTWISE else ""

    @property
    def c_part(self) -> str:
        """See `Elementwise`; empty for a reduction."""
        return ELEMENTWISE[self.op].c_part if self.op in ELEMENTWISE else ""


class RowProgram(NamedTuple):
    """A fused kernel: element-wise steps over one iteration space, and reductions over its last axis whose results later steps use.

    Attributes
    ----------
    name
        A description: the names of its steps, abbreviated.
    shape
        The iteration space.
    inputs
        Types of the inputs; each broadcasts to ``shape``.
    steps
        The steps, in order of execution.
    outputs
        Indices of the steps whose results are outputs.
    in_place
        Pairs (output, input): the output is written in place of the input, which no later step reads.
    drawn
        Primitives that compute with random words; their results must have the same bits at every use.
    """

    name: str
    shape: tuple[int, ...]
    inputs: tuple[ArrayType, ...]
    steps: tuple[KernelStep, ...]
    outputs: tuple[int, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    drawn: frozenset[str] = frozenset()

    def nanoseconds(self, simple: float, other: float) -> float:
        """An estimate of the running time, given the time per element of a simple step (arithmetic, comparison, sum) and of any other."""
        # steps per row but reductions have few elements, and so cost next to nothing
        of_all = [step for step in self.steps if not step.row or step.op not in ELEMENTWISE]
        return math.prod(self.shape) * sum([simple if step.row or step.op in SIMPLE else other for step in of_all])

    @property
    def has_rows(self) -> bool:
        """Whether steps reduce the last axis."""
        return any(step.row for step in self.steps)


class KernelEpilogue(NamedTuple):
    """A convolution and the kernel that alone reads its result.

    Attributes
    ----------
    op, params, inputs
        Those of the convolution.
    program, place
        The kernel, with a single output, and which of its inputs is the convolution's result.
    """

    op: str
    params: Params
    inputs: tuple[ArrayType, ...]
    program: RowProgram
    place: int


class Formed:
    """A kernel that can say in which form it runs."""

    __slots__ = ()

    @property
    def form(self) -> str:
        """Its details for explanations of programs; empty if there are none."""
        return ""


class Call(NamedTuple):
    """How a program calls one primitive: Python source around functions of the adapter.

    Attributes
    ----------
    text
        The source, with ``{0}``, ``{1}`` … for operands, ``{out}`` for the result's memory, and ``{name}`` for each name in ``names``.
    names
        The objects that the source refers to.
    into
        Whether the source writes into ``{out}``; otherwise it is an expression for a new array (a view, for view primitives).
    fresh
        The source of an expression for a new array in row-major order, whatever the order of the operands; None if there is none.
    update
        The source for ``{out}`` in the memory of a first operand that is no longer needed: it writes only the elements that change. Empty
        if there is no such source.
    """

    text: str
    names: dict[str, Any]
    into: bool = False
    fresh: str | None = None
    update: str = ""


class StepObserver(Protocol):
    """An observer of a program's steps."""

    def step(self, read: Sequence[Array], written: Sequence[Array]) -> None:
        """Called before each step is issued; the previous step is complete.

        Parameters
        ----------
        read
            The step's operands, which may include scalars.
        written
            Existing arrays that the step writes and may also read; not the arrays that it allocates.
        """

    def join(self) -> None:
        """Called after the last step; the program may copy any result from here on."""


#: A program as a function of an observer of its steps and of its inputs.
InSteps = Callable[[StepObserver, Sequence[Array]], list[Array]]


class ProgramTraits(NamedTuple):
    """Facts for an adapter about a program that it may capture and launch as a whole.

    Attributes
    ----------
    steps
        Approximate number of steps that compute something; a loop's steps count once per iteration.
    donated, dead
        Indices of the inputs whose memory is donated to results, and of all inputs that are dead after the program.
    primitives
        Names of the primitives that it runs, including those in loop bodies and in fused kernels.
    host
        Primitives that need a value on the host, or run user code, before the program can go on.
    in_steps
        The program as a function of an observer of its steps and of the inputs; None if its steps are not known.
    inputs
        Types of the inputs; the dtypes of Python scalars are weak.
    device
        The device that it will run on; None for any device.
    may_dry_run
        Whether it may be run in advance on placeholders: it runs no user code, and there are no observers.
    """

    steps: int
    donated: frozenset[int]
    dead: frozenset[int]
    primitives: frozenset[str]
    host: tuple[str, ...]
    in_steps: InSteps | None = None
    inputs: tuple[ArrayType, ...] = ()
    device: Device | None = None
    may_dry_run: bool = False


#: Length up to which the code of a source is cached.
SHORT = 4096


def code_of(source: str, name: str) -> CodeType:
    """Compile Python source. Code of short sources is cached and copied: functions that share a code object share its inline caches."""
    if len(source) > SHORT:
        return compile(source, name, "exec")
    code = _known_code(source, name)
    return code.replace(co_consts=tuple([c.replace() if isinstance(c, CodeType) else c for c in code.co_consts]))


def function_of(code: CodeType, env: dict[str, Any], name: str) -> Callable[..., Any]:
    """The function of that name which the code defines. A reference cycle of it and its globals would keep it when it is dropped.

    Other functions that the code defines stay in the globals; they call none but what was there before.
    """
    exec(code, env)
    function = env.pop(name)
    for other in [key for key, value in env.items() if isinstance(value, FunctionType) and value.__globals__ is env]:
        env[other] = FunctionType(env.pop(other).__code__, env.copy())
    return function


@lru_cache(512)
def _known_code(source: str, name: str) -> CodeType:
    return compile(source, name, "exec")
