"""The two-dimensional Ising model, Metropolis sweeps over a checkerboard."""

import numpy as np

rng = np.random.default_rng(2)
L, sweeps = 64, 1000
T = 2.2

spins = rng.choice([-1, 1], size=(L, L))
i, j = np.indices((L, L))
colours = [(i + j) % 2 == 0, (i + j) % 2 == 1]

magnetization = []
energies = []
for sweep in range(sweeps):
    for colour in colours:
        neighbours = np.roll(spins, 1, axis=0) + np.roll(spins, -1, axis=0) + np.roll(spins, 1, axis=1) + np.roll(spins, -1, axis=1)
        dE = 2 * spins * neighbours
        accept = (dE <= 0) | (rng.random((L, L)) < np.exp(-dE / T))
        spins[accept & colour] *= -1
    if sweep >= sweeps // 2:
        magnetization.append(abs(spins.mean()))
        energies.append(-np.sum(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))) / L**2)

print("mean |m|", round(float(np.mean(magnetization)), 10))
print("mean energy", round(float(np.mean(energies)), 10), "heat capacity", round(float(np.var(energies) * L**2 / T**2), 8))
