"""Twofold in miniature: one table of operators, interned nodes, gradient, fusion, a memory plan, cells, a window. For reading.

The same ideas as in the package, each in its smallest form. What is left out: dtypes, devices, threads, views, errors, saved
values (gradients are computed from the leaves again), operators beyond a dozen. Results are the package's: a test compares them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

BLOCK = 4096  # elements that a fused kernel works on at a time

# ------------------------------------------------------------------------------------ 1. one table of operators


class Op(NamedTuple):
    """An operator: NumPy's function, the result's shape, the gradient rule (in terms of nodes), whether it is element-wise."""

    run: Callable[..., Any]
    shape: Callable[..., tuple[int, ...]]
    grad: Callable[..., tuple["Node", ...]]
    elementwise: bool = False


def same(*shapes: tuple[int, ...], param: Any) -> tuple[int, ...]:
    """Shape of an element-wise result: operands have one shape (`binary` sees to it)."""
    return shapes[0]


def given(*shapes: tuple[int, ...], param: Any) -> tuple[int, ...]:
    """The shape is the operator's parameter."""
    return param


def sum_to(x: np.ndarray, param: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: the sum over the axes that a shape does not have, or has with size 1."""
    lead = x.ndim - len(param)
    axes = (*range(lead), *(k + lead for k, n in enumerate(param) if n == 1))
    return x.sum(axes, keepdims=False).reshape(param)


# A rule gets the head gradient, the result and the operands, and gives one gradient for each operand. It builds nodes.
OPS = {
    "add": Op(np.add, same, lambda d, y, a, b: (d, d), True),
    "subtract": Op(np.subtract, same, lambda d, y, a, b: (d, -d), True),
    "multiply": Op(np.multiply, same, lambda d, y, a, b: (d * b, d * a), True),
    "divide": Op(np.divide, same, lambda d, y, a, b: (d / b, -d * y / b), True),
    "negative": Op(np.negative, same, lambda d, y, a: (-d,), True),
    "exp": Op(np.exp, same, lambda d, y, a: (d * y,), True),
    "log": Op(np.log, same, lambda d, y, a: (d / a,), True),
    "tanh": Op(np.tanh, same, lambda d, y, a: (d * (1.0 - y * y),), True),
    "matmul": Op(np.matmul, lambda a, b, param: (a[0], b[1]), lambda d, y, a, b: (matmul(d, turn(b)), matmul(turn(a), d))),
    "transpose": Op(np.transpose, lambda a, param: a[::-1], lambda d, y, a: (turn(d),)),
    "broadcast_to": Op(lambda x, param: np.broadcast_to(x, param), given, lambda d, y, a: (node("sum_to", d, param=a.shape),)),
    "sum_to": Op(sum_to, given, lambda d, y, a: (node("broadcast_to", d, param=a.shape),)),
}

# -------------------------------------------------------------------------------------- 2. nodes are interned


class Node:
    """An operator applied to nodes, or (``op`` is None) a leaf or a constant. Equal ones are one object: identity is structure."""

    __slots__ = ("inputs", "op", "param", "shape")

    def __init__(self, op: str | None, inputs: tuple["Node", ...], param: Any, shape: tuple[int, ...]) -> None:
        self.op, self.inputs, self.param, self.shape = op, inputs, param, shape

    @property
    def nbytes(self) -> int:
        """Bytes of the result, in double precision."""
        return 8 * int(np.prod(self.shape))


_nodes: dict[Any, Node] = {}


def node(op: str, *inputs: Node, param: Any = None) -> Node:
    """The application of an operator: looked up, or made with its shape inferred, once for each structure."""
    key = op, inputs, param
    if key not in _nodes:
        _nodes[key] = Node(op, inputs, param, OPS[op].shape(*[i.shape for i in inputs], param=param))
    return _nodes[key]


def leaf(number: int, shape: tuple[int, ...]) -> Node:
    """Input ``number`` of a program; its value is no part of the structure."""
    return _nodes.setdefault(("leaf", number, shape), Node(None, (), number, shape))


def constant(value: float, shape: tuple[int, ...]) -> Node:
    """An array of one value."""
    return _nodes.setdefault(("constant", value, shape), Node(None, (), float(value), shape))


def matmul(a: Node, b: Node) -> Node:
    """Matrix product."""
    return node("matmul", a, b)


def turn(a: Node) -> Node:
    """Transposed matrix."""
    return node("transpose", a)


def binary(op: str, a: Any, b: Any) -> Node:
    """An element-wise operator of nodes and numbers: both are brought to one shape first."""
    shape = np.broadcast_shapes(*[x.shape for x in (a, b) if isinstance(x, Node)])
    full = [x if isinstance(x, Node) else constant(x, shape) for x in (a, b)]
    return node(op, *[x if x.shape == shape else node("broadcast_to", x, param=shape) for x in full])


OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}
for _dunder, _op in OPERATORS.items():
    setattr(Node, f"__{_dunder}__", lambda a, b, op=_op: binary(op, a, b))
    setattr(Node, f"__r{_dunder}__", lambda a, b, op=_op: binary(op, b, a))
Node.__neg__ = lambda a: node("negative", a)  # type: ignore[attr-defined]


def topological(outputs: Iterable[Node]) -> list[Node]:
    """The nodes below outputs, operands before their users."""
    order: dict[Node, None] = {}
    stack = [(o, False) for o in outputs][::-1]
    while stack:
        n, done = stack.pop()
        if done:
            order[n] = None
        elif n not in order:
            stack += [(n, True), *[(i, False) for i in n.inputs if i not in order]]
    return list(order)


# ------------------------------------------------------------------------- 3. the gradient of a graph is a graph


def gradient(output: Node, wrt: Sequence[Node]) -> list[Node]:
    """Derivatives of the sum of a result with respect to nodes, as nodes: rules applied in reverse, contributions added."""
    grads = {output: constant(1.0, output.shape)}
    for n in reversed(topological([output])):
        if n.op is not None and n in grads:
            for operand, d in zip(n.inputs, OPS[n.op].grad(grads[n], n, *n.inputs), strict=True):
                grads[operand] = grads[operand] + d if operand in grads else d
    return [grads.get(w, constant(0.0, w.shape)) for w in wrt]


# ------------------------------------------------------------------- 4. programs: fusion, memory plan, source text


def steps_of(outputs: Sequence[Node], fuse: bool) -> list[list[Node]]:
    """The applications in order; neighbours that are element-wise and of one shape form one step, a kernel."""
    steps: list[list[Node]] = []
    for n in topological(outputs):
        if n.op is None:
            continue
        last = steps[-1][-1] if steps else None
        joins = fuse and last is not None and OPS[n.op].elementwise and OPS[str(last.op)].elementwise and last.shape == n.shape
        steps[-1].append(n) if joins else steps.append([n])
    return steps


class Program:
    """Nodes compiled to one Python function of the leaves' arrays.

    Attributes
    ----------
    steps, place, nbytes, source
        What runs together; where each value lives (a name in the source); bytes of leaves and buffers; the text.
    """

    def __init__(self, outputs: Sequence[Node], donated: Sequence[int] = (), fuse: bool = True, in_place: bool = True) -> None:
        self.outputs, self.steps = list(outputs), steps_of(outputs, fuse)
        order = topological(outputs)
        self.leaves = [n for n in order if n.op is None and isinstance(n.param, int)]
        self.place = {n: f"x{n.param}" for n in self.leaves} | {n: repr(n.param) for n in order if isinstance(n.param, float)}
        self.nbytes = sum(n.nbytes for n in self.leaves)
        self.lines: list[str] = []
        self.writable = {f"x{k}" for k in donated}
        self.last = {i: t for t, step in enumerate(self.steps) for n in step for i in n.inputs} | dict.fromkeys(outputs, len(self.steps))
        self.free: list[tuple[tuple[int, ...], str]] = []
        for t, step in enumerate(self.steps):
            self._emit(t, step, in_place)
        results = ", ".join(self.place[o] if o.op else f"full({o.shape}, {self.place[o]})" for o in outputs)
        self.source = "\n ".join(
            ["def program(L):", *[f"{self.place[n]} = L[{n.param}]" for n in self.leaves], *self.lines, f"return [{results}]"]
        )
        env: dict[str, Any] = {"empty": np.empty, "full": np.full, "pack": np.ascontiguousarray} | {k: op.run for k, op in OPS.items()}
        exec(self.source, env)
        self.run: Callable[[Sequence[np.ndarray]], list[np.ndarray]] = env["program"]

    def _emit(self, t: int, step: list[Node], in_place: bool) -> None:
        first = step[0]
        dying = {i for n in step for i in n.inputs if i not in step and i.shape == first.shape and self.last[i] == t and self._reusable(i)}
        if OPS[str(first.op)].elementwise:
            inner = {n for n in step if self.last[n] == t}  # read in this step only: never leaves the kernel
            for k, n in enumerate(step):
                later = {i for m in step[k + 1 :] for i in m.inputs}
                self.place[n] = (
                    f"k{k}" if n in inner else self._memory(n, {i for i in dying - later if i in n.inputs} if in_place else set(), dying)
                )
            self._kernel(step, inner)
        else:  # matrix products, transposes, sums: NumPy makes the result
            self.place[first] = self._new(first)
            param = "" if first.param is None else f", {first.param}"
            self.lines.append(f"{self.place[first]} = pack({first.op}({', '.join(self._operand(i) for i in first.inputs)}{param}))")
        self.free += [(i.shape, self.place[i]) for i in dying if in_place]

    def _reusable(self, n: Node) -> bool:
        return self.place[n] in self.writable

    def _memory(self, n: Node, takeable: set[Node], dying: set[Node]) -> str:
        """A dying operand's memory, memory that is free, or new memory."""
        for i in takeable:
            dying.remove(i)
            return self.place[i]
        fit = next((entry for entry in self.free if entry[0] == n.shape), None)
        if fit is not None:
            self.free.remove(fit)
            return fit[1]
        name = self._new(n)
        self.lines.append(f"{name} = empty({n.shape})")
        return name

    def _new(self, n: Node) -> str:
        self.nbytes += n.nbytes
        self.writable.add(f"v{len(self.writable)}")
        return f"v{len(self.writable) - 1}"

    def _operand(self, n: Node) -> str:
        return f"full({n.shape}, {n.param!r})" if isinstance(n.param, float) else self.place[n]

    def _kernel(self, step: list[Node], inner: set[Node]) -> None:
        """A loop over blocks that stay in the cache: what is read and written once crosses the memory bus once."""
        size = int(np.prod(step[0].shape))
        outside = dict.fromkeys(self.place[n] for m in step for n in (m, *m.inputs) if n not in inner and not isinstance(n.param, float))
        flat = {name: f"f{k}" for k, name in enumerate(outside)}
        self.lines += [f"{alias} = {name}.reshape(-1)" for name, alias in flat.items()]
        self.lines += [f"{self.place[n]} = empty({min(BLOCK, size)})" for n in inner]
        self.lines.append(f"for s in range(0, {size}, {BLOCK}):")
        self.lines.append(f" e = min(s + {BLOCK}, {size})")
        for n in step:
            names = [self.place[i] for i in (*n.inputs, n)]
            parts = [f"{flat[x]}[s:e]" if x in flat else f"{x}[:e - s]" if x.startswith("k") else x for x in names]
            self.lines.append(f" {n.op}({', '.join(parts)})")


_programs: dict[tuple[Node, ...], Program] = {}


def program_of(outputs: tuple[Node, ...]) -> Program:
    """The program of a structure, compiled once."""
    if outputs not in _programs:
        _programs[outputs] = Program(outputs)
    return _programs[outputs]


# ------------------------------------------------------------------- 5. arrays are cells; operations wait in a window


class Value:
    """An immutable content: an array once it is computed, and the node that it is in its scope."""

    __slots__ = ("__weakref__", "data", "node", "scope")

    def __init__(self, data: np.ndarray | None, node: Node | None = None, scope: "Scope | None" = None) -> None:
        self.data, self.node, self.scope = data, node, scope


class Scope:
    """A window of waiting operations, over numbered leaves; while recording also the tape that gradients are taken of."""

    def __init__(self, recording: bool = False) -> None:
        self.recording, self.leaves, self.variables, self.results = recording, [], {}, []

    def node_of(self, cell: "Array") -> Node:
        """An array's node here; what was made elsewhere, or is computed already, enters as a leaf."""
        v = cell.value
        if v.scope is not self or v.data is not None and not self.recording:
            v.node, data = leaf(len(self.leaves), cell.shape), cell.asnumpy()
            v.scope = self
            self.leaves.append(data)
            if cell.grad is not None:
                self.variables[v.node] = cell
        return v.node  # type: ignore[return-value]

    def flush(self) -> None:
        """Compute all results that somebody still holds, in one program; a dead reference is a result that is never made."""
        live = [v for v in (r() for r in self.results) if v is not None and v.data is None]
        for v, data in zip(live, program_of(tuple(v.node for v in live)).run(self.leaves), strict=True):  # type: ignore[misc]
            v.data = data
        self.results = []

    def __enter__(self) -> "Scope":
        global current
        self.before, current = current, self
        return self

    def __exit__(self, *exc: object) -> None:
        global current
        current = self.before


current = Scope()


class Array:
    """A cell: its content may be exchanged, the content itself never changes. A write is therefore seen by no one else."""

    def __init__(self, content: Any) -> None:
        self.value = content if isinstance(content, Value) else Value(np.array(content, float))
        self.grad: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Known before the content is computed."""
        return self.value.node.shape if self.value.data is None else self.value.data.shape  # type: ignore[union-attr]

    def asnumpy(self) -> np.ndarray:
        """The content; this is what makes the window run."""
        if self.value.data is None:
            self.value.scope.flush()  # type: ignore[union-attr]
        return self.value.data  # type: ignore[return-value]

    def __setitem__(self, key: slice, other: "Array") -> None:
        self.value = (other + 0.0).value  # x[:] = other

    def attach_grad(self) -> None:
        """Ask for the gradient with respect to this array."""
        self.grad = Array(np.zeros(self.shape))

    def backward(self) -> None:
        """Write the gradients of the sum of this array into those that asked for them."""
        tape = self.value.scope
        wrt = list(tape.variables)  # type: ignore[union-attr]
        arrays = program_of(tuple(gradient(self.value.node, wrt))).run(tape.leaves)  # type: ignore[union-attr,arg-type]
        for n, data in zip(wrt, arrays, strict=True):
            tape.variables[n].grad.value = Value(data)  # type: ignore[union-attr]


def apply(build: Callable[..., Node], *operands: Any) -> Array:
    """Note an operation in the current scope; numbers become leaves, so that another number is the same structure."""
    nodes = [current.node_of(x if isinstance(x, Array) else Array(x)) for x in operands]
    value = Value(None, build(*nodes), current)
    current.results.append(ref(value))
    return Array(value)


for _dunder, _op in OPERATORS.items():
    setattr(Array, f"__{_dunder}__", lambda a, b, op=_op: apply(lambda x, y: binary(op, x, y), a, b))
    setattr(Array, f"__r{_dunder}__", lambda a, b, op=_op: apply(lambda x, y: binary(op, x, y), b, a))
for _op in ("exp", "log", "tanh"):
    setattr(Array, _op, lambda a, op=_op: apply(lambda x: node(op, x), a))
Array.__matmul__ = lambda a, b: apply(matmul, a, b)  # type: ignore[attr-defined]
Array.sum = lambda a: apply(lambda x: node("sum_to", x, param=()), a)  # type: ignore[attr-defined]
