"""A million damped and driven pendulums with different drives, by the semi-implicit Euler method."""

import numpy as np

n, steps = 1_000_000, 25
dt, damping = 0.02, 0.25

rng = np.random.default_rng(33)
angle = rng.uniform(-1.0, 1.0, n)
speed = np.zeros(n)
drive = rng.uniform(0.0, 1.5, n)

for k in range(steps):
    push = np.cos(2.0 / 3.0 * k * dt)
    acceleration = drive * push - damping * speed - np.sin(angle)
    speed = speed + dt * acceleration
    angle = angle + dt * speed

energy = 0.5 * speed**2 + 1.0 - np.cos(angle)
print(f"mean angle {angle.mean():.10f}, largest {np.abs(angle).max():.10f}")
print(f"mean energy {energy.mean():.10f}, of the strongest drives {energy[drive > 1.2].mean():.10f}")
