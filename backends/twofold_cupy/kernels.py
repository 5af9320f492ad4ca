"""Element-wise kernels: one source for all sizes, over operands of any strides, launched through a cached plan.

The source depends on the program's steps and on the layout of each operand: a scalar, contiguous, or strided along certain axes.
Sizes and strides are arguments. 16-bit floats are computed in float32 and rounded once.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.c_text import C_TYPES, STORED, preamble, read_line, step_line, write_line
from twofold.backend.kernel import Array, RowProgram
from twofold.backend.strides import Sizes, Space, broadcast_strides, merge_axes
from twofold.errors import DTypeError

from .launch import THREADS, Kernel, blocks_for, function
from .operands import is_constant, scalar_of

#: Layouts of an operand: a scalar passed by value, an array of one element, contiguous; else the axes with a nonzero stride.
SCALAR, ONE, PACKED = "scalar", "one", "packed"
Layout = str | tuple[int, ...]


class ProgramLaunch(NamedTuple):
    """The launch of a program for operands of certain layouts.

    Attributes
    ----------
    kernel, grid
        The kernel and its grid; None if the iteration space is empty.
    integers
        The leading arguments: sizes and strides.
    """

    kernel: Kernel | None
    grid: tuple[int]
    integers: tuple[Any, ...]


def elementwise(program: RowProgram) -> Callable[..., None]:
    """Compile a program without row reductions; the result is called with the input arrays and the outputs' memory.

    Raises
    ------
    DTypeError
        If a dtype is not supported in kernels.
    """
    check_dtypes(program)
    # keyed by strides only, since the program fixes the shapes
    launches: dict[tuple[Any, ...], ProgramLaunch] = {}

    def kernel(*arrays: Array) -> None:
        key = tuple([None if type(a) is np.ndarray else a._c_contiguous or a.strides for a in arrays])
        launch = launches.get(key)
        if launch is None:
            launch = launches[key] = launch_of(program, arrays)
        if launch.kernel is not None:
            given = [scalar_argument(a) if type(a) is np.ndarray else a for a in arrays]
            launch.kernel(launch.grid, (THREADS,), (*launch.integers, *given))

    return kernel


def check_dtypes(program: RowProgram) -> None:
    """Reject dtypes that kernels cannot compute with, namely complex numbers."""
    unknown = {t.dtype for t in program.inputs} | {step.dtype for step in program.steps}
    if not unknown <= C_TYPES.keys():
        given = ", ".join(sorted(unknown - C_TYPES.keys()))
        raise DTypeError(f"{program.name}: not supported on GPUs for these dtypes", given, "cast the operands, or use mx.cpu()")


def launch_of(program: RowProgram, arrays: Sequence[Array]) -> ProgramLaunch:
    """The launch of a program for arrays with the strides of these."""
    strides = [strides_over(a, program.shape) for a in arrays]
    # axes over which all operands step evenly are merged, into a single axis if all are contiguous
    space = merge_axes(program.shape, strides)
    layouts = tuple(SCALAR if is_constant(a) else layout(space, k) for k, a in enumerate(arrays))
    count = 1
    for n in space.sizes:
        count *= n
    if count == 0:
        return ProgramLaunch(None, (0,), ())
    # 32-bit arithmetic where it suffices: GPUs emulate 64-bit division
    index = "long long" if space.is_long else "int"
    name = f"{name_of(program)}_each"
    bare = program._replace(name="", shape=(), inputs=tuple(t._replace(shape=()) for t in program.inputs), in_place=())
    kernel = function(kernel_source(bare, name, len(space.sizes), layouts, index, constants_of(program)), name)
    integer = np.int64 if space.is_long else np.int32
    return ProgramLaunch(kernel, blocks_for(count), tuple(map(integer, [count, *space.sizes[1:], *_listed_strides(space, layouts)])))


def name_of(program: RowProgram) -> str:
    """The stem of a kernel's name, which tells profilers what it does."""
    return "tf_" + re.sub(r"\W", "_", program.name)


