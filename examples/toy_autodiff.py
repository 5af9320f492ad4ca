"""Reverse differentiation in twenty lines of closures, and what `autograd` makes of the same formula.

Run: python examples/toy_autodiff.py
"""

import numpy as np

from twofold import autograd, nd


class Traced:
    """A NumPy array that remembers how to send gradients on to what it was computed from."""

    def __init__(self, value, send=lambda gradient: None):
        self.value, self.send, self.gradient = value, send, 0.0

    def receive(self, gradient):
        """Add a gradient and send it on."""
        self.gradient = self.gradient + gradient
        self.send(gradient)

    def __add__(self, other):
        return Traced(self.value + other.value, lambda g: (self.receive(g), other.receive(g)))

    def __mul__(self, other):
        return Traced(self.value * other.value, lambda g: (self.receive(g * other.value), other.receive(g * self.value)))


def formula(a, b):
    """What both differentiate."""
    return a * b + a * a


values = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)

a, b = map(Traced, values)
formula(a, b).receive(np.ones(3, np.float32))
print("closures:", a.gradient, b.gradient)

a, b = map(nd.array, values)
a.attach_grad()
b.attach_grad()
with autograd.record():
    out = formula(a, b)
out.backward()
print("autograd:", a.grad.asnumpy(), b.grad.asnumpy())
