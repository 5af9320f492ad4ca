"""Expressions over vectors that print LLVM's instructions: ``a * b + 1`` appends the lines that compute it."""

import struct
from typing import Union

#: Bits of each type of an element.
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
FLOATS = ("float", "double")

Operand = Union["Value", float, int]


class Code:
    """The instructions of a straight piece of a function whose values are vectors of one number of lanes.

    Parameters
    ----------
    lanes
        Elements of every vector.
    prefix
        Begins the names of its values.
    """

    def __init__(self, lanes: int, prefix: str = "%v") -> None:
        self.lanes, self.prefix = lanes, prefix
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}

    def type_of(self, kind: str) -> str:
        """The vector type of a type of elements."""
        return f"<{self.lanes} x {kind}>"

    def emit(self, text: str, kind: str) -> "Value":
        """The result of an instruction."""
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return Value(self, name, kind)

    def constant(self, value: float | int | bool, kind: str) -> "Value":
        """A vector of one number, which must be exact in the type."""
        if kind in FLOATS:
            bits = struct.unpack("<Q", struct.pack("<d", float(value)))[0]
            return Value(self, f"splat ({kind} 0x{bits:016X})", kind)
        return Value(self, f"splat ({kind} {int(value)})", kind)

    def call(self, intrinsic: str, *operands: "Value") -> "Value":
        """LLVM's function of that name, overloaded on the operands' type."""
        kind = operands[0].kind
        name = f"@llvm.{intrinsic}.v{self.lanes}{'f' if kind in FLOATS else 'i'}{BITS[kind]}"
        extra = ["i1 false"] if intrinsic == "abs" else []  # the least integer stays as it is
        types = [o.type for o in operands] + [e.split()[0] for e in extra]
        self.declarations[f"declare {operands[0].type} {name}({', '.join(types)})"] = None
        return self.emit(f"call {operands[0].type} {name}({', '.join([o.typed for o in operands] + extra)})", kind)


class Value:
    """A vector by its name in a `Code`; numbers among operands take the other's type."""

    __slots__ = ("code", "kind", "name")

    def __init__(self, code: Code, name: str, kind: str) -> None:
        self.code, self.name, self.kind = code, name, kind

    @property
    def type(self) -> str:
        """Its vector type."""
        return self.code.type_of(self.kind)

    @property
    def typed(self) -> str:
        """As it stands among arguments."""
        return f"{self.type} {self.name}"

    def like(self, value: Operand) -> "Value":
        """An operand as a value: a number becomes a constant of this value's type."""
        return value if isinstance(value, Value) else self.code.constant(value, self.kind)

    def binary(self, instruction: str, other: Operand) -> "Value":
        """An instruction of two operands of this type."""
        return self.code.emit(f"{instruction} {self.typed}, {self.like(other).name}", self.kind)

    def _arithmetic(self, name: str, other: Operand) -> "Value":
        return self.binary(("f" if self.kind in FLOATS else "") + name, other)

    def __add__(self, other: Operand) -> "Value":
        return self._arithmetic("add", other)

    def __sub__(self, other: Operand) -> "Value":
        return self._arithmetic("sub", other)

    def __mul__(self, other: Operand) -> "Value":
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Operand) -> "Value":
        return self.binary("fdiv", other)

    def __rsub__(self, other: Operand) -> "Value":
        return self.like(other) - self

    def __rtruediv__(self, other: Operand) -> "Value":
        return self.like(other) / self

    def __neg__(self) -> "Value":
        return self.code.emit(f"fneg {self.typed}", self.kind) if self.kind in FLOATS else 0 - self

    def __and__(self, other: Operand) -> "Value":
        return self.binary("and", other)

    def __or__(self, other: Operand) -> "Value":
        return self.binary("or", other)

    def __xor__(self, other: Operand) -> "Value":
        return self.binary("xor", other)

    def __lshift__(self, other: int) -> "Value":
        return self.binary("shl", other)

    def __rshift__(self, other: int) -> "Value":
        return self.binary("lshr", other)

    def compare(self, condition: str, other: Operand) -> "Value":
        """A vector of i1: ``condition`` is LLVM's, of ``fcmp`` or ``icmp``."""
        name = "fcmp" if self.kind in FLOATS else "icmp"
        return self.code.emit(f"{name} {condition} {self.typed}, {self.like(other).name}", "i1")

    def choose(self, yes: "Value", no: Operand) -> "Value":
        """Of a vector of i1: ``yes`` where it is set, ``no`` elsewhere."""
        return self.code.emit(f"select {self.typed}, {yes.typed}, {yes.type} {yes.like(no).name}", yes.kind)

    def convert(self, instruction: str, kind: str) -> "Value":
        """An instruction that converts to another type."""
        return self.code.emit(f"{instruction} {self.typed} to {self.code.type_of(kind)}", kind)

    def bits(self) -> "Value":
        """A float's bits as an integer, or the float of an integer's bits."""
        return self.convert("bitcast", {"float": "i32", "double": "i64", "i32": "float", "i64": "double"}[self.kind])


def splat(name: str, number: str, kind: str, lanes: int) -> list[str]:
    """Instructions that give a vector of one number by a name."""
    return [
        f"{name}.first = insertelement <{lanes} x {kind}> poison, {kind} {number}, i64 0",
        f"{name} = shufflevector <{lanes} x {kind}> {name}.first, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer",
    ]


def fma(a: Value, b: Operand, c: Operand) -> Value:
    """``a * b + c``, rounded once."""
    return a.code.call("fma", a, a.like(b), a.like(c))


def polynomial(coefficients: tuple[float, ...], x: Value) -> Value:
    """A polynomial, lowest power first, by Horner's rule."""
    result: Operand = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = fma(x.like(result), x, c)
    return x.like(result)
