"""Recursive filters over a long signal, sample by sample: exponential smoothing and a resonator."""

import numpy as np

np.random.seed(24)
n = 100_000
x = np.sin(np.arange(n) * 0.05) + 0.5 * np.random.randn(n)

# exponential smoothing
smooth = np.zeros(n)
smooth[0] = x[0]
for i in range(1, n):
    smooth[i] = 0.9 * smooth[i - 1] + 0.1 * x[i]

# a biquad resonator at the signal's frequency
r, w = 0.99, 0.05
a1, a2, b0 = -2 * r * np.cos(w), r**2, 1 - r
y = np.zeros(n)
for i in range(2, n):
    y[i] = b0 * x[i] - a1 * y[i - 1] - a2 * y[i - 2]

# a limit on the rate of change
limited = x.copy()
for i in range(1, n):
    step = limited[i] - limited[i - 1]
    if abs(step) > 0.2:
        limited[i] = limited[i - 1] + 0.2 * np.sign(step)

for name, signal in [("smooth", smooth), ("resonator", y), ("limited", limited)]:
    print(f"{name}: {signal.mean():.12f} {signal.std():.12f} {signal[-1]:.12f}")
