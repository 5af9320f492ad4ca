"""A row program as the text of an LLVM function over NumPy's arrays; sizes are numbers it reads, so one text serves all shapes.

The function is a builtin of Python (`callables`) that takes the arrays, inputs then outputs, and finds their memory in the fields that
NumPy's C interface promises. If an argument is not an array, or has not as many elements as it should, or is not C-contiguous, it
writes nothing and calls what was given for that. Its numbers are begin, end and size of each axis of the collapsed space, of which it
runs from begin to end, and, where rows are reduced, the table of `reductions.leaves` for a row, which is run whole.
"""

from typing import NamedTuple

from twofold.backend.kernel import KernelStep, Ref, RowProgram

from ..blocked import collapsed
from .callables import CONTENT, HEAD
from .ir import BITS, Code, Value
from .pass_text import SIZES, STORED, PassText
from .passes import Pass, kept_steps, passes_of
from .primitives import KINDS, Typed, Unsupported
from .reductions import COLUMNS, LETTERS, add_leaf

#: Bits of ``flags``: C-contiguous and aligned.
WANTED_FLAGS = 0x101
#: Functions of the interpreter.
INTERPRETER = (
    "declare ptr @PyEval_SaveThread()",
    "declare void @PyEval_RestoreThread(ptr)",
    "declare ptr @PyMem_RawMalloc(i64)",
    "declare void @PyMem_RawFree(ptr)",
    "declare void @Py_IncRef(ptr)",
    "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
)
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

    @property
    def has_rows(self) -> bool:
        """Whether rows are reduced."""
        return any(step.row for step in self.steps)

    def passes(self) -> list[Pass]:
        """The passes over each row; one where nothing is reduced."""
        return passes_of(self.steps, [axes[-1] for axes in self.axes])


def structure_of(program: RowProgram) -> tuple[Structure, tuple[int, ...]]:
    """The structure and the sizes of its axes."""
    space, shapes = collapsed(program)
    axes = tuple(tuple(n == m for n, m in zip(shape, space, strict=True)) for shape in shapes)
    return Structure(axes, len(space), tuple(t.dtype for t in program.inputs), program.steps, program.outputs), space


class Machine(NamedTuple):
    """What the text depends on: bits of a vector register, bytes of a Python object's head, and those before a bytes object's content."""

    vector_bits: int
    head: int = object.__basicsize__
    content: int = CONTENT


def kernel_text(structure: Structure, machine: Machine) -> str:
    """The module of a structure.

    Raises
    ------
    Unsupported
        If a step has no expression, or a dtype no type here.
    """
    return Printer(structure, machine).text()


