"""Two-dimensional random walks: how far they get, how often they return, how long until they leave a circle."""

import numpy as np

np.random.seed(5)
walks, steps = 2_000, 1_000

moves = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
choices = np.random.randint(0, 4, size=(walks, steps))
paths = np.cumsum(moves[choices], axis=1)

distance = np.sqrt((paths**2).sum(axis=2))
rms = np.sqrt((distance**2).mean(axis=0))
slope, intercept = np.polyfit(np.log(np.arange(1, steps + 1)), np.log(rms), 1)
at_origin = (paths[:, :, 0] == 0) & (paths[:, :, 1] == 0)
escaped = distance > 20
first = np.where(escaped.any(axis=1), escaped.argmax(axis=1), steps)

print(f"root mean square distance {rms[-1]:.8f}, exponent {slope:.8f}")
print("returns", at_origin.sum(), "walks that returned", at_origin.any(axis=1).sum())
print("median time to leave", np.median(first), "farthest", distance.max())
