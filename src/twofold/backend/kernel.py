"""A fused kernel as plain data: steps of primitives with their ufunc names and C texts over one iteration space."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple, Protocol


class Elementwise(NamedTuple):
    """An element-wise primitive as adapters know it.

    Attributes
    ----------
    ufunc, c
        NumPy's ufunc and the C text, as in `KernelStep`.
    result
        Which dtype it gives: the ufunc's (``"ufunc"``), ``"bool"``, that of all operands but the first (``"tail"``), of the first
        (``"first"``), of its parameter (``"dtype"``), or the float of the first (``"float"``).
    """

    ufunc: str | None
    c: str | None
    result: str


# What operators declare of primitives, by name. The layers above, which know the operators, fill these tables: `program.primitives`.

#: The element-wise ones.
ELEMENTWISE: dict[str, Elementwise] = {}
#: Those whose elements take no longer than reading and writing them.
SIMPLE: set[str] = set()
#: Those that may be in a kernel as reductions over its last axis.
ROW_REDUCTIONS: set[str] = set()


class Reference(NamedTuple):
    """What a primitive computes, over NumPy's functions: an adapter's implementation unless it has one of its own.

    Attributes
    ----------
    function
        ``(np, *operands, **params)``; a tuple or list where there are several results.
    host
        It takes NumPy arrays only, whatever ``np`` is: it calls functions that know no other library's.
    """

    function: Callable[..., Any]
    host: bool = False


#: References of primitives by name, filled like `ELEMENTWISE`.
REFERENCES: dict[str, Reference] = {}


class ArrayType(NamedTuple):
    """Shape and dtype name of an array."""

    shape: tuple[int, ...]
    dtype: str


class OperandType(NamedTuple):
    """Shape and dtype name of an operand of a program's step, and whether it is known to be C-contiguous."""

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
        Its name in the vocabulary.
    ufunc
        NumPy's ufunc of it, or None.
    c
        Its C text with ``{0}``, ``{1}`` … for operands, or None.
    args
        Operands.
    dtype
        Of the result.
    operand_dtype
        In which constants among the operands are written.
    params
        The primitive's parameters.
    row
        Whether the result has one element for each row of the iteration space: what a reduction over its last axis gives, and
        what is computed of such results.
    """

    op: str
    ufunc: str | None
    c: str | None
    args: tuple[Ref, ...]
    dtype: str
    operand_dtype: str
    params: tuple[tuple[str, Any], ...] = ()
    row: bool = False


class RowProgram(NamedTuple):
    """A group of element-wise steps over one iteration space, and of reductions over its last axis, whose results are used again.

    Attributes
    ----------
    name
        Says what it does: the names of its steps, shortened.
    shape
        The iteration space.
    inputs
        Types of the inputs; each broadcasts to ``shape``.
    steps
        In order of execution.
    outputs
        Numbers of the steps whose results leave the kernel.
    in_place
        (output, input): the output is written over the input's memory, which no later step reads.
    drawn
        Operators that compute with random words: their results must have the same bits at every use.
    """

    name: str
    shape: tuple[int, ...]
    inputs: tuple[ArrayType, ...]
    steps: tuple[KernelStep, ...]
    outputs: tuple[int, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    drawn: frozenset[str] = frozenset()

    def nanoseconds(self, simple: float, other: float) -> float:
        """About how long it takes, given how long an element takes of a simple step (arithmetic, comparison, copy) and of any other."""
        return math.prod(self.shape) * sum(simple if step.op in SIMPLE else other for step in self.steps if not step.row)

    @property
    def has_rows(self) -> bool:
        """Whether there are reductions over the last axis among the steps."""
        return any(step.row for step in self.steps)


class Call(NamedTuple):
    """How a program runs one primitive: Python source around functions of the adapter.

    Attributes
    ----------
    text
        An expression with ``{0}``, ``{1}`` … for operands, ``{out}`` for the result's memory and names of ``names``.
    names
        What the text refers to.
    into
        Whether the text writes into ``{out}``; else it is an expression whose value is a fresh array (a view, for view primitives).
    or_fresh
        Whether ``{out}`` may be ``None``, the text then being an expression whose value is a fresh array.
    """

    text: str
    names: dict[str, Any]
    into: bool = False
    or_fresh: bool = False


class Steps(Protocol):
    """Who is told of a program's steps, one after another, before they are issued."""

    def step(self, read: Sequence[Any], written: Sequence[Any]) -> None:
        """A step begins, and what was told last is over.

        Parameters
        ----------
        read
            What it reads: arrays, and what is none.
        written
            Arrays that it writes, and may read; not those that it makes.
        """

    def join(self) -> None:
        """All steps are over; what follows may copy any of their results."""


class ProgramTraits(NamedTuple):
    """A whole program as an adapter knows it that may issue all of it at once.

    Attributes
    ----------
    steps
        How many of its steps compute something, loops' as often as they run; about.
    donated, dead
        Places of the inputs whose memory results take, and of all inputs that nobody looks at when the program has run.
    primitives
        What it runs by name, the bodies of its loops included; element-wise steps of fused kernels too.
    host
        Those of them for which the host must know a value, or run a user's code, before the program goes on.
    in_steps
        The program as a function of who is told of its steps, and of the inputs; None if its steps are not known.
    """

    steps: int
    donated: frozenset[int]
    dead: frozenset[int]
    primitives: frozenset[str]
    host: tuple[str, ...]
    in_steps: Callable[[Steps, Sequence[Any]], list[Any]] | None = None


#: Characters of a text whose code is kept.
SHORT = 4096


def code_of(source: str, name: str) -> CodeType:
    """A text compiled; short ones that were met before are copied, since functions of one code spoil each other's inline caches."""
    if len(source) > SHORT:
        return compile(source, name, "exec")
    code = _known_code(source, name)
    return code.replace(co_consts=tuple([c.replace() if isinstance(c, CodeType) else c for c in code.co_consts]))


@lru_cache(512)
def _known_code(source: str, name: str) -> CodeType:
    return compile(source, name, "exec")
