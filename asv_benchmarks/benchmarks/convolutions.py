"""Convolutions of ResNets and LeNet, with the tuned table's algorithms and with the exact ones."""

import numpy as np

import twofold as mx
from twofold.config import SETTINGS

#: Layers as (n, channels, size, filters, kernel, stride, pad).
LAYERS = {
    "8x64x56 3x3": (8, 64, 56, 64, 3, 1, 1),
    "8x128x28 3x3": (8, 128, 28, 128, 3, 1, 1),
    "8x256x14 3x3": (8, 256, 14, 256, 3, 1, 1),
    "8x256x56 1x1": (8, 256, 56, 64, 1, 1, 0),
    "8x64x56 3x3, stride 2": (8, 64, 56, 128, 3, 2, 1),
    "64x1x28 5x5": (64, 1, 28, 20, 5, 1, 0),
    "64x20x12 5x5": (64, 20, 12, 50, 5, 1, 0),
}


class Layer:
    params = (tuple(LAYERS), ("table", "exact"))
    param_names = ("layer", "algorithms")

    def setup(self, layer, algorithms):
        n, c, side, f, kernel, stride, pad = LAYERS[layer]
        SETTINGS.winograd = algorithms == "table"
        draw = np.random.default_rng(0)
        self.x, self.w = (mx.nd.array(draw.standard_normal(s)) for s in ((n, c, side, side), (f, c, kernel, kernel)))
        self.x.attach_grad()
        self.w.attach_grad()
        self.given = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2, "num_filter": f, "no_bias": True}
        self.head = mx.nd.array(draw.standard_normal(self.convolved().shape))
        self.backward()

    def convolved(self):
        return mx.nd.Convolution(self.x, self.w, **self.given)

    def backward(self):
        with mx.autograd.record():
            y = self.convolved()
        y.backward(self.head)
        self.x.grad.wait_to_read()
        self.w.grad.wait_to_read()

    def teardown(self, layer, algorithms):
        SETTINGS.winograd = True

    def time_forward(self, layer, algorithms):
        self.convolved().wait_to_read()

    def time_forward_and_backward(self, layer, algorithms):
        self.backward()

    def peakmem_forward_and_backward(self, layer, algorithms):
        self.backward()
