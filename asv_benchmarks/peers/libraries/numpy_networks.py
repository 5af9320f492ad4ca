"""Hand-written NumPy training steps that `hand_written` lacks: a three-layer perceptron, an LSTM, a 3x3 convolution."""

from __future__ import annotations

import numpy as np

from asv_benchmarks.peers import inputs

Arrays = dict[str, np.ndarray]


class MultilayerPerceptron:
    """Dense layers with ReLU between them, softmax cross-entropy (mean over the batch), and an in-place update.

    Parameters
    ----------
    arrays
        ``x`` (batch, inputs), ``label`` (batch,), and ``w1`` (outputs, inputs), ``b1``, … of the layers.
    rate
        The learning rate.
    """

    def __init__(self, arrays: Arrays, rate: float) -> None:
        self.x, label = arrays["x"], arrays["label"]
        self.values = {name: a.copy() for name, a in inputs.parameters(arrays).items()}
        batch, count, f = len(self.x), len(self.values) // 2, np.float32
        self.layers = [(self.values[f"w{k}"], self.values[f"b{k}"]) for k in range(1, count + 1)]
        self.outputs = [np.empty((batch, len(b)), f) for _, b in self.layers]
        self.gradients = [np.empty_like(a) for a in self.outputs]
        self.masks = [np.empty(a.shape, bool) for a in self.outputs]
        self.changes = [(np.empty_like(w), np.empty_like(b)) for w, b in self.layers]
        self.one_hot = np.eye(len(self.layers[-1][1]), dtype=f)[label]
        self.ones, self.zero = np.ones(batch, f), np.array(0, f)
        self.scale, self.rate = f(1 / batch), f(rate)
        self.column = np.empty((batch, 1), f)

    def step(self) -> None:
        """Forward, backward and update once."""
        a, last = self.x, len(self.layers) - 1
        for k, ((w, b), y) in enumerate(zip(self.layers, self.outputs, strict=True)):
            np.dot(a, w.T, y)
            np.add(y, b, y)
            if k < last:
                np.maximum(y, self.zero, out=y)
            a = y
        self._softmax_gradient(a, self.gradients[last])
        for k in range(last, -1, -1):
            self._layer_backward(k)
        for values, changes in zip(self.layers, self.changes, strict=True):
            for value, change in zip(values, changes, strict=True):
                np.multiply(change, self.rate, change)
                np.subtract(value, change, value)

    def _softmax_gradient(self, y: np.ndarray, dy: np.ndarray) -> None:
        np.maximum.reduce(y, 1, None, self.column, True)
        np.subtract(y, self.column, dy)
        np.exp(dy, dy)
        np.add.reduce(dy, 1, None, self.column, True)
        np.divide(dy, self.column, dy)
        np.subtract(dy, self.one_hot, dy)
        np.multiply(dy, self.scale, dy)

    def _layer_backward(self, k: int) -> None:
        dy, (dw, db) = self.gradients[k], self.changes[k]
        below = self.outputs[k - 1] if k else self.x
        np.dot(dy.T, below, dw)
        np.dot(self.ones, dy, db)
        if k:
            np.dot(dy, self.layers[k][0], self.gradients[k - 1])
            np.greater(below, self.zero, self.masks[k - 1])
            np.multiply(self.gradients[k - 1], self.masks[k - 1], self.gradients[k - 1])


