"""Reductions over a row in LLVM IR: sums to the same bits as NumPy's ``add.reduce``, maxima and minima.

NumPy's pairwise summation halves a row until a part, here called a leaf, has at most 128 elements, and sums a leaf in eight columns. The
halving of a given length is a table computed by the host, `summation_leaves`, so that one function serves all lengths.
"""

from abc import ABC, abstractmethod

from .ir import Code, Vector
from .primitives import Rule

#: The largest leaf, and its columns.
LEAF, COLUMNS = 128, 8
#: The deepest stack of partial sums; enough for rows of 2 ** 30 elements.
DEPTH = 32
LETTERS = {"float": "f32", "double": "f64"}


def summation_leaves(length: int) -> list[tuple[int, int]]:
    """The end of each leaf of a row, and the number of partial sums on the stack to which the leaf's sum is added."""
    if length <= LEAF:
        return [(length, 0)]
    half = length // 2
    half -= half % COLUMNS  # as NumPy's pairwise sum does, so that leaves begin at a multiple of 8
    first, second = summation_leaves(half), [(end + half, merges) for end, merges in summation_leaves(length - half)]
    end, merges = second[-1]
    return [*first, *second[:-1], (end, merges + 1)]


class Reduction(ABC):
    """One reduction in a pass: an accumulator that combines the vectors of a leaf.

    Parameters
    ----------
    code
        The pass's code, for the type of its vectors.
    name
        Prefix of its names.
    kind
        The element type.
    """

    def __init__(self, code: Code, name: str, kind: str) -> None:
        self.code, self.name, self.kind = code, name, kind

    @property
    def whole(self) -> str:
        """The type of a vector of the row."""
        return self.code.type_of(self.kind)

    @property
    def type(self) -> str:
        """The type of the accumulator."""
        return self.whole

    @abstractmethod
    def memory(self) -> list[str]:
        """Stack memory."""

    @abstractmethod
    def neutral(self) -> str:
        """The accumulator's value at the begin of a leaf."""

    def begin(self) -> list[str]:
        """Instructions before a row."""
        return []

    @abstractmethod
    def plain(self, value: str) -> list[str]:
        """Accumulate a whole vector into ``{name}.plain``."""

    @abstractmethod
    def masked(self, value: str, mask: str) -> list[str]:
        """Accumulate the masked lanes of the leaf's last vector into ``{name}.masked``."""

    @abstractmethod
    def leaf(self) -> list[str]:
        """Instructions at the end of a leaf."""

    @abstractmethod
    def result(self) -> list[str]:
        """Define ``{name}`` as the row's result, splat over all lanes."""


class Extreme(Reduction):
    """The largest or smallest element; NaN if there is a NaN.

    Parameters
    ----------
    code, name, kind
        As for `Reduction`.
    rule
        The larger or smaller one of two numbers.
    least
        The number that any other one replaces.
    """

    def __init__(self, code: Code, name: str, kind: str, rule: Rule, least: float) -> None:
        super().__init__(code, name, kind)
        self.rule, self.least = rule, least

    def memory(self) -> list[str]:
        """One vector: the result of the leaves so far."""
        return [f"{self.name}.memory = alloca {self.whole}"]

    def neutral(self) -> str:
        """The least (or largest) number."""
        return self.code.constant(self.least, self.kind).name

    def begin(self) -> list[str]:
        """Start without a leaf."""
        return [f"store {self.whole} {self.neutral()}, ptr {self.name}.memory"]

    def plain(self, value: str) -> list[str]:
        """The larger in each lane."""
        return self._larger(f"{self.name}.now", value, "plain")

    def masked(self, value: str, mask: str) -> list[str]:
        """The larger in each lane that has an element."""
        chosen = f"{self.name}.some = select {self.code.type_of('i1')} {mask}, {self.whole} {value}, {self.whole} {self.neutral()}"
        return [chosen, *self._larger(f"{self.name}.now", f"{self.name}.some", "masked")]

    def leaf(self) -> list[str]:
        """The larger of this leaf and the earlier ones."""
        loaded = f"{self.name}.before = load {self.whole}, ptr {self.name}.memory"
        stored = f"store {self.whole} {self.name}.all, ptr {self.name}.memory"
        return [loaded, *self._larger(f"{self.name}.before", f"{self.name}.now", "all"), stored]

    def result(self) -> list[str]:
        """A butterfly: lanes exchange with neighbors at distance 1, 2, 4 … until each has seen all."""
        lanes, last = self.code.lanes, f"{self.name}.0"
        lines = [f"{last} = load {self.whole}, ptr {self.name}.memory"]
        distance = 1
        while distance < lanes:
            numbers = ", ".join(f"i32 {k ^ distance}" for k in range(lanes))
            other, suffix = f"{self.name}.from{distance}", "" if 2 * distance == lanes else f"{2 * distance}"
            lines.append(f"{other} = shufflevector {self.whole} {last}, {self.whole} poison, <{lanes} x i32> <{numbers}>")
            lines += self._larger(last, other, suffix)
            last = f"{self.name}.{suffix}"
            distance *= 2
        return lines

    def _larger(self, a: str, b: str, suffix: str) -> list[str]:
        """The larger (or smaller) of two vectors as ``{name}.{suffix}``, or ``{name}``."""
        code = Code(self.code.lanes, f"{self.name}.{suffix}.v")
        result = self.rule(Vector(code, a, self.kind), Vector(code, b, self.kind))
        last = code.lines[-1]
        return [*code.lines[:-1], last.replace(result.name, f"{self.name}.{suffix}" if suffix else self.name, 1)]


