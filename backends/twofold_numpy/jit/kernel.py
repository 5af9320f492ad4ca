"""A row program as the text of an LLVM function over NumPy's arrays; sizes are numbers it reads, so one text serves all shapes.

The function is a builtin of Python (`callables`) that takes the arrays, inputs then outputs, and finds their memory in the fields that
NumPy's C interface promises. If an argument is not an array of its dtype, or does not lie as it should, it writes nothing and calls what
was given for that. Its numbers are begin, end and size of each axis of the collapsed space, of which it runs from begin to end; then,
for inputs that are strided, see `strided.numbers_of`; and at last, where rows are reduced, which are run whole, the table of
`reductions.leaves` for a row.
"""

from typing import NamedTuple

from twofold.backend.kernel import Ref

from .callables import CONTENT, FOREIGN, HEAD, RELEASES, TELLS
from .checks import FIELDS, is_packed, lies_as, word_of
from .ir import BITS, Code, Value, splat
from .pass_text import SIZES, STORED, PassText
from .passes import kept_steps
from .primitives import KINDS, Typed, Unsupported
from .reductions import COLUMNS, LETTERS, add_leaf
from .structure import APART, PACKED, Structure

#: Instructions of a kernel that is compiled, at most: the time grows faster than their number.
LONGEST = 1500
#: Functions of the interpreter.
INTERPRETER = (
    "declare ptr @PyEval_SaveThread()",
    "declare void @PyEval_RestoreThread(ptr)",
    "declare ptr @PyMem_RawMalloc(i64)",
    "declare void @PyMem_RawFree(ptr)",
    "declare void @Py_IncRef(ptr)",
    "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
)


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
        If a step has no expression, a dtype no type here, or the text is so long that compiling it would take a second.
    """
    printer = Printer(structure, machine)
    text = printer.text()
    if len(printer.lines) > LONGEST:
        raise Unsupported(f"a kernel of {len(printer.lines)} instructions")
    return text


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
        if self.structure.has_blocks:
            self._open_block()
        for axis in range(self.last):
            self._open(axis)
        self._row()
        for axis in reversed(range(self.last)):
            self._close(axis)
        if self.structure.has_blocks:
            self._close_block()
        self._exit()
        width = self.machine.vector_bits
        return "\n".join(
            [
                *self.declarations,
                *INTERPRETER,
                lies_as(self.machine.head) if self.structure.columns else is_packed(self.machine.head),
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
        for number, name in enumerate(("none", "class", "refusing", "lock")):
            self._number(name, number)
        self.emit(f"%tells = icmp uge i64 %lock, {FOREIGN}")
        for axis in range(self.structure.rank):
            for k, name in enumerate(("begin", "end", "size")):
                self._number(f"{name}{axis}", HEAD + 3 * axis + k)
        self.emit(f"%counted = icmp eq i64 %count, {len(self.arrays)}", "br i1 %counted, label %look, label %refused", "look:")
        for k in self.arrays:
            self.emit(f"%object{k}.at = getelementptr ptr, ptr %arguments, i64 {k}", f"%object{k} = load ptr, ptr %object{k}.at")
        if self.structure.columns:
            self._look_at_strided(HEAD + 3 * self.structure.rank)
        else:
            self._look_at_packed(HEAD + 3 * self.structure.rank)
        self._scratch()
        entered = "room" if self.kept else "taken"
        self.emit(
            f"%lets.go = icmp eq i64 %lock, {RELEASES}",
            f"%lets.go.too = icmp eq i64 %lock, {TELLS}",
            "%shared = or i1 %lets.go, %lets.go.too",
            "br i1 %shared, label %release, label %start",
            "release:",
            "%state = call ptr @PyEval_SaveThread()",
            "br label %start",
            "start:",
            f"%released = phi ptr [ null, %{entered} ], [ %state, %release ]",
            f"br label %{'blocks' if self.structure.has_blocks else 'axis0' if self.last else 'row'}",
        )

    def _look_at_packed(self, number: int) -> None:
        """Check arrays that are all C-contiguous; what else the kernel reads begins at a number."""
        self.emit(f"%leaves = getelementptr i64, ptr %numbers, i64 {number}")
        wrong = "false"
        for k in self.arrays:
            total = "1"
            for axis in reversed(range(self.structure.rank)):
                if self.axes[k][axis]:
                    self.strides[k, axis] = total
                    self.emit(f"%a{k}.total{axis} = mul i64 {total}, %size{axis}")
                    total = f"%a{k}.total{axis}"
            self.emit(
                f"%a{k}.wrong = call i1 @wrong(ptr %object{k}, i64 %class, i64 {self._word(k)}, i64 {total})",
                f"%wrong{k} = or i1 {wrong}, %a{k}.wrong",
            )
            wrong = f"%wrong{k}"
        self.emit(f"br i1 {wrong}, label %refused, label %taken", "taken:")
        self._first_places()

    def _look_at_strided(self, number: int) -> None:
        """Check arrays as their records say; an input that lies partly where an output does is refused."""
        if self.structure.has_blocks:
            self._number("block", number)
            number += 1
        for k in self.arrays:
            for axis in range(self.structure.rank):
                if self.axes[k][axis]:
                    self.strides[k, axis] = f"%a{k}.stride{axis}"
                    self._number(f"a{k}.stride{axis}", number)
                    number += 1
        self.emit(f"%record0 = getelementptr i64, ptr %numbers, i64 {number}")
        for k in self.arrays:
            self.emit(
                f"%record{k + 1} = call ptr @after(ptr %object{k}, i64 %class, i64 {self._word(k)}, ptr %record{k})",
                f"%a{k}.none = icmp eq ptr %record{k + 1}, null",
                f"br i1 %a{k}.none, label %refused, label %a{k}.fits",
                f"a{k}.fits:",
            )
        self._first_places()
        for k in self.arrays:
            self.emit(
                f"%a{k}.low = load i64, ptr %record{k}",
                f"%a{k}.high.at = getelementptr i64, ptr %record{k}, i64 1",
                f"%a{k}.high = load i64, ptr %a{k}.high.at",
                f"%a{k}.address = ptrtoint ptr %a{k}.{self._from(0)} to i64",
                f"%a{k}.begin = add i64 %a{k}.address, %a{k}.low",
                f"%a{k}.end = add i64 %a{k}.address, %a{k}.high",
            )
        shared = "false"
        for k in self.inputs:
            for o in self.outputs:
                self.emit(
                    f"%before{k}.{o} = icmp ult i64 %a{k}.begin, %a{o}.end",
                    f"%behind{k}.{o} = icmp ult i64 %a{o}.begin, %a{k}.end",
                    f"%both{k}.{o} = and i1 %before{k}.{o}, %behind{k}.{o}",
                    f"%shared{k}.{o} = or i1 {shared}, %both{k}.{o}",
                )
                shared = f"%shared{k}.{o}"
        self.emit(f"br i1 {shared}, label %refused, label %taken", "taken:")
        self.emit(f"%leaves = getelementptr i64, ptr %record{len(self.arrays)}, i64 0")

    def _word(self, k: int) -> int:
        return word_of(self.dtypes[k], self.machine.head)

    def _first_places(self) -> None:
        """Where arrays' memory begins."""
        for k in self.arrays:
            self.emit(f"%a{k}.data = getelementptr i8, ptr %object{k}, i64 {self.machine.head + FIELDS['data']}")
            self.emit(f"%a{k}.{self._from(0)} = load ptr, ptr %a{k}.data")

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
            "br i1 %tells, label %leave, label %give",
            "leave:",
            "ret ptr null",
            "give:",
            "%nothing = inttoptr i64 %none to ptr",
            "call void @Py_IncRef(ptr %nothing)",
            "ret ptr %nothing",
            "refused:",
            "br i1 %tells, label %refuse, label %ask",
            "refuse:",
            "ret ptr %self",
            "ask:",
            "%default = inttoptr i64 %refusing to ptr",
            "%result = call ptr @PyObject_Vectorcall(ptr %default, ptr %arguments, i64 %count, ptr null)",
            "ret ptr %result",
        )

    def _from(self, axis: int) -> str:
        """Ends the name of where an array's part begins, inside the loops over the axes before."""
        return "row" if axis == self.last else f"from{axis}"

    def _open_block(self) -> None:
        """The beginning of the loop over blocks of the last axis."""
        last = self.last
        self.emit(
            "blocks:",
            f"%from = phi i64 [ %begin{last}, %start ], [ %to, %done0 ]",
            f"%more.blocks = icmp slt i64 %from, %end{last}",
            "br i1 %more.blocks, label %in.block, label %blocks.done",
            "in.block:",
            "%from.next = add i64 %from, %block",
            f"%to = call i64 @llvm.smin.i64(i64 %from.next, i64 %end{last})",
            "br label %axis0",
        )
        self.declarations["declare i64 @llvm.smin.i64(i64, i64)"] = None

    def _close_block(self) -> None:
        self.emit("br label %blocks", "blocks.done:")

    @property
    def part(self) -> tuple[str, str]:
        """Begin and end of the part of a row that is run."""
        return ("%from", "%to") if self.structure.has_blocks else (f"%begin{self.last}", f"%end{self.last}")

    def column(self, place: str) -> int:
        """How the elements of a row lie at a place in memory."""
        k = int(place[1:])
        return self.structure.columns[k] if self.structure.columns and place[0] == "a" and k in self.inputs else PACKED

    def _open(self, axis: int) -> None:
        """The beginning of the loop over an outer axis, with where each array's part begins."""
        before = ("in.block" if self.structure.has_blocks else "start") if axis == 0 else f"inside{axis - 1}"
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
        for k, own in enumerate(self.structure.columns):
            if own == APART:
                self._offsets(k)
        for k in self.inputs:
            if not self.axes[k][self.last]:
                ref = Ref("in", k)
                self.of_row[ref] = self.as_computed(self._spread(code, k), ref)
        self.emit(*code.lines)
        before = "row"
        for number in range(len(self.passes)):
            before = PassText(self, number).print(before)

    def _offsets(self, k: int) -> None:
        """How many elements from the first lane's the other lanes' elements of an input lie."""
        lanes = self.lanes
        numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
        self.emit(*splat(f"%a{k}.apart", self.strides[k, self.last], "i64", lanes))
        self.emit(f"%a{k}.offsets = mul <{lanes} x i64> %a{k}.apart, <{numbers}>")

    def _spread(self, code: Code, k: int) -> Value:
        """The one element that an input has in this row, in every lane."""
        kind = self.stored[f"a{k}"]
        self.emit(f"%a{k}.one = load {kind}, ptr %a{k}.row, align {SIZES[kind]}")
        self.emit(*splat(f"%a{k}.all", f"%a{k}.one", kind, self.lanes))
        return Value(code, f"%a{k}.all", kind)


def _stored(dtype: str) -> str:
    """The type of a dtype's elements in memory."""
    kind = KINDS.get(dtype)
    if kind is None:
        raise Unsupported(f"results of {dtype} that are kept")
    return STORED.get(kind, kind)
