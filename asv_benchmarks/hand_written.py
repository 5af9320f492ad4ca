"""Training steps written by hand in NumPy: what the framework's loops are measured against.

Each class allocates its memory once and computes forward and backward with ``out=`` wherever NumPy has it: the fastest plain
NumPy that we know how to write without changing the mathematics.
"""

import numpy as np


class Perceptron:
    """A 32x64x10 perceptron with softmax cross-entropy (mean over the batch): loss and gradients of all four parameters."""

    def __init__(self, batch: int = 32, inputs: int = 64, hidden: int = 32, classes: int = 10, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        f = np.float32
        self.x = draw.standard_normal((batch, inputs)).astype(f)
        self.label = draw.integers(0, classes, batch)
        self.w1, self.b1 = (draw.standard_normal((hidden, inputs)) * 0.1).astype(f), np.zeros(hidden, f)
        self.w2, self.b2 = (draw.standard_normal((classes, hidden)) * 0.1).astype(f), np.zeros(classes, f)
        self.rows = np.arange(batch)
        self.h, self.dh = np.empty((batch, hidden), f), np.empty((batch, hidden), f)
        self.mask = np.empty((batch, hidden), bool)
        self.y, self.p = np.empty((batch, classes), f), np.empty((batch, classes), f)
        self.top, self.total = np.empty((batch, 1), f), np.empty((batch, 1), f)
        self.dw1, self.db1, self.dw2, self.db2 = (np.empty_like(a) for a in (self.w1, self.b1, self.w2, self.b2))
        self.scale = f(1 / batch)
        self.one_hot = np.eye(classes, dtype=f)[self.label]

    def step(self) -> float:
        """Forward and backward once; the loss."""
        h, y, p = self.h, self.y, self.p
        np.dot(self.x, self.w1.T, h)
        np.add(h, self.b1, h)
        np.maximum(h, 0, h)
        np.dot(h, self.w2.T, y)
        np.add(y, self.b2, y)
        np.max(y, 1, self.top, True)
        np.subtract(y, self.top, y)
        np.exp(y, p)
        np.add.reduce(p, 1, None, self.total, True)
        loss = (np.log(self.total).sum() - y[self.rows, self.label].sum()) * self.scale
        np.divide(p, self.total, p)
        np.subtract(p, self.one_hot, p)
        np.multiply(p, self.scale, p)
        np.dot(p.T, h, self.dw2)
        np.add.reduce(p, 0, None, self.db2)
        np.dot(p, self.w2, self.dh)
        np.greater(h, 0, self.mask)
        np.multiply(self.dh, self.mask, self.dh)
        np.dot(self.dh.T, self.x, self.dw1)
        np.add.reduce(self.dh, 0, None, self.db1)
        return float(loss)
