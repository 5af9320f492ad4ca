"""Twofold in miniature, for reading: a table of operators, interned nodes, gradients, fusion, a memory plan, cells and a window.

It omits dtypes, devices, threads, views, errors, saved values and most operators. A test compares its results with the package's.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

BLOCK = 4096  # elements that a fused kernel processes at a time

# ------------------------------------------------------------------------------------ 1. one table of operators


class Op(NamedTuple):
    """An operator: NumPy's function, the result's shape, the gradient rule (in terms of nodes), whether it is element-wise."""

    run: Callable[..., Any]
    shape: Callable[..., tuple[int, ...]]
    grad: Callable[..., tuple["Node", ...]]
    elementwise: bool = False


def same(*shapes: tuple[int, ...], param: Any) -> tuple[int, ...]:
    """Shape of a result: the parameter of operators that change shapes, else the shape of the operands that have axes."""
    return max(shapes, key=len) if param is None else param


def sum_to(x: np.ndarray, param: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: sum over the axes that are missing from a shape or have size 1 in it."""
    axes = [k for k, n in enumerate((1,) * (x.ndim - len(param)) + param) if n == 1]
    return x.sum(tuple(axes)).reshape(param)


# A rule receives the head gradient, the result and the operands, all as nodes, and returns one node per operand.
OPS = {
    "add": Op(np.add, same, lambda d, y, a, b: (d, d), True),
    "subtract": Op(np.subtract, same, lambda d, y, a, b: (d, -d), True),
    "multiply": Op(np.multiply, same, lambda d, y, a, b: (d * b, d * a), True),
    "divide": Op(np.divide, same, lambda d, y, a, b: (d / b, -d * y / b), True),
    "negative": Op(np.negative, same, lambda d, y, a: (-d,), True),
    "exp": Op(np.exp, same, lambda d, y, a: (d * y,), True),
    "log": Op(np.log, same, lambda d, y, a: (d / a,), True),
    "tanh": Op(np.tanh, same, lambda d, y, a: (d * (1.0 - y * y),), True),
    "matmul": Op(
        np.matmul,
        lambda a, b, param: (a[0], b[1]),
        lambda d, y, a, b: (node("matmul", d, node("transpose", b)), node("matmul", node("transpose", a), d)),
    ),
    "transpose": Op(np.transpose, lambda a, param: a[::-1], lambda d, y, a: (node("transpose", d),)),
    "broadcast_to": Op(lambda x, param: np.broadcast_to(x, param), same, lambda d, y, a: (node("sum_to", d, param=a.shape),)),
    "sum_to": Op(sum_to, same, lambda d, y, a: (node("broadcast_to", d, param=a.shape),)),
}

# -------------------------------------------------------------------------------------- 2. nodes are interned


class Node:
    """An operator applied to nodes, or (``op`` is None) a leaf or a constant. Equal nodes are one object: identity means equality."""

    def __init__(self, op: str | None, inputs: tuple["Node", ...], param: Any, shape: tuple[int, ...]) -> None:
        self.op, self.inputs, self.param, self.shape, self.size = op, inputs, param, shape, math.prod(shape)


@cache
def node(op: str, *inputs: Node, param: Any = None) -> Node:
    """The application of an operator: created, with its shape inferred, once per structure, and looked up after that."""
    return Node(op, inputs, param, OPS[op].shape(*[i.shape for i in inputs], param=param))


@cache
def leaf(number: int, shape: tuple[int, ...]) -> Node:
    """Input ``number`` of a program; its value is not part of the structure."""
    return Node(None, (), number, shape)


@cache
def constant(value: float, shape: tuple[int, ...] = ()) -> Node:
    """A number, or an array filled with one value."""
    return Node(None, (), float(value), shape)


def binary(op: str, a: Any, b: Any) -> Node:
    """An element-wise operator on nodes and numbers, which are broadcast to one shape first, except for those without axes."""
    a, b = [x if isinstance(x, Node) else constant(x) for x in (a, b)]
    shape = np.broadcast_shapes(a.shape, b.shape)
    return node(op, *[x if x.shape in (shape, ()) else node("broadcast_to", x, param=shape) for x in (a, b)])


OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}
for _dunder, _op in OPERATORS.items():
    setattr(Node, f"__{_dunder}__", lambda a, b, op=_op: binary(op, a, b))
    setattr(Node, f"__r{_dunder}__", lambda a, b, op=_op: binary(op, b, a))
Node.__neg__ = lambda a: node("negative", a)


def topological(outputs: Iterable[Node]) -> list[Node]:
    """The nodes that outputs depend on, operands before their users."""
    order, stack = dict[Node, None](), [(o, False) for o in outputs][::-1]
    while stack:
        n, done = stack.pop()
        if done:
            order[n] = None
        elif n not in order:
            stack += [(n, True), *[(i, False) for i in n.inputs if i not in order]]
    return list(order)


