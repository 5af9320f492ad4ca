"""Polynomials and series evaluated at five million points by Horner's rule, compared with NumPy's functions."""

import numpy as np

x = np.linspace(-1.0, 1.0, 5_000_000)

# the exponential series to the twelfth power
coefficients = [1.0]
for k in range(1, 13):
    coefficients.append(coefficients[-1] / k)
exponential = np.zeros_like(x)
for c in reversed(coefficients):
    exponential = exponential * x + c

# Chebyshev polynomials by recurrence
t0, t1 = np.ones_like(x), x
for _ in range(8):
    t0, t1 = t1, 2 * x * t1 - t0

# a rational approximation of the arctangent
square = x * x
arctangent = x * (1 + square * (0.43157974 + square * 0.05831938)) / (1 + square * (0.76443945 + square * 0.05831938))

print(f"exponential: largest error {np.abs(exponential - np.exp(x)).max():.3e}, mean {exponential.mean():.12f}")
print(f"chebyshev: {t1.min():.12f} to {t1.max():.12f}, mean square {np.mean(t1**2):.12f}")
print(f"arctangent: largest error {np.abs(arctangent - np.arctan(x)).max():.6f}")
