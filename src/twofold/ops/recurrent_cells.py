"""One step of a recurrent cell, forward and backward: plain RNN, LSTM and GRU, with the inputs' contribution to the gates precomputed.

A cell's forward takes (xp, gates, hidden, state, w): ``gates`` (n, g · h), the input's contribution to the pre-activations; ``hidden`` the
state's contribution, a product (n, g · h). It returns the new h, the new cell state and the values for its backward.
Its backward returns the gradients of both contributions and of the old cell state.
"""

from typing import NamedTuple


class StateClip(NamedTuple):
    """Bounds of an LSTM's cell state, None for none; with ``nan``, NaN is replaced by the lower bound."""

    low: float | None
    high: float | None
    nan: bool


def _sigmoid(xp, x):
    return 1 / (1 + xp.exp(-x))


def _columns(xp, x, count):
    """The columns of (n, count · h) as ``count`` arrays (n, h)."""
    size = x.shape[1] // count
    return xp.split(x, [size * k for k in range(1, count)], 1)


class PlainCell:
    """h ← f(gates + hidden) with f = tanh or max(x, 0)."""

    gates = 1

    def __init__(self, activation: str) -> None:
        self.activation = activation

    def forward(self, xp, gates, hidden, h, c):
        """The step."""
        total = gates + hidden
        new = xp.tanh(total) if self.activation == "tanh" else xp.maximum(total, 0)
        return new, None, (new,)

    def backward(self, xp, saved, dh, dc):
        """Gradients of gates and hidden; of h and the cell state, which do not enter directly, None."""
        (new,) = saved
        d = dh * (1 - new * new) if self.activation == "tanh" else dh * xp.greater(new, 0)
        return d, d, None, None


class LSTMCell:
    """c ← f · c + i · g, h ← o · tanh(c); gates in the order i, f, g, o.

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    """

    gates = 4

    def __init__(self, clip: StateClip) -> None:
        self.clip = clip

    def forward(self, xp, gates, hidden, h, c):
        """The step."""
        i, f, g, o = _columns(xp, gates + hidden, 4)
        i, f, g, o = _sigmoid(xp, i), _sigmoid(xp, f), xp.tanh(g), _sigmoid(xp, o)
        # the unclipped state is kept: the gradient stops where a bound was reached
        free = f * c + i * g
        new = self._clipped(xp, free)
        squashed = xp.tanh(new)
        return o * squashed, new, (i, f, g, o, c, free, squashed)

    def _clipped(self, xp, c):
        # before the bounds, which would pass a NaN on
        if self.clip.nan and self.clip.low is not None:
            c = xp.where(xp.isnan(c), self.clip.low, c)
        if self.clip.low is not None:
            c = xp.maximum(c, self.clip.low)
        return c if self.clip.high is None else xp.minimum(c, self.clip.high)

    def backward(self, xp, saved, dh, dc):
        """Gradients of gates and hidden; None for h, which does not enter directly; and the gradient of the cell state."""
        i, f, g, o, c, free, squashed = saved
        inner = dh * o * (1 - squashed * squashed)
        dc = inner if dc is None else dc + inner
        if self.clip.low is not None:
            dc = dc * xp.greater_equal(free, self.clip.low)
        if self.clip.high is not None:
            dc = dc * xp.less_equal(free, self.clip.high)
        # in the order i, f, g, o: sigmoid' = s (1 - s), tanh' = 1 - t²
        parts = dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * squashed * o * (1 - o)
        d = xp.concat(*parts, axis=1)
        return d, d, None, dc * f


class GRUCell:
    """h ← (1 - z) · n + z · h with n = tanh(gates_n + r · hidden_n); gates in the order r, z, n.

    Source: Cho et al. 2014, in the form whose reset gate acts on the product (hidden includes its bias).
    """

    gates = 3

    def forward(self, xp, gates, hidden, h, c):
        """The step."""
        (gr, gz, gn), (hr, hz, hn) = _columns(xp, gates, 3), _columns(xp, hidden, 3)
        r, z = _sigmoid(xp, gr + hr), _sigmoid(xp, gz + hz)
        n = xp.tanh(gn + r * hn)
        # (1 - z) · n + z · h with one product
        return n + z * (h - n), None, (r, z, n, hn, h)

    def backward(self, xp, saved, dh, dc):
        """Gradients of gates and hidden; of h as far as it enters directly; and None, since there is no cell state."""
        r, z, n, hn, h = saved
        # tanh' = 1 - n² and sigmoid' = s (1 - s), in terms of the saved results
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (h - n) * z * (1 - z)
        dr = dn * hn * r * (1 - r)
        return xp.concat(dr, dz, dn, axis=1), xp.concat(dr, dz, dn * r, axis=1), dh * z, None