# ------------------------------------------------------------------------- 3. the gradient of a graph is a graph


def gradient(output: Node, wrt: Sequence[Node]) -> list[Node]:
    """Derivatives of the sum of a result with respect to nodes, as nodes: rules are applied in reverse and contributions added."""
    grads = {output: constant(1.0, output.shape)}
    for n in reversed(topological([output])):
        if n.op is not None and n in grads:
            for operand, d in zip(n.inputs, OPS[n.op].grad(grads[n], n, *n.inputs), strict=True):
                d = d if d.shape == operand.shape else node("sum_to", d, param=operand.shape)
                grads[operand] = grads[operand] + d if operand in grads else d
    return [grads.get(w, constant(0.0, w.shape)) for w in wrt]


# ------------------------------------------------------------------- 4. programs: fusion, memory plan, source text


def steps_of(outputs: Sequence[Node], fuse: bool) -> list[list[Node]]:
    """The applications in order; adjacent element-wise ones of the same shape form one step, a kernel."""
    steps: list[list[Node]] = []
    for n in topological(outputs):
        if n.op is not None:
            last = steps[-1][-1] if fuse and steps else n
            joins = last is not n and last.shape == n.shape and OPS[n.op].elementwise and OPS[str(last.op)].elementwise
            steps[-1].append(n) if joins else steps.append([n])
    return steps


class Program:
    """Nodes compiled to one Python function of the leaves' arrays; ``nbytes`` counts leaves and buffers."""

    def __init__(self, outputs: Sequence[Node], donated: Sequence[int] = (), fuse: bool = True, in_place: bool = True) -> None:
        self.steps, order = steps_of(outputs, fuse), topological(outputs)
        self.leaves = [n for n in order if n.op is None and isinstance(n.param, int)]
        self.place = {n: f"x{n.param}" for n in self.leaves} | {n: repr(n.param) for n in order if isinstance(n.param, float)}
        self.nbytes = sum(8 * n.size for n in self.leaves)
        self.lines, self.writable = list[str](), {f"x{k}" for k in donated}
        self.last = {i: t for t, step in enumerate(self.steps) for n in step for i in n.inputs} | dict.fromkeys(outputs, len(self.steps))
        self.free: dict[tuple[int, ...], list[str]] = {}
        for t, step in enumerate(self.steps):
            self._emit(t, step, in_place)
        results = ", ".join(f"full({o.shape}, {o.param})" if isinstance(o.param, float) else self.place[o] for o in outputs)
        taken = [f"{self.place[n]} = L[{n.param}]" for n in self.leaves]
        self.source = "\n ".join(["def program(L):", *taken, *self.lines, f"return [{results}]"])
        env = {name: op.run for name, op in OPS.items()} | {"empty": np.empty, "full": np.full, "own": partial(np.array, order="C")}
        exec(self.source, env)
        self.run: Callable[[Sequence[np.ndarray]], list[np.ndarray]] = env["program"]

    def _emit(self, t: int, step: list[Node], in_place: bool) -> None:
        first, later = step[0], [{i for m in step[k + 1 :] for i in m.inputs} for k in range(len(step))]
        read = dict.fromkeys(i for n in step for i in n.inputs if i not in step)
        dying = [i for i in read if i.shape == first.shape and self.last[i] == t and self.place[i] in self.writable and in_place]
        if OPS[str(first.op)].elementwise:
            inner = {n for n in step if self.last[n] == t}  # these never leave the kernel
            for k, n in enumerate(step):
                self.place[n] = f"k{k}" if n in inner else self._memory(n, dying, later[k])
            self._kernel(step, inner)
        else:  # matrix products, transposes, sums: NumPy allocates the result
            self.place[first] = self._new(first)
            param = "" if first.param is None else f", {first.param}"
            operands = ", ".join(f"full({i.shape}, {i.param})" if isinstance(i.param, float) else self.place[i] for i in first.inputs)
            self.lines.append(f"{self.place[first]} = own({first.op}({operands}{param}))")
        for i in dying:
            self.free.setdefault(i.shape, []).append(self.place[i])

    def _memory(self, n: Node, dying: list[Node], later: set[Node]) -> str:
        """Memory for a result: that of a dying operand that the kernel no longer reads, free memory, or new memory."""
        for i in [i for i in dying if i not in later]:
            dying.remove(i)
            return self.place[i]
        if self.free.get(n.shape):
            return self.free[n.shape].pop()
        self.lines.append(f"{self._new(n)} = empty({n.shape})")
        return f"v{len(self.writable) - 1}"

    def _new(self, n: Node) -> str:
        self.nbytes += 8 * n.size
        self.writable.add(f"v{len(self.writable)}")
        return f"v{len(self.writable) - 1}"

    def _kernel(self, step: list[Node], inner: set[Node]) -> None:
        """A loop over blocks that fit in the cache, so that every input and output crosses the memory bus once."""
        size, used = step[0].size, [n for m in step for n in (*m.inputs, m) if n not in inner]
        outside = [n for n in used if n.shape == step[0].shape and not isinstance(n.param, float)]
        flat = {name: f"f{k}" for k, name in enumerate(dict.fromkeys(self.place[n] for n in outside))}
        self.lines += [f"{alias} = {name}.reshape(-1)" for name, alias in flat.items()]
        self.lines += [f"{self.place[n]} = empty({min(BLOCK, size)})" for n in inner]
        self.lines += [f"for s in range(0, {size}, {BLOCK}):", f" e = min(s + {BLOCK}, {size})"]
        part = {n: f"{flat[x]}[s:e]" if x in flat else f"{x}[:e - s]" if n in inner else x for n, x in self.place.items()}
        self.lines += [f" {n.op}({', '.join(part[i] for i in (*n.inputs, n))})" for n in step]


