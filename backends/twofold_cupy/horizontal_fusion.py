"""Horizontal fusion: element-wise kernels that differ only in their arrays run as one launch, each on its own range of thread blocks.

Addresses, sizes and scalars of all members are passed by value in one struct argument of at most 4 KB, the limit of a launch; members
that do not fit go into further launches.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.c_text import C_TYPES, STORED, preamble
from twofold.backend.kernel import Array, RowProgram
from twofold.backend.strides import LONG

from .kernels import (
    ONE,
    PACKED,
    SCALAR,
    Layout,
    constants_of,
    element_body,
    elementwise,
    name_of,
    pack_of,
    packed_body,
    place,
    without_shapes,
)
from .launch import THREADS, Kernel, cuda_text, function

#: Bytes of kernel arguments that every device accepts.
ARGUMENT_BYTES = 4096
#: Members for which a kernel's argument struct has room: a few sizes, so that few kernels are compiled.
CAPACITIES = (2, 4, 8, 16, 32, 64, 128)


def fused_kernel(programs: Sequence[RowProgram]) -> Callable[..., None]:
    """Programs with the same steps as one function, which is called with all their operands, program by program.

    Members with strided operands, or with too many operands for two members to fit into a launch, run as separate kernels.
    """
    kernels = [elementwise(program) for program in programs]
    # keyed by strides only, since the programs fix the shapes
    plans: dict[tuple[Any, ...], Plan] = {}

    def kernel(*arrays: Array) -> None:
        key = tuple([None if type(a) is np.ndarray else a._c_contiguous or a.strides for a in arrays])
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = _plan(programs, kernels, arrays)
        for own, begin, end in plan.separate:
            own(*arrays[begin:end])
        for launch in plan.launches:
            launch.run(arrays)

    return kernel


class Launch(NamedTuple):
    """A launch for some members.

    Attributes
    ----------
    kernel, grid
        The kernel and its grid.
    given
        The argument struct with the sizes; unused slots are 0, and no thread block reads them.
    arrays, scalars
        The fields for addresses and for scalars, each with the numbers of its operands.
    """

    kernel: Kernel
    grid: tuple[int]
    given: np.ndarray
    arrays: list[tuple[str, list[int]]]
    scalars: list[tuple[str, list[int]]]

    def run(self, operands: Sequence[Array]) -> None:
        """Launch the kernel for these operands of all members."""
        given = self.given.copy()  # another thread may launch the same plan
        for name, numbers in self.arrays:
            given[name][: len(numbers)] = [operands[k].data.ptr for k in numbers]
        for name, numbers in self.scalars:
            given[name][: len(numbers)] = [operands[k].item(0) for k in numbers]
        self.kernel(self.grid, (THREADS,), (given,))


class Plan(NamedTuple):
    """The launches for operands of certain layouts: members that run separately, with the range of their operands, and shared launches."""

    separate: list[tuple[Callable[..., None], int, int]]
    launches: list[Launch]


def _plan(programs: Sequence[RowProgram], kernels: Sequence[Callable[..., None]], arrays: Sequence[Array]) -> Plan:
    program, separate = programs[0], list[tuple[Callable[..., None], int, int]]()
    width = len(program.inputs) + len(program.outputs)
    # with the wider indices: members that fit with them fit with the narrower ones too
    fits = cache(lambda layouts: bool(_capacities(program, layouts, "long long")))
    alike: dict[tuple[Layout, ...], list[tuple[int, int]]] = {}
    for k, own in enumerate(kernels):
        begin = k * width
        operands = arrays[begin : begin + width]
        layouts = _layouts(operands, len(program.inputs))
        if layouts is None or not fits(layouts):
            separate.append((own, begin, begin + width))
        elif size := operands[len(program.inputs)].size:
            alike.setdefault(layouts, []).append((begin, size))
    return Plan(separate, [launch for layouts, members in alike.items() for launch in _launches(program, layouts, members)])


def _layouts(arrays: Sequence[Array], inputs: int) -> tuple[Layout, ...] | None:
    """Each operand's layout relative to the first result, whose size is that of the space; None if an operand is strided."""
    size, found = arrays[inputs].size, []
    for a in arrays:
        if type(a) is np.ndarray:
            found.append(SCALAR)
        elif a.size == size and a._c_contiguous:
            found.append(PACKED)
        elif a.size == 1:
            found.append(ONE)
        else:
            return None
    return tuple(found)


def _launches(program: RowProgram, layouts: tuple[Layout, ...], members: Sequence[tuple[int, int]]) -> Iterator[Launch]:
    """The launches for members with the same layouts, given by the number of their first operand and their size."""
    is_long = max(size for _, size in members) >= LONG
    index = "long long" if is_long else "int"
    capacities = _capacities(program, layouts, index)
    capacity = next((capacity for capacity in capacities if capacity >= len(members)), capacities[-1])
    name = f"{name_of(program)}_horizontal"
    pack = pack_of(program, (), layouts)
    kernel = function(kernel_source(without_shapes(program), name, layouts, index, capacity, pack, constants_of(program)), name)
    struct = _struct(_kinds(program, layouts), index, capacity)
    for begin in range(0, len(members), capacity):
        yield _launch(kernel, struct, layouts, members[begin : begin + capacity], THREADS * pack)


