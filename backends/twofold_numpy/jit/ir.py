"""Vector expressions that print LLVM instructions: ``a * b + 1`` appends the instructions that compute it."""

import struct
from collections.abc import Iterator
from typing import Union

#: Bits of each element type.
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
FLOATS = ("float", "double")
#: Bits of the vectors that processors have vectors of bits for, as masks.
HAS_MASKS = 512

Operand = Union["Vector", float, int]


class Code:
    """Straight-line instructions over vectors with the same number of lanes.

    Parameters
    ----------
    lanes
        Elements of every vector.
    prefix
        Prefix of the values' names.
    """

    def __init__(self, lanes: int, prefix: str = "%v") -> None:
        self.lanes, self.prefix = lanes, prefix
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}

    def type_of(self, kind: str) -> str:
        """The vector type for an element type."""
        return f"<{self.lanes} x {kind}>"

    def emit(self, text: str, kind: str) -> "Vector":
        """Append an instruction; its result."""
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return Vector(self, name, kind)

    def constant(self, value: float | int | bool, kind: str) -> "Vector":
        """A splat of a number, which must be exact in the element type."""
        if kind in FLOATS:
            # LLVM writes floats in the 64 bits of a double too, and decimal constants only if they are exact
            bits = struct.unpack("<Q", struct.pack("<d", float(value)))[0]
            return Vector(self, f"splat ({kind} 0x{bits:016X})", kind)
        return Vector(self, f"splat ({kind} {int(value)})", kind)

    def call(self, intrinsic: str, *operands: "Vector") -> "Vector":
        """A call of an LLVM intrinsic, overloaded on the operands' type."""
        kind = operands[0].kind
        name = f"@llvm.{intrinsic}.v{self.lanes}{'f' if kind in FLOATS else 'i'}{BITS[kind]}"
        extra = ["i1 false"] if intrinsic == "abs" else []  # abs of the least integer wraps, as in NumPy, instead of being poison
        types = [o.type for o in operands] + [e.split()[0] for e in extra]
        self.declarations[f"declare {operands[0].type} {name}({', '.join(types)})"] = None
        return self.emit(f"call {operands[0].type} {name}({', '.join([o.typed for o in operands] + extra)})", kind)


class Vector:
    """A vector, by its name in a `Code`; Python numbers among operands take the other operand's type."""

    __slots__ = ("code", "kind", "name")

    def __init__(self, code: Code, name: str, kind: str) -> None:
        self.code, self.name, self.kind = code, name, kind

    @property
    def type(self) -> str:
        """Its vector type."""
        return self.code.type_of(self.kind)

    @property
    def typed(self) -> str:
        """Type and name, as in an argument list."""
        return f"{self.type} {self.name}"

    def like(self, value: Operand) -> "Vector":
        """An operand as a value; a number becomes a constant of this value's type."""
        return value if isinstance(value, Vector) else self.code.constant(value, self.kind)

    def binary(self, instruction: str, other: Operand) -> "Vector":
        """A binary instruction on this type."""
        return self.code.emit(f"{instruction} {self.typed}, {self.like(other).name}", self.kind)

    def _arithmetic(self, name: str, other: Operand) -> "Vector":
        return self.binary(("f" if self.kind in FLOATS else "") + name, other)

    def __add__(self, other: Operand) -> "Vector":
        return self._arithmetic("add", other)

    def __sub__(self, other: Operand) -> "Vector":
        return self._arithmetic("sub", other)

    def __mul__(self, other: Operand) -> "Vector":
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Operand) -> "Vector":
        return self.binary("fdiv", other)

    def __rsub__(self, other: Operand) -> "Vector":
        return self.like(other) - self

    def __rtruediv__(self, other: Operand) -> "Vector":
        return self.like(other) / self

    def __neg__(self) -> "Vector":
        return self.code.emit(f"fneg {self.typed}", self.kind) if self.kind in FLOATS else 0 - self

    def __and__(self, other: Operand) -> "Vector":
        return self.binary("and", other)

    def __or__(self, other: Operand) -> "Vector":
        return self.binary("or", other)

    def __xor__(self, other: Operand) -> "Vector":
        return self.binary("xor", other)

    def __lshift__(self, other: int) -> "Vector":
        return self.binary("shl", other)

    def __rshift__(self, other: int) -> "Vector":
        return self.binary("lshr", other)

    def compare(self, condition: str, other: Operand) -> "Vector":
        """A vector of i1; ``condition`` is one of ``fcmp``'s or ``icmp``'s."""
        name = "fcmp" if self.kind in FLOATS else "icmp"
        return self.code.emit(f"{name} {condition} {self.typed}, {self.like(other).name}", "i1")

    def choose(self, yes: "Vector", no: Operand) -> "Vector":
        """For a vector of i1: ``yes`` where it is set, ``no`` elsewhere."""
        return self.code.emit(f"select {self.typed}, {yes.typed}, {yes.type} {yes.like(no).name}", yes.kind)

    def convert(self, instruction: str, kind: str) -> "Vector":
        """A conversion instruction to another element type."""
        return self.code.emit(f"{instruction} {self.typed} to {self.code.type_of(kind)}", kind)

    def bits(self) -> "Vector":
        """A bitcast between floats and integers of the same width."""
        return self.convert("bitcast", {"float": "i32", "double": "i64", "i32": "float", "i64": "double"}[self.kind])


