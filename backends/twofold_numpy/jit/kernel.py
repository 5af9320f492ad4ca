"""Prints a row program as an LLVM function over NumPy arrays. Sizes are numbers that it reads, so one function serves all shapes.

The function is a Python builtin (see `callables`) that takes the arrays, inputs then outputs, and reads their addresses from the fields
that NumPy's C API guarantees. If an argument is not an array of the expected dtype and layout, it writes nothing and calls its fallback.
Its numbers are begin, end and size of each axis of the collapsed space; it processes the part from begin to end. For strided inputs they
are followed by those of `strided.layout_numbers`, and for reductions, which process whole rows, by the table of
`reduction_loops.summation_leaves`.
"""

from twofold.backend.kernel import Ref

from .callables import HEAD, RELEASE_GIL, REPORT_REFUSAL, WITHOUT_GIL
from .ir import Code, Vector, splat
from .kernel_state import KernelState, Machine
from .llvm_text import FIELDS, contiguity_check, layout_check, word_of
from .primitives import Unsupported
from .reduction_loops import LETTERS, add_leaf
from .row_pass_printer import SIZES, PassPrinter
from .structure import STRIDED, Structure

#: Instructions above which a kernel is not compiled: compile time grows faster than their number, and would reach a second.
MAX_INSTRUCTIONS = 1500
#: Functions of CPython.
INTERPRETER = (
    "declare ptr @PyEval_SaveThread()",
    "declare void @PyEval_RestoreThread(ptr)",
    "declare ptr @PyMem_RawMalloc(i64)",
    "declare void @PyMem_RawFree(ptr)",
    "declare void @Py_IncRef(ptr)",
    "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
)


def kernel_ir(structure: Structure, machine: Machine) -> str:
    """The LLVM module for a structure.

    Raises
    ------
    Unsupported
        If a step or dtype is not supported, or the function would be too long.
    """
    printer = Printer(structure, machine)
    ir = printer.ir()
    if len(printer.lines) > MAX_INSTRUCTIONS:
        raise Unsupported(f"a kernel of {len(printer.lines)} instructions")
    return ir


