"""Element-wise kernels: one text for all sizes, over operands however they lie, launched through a prepared plan.

The text of a program depends on the steps, on which operands are numbers, in row-major order or strided, and along which axes.
Sizes and strides are arguments. 16-bit floats are computed in float32 and rounded once.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.c_text import C_TYPES, STORED, preamble, read_line, step_line, write_line
from twofold.backend.kernel import RowProgram
from twofold.backend.strides import Sizes, Space, merged, spread
from twofold.errors import DTypeError

from .launch import THREADS, Kernel, blocks_for, function
from .operands import is_constant, number_of

#: Layouts of an operand in a text: a number, one element, in row-major order; else the axes along which it has more than one element.
NUMBER, ONE, PACKED = "number", "one", "packed"
Layout = str | tuple[int, ...]


class Plan(NamedTuple):
    """How a program is launched on operands that lie in one way.

    Attributes
    ----------
    kernel, grid
        What is launched; None if there is nothing to do.
    integers
        The first arguments: sizes and strides.
    """

    kernel: Kernel | None
    grid: tuple[int]
    integers: tuple[Any, ...]


def elementwise(program: RowProgram) -> Callable[..., None]:
    """A program without rows as a function of its inputs' arrays and its outputs' memory.

    Raises
    ------
    DTypeError
        If there is a dtype that kernels do not compute with.
    """
    check_dtypes(program)
    plans: dict[tuple[Any, ...], Plan] = {}

    def kernel(*arrays: Any) -> None:
        key = tuple([None if type(a) is np.ndarray else a._c_contiguous or a.strides for a in arrays])
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = plan_of(program, arrays)
        if plan.kernel is not None:
            given = [number_argument(a) if type(a) is np.ndarray else a for a in arrays]
            plan.kernel(plan.grid, (THREADS,), (*plan.integers, *given))

    return kernel


def check_dtypes(program: RowProgram) -> None:
    """Refuse complex numbers."""
    unknown = {t.dtype for t in program.inputs} | {step.dtype for step in program.steps}
    if not unknown <= C_TYPES.keys():
        given = ", ".join(sorted(unknown - C_TYPES.keys()))
        raise DTypeError(f"{program.name}: not computed on GPUs for these dtypes", given, "cast the operands, or use mx.cpu()")


def plan_of(program: RowProgram, arrays: Sequence[Any]) -> Plan:
    """How a program runs on arrays that lie as these do."""
    strides = [_strides(a, program.shape) for a in arrays]
    space = merged(program.shape, strides)
    layouts = tuple(NUMBER if is_constant(a) else layout(space, k) for k, a in enumerate(arrays))
    count = 1
    for n in space.sizes:
        count *= n
    if count == 0:
        return Plan(None, (0,), ())
    index = "long long" if space.is_long else "int"
    name = f"{name_of(program)}_each"
    bare = program._replace(name="", shape=(), inputs=tuple(t._replace(shape=()) for t in program.inputs), in_place=())
    kernel = function(text(bare, name, len(space.sizes), layouts, index, constants_of(program)), name)
    integer = np.int64 if space.is_long else np.int32
    return Plan(kernel, blocks_for(count), tuple(map(integer, [count, *space.sizes[1:], *_listed_strides(space, layouts)])))


def name_of(program: RowProgram) -> str:
    """The beginning of a kernel's name: what it does."""
    return "tf_" + re.sub(r"\W", "_", program.name)


def _strides(a: Any, shape: Sizes) -> Sizes:
    """An operand's strides over a space, in elements; a number has none."""
    if is_constant(a):
        return (0,) * len(shape)
    size = a.dtype.itemsize
    return spread(a.shape, tuple(s // size for s in a.strides), shape)


def layout(space: Space, k: int) -> Layout:
    """How operand k lies in a space."""
    own = space.strides[k]
    if own == space.packed:
        return PACKED
    return tuple(axis for axis, s in enumerate(own) if s) or ONE


def _listed_strides(space: Space, layouts: Sequence[Layout]) -> list[int]:
    return [space.strides[k][axis] for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own]


def number_argument(a: np.ndarray) -> Any:
    """A constant as an argument of a kernel: 16-bit floats arrive as float32."""
    number = number_of(a)
    return np.float32(number) if number.dtype.itemsize == 2 and number.dtype.kind in "fV" else number


def constants_of(program: RowProgram) -> tuple[str, ...]:
    """The constants of a program's steps, told apart: 0.0 and -0.0, which are equal, are not one."""
    return tuple(repr(ref.value) for step in program.steps for ref in step.args if ref.kind == "const")


@cache
def text(program: RowProgram, name: str, rank: int, layouts: tuple[Layout, ...], index: str, constants: tuple[str, ...] = ()) -> str:
    """The text of a kernel: ``name(count, sizes…, strides…, inputs…, outputs…)``, one thread for each element.

    Parameters
    ----------
    program
        The steps; shapes do not matter.
    name
        Of the function.
    rank
        Axes of the space.
    layouts
        How inputs, then outputs lie.
    index
        The C type of places.
    constants
        See `constants_of`: they tell programs apart that are equal.
    """
    inputs, outputs = len(program.inputs), len(program.outputs)
    parameters = [f"const {index} count", *[f"const {index} size{axis}" for axis in range(1, rank)]]
    parameters += [f"const {index} stride{k}_{axis}" for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own]
    for k, t in enumerate(program.inputs):
        parameters.append(f"const {C_TYPES[t.dtype]} in{k}" if layouts[k] == NUMBER else f"const {STORED[t.dtype]} *in{k}")
    parameters += [f"{STORED[program.steps[s].dtype]} *out{k}" for k, s in enumerate(program.outputs)]
    places = [place(k, own) for k, own in enumerate(layouts)]
    body = coordinates(index, rank) if any(isinstance(own, tuple) for own in layouts) else []
    for k, t in enumerate(program.inputs):
        body.append(f"const {C_TYPES[t.dtype]} x{k} = in{k};" if layouts[k] == NUMBER else read_line(k, t.dtype, places[k]))
    body += [step_line(program, k) for k in range(len(program.steps))]
    body += [write_line(k, program.steps[s].dtype, places[inputs + k], f"v{s}") for k, s in enumerate(program.outputs)]
    assert len(layouts) == inputs + outputs
    return kernel_text([program], name, parameters, f"TF_EACH({index}, i, count)", body)


def kernel_text(programs: Sequence[RowProgram], name: str, parameters: Sequence[str], head: str, body: Sequence[str]) -> str:
    """A kernel's whole text, with what its steps need in front."""
    lines = [*preamble(programs), f"TF_KERNEL {name}({', '.join(parameters)}) {{", f"    {head} {{"]
    return "\n".join([*lines, *[f"        {line}" for line in body], "    }", "}", ""])


def coordinates(index: str, rank: int) -> list[str]:
    """Statements that give a thread its coordinates ``c0``, ``c1`` … in a space, from ``i``; division is unsigned, which is faster."""
    unsigned = f"unsigned {index}"
    lines = [f"{unsigned} rest = i;"] if rank > 1 else []
    for axis in range(rank - 1, 0, -1):
        lines.append(f"const {index} c{axis} = rest % ({unsigned})size{axis};")
        lines.append(f"rest /= ({unsigned})size{axis};")
    return [*lines, f"const {index} c0 = {'rest' if rank > 1 else 'i'};"]


def place(k: int, own: Layout) -> str:
    """Where operand k has a thread's element."""
    if isinstance(own, tuple):
        return " + ".join(f"c{axis} * stride{k}_{axis}" for axis in own)
    return "i" if own == PACKED else "0"
