"""Poisson's equation on a square by conjugate gradients, with the matrix as a stencil."""

import numpy as np


def laplace(u):
    out = 4.0 * u
    out[1:, :] -= u[:-1, :]
    out[:-1, :] -= u[1:, :]
    out[:, 1:] -= u[:, :-1]
    out[:, :-1] -= u[:, 1:]
    return out


def conjugate_gradient(apply, b, tol=1e-8, max_iter=2000):
    x = np.zeros_like(b)
    r = b - apply(x)
    p = r.copy()
    rs = np.sum(r * r)
    iterations = 0
    while iterations < max_iter:
        iterations += 1
        Ap = apply(p)
        alpha = rs / np.sum(p * Ap)
        x += alpha * p
        r -= alpha * Ap
        new = np.sum(r * r)
        if np.sqrt(new) < tol:
            break
        p = r + (new / rs) * p
        rs = new
    return x, iterations


n = 200
grid = np.linspace(0, 1, n + 2)[1:-1]
X, Y = np.meshgrid(grid, grid)
h = grid[1] - grid[0]
f = 2 * np.pi**2 * np.sin(np.pi * X) * np.sin(np.pi * Y) + 10 * X * Y
u, iterations = conjugate_gradient(laplace, h**2 * f)
print("iterations", iterations)
print(f"solution {u.max():.6f} {u[n // 2, n // 2]:.6f} residual small {np.abs(laplace(u) - h**2 * f).max() < 1e-8}")
