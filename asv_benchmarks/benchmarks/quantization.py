"""8-bit layers: a fully connected layer on int8 numbers with exact int32 sums, against the same layer on float32 numbers."""

import numpy as np

import twofold as mx


class FullyConnected:
    """A layer from 1024 to 1024 units: the int8 operator, the float32 operator, and NumPy's product of integers."""

    params = (1, 32, 256)
    param_names = ("batch",)

    def setup(self, batch):
        generator = np.random.default_rng(0)
        self.rows, self.weights = (generator.integers(-128, 128, s).astype("int8") for s in ((batch, 1024), (1024, 1024)))
        self.int8 = [mx.nd.array(x, dtype="int8") for x in (self.rows, self.weights)]
        self.float32 = [mx.nd.array(x) for x in (self.rows, self.weights)]
        self.ranges = [mx.nd.array([x]) for x in (-1, 1, -2, 2)]

    def time_int8(self, batch):
        mx.nd.contrib.quantized_fully_connected(*self.int8, None, *self.ranges, None, None, num_hidden=1024, no_bias=True)[0].wait_to_read()

    def time_float32(self, batch):
        mx.nd.FullyConnected(*self.float32, num_hidden=1024, no_bias=True).wait_to_read()

    def time_numpy_integers(self, batch):
        # NumPy has no fast product of integers: of one batch this takes 100 times as long
        np.matmul(self.rows[:1].astype("int32"), self.weights.T.astype("int32"))
