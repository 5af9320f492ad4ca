"""The cost of one operation on 4 elements."""

import numpy as np

import twofold as mx
from asv_benchmarks.ratios import operations, recorded_frames
from asv_benchmarks.timing import frames


class Operation:
    """Operations on an array of `nd`, and on NumPy's for comparison."""

    params = (["x + x", "x * 2.5", "x[1:3]", "x.sum()"], ["nd", "numpy"])
    param_names = ("operation", "library")

    def setup(self, operation, library):
        values = np.arange(4, dtype="float32")
        self.function = operations(mx.nd.array(values) if library == "nd" else values)[operation]
        for _ in range(3):
            self.function()

    def time_operation(self, operation, library):
        self.function()


class Frames:
    """Number of Python functions that an operation enters."""

    params = ("x + x", "x * 2.5", "x[1:3]", "x.sum()")
    param_names = ("operation",)
    unit = "frames"

    def setup(self, operation):
        self.x = mx.nd.array([1, 2, 3, 4])
        for _ in range(3):
            operations(self.x)[operation]()

    def track_plain(self, operation):
        return frames(operations(self.x)[operation])

    def track_recorded(self, operation):
        self.x.attach_grad()
        return recorded_frames(operations(self.x)[operation])
