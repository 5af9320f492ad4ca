"""Epilogues of direct convolutions as machine code: element-wise steps on a tile of results before it is stored.

These are the steps of the kernel that would otherwise follow, with the same bits. Here the results are still in the L1 cache, and are
written once.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from twofold.backend.kernel import ArrayType, Ref, RowProgram

from .ir import Code, Vector, splat
from .kernel_state import Machine
from .llvm_text import FIELDS
from .primitives import APPROXIMATE, Typed, constant, has_rule, step_value

#: The role of an input of the steps: the convolution's result, an array of its shape, one number for each channel, or one number.
Role = Literal["result", "whole", "channel", "number"]
#: The place of the first further input among the arguments: after image and weight. The result is the last one.
FIRST = 2
_PARAMETERS = (
    "ptr %tile, i64 %tile.step, ptr %arguments, i64 %offset, i64 %out.step, i64 %filters, i64 %rows, i64 %pitch, i64 %columns, i64 %channel"
)


class Epilogue(NamedTuple):
    """The steps of a kernel that follows a convolution, and the role of each of its inputs; the first ``result`` is the convolution's."""

    program: RowProgram
    roles: tuple[Role, ...]


def epilogue_of(program: RowProgram, place: int) -> Epilogue | None:
    """A kernel as the epilogue of a convolution, whose result is the input at ``place``; None if it has to be a kernel of its own.

    Steps whose bits in machine code differ from NumPy's stay in kernels, which decide how all of them run.
    """
    whole = program.inputs[place].shape
    roles: list[Role | None] = ["result" if k == place else _role(t, whole) for k, t in enumerate(program.inputs)]
    kinds = {t.dtype for t in program.inputs} | {program.steps[k].dtype for k in program.outputs}
    are_known = all(
        s.op not in APPROXIMATE
        and has_rule(s.op, [*[program.inputs[r.value].dtype for r in s.args if r.kind == "in"], s.operand_dtype, s.dtype])
        for s in program.steps
    )
    if None in roles or kinds != {"float32"} or not are_known or len(program.outputs) != 1 or program.shape != whole or program.has_rows:
        return None
    return Epilogue(program, tuple(role for role in roles if role is not None))


def _role(given: ArrayType, whole: tuple[int, ...]) -> Role | None:
    """The role of an array beside results (n, c, …); None if it has none of these roles."""
    if given.shape == whole:
        return "whole"
    if all(n == 1 for n in given.shape):
        return "number"
    padded = (1,) * (len(whole) - len(given.shape)) + given.shape
    # results are (n, c, …), so the channel is axis 1
    is_by_channel = len(padded) == len(whole) and padded[1] == whole[1] and all(n == 1 for k, n in enumerate(padded) if k != 1)
    return "channel" if is_by_channel else None


def epilogue_ir(epilogue: Epilogue, machine: Machine) -> str:
    """The LLVM module of an epilogue."""
    lanes = machine.vector_bits // 32
    return "\n".join(_Printer(epilogue, machine, lanes).lines())