def splat(name: str, number: str, kind: str, lanes: int) -> list[str]:
    """Instructions that define ``name`` as a vector with one number in all lanes."""
    return [
        f"{name}.first = insertelement <{lanes} x {kind}> poison, {kind} {number}, i64 0",
        # a shuffle by zeros copies lane 0 to all lanes; processors have an instruction for it
        f"{name} = shufflevector <{lanes} x {kind}> {name}.first, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer",
    ]


class Masks:
    """Masks of vectors, which are kept as bits, or as integers where registers hold no vectors of bits.

    In another block of code than the comparison the compiler would make the integers of bits again for each use.

    Parameters
    ----------
    lanes, item
        How many lanes a vector has, and the bytes of each.
    vector_bits
        The width of registers.
    """

    def __init__(self, lanes: int, item: int, vector_bits: int) -> None:
        self.bits = f"<{lanes} x i1>"
        self.are_integers = vector_bits < HAS_MASKS
        #: The type of a mask that is kept.
        self.type = f"<{lanes} x i{8 * item}>" if self.are_integers else self.bits

    def kept(self, name: str, bits: str) -> str:
        """Define a mask to be kept, given its bits."""
        return (
            f"{name} = sext {self.bits} {bits} to {self.type}" if self.are_integers else f"{name} = or {self.bits} {bits}, zeroinitializer"
        )

    def used(self, name: str, kept: str) -> str:
        """Define the bits of a mask that has been kept, in the block where they are used."""
        return f"{name} = {'icmp slt' if self.are_integers else 'or'} {self.type} {kept}, zeroinitializer"


def added_lanes(vector: str, lanes: int, prefix: str) -> Iterator[str]:
    """Add the halves of a vector of floats, then those of the sums, down to one number: ``<prefix>.sum``."""
    while lanes > 1:
        half, kind = lanes // 2, f"<{lanes} x float>"
        for part, first in (("low", 0), ("high", half)):
            places = ", ".join(f"i32 {k}" for k in range(first, first + half))
            yield f"  {prefix}.{part}.{half} = shufflevector {kind} {vector}, {kind} poison, <{half} x i32> <{places}>"
        yield f"  {prefix}.part.{half} = fadd <{half} x float> {prefix}.low.{half}, {prefix}.high.{half}"
        vector, lanes = f"{prefix}.part.{half}", half
    yield f"  {prefix}.sum = extractelement <1 x float> {vector}, i64 0"


