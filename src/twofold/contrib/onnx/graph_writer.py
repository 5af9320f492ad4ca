"""Collects the nodes of an ONNX graph while the operators' rules write them. It does not depend on Twofold's operators."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy
from numpy import dtype as Kind
from numpy import ndarray

from ...dtype import FLOATS, NUMPY, WEAK, promote
from ...errors import OperatorError
from ...graph.ir import Application

#: The dtypes of results that are not the first operand's.
_RESULT_DTYPES = {
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"), "bool"),
    **dict.fromkeys(("ArgMax", "ArgMin", "NonZero", "Size"), "int64"),
}
#: Operators whose second operand has the dtype of the result.
_SECOND = ("Where",)


class OnnxValue(NamedTuple):
    """A value of the ONNX graph, as rules see it; a Python scalar has a number and no name yet."""

    name: str
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    number: float | None = None


@dataclass(frozen=True)
class OnnxNode:
    """A node of the ONNX graph.

    Attributes
    ----------
    operator
        ONNX's operator.
    inputs, outputs
        Names of values; an empty one stands for an omitted input.
    attributes
        Its attributes: numbers, strings, lists of them, and arrays.
    source
        The node of the symbol that it is written for, as ``name (operator)``.
    """

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, object]
    source: str


@dataclass
class GraphWriter:
    """Collects nodes and constants. Every operator of ONNX is a method: ``writer.Gemm(a, b, transB=1)`` returns an `OnnxValue`.

    Operands are values, None for omitted ones; attributes are keyword arguments, and ``outputs=n`` asks for a tuple of n results.

    Attributes
    ----------
    opset
        The version of ONNX's operators that is written.
    nodes, constants
        What has been written so far; constants by name.
    unknown
        By name, for constants that are shapes: for each size the placeholder that replaces it if it varies, None if it must not vary.
    fixed
        Sizes on which the written nodes depend, each with the node of the symbol.
    """

    opset: int
    nodes: list[OnnxNode] = field(default_factory=list)
    constants: dict[str, ndarray] = field(default_factory=dict)
    unknown: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    fixed: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    source: str = ""
    prefix: str = ""
    np: ModuleType = numpy
    _count: int = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name[0].isupper():
            raise AttributeError(name)

        def write(*inputs: OnnxValue | None, outputs: int = 1, **attributes: object) -> object:
            return self._node(name, inputs, outputs, attributes)

        return write

    def _node(self, op: str, inputs: Sequence[OnnxValue | None], outputs: int, attributes: dict[str, Any]) -> Any:
        given = [None if v is None else self._named(v) for v in inputs]
        # Omitted inputs at the end are left out; omitted inputs before others need an empty name.
        while given and given[-1] is None:
            given.pop()
        # Most results have the dtype of the first operand that is there; tables list the exceptions.
        known = given[1] if op in _SECOND and len(given) > 1 else next((v for v in given if v is not None), None)
        dtype = _RESULT_DTYPES.get(op, None if known is None else known.dtype)
        names = tuple(self._fresh(op) for _ in range(outputs))
        self.nodes.append(OnnxNode(op, tuple("" if v is None else v.name for v in given), names, attributes, self.source))
        found = tuple(OnnxValue(name, (), dtype) for name in names)
        return found[0] if outputs == 1 else found

    def _fresh(self, hint: str) -> str:
        self._count += 1
        return f"{self.prefix}_{hint.lower()}{self._count}"

    def _named(self, value: OnnxValue) -> OnnxValue:
        """The value, a constant of ONNX if it is a Python scalar."""
        return value if value.number is None else self.number(value.number, "float32" if value.dtype == "weakf" else "int64")

    # what rules ask for besides operators

    def constant(self, array: ndarray) -> OnnxValue:
        """An array that is part of the model."""
        name = self._fresh("const")
        self.constants[name] = array
        dtype = next(n for n, kind in NUMPY.items() if kind == array.dtype)
        return OnnxValue(name, array.shape, dtype)

    def constant_tensor(self, array: ndarray) -> ndarray:
        """An array as the value of an attribute."""
        return array

    def ints(self, numbers: Iterable[int]) -> OnnxValue:
        """A vector of int64: sizes, axes, bounds."""
        return self.constant(numpy.array(list(numbers), numpy.int64))

    def reshaped(self, data: OnnxValue, shape: tuple[int, ...]) -> OnnxValue:
        """The elements in another shape; sizes that stay in their places may vary, which ONNX writes as 0, and one other."""
        sizes = self.ints(shape)
        self.unknown[sizes.name] = tuple(0 if data.shape[k : k + 1] == (n,) else -1 for k, n in enumerate(shape))
        return self.Reshape(data, sizes)

    def expanded(self, data: OnnxValue, shape: tuple[int, ...]) -> OnnxValue:
        """A value broadcast to a shape; sizes that it has already may vary."""
        own = (*[1] * (len(shape) - len(data.shape)), *data.shape)
        sizes = self.ints(shape)
        self.unknown[sizes.name] = tuple(1 if n == m != 1 else None for n, m in zip(shape, own, strict=True))
        return self.Expand(data, sizes)

    def depends_on(self, *sizes: int) -> None:
        """Note that the nodes being written are valid for these sizes only."""
        self.fixed.append((self.source, sizes))

    def number(self, value: float, dtype: str) -> OnnxValue:
        """A 0-d array."""
        return self.constant(numpy.array(value).astype(NUMPY[dtype]))

    def empty(self, shape: tuple[int, ...], dtype: str) -> OnnxValue:
        """An array without elements."""
        return self.constant(numpy.empty(shape, NUMPY[dtype]))

    def numpy_dtype(self, dtype: str) -> Kind:
        """NumPy's dtype of a name."""
        return NUMPY[dtype]

    def is_float(self, dtype: str | None) -> bool:
        """Whether a dtype is floating-point."""
        return dtype in FLOATS

    def in_dtype(self, dtype: str, *values: OnnxValue) -> list[OnnxValue]:
        """Values in a dtype: Python scalars become constants, others are cast where necessary."""
        return [self._cast(v, dtype) for v in values]

    def in_common_dtype(self, *values: OnnxValue) -> list[OnnxValue]:
        """Values in the dtype that NumPy promotes theirs to."""
        common = promote(*[str(v.dtype) for v in values])
        return self.in_dtype(common if common not in WEAK else "float32" if common == "weakf" else "int64", *values)

    def as_index(self, value: OnnxValue) -> OnnxValue:
        """A value as int64, which all operators take as indices."""
        return self._cast(value, "int64")

    def _cast(self, value: OnnxValue, dtype: str) -> OnnxValue:
        if value.number is not None:
            return self.number(value.number, dtype)
        if value.dtype == dtype:
            return value
        found = self.Cast(value, to=NUMPY[dtype])
        return found._replace(shape=value.shape, dtype=dtype)

    def shaped(self, value: OnnxValue, shape: tuple[int, ...]) -> OnnxValue:
        """The value, declared to have a shape."""
        return value._replace(shape=shape)

    def typed(self, value: OnnxValue, dtype: str) -> OnnxValue:
        """The value, declared to have a dtype."""
        return value._replace(dtype=dtype)

    def reduced(self, name: str, data: OnnxValue, axes: Sequence[int], keepdims: bool) -> OnnxValue:
        """A reduction over axes, which are an operand since version 18, and of sums since 13."""
        if name == "ReduceSum" or self.opset >= 18:
            return getattr(self, name)(data, self.ints(axes), keepdims=int(keepdims))
        return getattr(self, name)(data, axes=list(axes), keepdims=int(keepdims))

    def require(self, opset: int, node: Application) -> None:
        """Raise unless operators of that version may be written.

        Raises
        ------
        OperatorError
            If the version is older.
        """
        if self.opset < opset:
            todo = f"pass opset_version={opset} or a later one"
            raise OperatorError(
                f"export_model: {self.source} needs a newer version of ONNX", f"{node.bound_op.op.title}, {self.opset}", todo
            )

    # the finished graph

    def renamed(self, names: dict[str, str]) -> "GraphWriter":
        """The same graph with other names of values."""
        nodes = [
            replace(n, inputs=tuple(names.get(v, v) for v in n.inputs), outputs=tuple(names.get(v, v) for v in n.outputs))
            for n in self.nodes
        ]
        return replace(self, nodes=nodes, constants={names.get(k, k): v for k, v in self.constants.items()})  # shapes keep their names

    def without_unused(self, outputs: Iterable[str]) -> "GraphWriter":
        """The same graph without the nodes on which no output depends."""
        needed, kept = set(outputs), []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                kept.append(node)
                needed.update(node.inputs)
        return replace(self, nodes=kept[::-1], constants={k: v for k, v in self.constants.items() if k in needed})