class Sum(Reduction):
    """The sum, by NumPy's pairwise summation."""

    @property
    def type(self) -> str:
        """Eight columns."""
        return f"<{COLUMNS} x {self.kind}>"

    def memory(self) -> list[str]:
        """A leaf's last vector, and the stack of partial sums."""
        return [f"{self.name}.last = alloca {self.whole}", f"{self.name}.waiting = alloca [{DEPTH} x {self.kind}]"]

    def neutral(self) -> str:
        """-0.0, the identity of addition: -0.0 + -0.0 is -0.0, which 0.0 would lose."""
        return self.code.constant(-0.0, self.kind).name

    def plain(self, value: str) -> list[str]:
        """Add the groups of eight columns."""
        return self._added(value, "plain")

    def masked(self, value: str, mask: str) -> list[str]:
        """Add the whole groups of eight; the remaining elements are added one by one at the end of the leaf, as in NumPy."""
        kept = f"store {self.whole} {value}, ptr {self.name}.last"
        chosen = f"{self.name}.some = select {self.code.type_of('i1')} {mask}.groups, {self.whole} {value}, {self.whole} {self.neutral()}"
        return [kept, chosen, *self._added(f"{self.name}.some", "masked")]

    def leaf(self) -> list[str]:
        """Reduce the leaf, and merge its sum with partial sums on the stack."""
        pass_name = self.name.rpartition(".")[0]
        arguments = f"{self.type} {self.name}.now, ptr {self.name}.last, i64 {pass_name}.length, ptr {self.name}.waiting"
        return [f"call void @add_leaf.{self.kind}({arguments}, i64 {pass_name}.depth, i64 {pass_name}.merges)"]

    def result(self) -> list[str]:
        """The last sum on the stack."""
        lanes = self.code.lanes
        return [
            f"{self.name}.tree = load {self.kind}, ptr {self.name}.waiting",
            f"{self.name}.total = fadd {self.kind} {self.name}.tree, 0.0",  # NumPy's sum starts from 0: a sum of -0.0 is 0.0
            f"{self.name}.first = insertelement {self.whole} poison, {self.kind} {self.name}.total, i64 0",
            f"{self.name} = shufflevector {self.whole} {self.name}.first, {self.whole} poison, <{lanes} x i32> zeroinitializer",
        ]

    def _added(self, value: str, way: str) -> list[str]:
        """Add a vector's groups of eight, one after another."""
        # in NumPy's order: column k sums elements k, k + 8, k + 16 …
        lines, last, groups = [], f"{self.name}.now", self.code.lanes // COLUMNS
        for k in range(groups):
            numbers = ", ".join(f"i32 {COLUMNS * k + lane}" for lane in range(COLUMNS))
            part, new = f"{self.name}.{way}.part{k}", f"{self.name}.{way}" + ("" if k == groups - 1 else f".{k}")
            lines.append(f"{part} = shufflevector {self.whole} {value}, {self.whole} poison, <{COLUMNS} x i32> <{numbers}>")
            lines.append(f"{new} = fadd {self.type} {last}, {part}")
            last = new
        return lines


def add_leaf(kind: str, lanes: int) -> str:
    """``add_leaf.{kind}(columns, last, length, waiting, depth, merges)``: push a leaf's sum, merging it with the top of the stack.

    ``last`` holds the leaf's last vector if it is a partial one, ``waiting`` is the stack, ``depth`` the number of sums on it.
    """
    # The three exchanges add the eight columns as NumPy does: ((0+1)+(2+3)) + ((4+5)+(6+7)).
    size = {"float": 4, "double": 8}[kind]
    vector = f"<{COLUMNS} x {kind}>"

    def exchanged(name: str, distance: int) -> str:
        numbers = ", ".join(f"i32 {lane ^ distance}" for lane in range(COLUMNS))
        return f"shufflevector {vector} {name}, {vector} poison, <{COLUMNS} x i32> <{numbers}>"

    return f"""define internal void @add_leaf.{kind}({vector} %columns, ptr %last, i64 %length, ptr %waiting, i64 %depth, i64 %merges) #0 {{
entry:
  %from1 = {exchanged("%columns", 1)}
  %pairs = fadd {vector} %columns, %from1
  %from2 = {exchanged("%pairs", 2)}
  %fours = fadd {vector} %pairs, %from2
  %from4 = {exchanged("%fours", 4)}
  %eights = fadd {vector} %fours, %from4
  %groups = extractelement {vector} %eights, i64 0
  %vectors = and i64 %length, {-lanes}
  %begin.all = and i64 %length, {-COLUMNS}
  %begin = sub i64 %begin.all, %vectors
  %end = sub i64 %length, %vectors
  br label %rest
rest:
  %k = phi i64 [ %begin, %entry ], [ %k.next, %one ]
  %sum = phi {kind} [ %groups, %entry ], [ %sum.next, %one ]
  %more = icmp slt i64 %k, %end
  br i1 %more, label %one, label %merge
one:
  %at = getelementptr {kind}, ptr %last, i64 %k
  %element = load {kind}, ptr %at, align {size}
  %sum.next = fadd {kind} %sum, %element
  %k.next = add i64 %k, 1
  br label %rest
merge:
  %left = phi i64 [ %merges, %rest ], [ %left.next, %half ]
  %top = phi i64 [ %depth, %rest ], [ %below, %half ]
  %total = phi {kind} [ %sum, %rest ], [ %both, %half ]
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %half, label %done
half:
  %left.next = sub i64 %left, 1
  %below = sub i64 %top, 1
  %other.at = getelementptr {kind}, ptr %waiting, i64 %below
  %other = load {kind}, ptr %other.at, align {size}
  %both = fadd {kind} %other, %total
  br label %merge
done:
  %place = getelementptr {kind}, ptr %waiting, i64 %top
  store {kind} %total, ptr %place, align {size}
  ret void
}}"""
