"""The operations and the patterns that are measured: statements on the arrays of `arrays`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import isqrt


@dataclass(frozen=True)
class Operation:
    """A statement or a function of several.

    Attributes
    ----------
    text
        The statement, or the body of a function that returns its result.
    group
        What it belongs to, for ``--only`` and the plot.
    calls
        Operations on arrays in one run, as an expression of the size ``n`` and of the ``side`` of square matrices; if empty, those of the
        statement: operators, calls, indices and ``.T``.
    largest
        Size above which it is not measured.
    changes
        Whether it changes an array or has no gradient: its arrays have none then.
    name
        Its name, if that is not its text.
    """

    text: str
    group: str
    calls: str = ""
    largest: int = 10_000_000
    changes: bool = False
    name: str = ""

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self.name or self.text

    def operations(self, n: int) -> int:
        """How many operations on arrays one run has."""
        if self.calls:
            return eval(self.calls, {"n": n, "min": min, "side": isqrt(n)})
        return sum(_is_operation(node) for node in ast.walk(ast.parse(self.text)))


def _is_operation(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Attribute):
        return node.attr == "T"
    return isinstance(node, (ast.BinOp, ast.Compare, ast.Call, ast.Subscript, ast.AugAssign))


def _of(group: str, text: str, **facts: object) -> list[Operation]:
    lines = [line.strip() for line in text.strip().splitlines()]
    return [Operation(line, group, **facts) for line in lines]  # type: ignore[arg-type]


OPERATIONS = [
    *_of(
        "arithmetic",
        """
        x + y
        x * 2.0
        x / y
        x - i
        x ** 2
        x % 0.3
        -x
        x > 0.5
        x == y
        f + f
        f * 2.0
        i + i
        i * 2
        i // 3
        m & (x > 0.3)
        ~m
        A + x[0]
        A + A[0]
        A * A[:, :1]
        A.T + A
        x[1:] - x[:-1]
        x[::2] + y[::2]
        x[::-1] + y
        """,
    ),
    *_of(
        "functions",
        """
        np.sqrt(x)
        np.exp(x)
        np.sin(x)
        np.tanh(f)
        np.abs(x)
        np.floor(x)
        np.maximum(x, 0.5)
        np.minimum(x, y)
        np.clip(x, 0.2, 0.8)
        np.where(m, x, y)
        np.where(x > 0.5, x, 0.0)
        np.isnan(x)
        np.arctan2(x, y)
        np.sign(x)
        np.logical_and(m, m)
        """,
    ),
    *_of(
        "in place",
        """
        x += y
        x *= 0.999
        x[1:] += y[:-1]
        x[::2] += 1.0
        A[1:] += A[:-1]
        A[:, 0] += 1.0
        A.T[0] += 1.0
        x[:] = y
        x[m] = 0.5
        x[m] += 0.5
        x[j] = y
        x[-1] = 0.5
        x[:8] = 0.5
        A[0] = 1.0
        A[:, 0] = 1.0
        x.fill(0.5)
        x.sort()
        """,
        changes=True,
    ),
    *_of(
        "out",
        "np.add(x, y, out=z)\nnp.multiply(x, 2.0, out=x)\nnp.sqrt(x, out=z)\nnp.matmul(A, A, out=C)\nnp.sum(A, axis=0, out=r)",
        changes=True,
    ),
    *_of(
        "indexing",
        """
        x[0]
        x[-1]
        x[:8]
        x[1:-1]
        x[::2]
        A[0]
        A[:, 0]
        A.T[0]
        A[1:-1, 1:-1]
        x[j]
        x[j[:8]]
        i[j]
        f[j]
        A[k]
        A[:, k]
        A[k, k]
        x[m]
        x[x > 0.5]
        np.take(x, j)
        np.nonzero(m)
        np.repeat(x, 2)
        """,
    ),
    *_of(
        "shapes",
        """
        x.reshape(1, -1)
        A.T
        A.ravel()
        A.T.ravel()
        A.T.copy()
        x.copy()
        x.astype("float32")
        i.astype("float64")
        np.concatenate([x, y])
        np.stack([x, y])
        np.vstack([A, A])
        np.roll(x, 1)
        np.flip(x)
        np.tile(x, 2)
        np.pad(x, 1)
        np.zeros(n)
        np.ones(n)
        np.arange(n)
        np.full(n, 0.5)
        np.zeros_like(x)
        np.array(x)
        np.diff(x)
        """,
    ),
    *_of(
        "reductions",
        """
        x.sum()
        f.sum()
        i.sum()
        m.sum()
        x.mean()
        x.max()
        x.std()
        x.argmax()
        m.any()
        A.sum(0)
        A.sum(1)
        A.T.sum(0)
        A.T.sum(1)
        A.max(0)
        A.max(1)
        A.T.max(1)
        A.mean(1)
        A.argmax(1)
        D.sum(0)
        D.sum(1)
        D.sum(2)
        W.sum(0)
        W.sum(1)
        T.sum(0)
        T.sum(1)
        np.cumsum(x)
        np.cumsum(A, axis=0)
        np.cumprod(x)
        np.prod(x)
        """,
    ),
    *_of("sorting", "np.median(x)", changes=True),
    *_of(
        "sorting",
        "np.sort(x)\n"
        "np.sort(i)\n"
        "np.sort(f)\n"
        "np.argsort(x)\n"
        "np.argsort(j)\n"
        "np.sort(A, axis=0)\n"
        "np.unique(i)\n"
        "np.searchsorted(s, y)\n"
        "np.bincount(b)\n"
        "np.argsort(x, kind='stable')",
    ),
    *_of("products", "A @ A\nA.T @ A\nA @ A.T\nA.T @ A.T", largest=1_000_000),
    *_of("products", "np.einsum('ij,jk->ik', A, A)", largest=100_000),
    *_of(
        "products",
        """
        x @ y
        np.outer(c, c)
        A @ c
        A.T @ c
        T @ t
        T.T @ x8
        T.T @ T
        T @ T.T[:, :8]
        W @ x8
        W.T @ t
        W @ W.T
        F.T @ F
        F @ F.T
        I.T @ I
        B @ B
        B @ B.transpose(0, 2, 1)
        np.dot(x, y)
        np.einsum('i,i->', x, y)
        """,
    ),
]

PATTERNS = [
    Operation(
        "for q in range(1, min(n, 1000)):\n    x[q] = 0.5 * x[q - 1] + 1.0\nreturn x",
        "patterns",
        "3 * min(n, 1000)",
        changes=True,
        name="scalar recurrence",
    ),
    Operation(
        "v = c.copy()\nfor q in range(min(len(v), 100)):\n    v[q] = (v[q] - L[q, :q] @ v[:q]) / L[q, q]\nreturn v",
        "patterns",
        "8 * min(side, 100)",
        changes=True,
        name="triangular solve by rows",
    ),
    Operation(
        "for q in range(5):\n    x[1:-1] = 0.5 * (x[:-2] + x[2:])\nreturn x", "patterns", "30", changes=True, name="1-d stencil in place"
    ),
    Operation(
        "v = x\nfor q in range(5):\n    v = 0.25 * v[:-2] + 0.5 * v[1:-1] + 0.25 * v[2:]\nreturn v", "patterns", "40", name="1-d stencil"
    ),
    Operation(
        "for q in range(5):\n    A[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])\nreturn A",
        "patterns",
        "50",
        changes=True,
        name="2-d stencil in place",
    ),
    Operation(
        "v = A[1:-1, 1:-1] + 0.1 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] - 4 * A[1:-1, 1:-1])\nreturn v",
        "patterns",
        "14",
        name="2-d stencil",
    ),
    Operation(
        "o = slice(1, -1)\n"
        "for q in range(3):\n"
        "    D[o, o, o] += 0.1 * (D[:-2, o, o] + D[2:, o, o] + D[o, :-2, o] + D[o, 2:, o] + D[o, o, :-2] + D[o, o, 2:] - 6 * D[o, o, o])\n"
        "return D",
        "patterns",
        "55",
        changes=True,
        name="3-d stencil in place",
    ),
    Operation(
        "o = slice(1, -1)\nreturn D[:-2, o, o] + D[2:, o, o] + D[o, :-2, o] + D[o, 2:, o] + D[o, o, :-2] + D[o, o, 2:]",
        "patterns",
        "13",
        name="3-d stencil",
    ),
    Operation("w = x > 0.5\nv = x.copy()\nv[w] = 1.0 - v[w]\nv[~w] *= 2.0\nreturn v", "patterns", "9", changes=True, name="masks"),
    Operation("v = np.zeros(n)\nnp.add.at(v, j, x)\nreturn v", "patterns", "2", changes=True, name="scatter"),
    Operation("v = x[j] - x[j[::-1]]\nreturn v * v", "patterns", "5", name="gathers"),
    Operation("v = np.cumsum(x)\nreturn (v[8:] - v[:-8]) / 8.0", "patterns", "5", name="prefix sums"),
    Operation("o = np.argsort(x)\nreturn y[o]", "patterns", "2", name="sort by key"),
    Operation("e = T @ t - x8\nreturn T.T @ e", "patterns", "4", name="gradient of least squares"),
    Operation("v = B\nfor q in range(3):\n    v = v @ B * 0.5\nreturn v", "patterns", "6", name="batched small products"),
    Operation(
        "v = x\nu = 0.0\nfor q in range(10):\n    v = v * 0.9 + 0.1\n    u += float(v[0])\nreturn v",
        "patterns",
        "40",
        name="loop with a read each iteration",
    ),
    Operation(
        "v = x\nfor q in range(5):\n    v = v * 0.9 + y\n    if v.max() < 0.0:\n        break\nreturn v",
        "patterns",
        "20",
        name="loop until convergence",
    ),
    Operation(
        "v = []\nfor q in range(min(n, 50)):\n    v.append(x[q:].sum())\nreturn np.array(v)",
        "patterns",
        "3 * min(n, 50)",
        name="growing list of sums",
    ),
    Operation("v = A - A.mean(0)\nv = v / (v.std(0) + 1.0)\nreturn v", "patterns", "5", name="standardise columns"),
    Operation("v = np.exp(A - A.max(1)[:, None])\nreturn v / v.sum(1)[:, None]", "patterns", "7", name="softmax of rows"),
    Operation("v = ((c[:, None] - c[None, :]) ** 2)\nreturn v.sum(1)", "patterns", "5", name="pairwise distances"),
]
