"""A Julia set with smooth colouring, by real arithmetic on whole arrays."""

import numpy as np

n, iterations = 900, 40
cr, ci = -0.8, 0.156
y, x = np.meshgrid(np.linspace(-1.2, 1.2, n), np.linspace(-1.6, 1.6, n))

count = np.zeros((n, n))
for _ in range(iterations):
    x2 = x * x
    y2 = y * y
    inside = x2 + y2 < 16.0
    y = np.where(inside, 2 * x * y + ci, y)
    x = np.where(inside, x2 - y2 + cr, x)
    count = count + inside

smooth = count + 1 - np.log2(np.log(np.maximum(x * x + y * y, 1.5)) + 1)
red = 0.5 + 0.5 * np.cos(3.0 + smooth * 0.15)
green = 0.5 + 0.5 * np.cos(3.6 + smooth * 0.15)
print("never escaped", (count == iterations).sum(), "mean iterations", count.mean())
print(f"colour {red.mean():.10f} {green.mean():.10f}")