class Printer:
    """Prints one kernel: ``a{k}`` are its arrays, inputs then outputs.

    Attributes
    ----------
    passes
        Over each row; one where nothing is reduced.
    outputs
        The step of each array that is an output.
    kept
        Steps whose result for a row lies in the scratch from one pass to a later one.
    stored
        Types in memory by place: ``a0`` an array, ``k0`` a step that is kept.
    of_row
        Operands of which a row has one element, in every lane.
    memory, declarations
        Lines that are printed before everything else: at the function's begin, and outside it.
    """

    def __init__(self, structure: Structure, machine: Machine) -> None:
        self.structure, self.machine = structure, machine
        steps = structure.steps
        dtypes = [*structure.dtypes, *[steps[s].dtype for s in structure.outputs]]
        if not all(d in KINDS for d in dtypes):
            raise Unsupported(f"arrays of {', '.join(dtypes)}")
        self.last = structure.rank - 1
        self.passes = structure.passes()
        full = (True,) * structure.rank
        self.axes = [*structure.axes, *[(*full[:-1], not steps[s].row) for s in structure.outputs]]
        self.arrays = range(len(dtypes))
        self.inputs = range(len(structure.dtypes))
        self.outputs = dict(zip(self.arrays[len(self.inputs) :], structure.outputs, strict=True))
        self.kept = kept_steps(self.passes)
        self.stored = {f"a{k}": _stored(d) for k, d in enumerate(dtypes)} | {f"k{t}": _stored(steps[t].dtype) for t in self.kept}
        widest = max(BITS[KINDS.get(d, "i1")] for d in [*dtypes, *[d for s in steps for d in (s.dtype, s.operand_dtype)]])
        self.lanes = max(COLUMNS, 2 * machine.vector_bits // max(32, widest))
        self.of_row: dict[Ref, Typed] = {}
        self.lines: list[str] = []
        self.memory: list[str] = []
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
        self._exit()
        width = self.machine.vector_bits
        return "\n".join(
            [
                *self.declarations,
                *INTERPRETER,
                _check(self.machine.head),
                *([add_leaf(kind, self.lanes) for kind in LETTERS] if self.structure.has_rows else []),
                "define ptr @kernel(ptr %self, ptr %arguments, i64 %count) #0 {",
                "entry:",
                *[f"  {line}" for line in self.memory],
                *self.lines,
                "}",
                f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}',
                "",
            ]
        )

    def emit(self, *lines: str) -> None:
        """Append lines, labels flush left."""
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def as_computed(self, value: Value, ref: Ref) -> Typed:
        """What was loaded, as steps take it."""
        dtype = self.structure.dtypes[ref.value] if ref.kind == "in" else self.structure.steps[ref.value].dtype
        return Typed(value.compare("ne", 0) if KINDS[dtype] == "i1" else value, dtype)

    def _number(self, name: str, number: int) -> None:
        """One of the numbers that the kernel reads."""
        self.emit(f"%{name}.at = getelementptr i64, ptr %numbers, i64 {number}", f"%{name} = load i64, ptr %{name}.at")

    def _entry(self) -> None:
        """The numbers, the checks, and the arrays' memory."""
        self.emit(f"%numbers = getelementptr i8, ptr %self, i64 {self.machine.content}")
        for number, name in enumerate(("none", "class", "refusing", "releases")):
            self._number(name, number)
        for axis in range(self.structure.rank):
            for k, name in enumerate(("begin", "end", "size")):
                self._number(f"{name}{axis}", HEAD + 3 * axis + k)
        self.emit(f"%leaves = getelementptr i64, ptr %numbers, i64 {HEAD + 3 * self.structure.rank}")
        self.emit(f"%counted = icmp eq i64 %count, {len(self.arrays)}", "br i1 %counted, label %look, label %refused", "look:")
        wrong = "false"
        for k in self.arrays:
            total = "1"
            for axis in reversed(range(self.structure.rank)):
                if self.axes[k][axis]:
                    self.strides[k, axis] = total
                    self.emit(f"%a{k}.total{axis} = mul i64 {total}, %size{axis}")
                    total = f"%a{k}.total{axis}"
            self.emit(
                f"%object{k}.at = getelementptr ptr, ptr %arguments, i64 {k}",
                f"%object{k} = load ptr, ptr %object{k}.at",
                f"%a{k}.wrong = call i1 @refused(ptr %object{k}, i64 %class, i64 {total})",
                f"%wrong{k} = or i1 {wrong}, %a{k}.wrong",
            )
            wrong = f"%wrong{k}"
        self.emit(f"br i1 {wrong}, label %refused, label %taken", "taken:")
        for k in self.arrays:
            self.emit(f"%a{k}.data = getelementptr i8, ptr %object{k}, i64 {self.machine.head + FIELDS['data']}")
            self.emit(f"%a{k}.{self._from(0)} = load ptr, ptr %a{k}.data")
        self._scratch()
        self.emit(
            "%shared = icmp ne i64 %releases, 0",
            "br i1 %shared, label %release, label %start",
            "release:",
            "%state = call ptr @PyEval_SaveThread()",
            "br label %start",
            "start:",
            f"%released = phi ptr [ null, %{'room' if self.kept else 'taken'} ], [ %state, %release ]",
            "br label %axis0" if self.last else "br label %row",
        )

    def _scratch(self) -> None:
        """Memory for steps that are kept: each has room for its row in eights of bytes."""
        if not self.kept:
            return
        self.emit(
            f"%scratch.size = mul i64 %size{self.last}, {8 * len(self.kept)}",
            "%scratch = call ptr @PyMem_RawMalloc(i64 %scratch.size)",
            "%none.left = icmp eq ptr %scratch, null",
            "br i1 %none.left, label %refused, label %room",
            "room:",
        )
        for number, t in enumerate(self.kept):
            self.emit(f"%k{t}.offset = mul i64 %size{self.last}, {8 * number}")
            self.emit(f"%k{t}.row = getelementptr i8, ptr %scratch, i64 %k{t}.offset")

    def _exit(self) -> None:
        """What is done when all rows are, and with arrays that are refused."""
        self.emit(
            *(["call void @PyMem_RawFree(ptr %scratch)"] if self.kept else []),
            "%is.released = icmp ne ptr %released, null",
            "br i1 %is.released, label %restore, label %finish",
            "restore:",
            "call void @PyEval_RestoreThread(ptr %released)",
            "br label %finish",
            "finish:",
            "%nothing = inttoptr i64 %none to ptr",
            "call void @Py_IncRef(ptr %nothing)",
            "ret ptr %nothing",
            "refused:",
            "%default = inttoptr i64 %refusing to ptr",
            "%result = call ptr @PyObject_Vectorcall(ptr %default, ptr %arguments, i64 %count, ptr null)",
            "ret ptr %result",
        )

    def _from(self, axis: int) -> str:
        """Ends the name of where an array's part begins, inside the loops over the axes before."""
        return "row" if axis == self.last else f"from{axis}"

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
            place = f"a{k}"
            self.emit(
                f"%{place}.{self._from(axis + 1)} = getelementptr {self.stored[place]}, ptr %{place}.{self._from(axis)}, i64 {offset}"
            )
        self.emit(f"br label %{'row' if axis + 1 == self.last else f'axis{axis + 1}'}")

    def _close(self, axis: int) -> None:
        """The end of the loop over an outer axis; the last instruction before it ended the loop inside."""
        self.emit(f"br label %again{axis}", f"again{axis}:", f"%next{axis} = add i64 %x{axis}, 1", f"br label %axis{axis}", f"done{axis}:")

    def _row(self) -> None:
        """What happens to a row: the inputs of which it has one element, then the passes."""
        self.emit("row:")
        code = Code(self.lanes, "%row.v")
        for k in self.inputs:
            if not self.axes[k][self.last]:
                ref = Ref("in", k)
                self.of_row[ref] = self.as_computed(self._spread(code, k), ref)
        self.emit(*code.lines)
        before = "row"
        for number in range(len(self.passes)):
            before = PassText(self, number).print(before)

    def _spread(self, code: Code, k: int) -> Value:
        """The one element that an input has in this row, in every lane."""
        kind, lanes = self.stored[f"a{k}"], self.lanes
        self.emit(
            f"%a{k}.one = load {kind}, ptr %a{k}.row, align {SIZES[kind]}",
            f"%a{k}.first = insertelement <{lanes} x {kind}> poison, {kind} %a{k}.one, i64 0",
            f"%a{k}.all = shufflevector <{lanes} x {kind}> %a{k}.first, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer",
        )
        return Value(code, f"%a{k}.all", kind)


def _stored(dtype: str) -> str:
    """The type of a dtype's elements in memory."""
    kind = KINDS.get(dtype)
    if kind is None:
        raise Unsupported(f"results of {dtype} that are kept")
    return STORED.get(kind, kind)


def _check(head: int) -> str:
    """``refused(array, class, count)``: whether an object is not an array that can be read as so many elements in a row."""
    nd, dimensions, flags = (head + FIELDS[name] for name in ("nd", "dimensions", "flags"))
    return f"""define internal i1 @refused(ptr %array, i64 %class, i64 %count) noinline nounwind {{
entry:
  %class.at = getelementptr i8, ptr %array, i64 {head - 8}
  %own = load i64, ptr %class.at
  %is.array = icmp eq i64 %own, %class
  br i1 %is.array, label %look, label %other
other:
  ret i1 true
look:
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
  %k = phi i32 [ 0, %look ], [ %k.next, %axis ]
  %total = phi i64 [ 1, %look ], [ %product, %axis ]
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
