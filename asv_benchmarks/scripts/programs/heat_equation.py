"""Heat flow in a square plate with hot and cold edges, by explicit finite differences."""

import numpy as np

n, steps = 200, 2500
alpha, dx = 0.1, 1.0 / (n - 1)
dt = 0.2 * dx**2 / alpha

u = np.zeros((n, n))
u[0, :] = 100.0
u[:, 0] = 50.0

for _ in range(steps):
    laplacian = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / dx**2
    u[1:-1, 1:-1] += alpha * dt * laplacian

print(f"mean temperature {u.mean():.6f}")
print("middle", u[n // 2, n // 2], "maximum", u.max())