class _Printer:
    def __init__(self, epilogue: Epilogue, machine: Machine, lanes: int) -> None:
        self.program, self.roles = epilogue
        self.machine, self.lanes = machine, lanes
        self.declarations: dict[str, None] = {}
        self.vector = f"<{lanes} x float>"
        self.mask = f"<{lanes} x i1>"
        others = [k for k, role in enumerate(self.roles) if role != "result"]
        self.arguments = {k: FIRST + j for j, k in enumerate(others)}

    def lines(self) -> list[str]:
        """All lines of the module."""
        body = list(self._body())
        width = self.machine.vector_bits
        return [
            *self.declarations,
            f"define void @kernel({_PARAMETERS}) #0 {{",
            "entry:",
            *body,
            "}",
            f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}',
            "",
        ]

    def _of(self, role: Role) -> list[int]:
        return [k for k, found in enumerate(self.roles) if found == role]

    def _body(self) -> Iterator[str]:
        """Loops over filters, rows and vectors."""
        yield from self._data("out", FIRST + len(self.arguments))
        for k, at in self.arguments.items():
            yield from self._data(f"in{k}", at)
        # Values that do not change inside a loop are loaded and splat before it: numbers here, one number per channel below.
        for k in self._of("number"):
            yield f"%number{k} = load float, ptr %in{k}, align 4"
            yield from splat(f"%x{k}", f"%number{k}", "float", self.lanes)
        yield "br label %filter"
        yield "filter:"
        yield "%f = phi i64 [ 0, %entry ], [ %f.next, %filter.done ]"
        yield "%from.first = phi ptr [ %tile, %entry ], [ %from.filter, %filter.done ]"
        yield "%to.first = phi i64 [ %offset, %entry ], [ %to.filter, %filter.done ]"
        yield "%more.filters = icmp ult i64 %f, %filters"
        yield "br i1 %more.filters, label %channels, label %end"
        yield "channels:"
        yield "%own = add i64 %channel, %f"
        for k in self._of("channel"):
            yield f"%channel{k}.at = getelementptr float, ptr %in{k}, i64 %own"
            yield f"%channel{k} = load float, ptr %channel{k}.at, align 4"
            yield from splat(f"%x{k}", f"%channel{k}", "float", self.lanes)
        yield "br label %row"
        yield "row:"
        yield "%r = phi i64 [ 0, %channels ], [ %r.next, %row.done ]"
        yield "%from = phi ptr [ %from.first, %channels ], [ %from.next, %row.done ]"
        yield "%to = phi i64 [ %to.first, %channels ], [ %to.next, %row.done ]"
        yield "%more.rows = icmp ult i64 %r, %rows"
        yield "br i1 %more.rows, label %vectors, label %filter.done"
        yield "vectors:"
        yield "%i = phi i64 [ 0, %row ], [ %i.next, %plain ]"
        yield "%left = sub i64 %columns, %i"
        yield f"%is.whole = icmp sge i64 %left, {self.lanes}"
        yield "br i1 %is.whole, label %plain, label %rest"
        yield "plain:"
        yield from self._vector("plain")
        yield f"%i.next = add i64 %i, {self.lanes}"
        yield "br label %vectors"
        yield "rest:"
        yield "%some = icmp sgt i64 %left, 0"
        yield "br i1 %some, label %masked, label %row.done"
        # The last vector of a row extends beyond the row, where there may be another block's results, or no memory.
        yield "masked:"
        yield from splat("%left.all", "%left", "i64", self.lanes)
        yield f"%mask = icmp slt <{self.lanes} x i64> <{', '.join(f'i64 {k}' for k in range(self.lanes))}>, %left.all"
        yield from self._vector("masked")
        yield "br label %row.done"
        yield "row.done:"
        yield "%r.next = add i64 %r, 1"
        yield "%from.next = getelementptr float, ptr %from, i64 %pitch"
        # the tile has gaps at the ends of its rows (`pitch`), the result has none
        yield "%columns.bytes = mul i64 %columns, 4"
        yield "%to.next = add i64 %to, %columns.bytes"
        yield "br label %row"
        yield "filter.done:"
        yield "%f.next = add i64 %f, 1"
        yield "%from.filter = getelementptr i8, ptr %from.first, i64 %tile.step"
        yield "%to.filter = add i64 %to.first, %out.step"
        yield "br label %filter"
        yield "end:"
        yield "ret void"

    def _data(self, name: str, at: int) -> Iterator[str]:
        """The address of an argument's data."""
        yield f"%{name}.object.at = getelementptr ptr, ptr %arguments, i64 {at}"
        yield f"%{name}.object = load ptr, ptr %{name}.object.at"
        yield f"%{name}.at = getelementptr i8, ptr %{name}.object, i64 {self.machine.head + FIELDS['data']}"
        yield f"%{name} = load ptr, ptr %{name}.at"

    def _vector(self, variant: str) -> Iterator[str]:
        """One vector: loads, steps, a store."""
        v, code = variant, Code(self.lanes, f"%{variant}.v")
        yield f"%{v}.from = getelementptr float, ptr %from, i64 %i"
        for k in self._of("result"):
            yield self._load(f"%{v}.x{k}", f"%{v}.from", v)
        for k in self._of("whole"):
            yield f"%{v}.in{k}.row = getelementptr i8, ptr %in{k}, i64 %to"
            yield f"%{v}.in{k} = getelementptr float, ptr %{v}.in{k}.row, i64 %i"
            yield self._load(f"%{v}.x{k}", f"%{v}.in{k}", v)
        found: dict[Ref, Typed] = {}
        for k, role in enumerate(self.roles):
            name = f"%{v}.x{k}" if role in ("result", "whole") else f"%x{k}"
            found[Ref("in", k)] = Typed(Vector(code, name, "float"), "float32")
        for t, step in enumerate(self.program.steps):
            operands = [constant(code, r.value, step.operand_dtype) if r.kind == "const" else found[r] for r in step.args]
            found[Ref("step", t)] = step_value(code, step, operands)
        yield from code.lines
        self.declarations |= code.declarations
        result = found[Ref("step", self.program.outputs[0])].value
        yield f"%{v}.out.row = getelementptr i8, ptr %out, i64 %to"
        yield f"%{v}.out = getelementptr float, ptr %{v}.out.row, i64 %i"
        yield self._store(result, f"%{v}.out", v)

    def _load(self, name: str, at: str, variant: str) -> str:
        if variant == "plain":
            return f"{name} = load {self.vector}, ptr {at}, align 4"
        function = f"@llvm.masked.load.v{self.lanes}f32.p0"
        self.declarations[f"declare {self.vector} {function}(ptr, i32 immarg, {self.mask}, {self.vector})"] = None
        return f"{name} = call {self.vector} {function}(ptr {at}, i32 4, {self.mask} %mask, {self.vector} zeroinitializer)"

    def _store(self, value: Vector, at: str, variant: str) -> str:
        if variant == "plain":
            return f"store {value.typed}, ptr {at}, align 4"
        function = f"@llvm.masked.store.v{self.lanes}f32.p0"
        self.declarations[f"declare void {function}({self.vector}, ptr, i32 immarg, {self.mask})"] = None
        return f"call void {function}({value.typed}, ptr {at}, i32 4, {self.mask} %mask)"
