"""Loops over elements, rows and parts of small arrays, as they are in NumPy scripts: the kernels of `loops`."""

from collections.abc import Callable
from typing import Any

import numpy

#: NumPy, or `twofold.np` in its place; an array of either.
Module = Any
Array = Any
#: Kernels and the function that draws their arguments, as NumPy's arrays and numbers.
KERNELS: dict[str, tuple[Callable[..., Any], Callable[[numpy.random.Generator], list[Any]]]] = {}


def kernel(draw: Callable[[numpy.random.Generator], list[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that enters a kernel under its function's name."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS[function.__name__] = function, draw
        return function

    return enter


def positive_definite(draw: numpy.random.Generator, n: int) -> numpy.ndarray:
    """A symmetric positive definite matrix."""
    a = draw.random((n, n))
    return a @ a.T + n * numpy.eye(n)


# ----------------------------------------------------------------------------------------------------- linear algebra


@kernel(lambda draw: [draw.random((40, 40)), draw.random((40, 30))])
def rank_k_update(np: Module, C: Array, A: Array) -> Array:
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += 1.5 * A[i, k] * A[: i + 1, k]
    return C


@kernel(lambda draw: [draw.random((30, 30)), draw.random((30, 20)), draw.random((30, 20))])
def rank_2k_update(np: Module, C: Array, A: Array, B: Array) -> Array:
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * 1.5 * B[i, k] + B[: i + 1, k] * 1.5 * A[i, k]
    return C


@kernel(lambda draw: [draw.random((30, 40)), draw.random((30, 30)), draw.random((30, 40))])
def symmetric_product(np: Module, C: Array, A: Array, B: Array) -> Array:
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= 1.2
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += 1.5 * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += 1.5 * B[i, :] * A[i, i] + 1.5 * temp2
    return C


@kernel(lambda draw: [draw.random((30, 30)), draw.random((30, 40))])
def triangular_product(np: Module, A: Array, B: Array) -> Array:
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= 1.5
    return B


@kernel(lambda draw: [draw.random((260, 260)), draw.random((260, 6))])
def rank_k_update_of_a_large_matrix(np: Module, C: Array, A: Array) -> Array:
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += 1.5 * A[i, k] * A[: i + 1, k]
    return C


@kernel(lambda draw: [draw.random((30, 300)), draw.random((30, 30)), draw.random((30, 300))])
def wide_symmetric_product(np: Module, C: Array, A: Array, B: Array) -> Array:
    return symmetric_product(np, C, A, B)


@kernel(lambda draw: [positive_definite(draw, 40)])
def cholesky(np: Module, A: Array) -> Array:
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return A


@kernel(lambda draw: [positive_definite(draw, 35)])
def lu(np: Module, A: Array) -> Array:
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


@kernel(lambda draw: [positive_definite(draw, 60), draw.random(60)])
def gaussian_elimination(np: Module, A: Array, b: Array) -> Array:
    n = b.shape[0]
    for k in range(n - 1):
        p = int(np.argmax(np.abs(A[k:, k]))) + k
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        f = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= np.outer(f, A[k, k:])
        b[k + 1 :] -= f * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


@kernel(lambda draw: [positive_definite(draw, 80), draw.random(80)])
def triangular_solve(np: Module, L: Array, b: Array) -> Array:
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


@kernel(lambda draw: [draw.random((40, 30))])
def gram_schmidt(np: Module, A: Array) -> Array:
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q


@kernel(lambda draw: [draw.random((30, 20))])
def householder(np: Module, A: Array) -> Array:
    for k in range(A.shape[1]):
        v = A[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        A[k:, k:] -= 2.0 * np.outer(v, v @ A[k:, k:])
    return A


@kernel(lambda draw: [positive_definite(draw, 40), draw.random(40)])
def conjugate_gradient(np: Module, A: Array, b: Array) -> Array:
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    for _ in range(60):
        q = A @ p
        old = r @ r
        a = old / (p @ q)
        x = x + a * p
        r = r - a * q
        p = r + (r @ r / old) * p
    return x


@kernel(lambda draw: [draw.random(120)])
def durbin(np: Module, r: Array) -> Array:
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@kernel(lambda draw: [draw.random(300) + 4.0, draw.random(300), draw.random(300), draw.random(300)])
def tridiagonal_solve(np: Module, b: Array, a: Array, c: Array, d: Array) -> Array:
    for i in range(1, b.shape[0]):
        w = a[i] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        d[i] = d[i] - w * d[i - 1]
    x = np.zeros_like(d)
    x[-1] = d[-1] / b[-1]
    for i in range(b.shape[0] - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


@kernel(lambda draw: [draw.random((50, 40))])
def covariance(np: Module, data: Array) -> Array:
    data -= np.mean(data, axis=0)
    m = data.shape[1]
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
    return cov


# ----------------------------------------------------------------------------------------------------------- stencils


@kernel(lambda draw: [draw.random(200), draw.random(200)])
def jacobi_1d(np: Module, A: Array, B: Array) -> Array:
    for _ in range(100):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A


@kernel(lambda draw: [draw.random((40, 40)), draw.random((40, 40))])
def jacobi_2d(np: Module, A: Array, B: Array) -> Array:
    for _ in range(40):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A


@kernel(lambda draw: [draw.random((40, 40))])
def seidel_2d(np: Module, A: Array) -> Array:
    n = A.shape[0]
    for _ in range(2):
        for i in range(1, n - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return A


@kernel(lambda draw: [draw.random((30, 30)), draw.random((30, 30)), draw.random((30, 30)), draw.random(20)])
def finite_differences(np: Module, ex: Array, ey: Array, hz: Array, f: Array) -> Array:
    for t in range(f.shape[0]):
        ey[0, :] = f[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


@kernel(lambda draw: [draw.random((30, 30))])
def alternating_directions(np: Module, u: Array) -> Array:
    n = u.shape[0]
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    for _ in range(2):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = 0.3 / (0.3 * p[1:-1, j - 1] + 1.6)
            q[1:-1, j] = (0.2 * u[j, :-2] + 0.6 * u[j, 1:-1] + 0.2 * u[j, 2:] + 0.3 * q[1:-1, j - 1]) / (0.3 * p[1:-1, j - 1] + 1.6)
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, -1, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 1:-1] = v[1:-1, 1:-1]
    return u


@kernel(lambda draw: [(draw.random((40, 40)) < 0.4).astype("int64")])
def game_of_life(np: Module, Z: Array) -> Array:
    for _ in range(20):
        N = Z[:-2, :-2] + Z[:-2, 1:-1] + Z[:-2, 2:] + Z[1:-1, :-2] + Z[1:-1, 2:] + Z[2:, :-2] + Z[2:, 1:-1] + Z[2:, 2:]
        birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
        survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
        Z[...] = 0
        Z[1:-1, 1:-1][birth | survive] = 1
    return Z


# ------------------------------------------------------------------------------------------- recurrences and programs


@kernel(lambda draw: [draw.integers(0, 4, 50), draw.integers(0, 4, 45)])
def edit_distance(np: Module, a: Array, b: Array) -> Array:
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype="int64")
    d[:, 0] = np.arange(n + 1)
    d[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d


@kernel(lambda draw: [draw.integers(0, 4, 120), draw.integers(0, 4, 110)])
def longest_subsequence(np: Module, a: Array, b: Array) -> Array:
    row = np.zeros(len(b) + 1, dtype="int64")
    for x in a:
        new = row.copy()
        new[1:] = np.where(b == x, row[:-1] + 1, row[1:])
        row = np.maximum.accumulate(new)
    return row


@kernel(lambda draw: [draw.integers(1, 20, 30), draw.random(30), 100])
def knapsack(np: Module, weights: Array, values: Array, capacity: int) -> Array:
    best = np.zeros(capacity + 1)
    for w, v in zip(weights, values, strict=True):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best


@kernel(lambda draw: [draw.integers(0, 4, 30)])
def nussinov(np: Module, seq: Array) -> Array:
    n = seq.shape[0]
    table = np.zeros((n, n), dtype="int64")
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@kernel(lambda draw: [draw.random(400)])
def recursive_filter(np: Module, x: Array) -> Array:
    y = np.zeros_like(x)
    for i in range(2, x.shape[0]):
        y[i] = 0.2 * x[i] + 0.3 * x[i - 1] + 0.1 * x[i - 2] - 0.4 * y[i - 1] + 0.1 * y[i - 2]
    return y


@kernel(lambda draw: [draw.random((30, 40))])
def recursive_filter_of_rows(np: Module, image: Array) -> Array:
    y = np.zeros_like(image)
    for i in range(image.shape[0]):
        previous = 0.0
        for j in range(image.shape[1]):
            y[i, j] = 0.3 * image[i, j] + 0.7 * previous
            previous = y[i, j]
    return y


@kernel(lambda draw: [draw.random((50, 50))])
def recursive_filter_of_columns(np: Module, image: Array) -> Array:
    y = np.empty_like(image)
    y[:, 0] = 0.3 * image[:, 0]
    y[:, 1] = 0.3 * image[:, 1] + 0.2 * image[:, 0] + 0.5 * y[:, 0]
    for j in range(2, image.shape[1]):
        y[:, j] = 0.3 * image[:, j] + 0.2 * image[:, j - 1] + 0.5 * y[:, j - 1] + 0.1 * y[:, j - 2]
    return y


@kernel(lambda draw: [draw.random((30, 30))])
def shortest_paths(np: Module, path: Array) -> Array:
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return path


@kernel(lambda draw: [draw.random((6, 6)), draw.random((6, 4)), draw.integers(0, 4, 80)])
def viterbi(np: Module, transition: Array, emission: Array, seen: Array) -> Array:
    log_t, log_e = np.log(transition), np.log(emission)
    score = log_e[:, seen[0]]
    back = np.zeros((len(seen), len(score)), dtype="int64")
    for t in range(1, len(seen)):
        s = score[:, None] + log_t
        back[t] = s.argmax(axis=0)
        score = s.max(axis=0) + log_e[:, seen[t]]
    return score


@kernel(lambda draw: [draw.random(60)])
def kalman_filter(np: Module, z: Array) -> Array:
    F, H = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    Q, R = 0.01 * np.eye(2), np.array([[0.1]])
    x, P = np.zeros((2, 1)), np.eye(2)
    out = np.zeros(z.shape[0])
    for k in range(z.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x = x + K @ (z[k] - H @ x)
        P = (np.eye(2) - K @ H) @ P
        out[k] = x[0, 0]
    return out


# ---------------------------------------------------------------------------------------------- elements and iteration


@kernel(lambda draw: [draw.random((40, 40))])
def trace_of_tanh(np: Module, a: Array) -> Array:
    trace = 0.0
    for _ in range(10):
        for i in range(a.shape[0]):
            trace += np.tanh(a[i, i])
    return a + trace


@kernel(lambda draw: [draw.random(60)])
def insertion_sort(np: Module, x: Array) -> Array:
    for i in range(1, x.shape[0]):
        value, j = x[i], i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x


@kernel(lambda draw: [draw.integers(0, 256, 200)])
def checksum(np: Module, data: Array) -> Array:
    crc = 0xFFFF
    for b in data:
        cur = 0xFF & b
        for _ in range(8):
            crc = (crc >> 1) ^ 0x8408 if (crc & 1) ^ (cur & 1) else crc >> 1
            cur >>= 1
    return np.array([int(crc)])


@kernel(lambda draw: [draw.random(500), 10])
def histogram(np: Module, x: Array, bins: int) -> Array:
    counts = np.zeros(bins, dtype="int64")
    for v in x:
        counts[int(v * bins)] += 1
    return counts


@kernel(lambda draw: [draw.random(300), draw.random(300)])
def running_sums(np: Module, x: Array, y: Array) -> Array:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
        if abs(a - b) < 0.1:
            total -= a
    return np.array([float(total)])


@kernel(lambda draw: [draw.random((8, 3)), draw.random((8, 3)), draw.random(8)])
def n_body_by_pairs(np: Module, pos: Array, vel: Array, mass: Array) -> Array:
    for _ in range(4):
        for i in range(len(mass)):
            for j in range(i + 1, len(mass)):
                d = pos[i] - pos[j]
                f = 0.001 / (np.sum(d * d) + 0.1) ** 1.5
                vel[i] -= f * mass[j] * d
                vel[j] += f * mass[i] * d
        pos += 0.01 * vel
    return pos


@kernel(lambda draw: [draw.random((40, 3)), draw.random((40, 3)), draw.random((40, 1))])
def n_body_by_matrices(np: Module, pos: Array, vel: Array, mass: Array) -> Array:
    for _ in range(20):
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
        acc = np.hstack(((dx * inv) @ mass, (dy * inv) @ mass, (dz * inv) @ mass))
        vel += acc * 0.01
        pos += vel * 0.01
    return pos


@kernel(lambda draw: [draw.random(4)])
def runge_kutta(np: Module, state: Array) -> Array:
    def slope(t: float, y: Array) -> Array:
        return np.array([y[1], -y[0] + 0.1 * y[3], y[3], -y[2] - 0.1 * y[1]])

    h, t = 0.01, 0.0
    for _ in range(60):
        k1 = slope(t, state)
        k2 = slope(t + h / 2, state + h / 2 * k1)
        k3 = slope(t + h / 2, state + h / 2 * k2)
        k4 = slope(t + h, state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return state


@kernel(lambda draw: [draw.random((60, 3)), draw.random((4, 3))])
def k_means(np: Module, points: Array, centers: Array) -> Array:
    for _ in range(10):
        distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for k in range(centers.shape[0]):
            members = points[nearest == k]
            if len(members):
                centers[k] = members.mean(axis=0)
    return centers


@kernel(lambda draw: [numpy.cumsum(draw.integers(0, 6, 61)), draw.integers(0, 60, 400), draw.random(400), draw.random(60)])
def sparse_product(np: Module, rows: Array, columns: Array, values: Array, x: Array) -> Array:
    y = np.empty(rows.size - 1)
    for i in range(rows.size - 1):
        cols = columns[rows[i] : rows[i + 1]]
        y[i] = values[rows[i] : rows[i + 1]] @ x[cols]
    return y


@kernel(lambda draw: [draw.random((2, 16, 16, 3)), draw.random((3, 3, 3, 4))])
def convolution(np: Module, x: Array, w: Array) -> Array:
    k, n, h = w.shape[0], x.shape[0], x.shape[1] - w.shape[0] + 1
    out = np.empty((n, h, h, w.shape[3]))
    for i in range(h):
        for j in range(h):
            out[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, np.newaxis] * w[np.newaxis], axis=(1, 2, 3))
    return out


@kernel(lambda draw: [draw.random((16, 20)), draw.random((20, 12)), draw.random((12, 4))])
def perceptron(np: Module, x: Array, w1: Array, w2: Array) -> Array:
    for _ in range(30):
        h = np.maximum(x @ w1, 0.0)
        e = np.exp(h @ w2 - np.max(h @ w2, axis=-1, keepdims=True))
        p = e / np.sum(e, axis=-1, keepdims=True)
        d = (p - 0.25) / len(x)
        dw2 = h.T @ d
        dh = d @ w2.T
        dh[h <= 0] = 0.0
        w2 -= 0.1 * dw2
        w1 -= 0.1 * (x.T @ dh)
    return w1


# -------------------------------------------------------------------------------------------------------- measurement
