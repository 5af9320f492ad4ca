"""Bodies under their own gravity, by the leapfrog method."""

import numpy as np


def acceleration(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = (dx**2 + dy**2 + dz**2 + softening**2) ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energy(pos, vel, mass, G):
    kinetic = 0.5 * np.sum(mass * vel**2)
    r = np.sqrt(((pos[:, None, :] - pos[None, :, :]) ** 2).sum(axis=2))
    upper = np.triu_indices(len(pos), 1)
    return kinetic, -G * np.sum((mass * mass.T)[upper] / r[upper])


def main():
    rng = np.random.default_rng(17)
    n, dt, softening, G = 100, 0.01, 0.1, 1.0
    mass = 20.0 * np.ones((n, 1)) / n
    pos = rng.normal(size=(n, 3))
    vel = rng.normal(size=(n, 3))
    vel -= np.mean(mass * vel, 0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    for _ in range(400):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
    kinetic, potential = energy(pos, vel, mass, G)
    print(f"kinetic {kinetic:.6f} potential {potential:.6f}")
    print("centre of mass", np.round(pos.mean(axis=0), 6))


if __name__ == "__main__":
    main()
