"""Element-wise chains on large arrays: fused kernels against single NumPy operations."""

import numpy as np

import twofold as mx
from twofold.imperative.counters import COUNTERS

STEPS = 6


class Chain:
    """``tanh(x * 0.5 + 1)``, repeated."""

    params = (10_000, 100_000, 1_000_000)
    param_names = ("elements",)

    def setup(self, elements):
        self.values = np.linspace(-1, 1, elements, dtype="float32")
        self.x = mx.nd.array(self.values)
        for _ in range(3):
            self.time_twofold(elements)

    def time_twofold(self, elements):
        y = self.x
        for _ in range(STEPS):
            y = mx.nd.tanh(y * 0.5 + 1)
        y.wait_to_read()

    def time_numpy(self, elements):
        y = self.values
        half, one = np.float32(0.5), np.float32(1)
        for _ in range(STEPS):
            y = np.tanh(y * half + one)

    def track_kernels(self, elements):
        COUNTERS.reset()
        self.time_twofold(elements)
        return COUNTERS.kernels
