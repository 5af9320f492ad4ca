"""A row program as the text of an LLVM function over NumPy's arrays; sizes are arguments, so one text serves every shape of a structure.

``int kernel(bounds, array…)`` takes the arrays themselves (``PyObject *``), inputs then outputs, and finds their memory in the fields
that NumPy's C interface promises. It returns 1, with nothing written, if an array has not as many elements as it should or is not
C-contiguous. ``bounds`` holds begin, end and size of each axis of the collapsed space; the kernel runs from begin to end.
"""

from typing import NamedTuple

import numpy as np

from twofold.backend.iteration import collapse
from twofold.backend.kernel import KernelStep, RowProgram
from twofold.dtype import NUMPY

from .ir import BITS, Code, Value
from .primitives import KINDS, Typed, Unsupported, step_value

#: Types in memory where they are others: bools take a byte.
STORED = {"i1": "i8"}
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
#: Bits of ``flags``: C-contiguous and aligned.
WANTED_FLAGS = 0x101
#: Fields of an array object behind its head: data, nd, dimensions, strides, base, descr, flags.
FIELDS = {"data": 0, "nd": 8, "dimensions": 16, "flags": 48}


class Structure(NamedTuple):
    """All of a row program that decides its text.

    Attributes
    ----------
    axes
        For each input, which axes of the collapsed space it has.
    rank
        How many axes the space has.
    dtypes
        Of the inputs.
    steps, outputs
        The program's.
    """

    axes: tuple[tuple[bool, ...], ...]
    rank: int
    dtypes: tuple[str, ...]
    steps: tuple[KernelStep, ...]
    outputs: tuple[int, ...]


def structure_of(program: RowProgram) -> tuple[Structure, tuple[int, ...]]:
    """The structure and the sizes of its axes."""
    space, shapes = collapse(program.shape, [t.shape for t in program.inputs])
    axes = tuple(tuple(n == m for n, m in zip(shape, space, strict=True)) for shape in shapes)
    return Structure(axes, len(space), tuple(t.dtype for t in program.inputs), program.steps, program.outputs), space


class Machine(NamedTuple):
    """What the text depends on: bits of a vector register, and bytes of a Python object's head."""

    vector_bits: int
    head: int


def kernel_text(structure: Structure, machine: Machine) -> str:
    """The module of a structure.

    Raises
    ------
    Unsupported
        If a step has no expression, or a dtype no type here.
    """
    return _Printer(structure, machine).text()