class Printer(KernelState):
    """Prints the LLVM IR of one kernel."""

    def ir(self) -> str:
        """The LLVM module."""
        self._entry()
        if self.structure.has_blocks:
            # around the other loops: within a block of columns all rows are finished before the next block begins
            self._open_block()
        for axis in range(self.last):
            self._open(axis)
        self._row()
        # Innermost first: the exit of an inner loop is the last block in the body of the loop around it.
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
                layout_check(self.machine.head) if self.structure.row_strides else contiguity_check(self.machine.head),
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

    def _number(self, name: str, number: int) -> None:
        """Load one of the kernel's numbers."""
        self.emit(f"%{name}.at = getelementptr i64, ptr %numbers, i64 {number}", f"%{name} = load i64, ptr %{name}.at")

    def _entry(self) -> None:
        """The entry: load the numbers, check the arguments, allocate scratch, release the GIL."""
        self.emit(f"%numbers = getelementptr i8, ptr %self, i64 {self.machine.content}")
        for number, name in enumerate(("none", "class", "refusing", "lock")):
            self._number(name, number)
        self.emit(f"%tells = icmp uge i64 %lock, {WITHOUT_GIL}")
        for axis in range(self.structure.rank):
            for k, name in enumerate(("begin", "end", "size")):
                self._number(f"{name}{axis}", HEAD + 3 * axis + k)
        self.emit(f"%counted = icmp eq i64 %count, {len(self.arrays)}", "br i1 %counted, label %look, label %refused", "look:")
        for k in self.arrays:
            self.emit(f"%object{k}.at = getelementptr ptr, ptr %arguments, i64 {k}", f"%object{k} = load ptr, ptr %object{k}.at")
        if self.structure.row_strides:
            self._check_strided(HEAD + 3 * self.structure.rank)
        else:
            self._check_contiguous(HEAD + 3 * self.structure.rank)
        self._scratch()  # after the checks, so that nothing must be freed if arguments are rejected
        entered = "room" if self.buffered else "taken"
        # The GIL is released after the checks, which read Python objects. A null state at the exit means that the GIL is still held.
        self.emit(
            f"%lets.go = icmp eq i64 %lock, {RELEASE_GIL}",
            f"%lets.go.too = icmp eq i64 %lock, {REPORT_REFUSAL}",
            "%shared = or i1 %lets.go, %lets.go.too",
            "br i1 %shared, label %release, label %start",
            "release:",
            "%state = call ptr @PyEval_SaveThread()",
            "br label %start",
            "start:",
            f"%released = phi ptr [ null, %{entered} ], [ %state, %release ]",
            f"br label %{'blocks' if self.structure.has_blocks else 'axis0' if self.last else 'row'}",
        )

    def _check_contiguous(self, number: int) -> None:
        """Check arrays that are all C-contiguous; the remaining numbers begin at ``number``."""
        self.emit(f"%leaves = getelementptr i64, ptr %numbers, i64 {number}")
        wrong = "false"
        for k in self.arrays:
            total = "1"
            for axis in reversed(range(self.structure.rank)):
                # without strides as arguments: an axis steps over the product of the sizes behind it, and broadcast axes do not step
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
        self._load_addresses()

    def _check_strided(self, number: int) -> None:
        """Check arrays against their records; an input that partly overlaps an output is rejected, as it would be overwritten."""
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
        self._load_addresses()
        for k in self.arrays:
            self.emit(
                f"%a{k}.low = load i64, ptr %record{k}",
                f"%a{k}.high.at = getelementptr i64, ptr %record{k}, i64 1",
                f"%a{k}.high = load i64, ptr %a{k}.high.at",
                f"%a{k}.address = ptrtoint ptr %a{k}.{self._base(0)} to i64",
                f"%a{k}.begin = add i64 %a{k}.address, %a{k}.low",
                f"%a{k}.end = add i64 %a{k}.address, %a{k}.high",
            )
        # Two ranges overlap if each begins before the other ends. Partial overlap is refused: rows are written before others are read.
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

    def _load_addresses(self) -> None:
        """Load the arrays' data pointers."""
        for k in self.arrays:
            self.emit(f"%a{k}.data = getelementptr i8, ptr %object{k}, i64 {self.machine.head + FIELDS['data']}")
            self.emit(f"%a{k}.{self._base(0)} = load ptr, ptr %a{k}.data")

    def _scratch(self) -> None:
        """Allocate scratch for the rows of buffered steps, 8 bytes per element; by the raw allocator, which needs no GIL."""
        if not self.buffered:
            return
        self.emit(
            f"%scratch.size = mul i64 %size{self.last}, {8 * len(self.buffered)}",
            "%scratch = call ptr @PyMem_RawMalloc(i64 %scratch.size)",
            "%none.left = icmp eq ptr %scratch, null",
            "br i1 %none.left, label %refused, label %room",
            "room:",
        )
        # One row per step suffices: rows are processed in turn, and each overwrites the scratch of the last one.
        for number, t in enumerate(self.buffered):
            self.emit(f"%k{t}.offset = mul i64 %size{self.last}, {8 * number}")
            self.emit(f"%k{t}.row = getelementptr i8, ptr %scratch, i64 %k{t}.offset")

    def _exit(self) -> None:
        """The exits: after all rows, and for rejected arguments."""
        # Scratch is freed before the GIL is taken back: the raw allocator needs none, and taking it back may wait for other threads.
        self.emit(
            *(["call void @PyMem_RawFree(ptr %scratch)"] if self.buffered else []),
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

    def _base(self, axis: int) -> str:
        """Suffix of an array's base pointer inside the loops over the axes before ``axis``."""
        return "row" if axis == self.last else f"from{axis}"

    def _open_block(self) -> None:
        """Open the loop over blocks of the last axis."""
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

    def _open(self, axis: int) -> None:
        """Open the loop over an outer axis, and advance each array's base pointer."""
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
                f"%{place}.{self._base(axis + 1)} = getelementptr {self.stored[place]}, ptr %{place}.{self._base(axis)}, i64 {offset}"
            )
        self.emit(f"br label %{'row' if axis + 1 == self.last else f'axis{axis + 1}'}")

    def _close(self, axis: int) -> None:
        """Close the loop over an outer axis; the block before it is the exit of the inner loop."""
        self.emit(f"br label %again{axis}", f"again{axis}:", f"%next{axis} = add i64 %x{axis}, 1", f"br label %axis{axis}", f"done{axis}:")

    def _row(self) -> None:
        """The body of a row: load the inputs with one element per row, then run the passes."""
        self.emit("row:")
        code = Code(self.lanes, "%row.v")
        for k, own in enumerate(self.structure.row_strides):
            if own == STRIDED:
                self._lane_offsets(k)
        for k in self.inputs:
            # An input that is broadcast along the row has one element in it: load and splat that once, before the loops over vectors.
            if not self.axes[k][self.last]:
                ref = Ref("in", k)
                self.of_row[ref] = self.as_computed(self._splat_of_row(code, k), ref)
        self.emit(*code.lines)
        before = "row"
        for number in range(len(self.passes)):
            before = PassPrinter(self, number).print(before)

    def _lane_offsets(self, k: int) -> None:
        """The offsets of the lanes' elements of a strided input from the first lane's, in elements."""
        lanes = self.lanes
        numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
        self.emit(*splat(f"%a{k}.apart", self.strides[k, self.last], "i64", lanes))
        self.emit(f"%a{k}.offsets = mul <{lanes} x i64> %a{k}.apart, <{numbers}>")

    def _splat_of_row(self, code: Code, k: int) -> Vector:
        """The element that an input has in this row, splat over all lanes."""
        kind = self.stored[f"a{k}"]
        self.emit(f"%a{k}.one = load {kind}, ptr %a{k}.row, align {SIZES[kind]}")
        self.emit(*splat(f"%a{k}.all", f"%a{k}.one", kind, self.lanes))
        return Vector(code, f"%a{k}.all", kind)
