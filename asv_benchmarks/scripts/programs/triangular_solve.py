"""A dense matrix factorized by Cholesky's method by columns, and triangular systems solved by rows."""

import numpy as np


def cholesky(A):
    n = len(A)
    L = np.zeros_like(A)
    for j in range(n):
        s = A[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] = s / np.sqrt(s[0])
    return L


def forward_substitution(L, b):
    y = np.zeros_like(b)
    for i in range(len(b)):
        y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
    return y


def backward_substitution(U, y):
    x = np.zeros_like(y)
    for i in range(len(y) - 1, -1, -1):
        x[i] = (y[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
    return x


if __name__ == "__main__":
    rng = np.random.default_rng(27)
    n = 600
    B = rng.normal(size=(n, n))
    A = B @ B.T / n + np.eye(n)
    L = cholesky(A)
    total = np.zeros(n)
    for _ in range(40):
        b = rng.normal(size=n)
        x = backward_substitution(L.T, forward_substitution(L, b))
        total += x
    print("factorized", bool(np.allclose(L @ L.T, A)))
    print("sum of solutions", total.sum().round(8), total[:3].round(8))