def product_added(result: str, a: str, b: str, total: str, lanes: int, pairs: bool = False) -> str:
    """Define ``total + a * b`` for vectors of floats, rounded once; or for pairs of bfloat16 in place of floats, two products a pair."""
    vector, parts = f"<{lanes} x float>", f"<{2 * lanes} x bfloat>"
    if not pairs:
        return f"  {result} = call {vector} @llvm.fma.v{lanes}f32({vector} {a}, {vector} {b}, {vector} {total})"
    casts = [f"  {result}.{side} = bitcast {vector} {x} to {parts}" for side, x in (("a", a), ("b", b))]
    instruction = f"@llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
    return "\n".join([*casts, f"  {result} = call {vector} {instruction}({vector} {total}, {parts} {result}.a, {parts} {result}.b)"])


def products_added(
    lanes: int, vectors: int, vectors_at: str, numbers: int, numbers_at: str, apart: int, pairs: bool = False
) -> Iterator[str]:
    """Multiply some vectors by each of some numbers, ``apart`` from each other, and add that to ``%sum.…``, which gives ``%next.…``.

    The operands that are fewer come first: they stay in registers, of which the sums take most, while each of the others is used.
    """
    vector = f"<{lanes} x float>"

    def loaded_vector(v: int) -> Iterator[str]:
        yield f"  %k.{v}.at = getelementptr float, ptr {vectors_at}, i64 {v * lanes}\n  %k.{v} = load {vector}, ptr %k.{v}.at, align 4"

    def loaded_number(n: int) -> Iterator[str]:
        yield f"  %x.{n}.at = getelementptr float, ptr {numbers_at}, i64 {n * apart}\n  %x.{n} = load float, ptr %x.{n}.at, align 4"
        yield from (f"  {line}" for line in splat(f"%x.{n}.all", f"%x.{n}", "float", lanes))

    def added(n: int, v: int) -> str:
        return product_added(f"%next.{n}.{v}", f"%x.{n}.all", f"%k.{v}", f"%sum.{n}.{v}", lanes, pairs)

    if vectors <= numbers:
        yield from (line for v in range(vectors) for line in loaded_vector(v))
        for n in range(numbers):
            yield from loaded_number(n)
            yield from (added(n, v) for v in range(vectors))
    else:
        yield from (line for n in range(numbers) for line in loaded_number(n))
        for v in range(vectors):
            yield from loaded_vector(v)
            yield from (added(n, v) for n in range(numbers))


def sums_stored(lanes: int, vectors: int, numbers: int) -> Iterator[str]:
    """End the block ``%end``: store the sums ``%next.…`` of `products_added` at ``%sums``, added to those that are there if ``%adds``."""
    vector, names = f"<{lanes} x float>", [f"{n}.{v}" for n in range(numbers) for v in range(vectors)]
    yield from (f"  %at.{name} = getelementptr float, ptr %sums, i64 {k * lanes}" for k, name in enumerate(names))
    yield "  br i1 %adds, label %add, label %store\nadd:"
    for name in names:
        yield f"  %before.{name} = load {vector}, ptr %at.{name}, align 4"
        yield f"  %with.{name} = fadd {vector} %before.{name}, %next.{name}"
    yield "  br label %store\nstore:"
    yield from (f"  %all.{name} = phi {vector} [ %next.{name}, %end ], [ %with.{name}, %add ]" for name in names)
    yield from (f"  store {vector} %all.{name}, ptr %at.{name}, align 4" for name in names)


def fma(a: Vector, b: Operand, c: Operand) -> Vector:
    """``a * b + c`` with a single rounding."""
    return a.code.call("fma", a, a.like(b), a.like(c))


def polynomial(coefficients: tuple[float, ...], x: Vector) -> Vector:
    """A polynomial by Horner's rule; coefficients lowest power first."""
    result: Operand = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = fma(x.like(result), x, c)
    return x.like(result)
