"""Element-wise kernels that differ in their arrays alone as one launch: blocks of threads are dealt out to them in order.

Places, sizes and numbers of all go by value, in a struct of at most 4 KB, which is what a launch can carry; what does not fit goes
by further launches.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from twofold.backend.c_text import C_TYPES, STORED, preamble, read_line, step_line, write_line
from twofold.backend.kernel import RowProgram
from twofold.backend.strides import LONG

from .kernels import NUMBER, ONE, PACKED, Layout, constants_of, elementwise, name_of, number_argument, place
from .launch import THREADS, Kernel, function

#: Bytes of arguments that every device takes.
ARGUMENTS = 4096
#: How many kernels one launch serves at most, and so how many a text has room for: one of these.
ROOM = (2, 4, 8, 16, 32, 64, 128)


def together(programs: Sequence[RowProgram]) -> Callable[..., None]:
    """Programs of the same steps as a function of all their operands, one program's after another's.

    What does not lie in row-major order, or has too many operands for a launch of two, is computed apart, by a kernel of its own.
    """
    kernels, program = [elementwise(program) for program in programs], programs[0]
    width = len(program.inputs) + len(program.outputs)
    fits = cache(lambda layouts: bool(_rooms(program, layouts, "long long")))

    def kernel(*arrays: Any) -> None:
        alike: dict[tuple[Layout, ...], list[tuple[Any, ...]]] = {}
        for k, own in enumerate(kernels):
            operands = arrays[k * width : (k + 1) * width]
            layouts = _layouts(operands, len(program.inputs))
            if layouts is None or not fits(layouts):
                own(*operands)
            else:
                alike.setdefault(layouts, []).append(operands)
        for layouts, members in alike.items():
            _launch(program, layouts, members)

    return kernel


def _layouts(arrays: Sequence[Any], inputs: int) -> tuple[Layout, ...] | None:
    """How each operand lies over the results, which say how large the space is; None if one lies in another way than these."""
    size, found = arrays[inputs].size, []
    for a in arrays:
        if type(a) is np.ndarray:
            found.append(NUMBER)
        elif a.size == size and a._c_contiguous:
            found.append(PACKED)
        elif a.size == 1:
            found.append(ONE)
        else:
            return None
    return tuple(found)


def _launch(program: RowProgram, layouts: tuple[Layout, ...], members: Sequence[tuple[Any, ...]]) -> None:
    results = len(program.inputs)
    members = [operands for operands in members if operands[results].size]
    if not members:
        return
    is_long = max(operands[results].size for operands in members) >= LONG
    index = "long long" if is_long else "int"
    rooms = _rooms(program, layouts, index)
    room = next((room for room in rooms if room >= len(members)), rooms[-1])
    name = f"{name_of(program)}_at_once"
    bare = program._replace(name="", shape=(), inputs=tuple(t._replace(shape=()) for t in program.inputs), in_place=())
    kernel = function(text(bare, name, layouts, index, room, constants_of(program)), name)
    struct = _struct(_kinds(program, layouts), index, room)
    for begin in range(0, len(members), room):
        _run(kernel, struct, layouts, members[begin : begin + room], results)


def _rooms(program: RowProgram, layouts: Sequence[Layout], index: str) -> list[int]:
    """For how many kernels a launch can carry the arguments; none if they have very many operands."""
    kinds = _kinds(program, layouts)
    return [room for room in ROOM if _struct(kinds, index, room).itemsize <= ARGUMENTS]


def _run(kernel: Kernel, struct: np.dtype[Any], layouts: Sequence[Layout], members: Sequence[tuple[Any, ...]], results: int) -> None:
    given = np.zeros((), struct)
    sizes = [operands[results].size for operands in members]
    ends = np.cumsum([-(-n // THREADS) for n in sizes])
    given["size"][: len(sizes)] = sizes
    given["end"][: len(sizes)] = ends
    for k, own in enumerate(layouts):
        column = [operands[k] for operands in members]
        given[f"at{k}"][: len(column)] = [number_argument(a) for a in column] if own == NUMBER else [a.data.ptr for a in column]
    kernel((int(ends[-1]),), (THREADS,), (given,))


Kinds = tuple[str | None, ...]


def _kinds(program: RowProgram, layouts: Sequence[Layout]) -> Kinds:
    """For each operand the dtype of its number; None for an array."""
    dtypes = [t.dtype for t in program.inputs] + [program.steps[s].dtype for s in program.outputs]
    return tuple(dtype if own == NUMBER else None for dtype, own in zip(dtypes, layouts, strict=True))


@cache
def _struct(kinds: Kinds, index: str, room: int) -> np.dtype[Any]:
    """The arguments of a launch, aligned as C does."""
    fields: list[tuple[str, Any, tuple[int]]]
    fields = [(f"at{k}", np.uint64 if kind is None else _number(kind), (room,)) for k, kind in enumerate(kinds)]
    wide = np.int64 if index == "long long" else np.int32
    return np.dtype([*fields, ("size", wide, (room,)), ("end", np.int32, (room,))], align=True)


def _number(dtype: str) -> np.dtype[Any]:
    """In what a number of a dtype goes to a kernel: 16-bit floats as float32."""
    return np.dtype("float32" if C_TYPES[dtype] == "float" else dtype)


@cache
def text(program: RowProgram, name: str, layouts: tuple[Layout, ...], index: str, room: int, constants: tuple[str, ...] = ()) -> str:
    """The text of a kernel: ``name(operands)``, whose struct has room for so many members.

    Parameters
    ----------
    program, name, index, constants
        As of `kernels.text`.
    layouts
        How inputs, then outputs lie: `NUMBER`, `ONE` or `PACKED`.
    room
        How many members the struct has room for.
    """
    inputs, fields, body = len(program.inputs), [], []
    stored = [f"const {STORED[t.dtype]} *" for t in program.inputs] + [f"{STORED[program.steps[s].dtype]} *" for s in program.outputs]
    for k, own in enumerate(layouts):
        kind = C_TYPES[program.inputs[k].dtype] + " " if own == NUMBER else stored[k]
        fields.append(f"{kind}at{k}[{room}];")
        variable = f"const {kind}x{k}" if own == NUMBER else f"{kind}in{k}" if k < inputs else f"{kind}out{k - inputs}"
        body.append(f"{variable} = given.at{k}[k];")
    body += [read_line(k, t.dtype, place(k, layouts[k])) for k, t in enumerate(program.inputs) if layouts[k] != NUMBER]
    body += [step_line(program, k) for k in range(len(program.steps))]
    body += [write_line(k, program.steps[s].dtype, place(inputs + k, layouts[inputs + k]), f"v{s}") for k, s in enumerate(program.outputs)]
    head = [
        "int k = 0, begin = 0;",
        "while ((int)blockIdx.x >= given.end[k]) begin = given.end[k++];",
        f"const {index} i = ({index})((int)blockIdx.x - begin) * {THREADS} + threadIdx.x;",
        "if (i >= given.size[k]) return;",
    ]
    struct = ["struct tf_given {", *[f"    {field}" for field in [*fields, f"{index} size[{room}];", f"int end[{room}];"]], "};"]
    kernel = [f"TF_KERNEL {name}(const tf_given given) {{", *[f"    {line}" for line in head + body], "}"]
    return "\n".join([*preamble([program]), *struct, *kernel, ""])
