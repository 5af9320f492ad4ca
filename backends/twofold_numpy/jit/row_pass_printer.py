"""Prints one pass over a row: a loop over vectors, nested in a loop over the leaves of the summation tree if the pass has sums."""

import math

from twofold.backend.kernel import KernelStep, Ref
from twofold.dtype import HALVES

from .halves import narrowed, rounded
from .ir import Code, Vector, splat
from .kernel_state import KernelState
from .primitives import KINDS, Typed, Unsupported, constant, extreme, step_value
from .reduction_loops import LETTERS, Extreme, Reduction, Sum
from .structure import STRIDE_2, UNIT_STRIDE

#: Bytes of each element type in memory.
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}


class PassPrinter:
    """Prints pass ``p{number}``: plain loads and stores for whole vectors, masked ones for the remainder, around the same steps.

    Places in memory are named after the pointers to their rows: ``%a0.row`` of an array, ``%k0.row`` of a buffered step.

    Parameters
    ----------
    kernel
        The kernel being printed.
    number
        Index of the pass.
    """

    def __init__(self, kernel: KernelState, number: int) -> None:
        self.kernel, self.name = kernel, f"p{number}"
        self.row_pass = kernel.passes[number]
        self.steps = kernel.structure.steps
        self.code = Code(kernel.lanes, f"%p{number}.v")
        self.loads = {**{Ref("in", k): f"a{k}" for k in self.row_pass.inputs}, **{Ref("step", t): f"k{t}" for t in self.row_pass.loads}}
        outputs = {f"a{k}": t for k, t in kernel.outputs.items() if t in self.row_pass.steps}
        self.stores = outputs | {f"k{t}": t for t in kernel.buffered if t in self.row_pass.steps}
        self.reductions = {t: self._reduction(t) for t in self.row_pass.reductions}
        self.has_leaves = any(isinstance(r, Sum) for r in self.reductions.values())
        self.values: dict[Ref, Typed] = {}

    def emit(self, *lines: str) -> None:
        """Append lines to the kernel."""
        self.kernel.emit(*lines)

    def print(self, before: str) -> str:
        """Print the pass, entered from a basic block; returns the block in which it ends."""
        for reduction in self.reductions.values():
            self.kernel.memory += reduction.memory()
            self.emit(*reduction.begin())
        if self.has_leaves:
            self._open_leaf(before)
        first = f"{self.name}.leaf" if self.has_leaves else before
        self._vectors(first)
        for reduction in self.reductions.values():
            self.emit(*reduction.leaf())
        if self.has_leaves:
            self._close_leaf()
        self._epilogue()
        return f"{self.name}.end" if self.has_leaves else f"{self.name}.read"

    def _reduction(self, t: int) -> Reduction:
        step = self.steps[t]
        kind = KINDS.get(step.dtype, "")
        if kind not in LETTERS or step.operand_dtype != step.dtype:
            raise Unsupported(f"{step.op} of rows of {step.operand_dtype}")
        name = f"%{self.name}.r{t}"
        if step.op == "sum":
            return Sum(self.code, name, kind)
        op = "max" if step.op == "max" else "min"
        return Extreme(self.code, name, kind, extreme(op, step.dtype), -math.inf if op == "max" else math.inf)

    # loops

    def _open_leaf(self, before: str) -> None:
        n = self.name
        self.emit(
            f"br label %{n}.leaf",
            f"{n}.leaf:",
            f"%{n}.leaf.at = phi ptr [ %leaves, %{before} ], [ %{n}.leaf.next, %{n}.read ]",
            f"%{n}.begin = phi i64 [ 0, %{before} ], [ %{n}.stop, %{n}.read ]",
            f"%{n}.depth = phi i64 [ 0, %{before} ], [ %{n}.depth.next, %{n}.read ]",
            f"%{n}.stop = load i64, ptr %{n}.leaf.at",
            f"%{n}.merges.at = getelementptr i64, ptr %{n}.leaf.at, i64 1",
            f"%{n}.merges = load i64, ptr %{n}.merges.at",
            f"%{n}.length = sub i64 %{n}.stop, %{n}.begin",
        )

    def _close_leaf(self) -> None:
        n = self.name
        self.emit(
            f"%{n}.leaf.next = getelementptr i64, ptr %{n}.leaf.at, i64 2",
            # each merge takes one sum off the stack, and the leaf's own total is pushed
            f"%{n}.depth.less = sub i64 %{n}.depth, %{n}.merges",
            f"%{n}.depth.next = add i64 %{n}.depth.less, 1",
            f"%{n}.again = icmp slt i64 %{n}.stop, %size{self.kernel.last}",
            f"br i1 %{n}.again, label %{n}.leaf, label %{n}.end",
            f"{n}.end:",
        )

    def _vectors(self, before: str) -> None:
        """The loop over vectors; its exit is the block ``p{number}.read``."""
        n, lanes = self.name, self.code.lanes
        begin, stop = (f"%{n}.begin", f"%{n}.stop") if self.has_leaves else self.kernel.part
        carried = [
            f"{r.name}.now = phi {r.type} [ {r.neutral()}, %{before} ], "
            f"[ {r.name}.plain, %{n}.plain.out ], [ {r.name}.masked, %{n}.masked.out ]"
            for r in self.reductions.values()
        ]
        self.emit(
            f"br label %{n}.vectors",
            f"{n}.vectors:",
            f"%{n}.i = phi i64 [ {begin}, %{before} ], [ %{n}.i.next, %{n}.plain.out ], [ %{n}.i.next, %{n}.masked.out ]",
            *carried,
            f"%{n}.i.next = add i64 %{n}.i, {lanes}",
            f"%{n}.left = sub i64 {stop}, %{n}.i",
            f"%{n}.some = icmp sgt i64 %{n}.left, 0",
            f"%{n}.whole = icmp sge i64 %{n}.left, {lanes}",
            f"br i1 %{n}.some, label %{n}.vector, label %{n}.read",
            f"{n}.vector:",
            *[line for place in dict.fromkeys([*self.loads.values(), *self.stores]) for line in self._pointers(place)],
            f"br i1 %{n}.whole, label %{n}.plain.in, label %{n}.masked.in",
        )
        self._body()
        self.emit(f"{n}.read:")

    def _pointers(self, place: str) -> list[str]:
        """Pointers to the first lane's element, and for strided inputs to those of all lanes."""
        n, kind, column = self.name, self.kernel.stored[place], self.kernel.row_stride(place)
        at = f"%{n}.{place}"
        if column == UNIT_STRIDE:
            return [f"{at}.at = getelementptr {kind}, ptr %{place}.row, i64 %{n}.i"]
        stride = self.kernel.strides[int(place[1:]), self.kernel.last]
        first = [f"{at}.i = mul i64 %{n}.i, {stride}", f"{at}.at = getelementptr {kind}, ptr %{place}.row, i64 {at}.i"]
        if column == STRIDE_2:
            return [*first, f"{at}.rest.at = getelementptr {kind}, ptr {at}.at, i64 {self.code.lanes - 1}"]
        lanes = self.code.lanes
        return [*first, f"{at}.all = getelementptr {kind}, ptr {at}.at, <{lanes} x i64> %{place}.offsets"]

    # one vector

    def _body(self) -> None:
        """Loads, steps, reductions, stores; all loads come first, since an output may be in place of an input."""
        n, code = self.name, self.code
        for variant in ("plain", "masked"):
            self.emit(f"{n}.{variant}.in:")
            if variant == "masked":
                self._mask(f"%{n}.mask.in", f"%{n}.left")
                if any(self.kernel.row_stride(place) == STRIDE_2 for place in self.loads.values()):
                    self._stride_2_masks()
            self.emit(*[line for place in self.loads.values() for line in self._load(place, variant)], f"br label %{n}.steps")
        self.emit(f"{n}.steps:")
        for ref, place in self.loads.items():
            kind = self.kernel.stored[place]
            variants = ", ".join(f"[ %{n}.{place}.{variant}, %{n}.{variant}.in ]" for variant in ("plain", "masked"))
            self.emit(f"%{n}.{place}.now = phi {code.type_of(kind)} {variants}")
            self.values[ref] = self.kernel.as_computed(Vector(code, f"%{n}.{place}.now", kind), ref)
        for t in self.row_pass.steps:
            self.values[Ref("step", t)] = step_value(code, self.steps[t], self._operands(self.steps[t], code))
        summands = {t: self._operands(self.steps[t], code)[0].value.name for t in self.reductions}
        results = {place: self._as_stored(self.values[Ref("step", t)]) for place, t in self.stores.items()}
        self.emit(*code.lines, f"br i1 %{n}.whole, label %{n}.plain.out, label %{n}.masked.out")
        self.kernel.declarations |= code.declarations
        self._out(summands, results)

    def _out(self, summands: dict[int, str], results: dict[str, Vector]) -> None:
        """Accumulate and store a vector's results."""
        n = self.name
        for variant in ("plain", "masked"):
            self.emit(f"{n}.{variant}.out:")
            if variant == "masked":
                self._mask(f"%{n}.mask.out", f"%{n}.left")
                if self.has_leaves:
                    # whole groups of eight; the remaining elements are added one by one at the end of the leaf
                    self.emit(f"%{n}.left.groups = and i64 %{n}.left, -8")
                    self._mask(f"%{n}.mask.out.groups", f"%{n}.left.groups")
            for t, reduction in self.reductions.items():
                self.emit(*(reduction.plain(summands[t]) if variant == "plain" else reduction.masked(summands[t], f"%{n}.mask.out")))
            self.emit(*[self._store(place, value, variant) for place, value in results.items()], f"br label %{n}.vectors")

    def _operands(self, step: KernelStep, code: Code) -> list[Typed]:
        return [constant(code, r.value, step.operand_dtype) if r.kind == "const" else self._value(r, code) for r in step.args]

    def _value(self, ref: Ref, code: Code) -> Typed:
        """An operand: a value of this pass, or one per row."""
        found = self.values.get(ref) or self.kernel.of_row[ref]
        return Typed(Vector(code, found.value.name, found.value.kind), found.dtype)

    def _as_stored(self, result: Typed) -> Vector:
        value, dtype = result
        if dtype in HALVES:
            return narrowed(value, dtype)
        return value.convert("zext", "i8") if value.kind == "i1" else value

    def _mask(self, name: str, left: str) -> None:
        """Define a mask of the lanes below the number of remaining elements."""
        lanes = self.code.lanes
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        self.emit(*splat(f"{name}.all", left, "i64", lanes), f"{name} = icmp slt <{lanes} x i64> <{numbers}>, {name}.all")

    def _stride_2_masks(self) -> None:
        """The masks of the two loads of `_load_stride_2`."""
        n = self.name
        self.emit(
            f"%{n}.left.twice = shl i64 %{n}.left, 1",
            f"%{n}.left.pairs = sub i64 %{n}.left.twice, 1",
            f"%{n}.left.rest = sub i64 %{n}.left.twice, {self.code.lanes}",
        )
        self._mask(f"%{n}.mask.pairs", f"%{n}.left.pairs")
        self._mask(f"%{n}.mask.rest", f"%{n}.left.rest")

    def _load(self, place: str, variant: str) -> list[str]:
        at, column = f"%{self.name}.{place}", self.kernel.row_stride(place)
        if column == STRIDE_2:
            return self._load_stride_2(place, variant)
        if column == UNIT_STRIDE:
            return [self._load_adjacent(place, variant, f"{at}.{variant}", f"{at}.at", f"%{self.name}.mask.in")]
        return self._load_each(place) if variant == "plain" else self._gather(place)

    def _load_each(self, place: str) -> list[str]:
        """Load strided elements one by one: processors prefetch for such loads but not for gathers, which take ten times as long."""
        at, kind, lanes = f"%{self.name}.{place}", self.kernel.stored[place], self.code.lanes
        kept, stride, lines, vector, last = (
            self.code.type_of(kind),
            self.kernel.strides[int(place[1:]), self.kernel.last],
            [],
            "poison",
            "",
        )
        for lane in range(lanes):
            address = f"{at}.at{lane}" if lane else f"{at}.at"
            lines += [f"{address} = getelementptr {kind}, ptr {last}, i64 {stride}"] if lane else []
            lines.append(f"{at}.of{lane} = load {kind}, ptr {address}, align {SIZES[kind]}")
            joined = f"{at}.plain" if lane == lanes - 1 else f"{at}.to{lane}"
            lines.append(f"{joined} = insertelement {kept} {vector}, {kind} {at}.of{lane}, i64 {lane}")
            vector, last = joined, address
        return lines

    def _gather(self, place: str) -> list[str]:
        """Load the remaining strided elements with a masked gather."""
        at, kind, lanes = f"%{self.name}.{place}", self.kernel.stored[place], self.code.lanes
        kept, masks = self.code.type_of(kind), self.code.type_of("i1")
        name = f"@llvm.masked.gather.{_overload(self.code, kind)}.v{lanes}p0"
        self.code.declarations[f"declare {kept} {name}(<{lanes} x ptr>, i32 immarg, {masks}, {kept})"] = None
        operands = f"<{lanes} x ptr> {at}.all, i32 {SIZES[kind]}, {masks} %{self.name}.mask.in, {kept} zeroinitializer"
        return [f"{at}.masked = call {kept} {name}({operands})"]

    def _load_stride_2(self, place: str, variant: str) -> list[str]:
        """Load every second element from two vectors that overlap by one element, so that nothing past the last element is read."""
        at, lanes, kept = f"%{self.name}.{place}", self.code.lanes, self.code.type_of(self.kernel.stored[place])
        picked = ", ".join(f"i32 {2 * k if 2 * k < lanes else 2 * k + 1}" for k in range(lanes))
        return [
            self._load_adjacent(place, variant, f"{at}.{variant}.pairs", f"{at}.at", f"%{self.name}.mask.pairs"),
            self._load_adjacent(place, variant, f"{at}.{variant}.rest", f"{at}.rest.at", f"%{self.name}.mask.rest"),
            f"{at}.{variant} = shufflevector {kept} {at}.{variant}.pairs, {kept} {at}.{variant}.rest, <{lanes} x i32> <{picked}>",
        ]

    def _load_adjacent(self, place: str, variant: str, name: str, at: str, mask: str) -> str:
        """A load of adjacent elements, plain or masked."""
        kind = self.kernel.stored[place]
        kept, size, lanes = self.code.type_of(kind), SIZES[kind], self.code.type_of("i1")
        if variant == "plain":
            return f"{name} = load {kept}, ptr {at}, align {size}"
        load = f"@llvm.masked.load.{_overload(self.code, kind)}.p0"
        self.code.declarations[f"declare {kept} {load}(ptr, i32 immarg, {lanes}, {kept})"] = None
        return f"{name} = call {kept} {load}(ptr {at}, i32 {size}, {lanes} {mask}, {kept} zeroinitializer)"

    def _store(self, place: str, value: Vector, variant: str) -> str:
        kind, at = self.kernel.stored[place], f"%{self.name}.{place}.at"
        size, lanes = SIZES[kind], self.code.type_of("i1")
        if variant == "plain":
            return f"store {value.typed}, ptr {at}, align {size}"
        name = f"@llvm.masked.store.{_overload(self.code, kind)}.p0"
        self.kernel.declarations[f"declare void {name}({value.type}, ptr, i32 immarg, {lanes})"] = None
        return f"call void {name}({value.typed}, ptr {at}, i32 {size}, {lanes} %{self.name}.mask.out)"

    # the end of the row

    def _epilogue(self) -> None:
        """Finish the reductions, compute the steps with one element per row, and store the outputs with one element per row."""
        of_row = self.kernel.of_row
        code = Code(self.code.lanes, f"%{self.name}.e")
        for t, reduction in self.reductions.items():
            self.emit(*reduction.result())
            total, dtype = Vector(code, reduction.name, reduction.kind), self.steps[t].dtype
            of_row[Ref("step", t)] = Typed(rounded(total, dtype) if dtype in HALVES else total, dtype)
        for t in self.row_pass.epilogue:
            of_row[Ref("step", t)] = step_value(code, self.steps[t], self._operands(self.steps[t], code))
        for k, t in self.kernel.outputs.items():
            if t in (*self.row_pass.epilogue, *self.row_pass.reductions):
                found, dtype = of_row[Ref("step", t)]
                value = self._as_stored(Typed(Vector(code, found.name, found.kind), dtype))
                # every lane has the row's result
                one = code.emit(f"extractelement {value.typed}, i64 0", value.kind)
                code.lines.append(f"store {value.kind} {one.name}, ptr %a{k}.row, align {SIZES[value.kind]}")
        self.emit(*code.lines)
        self.kernel.declarations |= code.declarations


def _overload(code: Code, kind: str) -> str:
    """A vector type's suffix in an intrinsic's name."""
    return f"v{code.lanes}" + LETTERS.get(kind, kind)