@cache
def program_of(outputs: tuple[Node, ...]) -> Program:
    """The program of a structure, compiled once."""
    return Program(outputs)


# ------------------------------------------------------------------- 5. arrays are cells; operations wait in a window


class Value(SimpleNamespace):
    """Immutable contents: ``data`` once computed, and the ``node`` that stands for it in a ``scope``."""


class Scope:
    """A window of deferred operations over numbered leaves; while recording, also the tape for gradients."""

    def __init__(self, recording: bool = False) -> None:
        self.recording, self.leaves, self.variables, self.results = recording, [], {}, []

    def node_of(self, cell: "Array") -> Node:
        """An array's node in this scope; an array from elsewhere becomes a leaf."""
        v = cell.value
        if v.scope is not self:
            self.leaves.append(cell.asnumpy())
            v.node, v.scope = leaf(len(self.leaves) - 1, self.leaves[-1].shape), self
            if cell.grad is not None:
                self.variables[v.node] = cell
        return v.node

    def flush(self) -> None:
        """Compute all results that are still referenced, in one program; the others are never computed."""
        global current
        live = [v for v in [r() for r in self.results] if v is not None]
        for v, data in zip(live, program_of(tuple(v.node for v in live)).run(self.leaves), strict=True):
            v.data = data
        self.results = []
        current = Scope() if current is self and not self.recording else current

    def __enter__(self) -> "Scope":
        global current
        self.before, current = current, self
        return self

    def __exit__(self, *exc: object) -> None:
        global current
        current = self.before


current = Scope()


class Array:
    """A cell: its contents may be replaced but never change themselves, so nothing else sees a write."""

    def __init__(self, content: Any) -> None:
        self.value = content if isinstance(content, Value) else Value(data=np.array(content, float), scope=None)
        self.grad: Array | None = None

    def asnumpy(self) -> np.ndarray:
        """The contents; reading them flushes the window."""
        if self.value.data is None:
            self.value.scope.flush()
        return self.value.data

    def __setitem__(self, key: slice, other: "Array") -> None:
        assert key == slice(None), f"only x[:] can be assigned to, not x[{key}]"
        self.value = (other + 0.0).value

    def attach_grad(self) -> None:
        """Request the gradient with respect to this array."""
        self.grad = Array(np.zeros_like(self.asnumpy()))

    def backward(self) -> None:
        """Store the gradients of the sum of this array in the arrays that requested them."""
        tape, wrt = self.value.scope, list(self.value.scope.variables)
        program = program_of(tuple(gradient(self.value.node, wrt)))
        for n, data in zip(wrt, program.run(tape.leaves), strict=True):
            tape.variables[n].grad.value = Value(data=data, scope=None)


def apply(build: Callable[..., Node], *operands: Any) -> Array:
    """Record an operation in the current scope; numbers become leaves, so that other numbers give the same structure."""
    nodes = [current.node_of(x if isinstance(x, Array) else Array(x)) for x in operands]
    value = Value(data=None, node=build(*nodes), scope=current)
    current.results.append(ref(value))
    return Array(value)


for _dunder, _op in OPERATORS.items():
    setattr(Array, f"__{_dunder}__", lambda a, b, op=_op: apply(lambda x, y: binary(op, x, y), a, b))
    setattr(Array, f"__r{_dunder}__", lambda a, b, op=_op: apply(lambda x, y: binary(op, x, y), b, a))
for _op in ("exp", "log", "tanh"):
    setattr(Array, _op, lambda a, op=_op: apply(lambda x: node(op, x), a))
Array.__matmul__ = lambda a, b: apply(partial(node, "matmul"), a, b)
Array.sum = lambda a: apply(lambda x: node("sum_to", x, param=()), a)
