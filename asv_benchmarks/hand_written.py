"""Training steps written by hand in NumPy: the baseline for the framework's steps.

Each class allocates its memory once and uses ``out=`` wherever NumPy supports it: the fastest plain NumPy we know how to write
without changing the mathematics. Sums over rows are products with ones, and the labels are one-hot from the start.
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
        self.ones, self.zero = np.ones(batch, f), np.array(0, f)  # a zero-dimensional array is faster than a Python number
        self.h, self.dh = np.empty((batch, hidden), f), np.empty((batch, hidden), f)
        self.mask = np.empty((batch, hidden), bool)
        self.y, self.p = np.empty((batch, classes), f), np.empty((batch, classes), f)
        self.top, self.total = np.empty((batch, 1), f), np.empty((batch, 1), f)
        self.dw1, self.db1, self.dw2, self.db2 = (np.empty_like(a) for a in (self.w1, self.b1, self.w2, self.b2))
        self.scale = f(1 / batch)
        self.one_hot = np.eye(classes, dtype=f)[self.label]

    def step(self) -> float:
        """Run forward and backward once; return the loss."""
        h, y, p = self.h, self.y, self.p
        np.dot(self.x, self.w1.T, h)
        np.add(h, self.b1, h)
        np.maximum(h, self.zero, out=h)
        np.dot(h, self.w2.T, y)
        np.add(y, self.b2, y)
        np.maximum.reduce(y, 1, None, self.top, True)
        np.subtract(y, self.top, y)
        np.exp(y, p)
        np.add.reduce(p, 1, None, self.total, True)
        loss = (np.log(self.total).sum() - np.vdot(self.one_hot, y)) * self.scale
        np.divide(p, self.total, p)
        np.subtract(p, self.one_hot, p)
        np.multiply(p, self.scale, p)
        np.dot(p.T, h, self.dw2)
        np.dot(self.ones, p, self.db2)
        np.dot(p, self.w2, self.dh)
        np.greater(h, self.zero, self.mask)
        np.multiply(self.dh, self.mask, self.dh)
        np.dot(self.dh.T, self.x, self.dw1)
        np.dot(self.ones, self.dh, self.db1)
        return float(loss)


class LeNet:
    """MXNet's LeNet (convolution 20, tanh, pooling, convolution 50, tanh, pooling, dense 500, tanh, dense 10): loss and gradients.

    Images are (n, 28, 28, 1): with channels last every convolution is one matrix product of patches, whose result is already laid
    out for the next layer. Weights of convolutions are (filters, 25 * channels) in the order (y, x, channel); those of the first
    dense layer expect (4, 4, 50). If a pooling window has several maxima, each gets the gradient. This is the only difference from
    MXNet, and does not occur with values from a continuous distribution.
    """

    def __init__(self, batch: int = 64, classes: int = 10, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        f = np.float32
        self.x = draw.random((batch, 28, 28, 1), f)
        self.label = draw.integers(0, classes, batch)
        self.one_hot = np.eye(classes, dtype=f)[self.label]
        self.ones, self.scale = np.ones(batch, f), f(1 / batch)
        self.conv1 = _Convolution(draw, batch, 28, 1, 20)
        self.pool1 = _Pooling(self.conv1.y, self.conv1.dy)
        self.conv2 = _Convolution(draw, batch, 12, 20, 50)
        self.pool2 = _Pooling(self.conv2.y, self.conv2.dy)
        self.w3, self.b3 = (draw.standard_normal((500, 800)) * 0.04).astype(f), np.zeros(500, f)
        self.w4, self.b4 = (draw.standard_normal((classes, 500)) * 0.04).astype(f), np.zeros(classes, f)
        self.dw3, self.db3, self.dw4, self.db4 = (np.empty_like(a) for a in (self.w3, self.b3, self.w4, self.b4))
        self.h, self.dh, self.slope = (np.empty((batch, 500), f) for _ in range(3))
        self.y, self.p = np.empty((batch, classes), f), np.empty((batch, classes), f)
        self.top, self.total = np.empty((batch, 1), f), np.empty((batch, 1), f)

    def step(self) -> float:
        """Run forward and backward once; return the loss."""
        y = self.conv1.forward(self.x)
        np.tanh(y, y)
        y = self.conv2.forward(self.pool1.forward())
        np.tanh(y, y)
        features = self.pool2.forward().reshape(len(y), -1)
        h, y, p = self.h, self.y, self.p
        np.dot(features, self.w3.T, h)
        np.add(h, self.b3, h)
        np.tanh(h, h)
        np.dot(h, self.w4.T, y)
        np.add(y, self.b4, y)
        np.maximum.reduce(y, 1, None, self.top, True)
        np.subtract(y, self.top, y)
        np.exp(y, p)
        np.add.reduce(p, 1, None, self.total, True)
        loss = (np.log(self.total).sum() - np.vdot(self.one_hot, y)) * self.scale
        np.divide(p, self.total, p)
        np.subtract(p, self.one_hot, p)
        np.multiply(p, self.scale, p)
        self._backward(p, features)
        return float(loss)

    def _backward(self, dy: np.ndarray, features: np.ndarray) -> None:
        """Compute all gradients from that of the logits."""
        np.dot(dy.T, self.h, self.dw4)
        np.dot(self.ones, dy, self.db4)
        np.dot(dy, self.w4, self.dh)
        _through_tanh(self.h, self.dh, self.slope)
        np.dot(self.dh.T, features, self.dw3)
        np.dot(self.ones, self.dh, self.db3)
        np.dot(self.dh, self.w3, self.pool2.dy.reshape(features.shape))
        self.pool2.backward()
        _through_tanh(self.conv2.y, self.conv2.dy, self.conv2.spare)
        self.conv2.backward(self.pool1.dy)
        self.pool1.backward()
        _through_tanh(self.conv1.y, self.conv1.dy, self.conv1.spare)
        self.conv1.backward(None)


class _Convolution:
    """A 5x5 convolution as one matrix product of patches (im2col)."""

    def __init__(self, draw: np.random.Generator, batch: int, size: int, channels: int, filters: int) -> None:
        f, out = np.float32, size - 4
        self.w = (draw.standard_normal((filters, 25 * channels)) / np.sqrt(25 * channels)).astype(f)
        self.b = np.zeros(filters, f)
        self.dw, self.db = np.empty_like(self.w), np.empty_like(self.b)
        self.patches = np.empty((batch, out, out, 5, 5 * channels), f)
        self.rows = self.patches.reshape(-1, 25 * channels)
        self.y, self.dy, self.spare = (np.empty((batch, out, out, filters), f) for _ in range(3))
        self.part = np.empty((batch, out, out, channels), f)
        self.ones = np.ones(len(self.rows), f)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Convolve (n, size, size, channels) to (n, size - 4, size - 4, filters)."""
        n, rows, columns, step = x.strides  # five neighbours in a row with their channels are contiguous
        np.copyto(self.patches, np.lib.stride_tricks.as_strided(x, self.patches.shape, (n, rows, columns, rows, step), writeable=False))
        y = self.y.reshape(-1, len(self.b))
        np.dot(self.rows, self.w.T, y)
        np.add(y, self.b, y)
        return self.y

    def backward(self, dx: np.ndarray | None) -> None:
        """Compute the gradients of weight and bias, and that of the input into ``dx``, from ``dy``."""
        dy = self.dy.reshape(-1, len(self.b))
        np.dot(dy.T, self.rows, self.dw)
        np.dot(self.ones, dy, self.db)
        if dx is None:
            return
        dx.fill(0)
        part, size = self.part, self.dy.shape[1]
        taps = np.ascontiguousarray(self.w.reshape(len(self.b), 25, -1).transpose(1, 0, 2))
        for k, tap in enumerate(taps):  # tap by tap: the gradients of all patches at once would not fit in the cache
            np.dot(dy, tap, part.reshape(len(dy), -1))
            target = dx[:, k // 5 : k // 5 + size, k % 5 : k % 5 + size]
            np.add(target, part, target)


class _Pooling:
    """2x2 max pooling of ``x`` (n, size, size, channels); the gradient is written to ``dx``."""

    def __init__(self, x: np.ndarray, dx: np.ndarray) -> None:
        n, size, _, channels = x.shape
        self.corners = [(x[:, i::2, j::2], dx[:, i::2, j::2]) for i in (0, 1) for j in (0, 1)]
        self.y, self.dy = (np.empty((n, size // 2, size // 2, channels), x.dtype) for _ in range(2))
        self.mask = np.empty(self.y.shape, bool)

    def forward(self) -> np.ndarray:
        """Return the pooled images (n, size / 2, size / 2, channels)."""
        (a, _), (b, _), (c, _), (d, _) = self.corners
        np.maximum(a, b, out=self.y)
        np.maximum(self.y, c, out=self.y)
        np.maximum(self.y, d, out=self.y)
        return self.y

    def backward(self) -> None:
        """Compute the gradient of the input from ``dy``."""
        for x, dx in self.corners:
            np.equal(x, self.y, self.mask)
            np.multiply(self.dy, self.mask, dx)


def _through_tanh(y: np.ndarray, dy: np.ndarray, slope: np.ndarray) -> None:
    """Multiply a gradient by the slope 1 - y² of tanh, in place."""
    np.multiply(y, y, slope)
    np.subtract(1, slope, slope)
    np.multiply(dy, slope, dy)