def _capacities(program: RowProgram, layouts: Sequence[Layout], index: str) -> list[int]:
    """The capacities whose argument struct fits into a launch; none for programs with very many operands."""
    kinds = _kinds(program, layouts)
    return [capacity for capacity in CAPACITIES if _struct(kinds, index, capacity).itemsize <= ARGUMENT_BYTES]


def _launch(kernel: Kernel, struct: np.dtype[Any], layouts: Sequence[Layout], members: Sequence[tuple[int, int]], elements: int) -> Launch:
    """The launch of a kernel for some members, whose thread blocks compute so many elements each."""
    given = np.zeros((), struct)
    # where each member's thread blocks end
    ends = np.cumsum([-(-size // elements) for _, size in members])
    given["size"][: len(members)] = [size for _, size in members]
    given["end"][: len(members)] = ends
    arrays, scalars = list[tuple[str, list[int]]](), list[tuple[str, list[int]]]()
    for k, own in enumerate(layouts):
        (scalars if own == SCALAR else arrays).append((f"at{k}", [begin + k for begin, _ in members]))
    return Launch(kernel, (int(ends[-1]),), given, arrays, scalars)


Kinds = tuple[str | None, ...]


def _kinds(program: RowProgram, layouts: Sequence[Layout]) -> Kinds:
    """For each operand its dtype if it is a scalar, None if it is an array."""
    dtypes = [t.dtype for t in program.inputs] + [program.steps[s].dtype for s in program.outputs]
    return tuple(dtype if own == SCALAR else None for dtype, own in zip(dtypes, layouts, strict=True))


@cache
def _struct(kinds: Kinds, index: str, capacity: int) -> np.dtype[Any]:
    """The argument struct, with C's alignment."""
    fields: list[tuple[str, Any, tuple[int]]]
    fields = [(f"at{k}", np.uint64 if kind is None else _scalar_dtype(kind), (capacity,)) for k, kind in enumerate(kinds)]
    wide = np.int64 if index == "long long" else np.int32
    return np.dtype([*fields, ("size", wide, (capacity,)), ("end", np.int32, (capacity,))], align=True)


def _scalar_dtype(dtype: str) -> np.dtype[Any]:
    """The dtype in which a scalar is passed to a kernel: float32 for 16-bit floats."""
    return np.dtype("float32" if C_TYPES[dtype] == "float" else dtype)


@cache
def kernel_source(
    program: RowProgram, name: str, layouts: tuple[Layout, ...], index: str, capacity: int, pack: int = 1, constants: tuple[str, ...] = ()
) -> str:
    """The source of a kernel ``name(struct)`` for up to ``capacity`` members.

    Parameters
    ----------
    program, name, index, pack, constants
        As for `kernels.kernel_source`.
    layouts
        Layouts of the inputs, then of the outputs: `SCALAR`, `ONE` or `PACKED`.
    capacity
        Members for which the struct has room.
    """
    inputs, fields, body = len(program.inputs), [], []
    stored = [f"const {STORED[t.dtype]} *" for t in program.inputs] + [f"{STORED[program.steps[s].dtype]} *" for s in program.outputs]
    for k, own in enumerate(layouts):
        kind = C_TYPES[program.inputs[k].dtype] + " " if own == SCALAR else stored[k]
        fields.append(f"{kind}at{k}[{capacity}];")
        variable = f"const {kind}in{k}" if own == SCALAR else f"{kind}in{k}" if k < inputs else f"{kind}out{k - inputs}"
        body.append(f"{variable} = given.at{k}[k];")
    places = [place(k, own) for k, own in enumerate(layouts)]
    if pack == 1:
        body += element_body(program, layouts, places)
    else:
        body += packed_body(program, layouts, places, 1, pack, "given.size[k]")
    # a thread block finds its member by a linear search over the members' last blocks; all its threads take the same branch
    head = [
        "int k = 0, begin = 0;",
        "while ((int)blockIdx.x >= given.end[k]) begin = given.end[k++];",
        f"const {index} i = ({index})((int)blockIdx.x - begin) * {THREADS * pack} + threadIdx.x * {pack};",
        "if (i >= given.size[k]) return;",
    ]
    struct = ["struct tf_given {", *[f"    {field}" for field in [*fields, f"{index} size[{capacity}];", f"int end[{capacity}];"]], "};"]
    packs = [cuda_text("packs")] if pack > 1 else []
    kernel = [f"TF_KERNEL {name}(const tf_given given) {{", *[f"    {line}" for line in head + body], "}"]
    return "\n".join([*preamble([program]), *packs, *struct, *kernel, ""])
