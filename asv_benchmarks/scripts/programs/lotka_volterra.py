"""Foxes and rabbits: the Lotka-Volterra equations by the Runge-Kutta method of fourth order."""

import numpy as np


def derivative(state, t, alpha, beta, delta, gamma):
    x, y = state
    return np.array([alpha * x - beta * x * y, delta * x * y - gamma * y])


def rk4(f, y0, t, args):
    y = np.zeros((len(t), len(y0)))
    y[0] = y0
    for i in range(len(t) - 1):
        h = t[i + 1] - t[i]
        k1 = f(y[i], t[i], *args)
        k2 = f(y[i] + k1 * h / 2.0, t[i] + h / 2.0, *args)
        k3 = f(y[i] + k2 * h / 2.0, t[i] + h / 2.0, *args)
        k4 = f(y[i] + k3 * h, t[i] + h, *args)
        y[i + 1] = y[i] + (h / 6.0) * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


if __name__ == "__main__":
    t = np.linspace(0.0, 100.0, 10001)
    y = rk4(derivative, np.array([10.0, 5.0]), t, (1.1, 0.4, 0.1, 0.4))
    rabbits, foxes = y.T
    peaks = np.where((rabbits[1:-1] > rabbits[:-2]) & (rabbits[1:-1] > rabbits[2:]))[0] + 1
    print("peaks at", t[peaks][:5])
    print(f"rabbits {rabbits.min():.8f} to {rabbits.max():.8f}, foxes {foxes.mean():.8f} on average")