class LSTM:
    """Layers of LSTM cells over a sequence, half the sum of the squared outputs over the batch, and an update in place.

    Source: Hochreiter & Schmidhuber, 1997, with a forget gate; gates in the order input, forget, candidate, output.

    Parameters
    ----------
    arrays
        The arrays that `inputs` draws for ``lstm``.
    rate
        The learning rate.
    """

    def __init__(self, arrays: Arrays, rate: float) -> None:
        self.x = arrays["x"]
        self.values = {name: a.copy() for name, a in inputs.parameters(arrays).items()}
        self.rate, units = np.float32(rate), inputs.UNITS
        # sigmoid(z) = tanh(z / 2) / 2 + 1/2: all four gates are one tanh between two scalings
        self.scale = np.repeat(np.array([0.5, 0.5, 1, 0.5], np.float32), units)
        self.shift = np.repeat(np.array([0.5, 0.5, 0, 0.5], np.float32), units)

    def step(self) -> None:
        """Forward, backward and update once."""
        kept, x = [], self.x
        for k in range(inputs.LAYERS):
            kept.append(self._forward(k, x))
            x = kept[-1][2][1:]
        dy = x * np.float32(1 / x.shape[1])
        changes: Arrays = {}
        for k in reversed(range(inputs.LAYERS)):
            dy = self._backward(k, kept[k], dy, changes)
        for name, change in changes.items():
            change *= self.rate
            self.values[name] -= change

    def _forward(self, k: int, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Input, gates (time, batch, 4 units), hidden and cell states (time + 1, batch, units), and tanh of the cells."""
        (time, batch, _), units = x.shape, inputs.UNITS
        gates = np.dot(x.reshape(-1, x.shape[2]), self.values[f"wx{k}"].T).reshape(time, batch, 4 * units)
        gates += self.values[f"bx{k}"] + self.values[f"bh{k}"]
        wh = self.values[f"wh{k}"].T
        h, c = np.zeros((time + 1, batch, units), np.float32), np.zeros((time + 1, batch, units), np.float32)
        tanh_c, part, new = np.empty((time, batch, units), np.float32), np.empty((batch, 4 * units), np.float32), np.empty_like(h[0])
        for t in range(time):
            g = gates[t]
            np.dot(h[t], wh, part)
            np.add(g, part, g)
            np.multiply(g, self.scale, g)
            np.tanh(g, g)
            np.multiply(g, self.scale, g)
            np.add(g, self.shift, g)
            i, f, z, o = (g[:, n * units : (n + 1) * units] for n in range(4))
            np.multiply(f, c[t], c[t + 1])
            np.multiply(i, z, new)
            np.add(c[t + 1], new, c[t + 1])
            np.tanh(c[t + 1], tanh_c[t])
            np.multiply(o, tanh_c[t], h[t + 1])
        return x, gates, h, c, tanh_c

    def _backward(self, k: int, kept: tuple[np.ndarray, ...], dy: np.ndarray, changes: Arrays) -> np.ndarray:
        """Write the gradients of the layer's parameters to ``changes``; return that of its input."""
        x, gates, h, _, _ = kept
        dgates = self._gate_gradients(k, kept, dy).reshape(-1, gates.shape[2])
        changes[f"wx{k}"] = np.dot(dgates.T, x.reshape(-1, x.shape[2]))
        changes[f"wh{k}"] = np.dot(dgates.T, h[:-1].reshape(-1, h.shape[2]))
        changes[f"bx{k}"] = dgates.sum(axis=0)
        changes[f"bh{k}"] = changes[f"bx{k}"].copy()
        return np.dot(dgates, self.values[f"wx{k}"]).reshape(x.shape) if k else dy

    def _gate_gradients(self, k: int, kept: tuple[np.ndarray, ...], dy: np.ndarray) -> np.ndarray:
        """Gradients of the gates' pre-activations; factors known in advance are computed for all time steps at once."""
        _, gates, _, c, tanh_c = kept
        units, wh = inputs.UNITS, self.values[f"wh{k}"]
        i, f, z, o = (gates[..., n * units : (n + 1) * units] for n in range(4))
        by_c = [z * i * (1 - i), c[:-1] * f * (1 - f), i * (1 - z * z)]
        by_h, through = tanh_c * o * (1 - o), o * (1 - tanh_c * tanh_c)
        dgates = np.empty_like(gates)
        dh, dc = np.zeros_like(dy[0]), np.zeros_like(dy[0])
        spare = np.empty_like(dh)
        for t in reversed(range(len(dy))):
            dh += dy[t]
            np.multiply(dh, by_h[t], dgates[t, :, 3 * units :])
            np.multiply(dh, through[t], spare)
            dc += spare
            for n, factor in enumerate(by_c):
                np.multiply(dc, factor[t], dgates[t, :, n * units : (n + 1) * units])
            dc *= f[t]
            np.dot(dgates[t], wh, dh)
        return dgates


class Convolution:
    """A 3x3 convolution, padded to keep the size, image by image as a product with patches (im2col).

    Parameters
    ----------
    x
        Images (n, channels, height, width).
    w
        Weights (filters, channels, 3, 3).
    dout
        Gradient of the result.
    """

    def __init__(self, x: np.ndarray, w: np.ndarray, dout: np.ndarray) -> None:
        n, channels, height, width = x.shape
        self.x, self.w, self.dout = x, w.reshape(len(w), -1), dout
        self.padded, self.dpadded = (np.zeros((channels, height + 2, width + 2), x.dtype) for _ in range(2))
        self.patches = np.empty((channels, 3, 3, height, width), x.dtype)
        self.dpatches = np.empty_like(self.patches)
        self.y, self.dx, self.dw = np.empty((n, len(w), height, width), x.dtype), np.empty_like(x), np.empty_like(w)
        self.part = np.empty_like(self.w)
        self.windows = np.lib.stride_tricks.sliding_window_view(self.padded, (height, width), axis=(1, 2))

    def step(self) -> None:
        """Run forward and backward once."""
        rows, drows = self.patches.reshape(self.w.shape[1], -1), self.dpatches.reshape(self.w.shape[1], -1)
        dw = self.dw.reshape(self.w.shape)
        dw.fill(0)
        _, height, width = self.x.shape[1:]
        for image, y, dx, dout in zip(self.x, self.y, self.dx, self.dout, strict=True):
            self.padded[:, 1:-1, 1:-1] = image
            np.copyto(self.patches, self.windows)
            np.dot(self.w, rows, y.reshape(len(y), -1))
            dy = dout.reshape(len(dout), -1)
            np.dot(dy, rows.T, self.part)
            np.add(dw, self.part, dw)
            np.dot(self.w.T, dy, drows)
            self.dpadded.fill(0)
            for i in range(3):
                for j in range(3):
                    target = self.dpadded[:, i : i + height, j : j + width]
                    np.add(target, self.dpatches[:, i, j], target)
            np.copyto(dx, self.dpadded[:, 1:-1, 1:-1])
