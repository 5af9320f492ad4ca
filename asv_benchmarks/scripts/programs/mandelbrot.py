"""The Mandelbrot set: complex iteration of the points that have not escaped yet."""

import numpy as np


def mandelbrot(width, height, iterations):
    x = np.linspace(-2.0, 0.7, width)
    y = np.linspace(-1.2, 1.2, height)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    active = np.ones(c.shape, dtype=bool)
    for _ in range(iterations):
        z[active] = z[active] ** 2 + c[active]
        active[np.abs(z) > 2] = False
        count[active] += 1
    return count


if __name__ == "__main__":
    count = mandelbrot(600, 400, 80)
    print("inside", (count == 80).sum(), "area", round((count == 80).mean() * 2.7 * 2.4, 6))
    print("histogram", np.histogram(count, bins=6)[0])
