"""Element-wise kernels: one source for all sizes, over operands of any strides, launched through a cached plan.

The source depends on the program's steps and on the layout of each operand: a scalar, contiguous, or strided along certain axes.
Sizes and strides are arguments. 16-bit floats are computed in float32 and rounded once.

A thread computes a pack: up to 16 bytes of adjacent elements of the widest operand, which it reads and writes at once.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED, preamble, read_line, step_line, write_line
from twofold.backend.kernel import Array, RowProgram
from twofold.backend.strides import Sizes, Space, broadcast_strides, merge_axes
from twofold.dtype import NUMPY
from twofold.errors import DTypeError

from .launch import THREADS, Kernel, blocks_for, cuda_text, function
from .operands import is_constant, scalar_of

#: Layouts of an operand: a scalar passed by value, an array of one element, contiguous; else the axes with a nonzero stride, the last one
#: as `NEXT` if its stride is 1.
SCALAR, ONE, PACKED, NEXT = "scalar", "one", "packed", -1
Layout = str | tuple[int, ...]
#: Bytes that a thread reads at once, elements of a pack at most, and steps up to which kernels are written for packs: each is printed into
#: the code once for each element.
PACK_BYTES, MOST_IN_PACK, MOST_STEPS = 16, 8, 48


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
    pack = pack_of(program, space.sizes, layouts)
    source = kernel_source(without_shapes(program), name, len(space.sizes), layouts, index, pack, constants_of(program))
    kernel = function(source, name)
    integer = np.int64 if space.is_long else np.int32
    numbers = [count, *space.sizes[1:], *_listed_strides(space, layouts)]
    return ProgramLaunch(kernel, blocks_for(-(-count // pack)), tuple(map(integer, numbers)))


def pack_of(program: RowProgram, sizes: Sizes, layouts: Sequence[Layout]) -> int:
    """The number of adjacent elements that each thread computes: a power of two, which divides the last of several axes."""
    results = layouts[len(program.inputs) :]
    if len(program.steps) > MOST_STEPS or not all(map(_is_adjacent, results)):
        return 1
    kinds = [program.steps[s].dtype for s in program.outputs]
    kinds += [t.dtype for t, own in zip(program.inputs, layouts, strict=False) if own != SCALAR]
    pack = min(PACK_BYTES // max(NUMPY[kind].itemsize for kind in kinds), MOST_IN_PACK)
    return pack if len(sizes) < 2 or sizes[-1] % pack == 0 else 1


def _is_adjacent(own: Layout) -> bool:
    """Whether an operand's elements along the last axis are next to one another."""
    return own == PACKED or (isinstance(own, tuple) and NEXT in own)


def name_of(program: RowProgram) -> str:
    """The stem of a kernel's name, which tells profilers what it does."""
    return "tf_" + re.sub(r"\W", "_", program.name)


def without_shapes(program: RowProgram, row: tuple[int, ...] = ()) -> RowProgram:
    """The program without facts that do not affect its source, so that programs of other shapes share the kernel; ``row`` is its shape."""
    return program._replace(name="", shape=row, inputs=tuple(t._replace(shape=()) for t in program.inputs), in_place=())


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
    last = len(own) - 1
    return tuple(NEXT if axis == last and s == 1 else axis for axis, s in enumerate(own) if s) or ONE


def _listed_strides(space: Space, layouts: Sequence[Layout]) -> list[int]:
    return [space.strides[k][axis] for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own if axis != NEXT]


def scalar_argument(a: np.ndarray) -> np.generic:
    """A scalar as a kernel argument; 16-bit floats are passed as float32."""
    number = scalar_of(a)
    return np.float32(number) if number.dtype.itemsize == 2 and number.dtype.kind in "fV" else number


def constants_of(program: RowProgram) -> tuple[str, ...]:
    """The constants of a program's steps as a cache key: 0.0 == -0.0 would otherwise share a kernel."""
    return tuple(repr(ref.value) for step in program.steps for ref in step.args if ref.kind == "const")


