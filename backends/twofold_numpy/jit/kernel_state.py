"""The state of a kernel that is being printed, which `kernel` and the passes of `row_pass_printer` share."""

from typing import NamedTuple

from twofold.backend.kernel import Ref
from twofold.dtype import HALVES

from . import halves
from .callables import CONTENT
from .ir import BITS, Vector
from .primitives import KINDS, Typed, Unsupported
from .reduction_loops import COLUMNS
from .row_passes import buffered_steps
from .structure import UNIT_STRIDE, Structure

#: Element types in memory where they differ from those in registers: a bool takes a byte.
STORED = {"bool": "i8", **dict.fromkeys(HALVES, halves.STORED)}


class Machine(NamedTuple):
    """What the IR depends on: the vector width in bits, the size of an object header, and the offset of a bytes object's content."""

    vector_bits: int
    head: int = object.__basicsize__
    content: int = CONTENT


class KernelState:
    """A kernel being printed; ``a{k}`` are its arrays, inputs then outputs.

    Attributes
    ----------
    passes
        The passes over each row; a single one without reductions.
    outputs
        For each array that is an output, its step.
    buffered
        Steps whose results for a row are kept in scratch for a later pass.
    stored
        Element types in memory: ``a0`` of an array, ``k0`` of a buffered step.
    lanes
        Elements of a vector: two registers' worth of the widest type, which hides the latency of one by the other.
    of_row
        Operands with one element per row, splat over all lanes.
    memory, declarations
        Lines printed before the others: at the function's entry, and outside of it.
    strides
        IR values of the arrays' strides in elements, by array and axis.
    """

    def __init__(self, structure: Structure, machine: Machine) -> None:
        self.structure, self.machine = structure, machine
        steps = structure.steps
        self.dtypes = dtypes = [*structure.dtypes, *[steps[s].dtype for s in structure.outputs]]
        if not all(d in KINDS for d in dtypes):
            raise Unsupported(f"arrays of {', '.join(dtypes)}")
        self.last = structure.rank - 1
        self.passes = structure.passes()
        full = (True,) * structure.rank
        self.axes = [*structure.axes, *[(*full[:-1], not steps[s].row) for s in structure.outputs]]
        self.arrays = range(len(dtypes))
        self.inputs = range(len(structure.dtypes))
        self.outputs = dict(zip(self.arrays[len(self.inputs) :], structure.outputs, strict=True))
        self.buffered = buffered_steps(self.passes)
        self.stored = {f"a{k}": _stored(d) for k, d in enumerate(dtypes)} | {f"k{t}": _stored(steps[t].dtype) for t in self.buffered}
        widest = max(BITS[KINDS.get(d, "i1")] for d in [*dtypes, *[d for s in steps for d in (s.dtype, s.operand_dtype)]])
        # at least the eight columns of NumPy's pairwise sum, which a vector is added to as a whole
        self.lanes = max(COLUMNS, 2 * machine.vector_bits // max(32, widest))
        self.of_row: dict[Ref, Typed] = {}
        self.lines: list[str] = []
        self.memory: list[str] = []
        self.strides: dict[tuple[int, int], str] = {}
        self.declarations: dict[str, None] = {}

    def emit(self, *lines: str) -> None:
        """Append lines; labels are not indented."""
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def as_computed(self, value: Vector, ref: Ref) -> Typed:
        """A loaded value in the type that steps compute with."""
        dtype = self.structure.dtypes[ref.value] if ref.kind == "in" else self.structure.steps[ref.value].dtype
        if dtype in HALVES:
            return Typed(halves.widened(value, dtype), dtype)
        return Typed(value.compare("ne", 0) if dtype == "bool" else value, dtype)

    @property
    def part(self) -> tuple[str, str]:
        """Begin and end of the part of a row that is processed."""
        return ("%from", "%to") if self.structure.has_blocks else (f"%begin{self.last}", f"%end{self.last}")

    def row_stride(self, place: str) -> int:
        """The kind of stride along the row at a place in memory, ``a{k}`` or ``k{t}``."""
        k = int(place[1:])
        is_input = place[0] == "a" and k in self.inputs
        return self.structure.row_strides[k] if self.structure.row_strides and is_input else UNIT_STRIDE


def _stored(dtype: str) -> str:
    """The element type of a dtype in memory."""
    kind = KINDS.get(dtype)
    if kind is None:
        raise Unsupported(f"buffered results of {dtype}")
    return STORED.get(dtype, kind)
