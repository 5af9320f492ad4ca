"""Reverse-mode differentiation in twenty lines of closures, compared with `autograd` on the same formula.

Run: python examples/toy_autodiff.py [--picture FILE]
"""

import argparse

import numpy as np

from twofold import autograd, nd


class Traced:
    """A NumPy array that knows how to propagate gradients to the operands it was computed from."""

    def __init__(self, value, propagate=lambda gradient: None):
        self.value, self.propagate, self.gradient = value, propagate, 0.0

    def accumulate(self, gradient):
        """Add a gradient and propagate it to the operands."""
        self.gradient = self.gradient + gradient
        self.propagate(gradient)

    def __add__(self, other):
        return Traced(self.value + other.value, lambda g: (self.accumulate(g), other.accumulate(g)))

    def __mul__(self, other):
        return Traced(self.value * other.value, lambda g: (self.accumulate(g * other.value), other.accumulate(g * self.value)))


def formula(a, b):
    """The function to differentiate."""
    return a * b + a * a


values = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)

a, b = map(Traced, values)
formula(a, b).accumulate(np.ones(3, np.float32))
print("closures:", a.gradient, b.gradient)

a, b = map(nd.array, values)
a.attach_grad()
b.attach_grad()
with autograd.record():
    out = formula(a, b)
out.backward()
print("autograd:", a.grad.asnumpy(), b.grad.asnumpy())

parser = argparse.ArgumentParser()
parser.add_argument("--picture")
if picture := parser.parse_args().picture:
    import matplotlib.pyplot as plt

    figure, place = plt.subplots(figsize=(6, 3), layout="constrained")
    near, step = np.linspace(0, 4, 50), np.array([-0.7, 0.7])
    for x, y, slope in zip(*values, a.grad.asnumpy(), strict=True):
        (curve,) = place.plot(near, formula(near, y), alpha=0.5, label=f"b = {y:g}: slope {slope:g} at a = {x:g}")
        place.plot(x + step, formula(x, y) + slope * step, "k", linewidth=1)
        place.plot(x, formula(x, y), "o", color=curve.get_color())
    place.set(xlabel="a", ylabel="ab + a²")
    place.legend()
    figure.savefig(picture, dpi=90)
