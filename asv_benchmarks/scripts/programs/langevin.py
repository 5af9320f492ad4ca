"""Overdamped Langevin dynamics of many particles in a double-well potential."""

import numpy as np

particles, steps = 1_000_000, 20
dt, temperature, gamma = 0.01, 0.4, 1.0

rng = np.random.default_rng(11)
x = rng.normal(-1.0, 0.1, particles)
v = np.zeros(particles)
noise = np.sqrt(2 * gamma * temperature * dt)

for _ in range(steps):
    force = 4 * x * (1 - x**2) - 0.1 * np.sin(3 * x)
    kick = rng.standard_normal(particles)
    v = v + dt * (force - gamma * v) + noise * kick
    x = x + dt * v

energy = 0.5 * v**2 + (x**2 - 1) ** 2
print(f"mean position {x.mean():.10f}, right of the barrier {np.mean(x > 0):.6f}")
print(f"mean energy {energy.mean():.10f}, temperature {np.mean(v**2):.10f}")