class _Printer:
    """Prints one kernel: ``a{k}`` are its arrays, inputs then outputs."""

    def __init__(self, structure: Structure, machine: Machine) -> None:
        self.structure, self.machine = structure, machine
        dtypes = [*structure.dtypes, *[structure.steps[s].dtype for s in structure.outputs]]
        if not all(d in KINDS for d in dtypes):
            raise Unsupported(f"arrays of {', '.join(dtypes)}")
        if any(step.row for step in structure.steps):
            raise Unsupported("reductions over rows")
        self.kinds = [KINDS[d] for d in dtypes]
        self.stored = [STORED.get(k, k) for k in self.kinds]
        self.axes = [*structure.axes, *[(True,) * structure.rank] * len(structure.outputs)]
        self.arrays = range(len(dtypes))
        self.inputs = range(len(structure.dtypes))
        self.last = structure.rank - 1
        widest = max(BITS[k] for k in self._all_kinds())
        self.lanes = 2 * machine.vector_bits // max(32, widest)
        self.lines: list[str] = []
        #: Elements of an array between neighbours along an axis.
        self.strides: dict[tuple[int, int], str] = {}
        self.declarations: dict[str, None] = {}

    def text(self) -> str:
        """The module."""
        self._entry()
        for axis in range(self.last):
            self._open(axis)
        self._row()
        for axis in reversed(range(self.last)):
            self._close(axis)
        parameters = ", ".join(["ptr %bounds", *[f"ptr %object{k}" for k in self.arrays]])
        width = self.machine.vector_bits
        return "\n".join(
            [
                *self.declarations,
                _check(self.machine.head),
                f"define i32 @kernel({parameters}) #0 {{",
                *self.lines,
                "  ret i32 0",
                "refused:",
                "  ret i32 1",
                "}",
                f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}',
                "",
            ]
        )

    def _all_kinds(self) -> list[str]:
        """Types of everything that is computed."""
        steps = self.structure.steps
        return [*self.kinds, *[KINDS.get(d, "i1") for s in steps for d in (s.dtype, s.operand_dtype)]]

    def emit(self, *lines: str) -> None:
        """Append lines, labels flush left."""
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def _entry(self) -> None:
        """Sizes, strides, checks and the arrays' memory."""
        self.emit("entry:")
        for axis in range(self.structure.rank):
            for k, name in enumerate(("begin", "end", "size")):
                self.emit(f"%{name}{axis}.at = getelementptr i64, ptr %bounds, i64 {3 * axis + k}")
                self.emit(f"%{name}{axis} = load i64, ptr %{name}{axis}.at")
        wrong = "false"
        for k in self.arrays:
            total = "1"
            for axis in reversed(range(self.structure.rank)):
                if self.axes[k][axis]:
                    self.strides[k, axis] = total
                    self.emit(f"%a{k}.total{axis} = mul i64 {total}, %size{axis}")
                    total = f"%a{k}.total{axis}"
            self.emit(f"%a{k}.wrong = call i1 @refused(ptr %object{k}, i64 {total})", f"%wrong{k} = or i1 {wrong}, %a{k}.wrong")
            wrong = f"%wrong{k}"
            self.emit(f"%a{k}.data = getelementptr i8, ptr %object{k}, i64 {self.machine.head + FIELDS['data']}")
            self.emit(f"%a{k}.from0 = load ptr, ptr %a{k}.data")
        self.emit(f"br i1 {wrong}, label %refused, label %start", "start:")
        self.emit("br label %axis0" if self.last else "br label %row")

    def _open(self, axis: int) -> None:
        """The beginning of the loop over an outer axis, with where each array's part begins."""
        before = "start" if axis == 0 else f"inside{axis - 1}"
        self.emit(
            f"axis{axis}:",
            f"%x{axis} = phi i64 [ %begin{axis}, %{before} ], [ %next{axis}, %again{axis} ]",
            f"%more{axis} = icmp slt i64 %x{axis}, %end{axis}",
            f"br i1 %more{axis}, label %inside{axis}, label %done{axis}",
            f"inside{axis}:",
        )
        for k in self.arrays:
            offset = "0"
            if self.axes[k][axis]:
                offset = f"%a{k}.offset{axis}"
                self.emit(f"{offset} = mul i64 %x{axis}, {self.strides[k, axis]}")
            self.emit(f"%a{k}.from{axis + 1} = getelementptr {self.stored[k]}, ptr %a{k}.from{axis}, i64 {offset}")
        self.emit(f"br label %{'row' if axis + 1 == self.last else f'axis{axis + 1}'}")

    def _close(self, axis: int) -> None:
        """The end of the loop over an outer axis; the last instruction before it ended the loop inside."""
        self.emit(f"br label %again{axis}", f"again{axis}:", f"%next{axis} = add i64 %x{axis}, 1", f"br label %axis{axis}", f"done{axis}:")

    def _row(self) -> None:
        """The loop over the last axis: plain loads and stores of whole vectors, masked ones of what is left, around the same steps."""
        self.emit("row:")
        code = Code(self.lanes)
        spread = {k: self._spread(code, k) for k in self.inputs if not self.axes[k][self.last]}
        self.emit(
            "br label %vectors",
            "vectors:",
            f"%i = phi i64 [ %begin{self.last}, %row ], [ %i.next, %plain.out ], [ %i.next, %masked.out ]",
            f"%i.next = add i64 %i, {self.lanes}",
            f"%left = sub i64 %end{self.last}, %i",
            "%some = icmp sgt i64 %left, 0",
            f"%whole = icmp sge i64 %left, {self.lanes}",
            "br i1 %some, label %vector, label %row.done",
            "vector:",
            *[self._address(k) for k in self.arrays if k not in spread],
            "br i1 %whole, label %plain.in, label %masked.in",
        )
        self._body(code, spread)
        self.emit("row.done:")
        self.declarations |= code.declarations

    def _mask(self, name: str) -> None:
        """The lanes that have an element left."""
        lanes = self.lanes
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        self.emit(
            f"{name}.first = insertelement <{lanes} x i64> poison, i64 %left, i64 0",
            f"{name}.all = shufflevector <{lanes} x i64> {name}.first, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer",
            f"{name} = icmp slt <{lanes} x i64> <{numbers}>, {name}.all",
        )

    def _spread(self, code: Code, k: int) -> Value:
        """The one element that an input has in this row, in every lane."""
        kind, lanes = self.stored[k], self.lanes
        self.emit(
            f"%a{k}.one = load {kind}, ptr %a{k}.from{self.last}, align {SIZES[kind]}",
            f"%a{k}.first = insertelement <{lanes} x {kind}> poison, {kind} %a{k}.one, i64 0",
            f"%a{k}.all = shufflevector <{lanes} x {kind}> %a{k}.first, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer",
        )
        return Value(code, f"%a{k}.all", kind)

    def _address(self, k: int) -> str:
        return f"%a{k}.at = getelementptr {self.stored[k]}, ptr %a{k}.from{self.last}, i64 %i"

    def _body(self, code: Code, spread: dict[int, Value]) -> None:
        """Loads, steps, stores: all loads come first, since an output may be an input's memory."""
        moved = [k for k in self.inputs if k not in spread]
        for way in ("plain", "masked"):
            self.emit(f"{way}.in:")
            if way == "masked":
                self._mask("%mask.in")
            self.emit(*[self._load(code, k, way) for k in moved], "br label %steps")
        self.emit("steps:")
        for k in moved:
            self.emit(f"%a{k}.now = phi {code.type_of(self.stored[k])} [ %a{k}.plain, %plain.in ], [ %a{k}.masked, %masked.in ]")
        values = {k: Value(code, f"%a{k}.now", self.stored[k]) for k in moved} | spread
        loaded = [Typed(values[k].compare("ne", 0) if self.kinds[k] == "i1" else values[k], self.structure.dtypes[k]) for k in self.inputs]
        results = self._results(code, loaded)
        self.emit(*code.lines, "br i1 %whole, label %plain.out, label %masked.out")
        for way in ("plain", "masked"):
            self.emit(f"{way}.out:")
            if way == "masked":
                self._mask("%mask.out")
            self.emit(*[self._store(code, k, value, way) for k, value in results.items()], "br label %vectors")

    def _results(self, code: Code, loaded: list[Typed]) -> dict[int, Value]:
        """The steps; what each output gets, in the type of its memory."""
        results: list[Typed] = []
        for step in self.structure.steps:
            operands = []
            for ref in step.args:
                if ref.kind == "const":
                    operands.append(_constant(code, ref.value, step.operand_dtype))
                else:
                    operands.append((loaded if ref.kind == "in" else results)[ref.value])
            results.append(step_value(code, step, operands))
        values = [results[number].value for number in self.structure.outputs]
        values = [value.convert("zext", "i8") if value.kind == "i1" else value for value in values]
        return dict(zip(self.arrays[len(self.inputs) :], values, strict=True))

    def _load(self, code: Code, k: int, way: str) -> str:
        kind = self.stored[k]
        kept, size, lanes = code.type_of(kind), SIZES[kind], code.type_of("i1")
        if way == "plain":
            return f"%a{k}.plain = load {kept}, ptr %a{k}.at, align {size}"
        name = f"@llvm.masked.load.{_overload(code, kind)}.p0"
        code.declarations[f"declare {kept} {name}(ptr, i32 immarg, {lanes}, {kept})"] = None
        return f"%a{k}.masked = call {kept} {name}(ptr %a{k}.at, i32 {size}, {lanes} %mask.in, {kept} zeroinitializer)"

    def _store(self, code: Code, k: int, value: Value, way: str) -> str:
        kind = self.stored[k]
        size, lanes = SIZES[kind], code.type_of("i1")
        if way == "plain":
            return f"store {value.typed}, ptr %a{k}.at, align {size}"
        name = f"@llvm.masked.store.{_overload(code, kind)}.p0"
        code.declarations[f"declare void {name}({value.type}, ptr, i32 immarg, {lanes})"] = None
        return f"call void {name}({value.typed}, ptr %a{k}.at, i32 {size}, {lanes} %mask.out)"