def strides_over(a: Array, shape: Sizes) -> Sizes:
    """An operand's strides over an iteration space, in elements; all 0 for a constant."""
    if is_constant(a):
        return (0,) * len(shape)
    size = a.dtype.itemsize
    return broadcast_strides(a.shape, tuple(s // size for s in a.strides), shape)


def layout(space: Space, k: int) -> Layout:
    """The layout of operand k in an iteration space."""
    own = space.strides[k]
    if own == space.contiguous:
        return PACKED
    return tuple(axis for axis, s in enumerate(own) if s) or ONE


def _listed_strides(space: Space, layouts: Sequence[Layout]) -> list[int]:
    return [space.strides[k][axis] for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own]


def scalar_argument(a: np.ndarray) -> np.generic:
    """A scalar as a kernel argument; 16-bit floats are passed as float32."""
    number = scalar_of(a)
    return np.float32(number) if number.dtype.itemsize == 2 and number.dtype.kind in "fV" else number


def constants_of(program: RowProgram) -> tuple[str, ...]:
    """The constants of a program's steps as a cache key: 0.0 == -0.0 would otherwise share a kernel."""
    return tuple(repr(ref.value) for step in program.steps for ref in step.args if ref.kind == "const")


@cache
def kernel_source(
    program: RowProgram, name: str, rank: int, layouts: tuple[Layout, ...], index: str, constants: tuple[str, ...] = ()
) -> str:
    """The source of a kernel ``name(count, sizes…, strides…, inputs…, outputs…)`` with one thread per element.

    Parameters
    ----------
    program
        The steps; its shapes are not used.
    name
        The kernel's name.
    rank
        Number of axes of the iteration space.
    layouts
        Layouts of the inputs, then of the outputs.
    index
        The C type of element indices.
    constants
        Part of the cache key only, see `constants_of`.
    """
    inputs, outputs = len(program.inputs), len(program.outputs)
    parameters = [f"const {index} count", *[f"const {index} size{axis}" for axis in range(1, rank)]]
    parameters += [f"const {index} stride{k}_{axis}" for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own]
    for k, t in enumerate(program.inputs):
        parameters.append(f"const {C_TYPES[t.dtype]} in{k}" if layouts[k] == SCALAR else f"const {STORED[t.dtype]} *in{k}")
    parameters += [f"{STORED[program.steps[s].dtype]} *out{k}" for k, s in enumerate(program.outputs)]
    places = [place(k, own) for k, own in enumerate(layouts)]
    body = coordinates(index, rank) if any(isinstance(own, tuple) for own in layouts) else []
    for k, t in enumerate(program.inputs):
        body.append(f"const {C_TYPES[t.dtype]} x{k} = in{k};" if layouts[k] == SCALAR else read_line(k, t.dtype, places[k]))
    body += [step_line(program, k) for k in range(len(program.steps))]
    body += [write_line(k, program.steps[s].dtype, places[inputs + k], f"v{s}") for k, s in enumerate(program.outputs)]
    assert len(layouts) == inputs + outputs
    return whole_source([program], name, parameters, f"TF_EACH({index}, i, count)", body)


def whole_source(programs: Sequence[RowProgram], name: str, parameters: Sequence[str], head: str, body: Sequence[str]) -> str:
    """The complete source of a kernel, with the declarations that its steps need."""
    lines = [*preamble(programs), f"TF_KERNEL {name}({', '.join(parameters)}) {{", f"    {head} {{"]
    return "\n".join([*lines, *[f"        {line}" for line in body], "    }", "}", ""])


def coordinates(index: str, rank: int) -> list[str]:
    """Statements that compute an element's coordinates ``c0``, ``c1`` … from its index ``i``; unsigned division is faster."""
    unsigned = f"unsigned {index}"
    lines = [f"{unsigned} rest = i;"] if rank > 1 else []
    for axis in range(rank - 1, 0, -1):
        lines.append(f"const {index} c{axis} = rest % ({unsigned})size{axis};")
        lines.append(f"rest /= ({unsigned})size{axis};")
    return [*lines, f"const {index} c0 = {'rest' if rank > 1 else 'i'};"]


def place(k: int, own: Layout) -> str:
    """The C expression of an element's index in operand k."""
    if isinstance(own, tuple):
        return " + ".join(f"c{axis} * stride{k}_{axis}" for axis in own)
    return "i" if own == PACKED else "0"
