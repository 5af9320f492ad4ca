"""Linear equations by Gaussian elimination with pivoting, and a determinant and an inverse on the way."""

import numpy as np


def solve(A, b):
    A, b = A.astype(float).copy(), b.astype(float).copy()
    n = len(b)
    determinant = 1.0
    for k in range(n):
        pivot = k + np.argmax(np.abs(A[k:, k]))
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
            determinant = -determinant
        determinant *= A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, determinant


def gauss_jordan(A):
    n = len(A)
    M = np.hstack([A, np.eye(n)])
    for k in range(n):
        pivot = k + np.abs(M[k:, k]).argmax()
        M[[k, pivot]] = M[[pivot, k]]
        M[k] /= M[k, k]
        others = np.arange(n) != k
        M[others] -= np.outer(M[others, k], M[k])
    return M[:, n:]


if __name__ == "__main__":
    rng = np.random.default_rng(25)
    n = 300
    A = rng.normal(size=(n, n)) / np.sqrt(n)
    b = rng.normal(size=n)
    x, determinant = solve(A, b)
    inverse = gauss_jordan(A[:150, :150])
    print("solved", bool(np.linalg.norm(A @ x - b) < 1e-8), "determinant", f"{determinant:.6e}")
    print("inverted", bool(np.abs(inverse @ A[:150, :150] - np.eye(150)).max() < 1e-8), f"{x[:3].round(6)}")