def _overload(code: Code, kind: str) -> str:
    """A vector type in an intrinsic's name."""
    return f"v{code.lanes}" + {"float": "f32", "double": "f64"}.get(kind, kind)


def _constant(code: Code, value: float | int | bool, dtype: str) -> Typed:
    """A constant of a program, rounded to its dtype."""
    if dtype not in KINDS:
        raise Unsupported(f"a constant of {dtype}")
    return Typed(code.constant(np.asarray(value).astype(NUMPY[dtype]).item(), KINDS[dtype]), dtype)


def _check(head: int) -> str:
    """``refused(array, count)``: whether an array cannot be read as so many elements in a row."""
    nd, dimensions, flags = (head + FIELDS[name] for name in ("nd", "dimensions", "flags"))
    return f"""define internal i1 @refused(ptr %array, i64 %count) noinline nounwind {{
entry:
  %nd.at = getelementptr i8, ptr %array, i64 {nd}
  %nd = load i32, ptr %nd.at
  %dimensions.at = getelementptr i8, ptr %array, i64 {dimensions}
  %dimensions = load ptr, ptr %dimensions.at
  %flags.at = getelementptr i8, ptr %array, i64 {flags}
  %flags = load i32, ptr %flags.at
  %have = and i32 %flags, {WANTED_FLAGS}
  %strided = icmp ne i32 %have, {WANTED_FLAGS}
  br label %axes
axes:
  %k = phi i32 [ 0, %entry ], [ %k.next, %axis ]
  %total = phi i64 [ 1, %entry ], [ %product, %axis ]
  %more = icmp slt i32 %k, %nd
  br i1 %more, label %axis, label %done
axis:
  %n.at = getelementptr i64, ptr %dimensions, i32 %k
  %n = load i64, ptr %n.at
  %product = mul i64 %total, %n
  %k.next = add i32 %k, 1
  br label %axes
done:
  %differs = icmp ne i64 %total, %count
  %result = or i1 %strided, %differs
  ret i1 %result
}}"""