@cache
def kernel_source(
    program: RowProgram,
    name: str,
    rank: int,
    layouts: tuple[Layout, ...],
    index: str,
    pack: int = 1,
    constants: tuple[str, ...] = (),
) -> str:
    """The source of a kernel ``name(count, sizes…, strides…, inputs…, outputs…)`` with one thread per pack of elements.

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
    pack
        Number of adjacent elements that a thread computes; with more than one axis, it divides the last.
    constants
        Part of the cache key only, see `constants_of`.
    """
    inputs, outputs = len(program.inputs), len(program.outputs)
    parameters = [f"const {index} count", *[f"const {index} size{axis}" for axis in range(1, rank)]]
    strided = [(k, axis) for k, own in enumerate(layouts) if isinstance(own, tuple) for axis in own if axis != NEXT]
    parameters += [f"const {index} stride{k}_{axis}" for k, axis in strided]
    for k, t in enumerate(program.inputs):
        parameters.append(f"const {C_TYPES[t.dtype]} in{k}" if layouts[k] == SCALAR else f"const {STORED[t.dtype]} *in{k}")
    parameters += [f"{STORED[program.steps[s].dtype]} *out{k}" for k, s in enumerate(program.outputs)]
    assert len(layouts) == inputs + outputs
    places = [place(k, own, rank) for k, own in enumerate(layouts)]
    before = coordinates(index, rank) if any(isinstance(own, tuple) for own in layouts) else []
    if pack == 1:
        body = [*before, *element_body(program, layouts, places)]
        return whole_source([program], name, parameters, f"TF_EACH({index}, i, count)", body)
    body = [*before, *packed_body(program, layouts, places, rank, pack)]
    return whole_source([program], name, parameters, f"TF_EACH_PACK({index}, i, count, {pack})", body, [cuda_text("packs")])


def _read(program: RowProgram, k: int, own: Layout, at: str) -> str:
    dtype = program.inputs[k].dtype
    return f"const {C_TYPES[dtype]} x{k} = in{k};" if own == SCALAR else read_line(k, dtype, at)


def element_body(program: RowProgram, layouts: Sequence[Layout], places: Sequence[str]) -> list[str]:
    """The statements that compute an element."""
    inputs = len(program.inputs)
    body = [_read(program, k, layouts[k], places[k]) for k in range(inputs)]
    body += [step_line(program, k) for k in range(len(program.steps))]
    return body + [write_line(k, program.steps[s].dtype, places[inputs + k], f"v{s}") for k, s in enumerate(program.outputs)]


def packed_body(
    program: RowProgram, layouts: Sequence[Layout], places: Sequence[str], rank: int, pack: int, count: str = "count"
) -> list[str]:
    """The statements that compute a pack: reads of packs and of what all its elements share, a loop over its elements, writes of packs."""
    before, inner, after = [f"const long long left = {count} - i;"], list[str](), list[str]()
    for k, t in enumerate(program.inputs):
        own = layouts[k]
        if _is_adjacent(own):
            before += [f"tf_pack<{STORED[t.dtype]}, {pack}> pack{k};", f"tf_load(pack{k}, in{k} + ({places[k]}), left);"]
            element = f"tf_float(pack{k}.at[e])" if t.dtype in ENCODED else f"pack{k}.at[e]"
            inner.append(f"const {C_TYPES[t.dtype]} x{k} = {element};")
        elif isinstance(own, tuple) and rank - 1 in own:
            # with one axis the last pack may not be full: its other elements are not read
            inner.append(read_line(k, t.dtype, f"{places[k]} + (e < left ? e : 0) * stride{k}_{rank - 1}"))
        else:
            before.append(_read(program, k, own, places[k]))
    inner += [step_line(program, k) for k in range(len(program.steps))]
    for k, s in enumerate(program.outputs):
        dtype = program.steps[s].dtype
        before.append(f"tf_pack<{STORED[dtype]}, {pack}> result{k};")
        inner.append(f"result{k}.at[e] = {ENCODED[dtype]}(v{s});" if dtype in ENCODED else f"result{k}.at[e] = v{s};")
        after.append(f"tf_store(out{k} + ({places[len(program.inputs) + k]}), result{k}, left);")
    loop = ["#pragma unroll", f"for (int e = 0; e < {pack}; ++e) {{", *[f"    {line}" for line in inner], "}"]
    return [*before, *loop, *after]


def whole_source(
    programs: Sequence[RowProgram], name: str, parameters: Sequence[str], head: str, body: Sequence[str], also: Sequence[str] = ()
) -> str:
    """The complete source of a kernel, with the declarations that its steps need and further ones."""
    lines = [*preamble(programs), *also, f"TF_KERNEL {name}({', '.join(parameters)}) {{", f"    {head} {{"]
    return "\n".join([*lines, *[f"        {line}" for line in body], "    }", "}", ""])


def coordinates(index: str, rank: int) -> list[str]:
    """Statements that compute an element's coordinates ``c0``, ``c1`` … from its index ``i``; unsigned division is faster."""
    unsigned = f"unsigned {index}"
    lines = [f"{unsigned} rest = i;"] if rank > 1 else []
    for axis in range(rank - 1, 0, -1):
        lines.append(f"const {index} c{axis} = rest % ({unsigned})size{axis};")
        lines.append(f"rest /= ({unsigned})size{axis};")
    return [*lines, f"const {index} c0 = {'rest' if rank > 1 else 'i'};"]


def place(k: int, own: Layout, rank: int = 1) -> str:
    """The C expression of an element's index in operand k, over a space with so many axes."""
    if isinstance(own, tuple):
        return " + ".join(f"c{rank - 1}" if axis == NEXT else f"c{axis} * stride{k}_{axis}" for axis in own)
    return "i" if own == PACKED else "0"
