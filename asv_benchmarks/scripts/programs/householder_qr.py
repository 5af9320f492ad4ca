"""QR factorization by Householder reflections, least squares, and eigenvalues by the QR iteration."""

import numpy as np


def householder(A):
    m, n = A.shape
    R = A.copy()
    Q = np.eye(m)
    for k in range(min(m - 1, n)):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v = v / np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, np.triu(R)


def back_substitution(U, b):
    x = np.zeros(len(b))
    for i in reversed(range(len(b))):
        x[i] = (b[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
    return x


def main():
    rng = np.random.default_rng(26)
    A = rng.normal(size=(300, 120))
    b = A @ np.arange(120) + rng.normal(0, 0.1, 300)
    Q, R = householder(A)
    x = back_substitution(R[:120], (Q.T @ b)[:120])
    print("orthogonal", bool(np.abs(Q.T @ Q - np.eye(300)).max() < 1e-12), "coefficients", x[:4].round(6))
    S = rng.normal(size=(30, 30))
    S = S + S.T + np.diag(10.0 * np.arange(30))
    for _ in range(250):
        Q, R = householder(S)
        S = R @ Q
    print("eigenvalues", np.sort(np.diag(S))[-4:].round(5))


if __name__ == "__main__":
    main()
