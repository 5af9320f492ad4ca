"""Gradients of gradients that are 0, whole arrays as indices, and arrays under ``npx.set_np``."""

from __future__ import annotations

from tests.oracle_programs import fails


def _second(mx, function):
    """The gradient, and the gradient of its sum."""
    x = mx.nd.array([-1.5, 0.5, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        (first,) = mx.autograd.grad(function(x), [x], create_graph=True)
    first.backward()
    return [first.asnumpy(), x.grad.asnumpy()]


def gradients_of_constant_gradients(mx):
    nd = mx.nd
    functions = [
        lambda x: nd.clip(x, 0, 1),
        nd.relu,
        nd.abs,
        nd.radians,
        lambda x: nd.Dropout(x, p=0.0),
        lambda x: x.round(),
        lambda x: x.floor(),
        lambda x: x.argmin(axis=0),
        nd.zeros_like,
        nd.ones_like,
        nd.BlockGrad,
        lambda x: nd.one_hot(x, 3),
    ]
    return [_second(mx, f) for f in functions]


def third_gradients_of_relu(mx):
    x = mx.nd.array([-1.5, 0.5, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.relu(x)
        found = []
        for _ in range(3):
            (y,) = mx.autograd.grad(y, [x], create_graph=True)
            found.append(y.asnumpy())
    return found


def gradients_of_a_marked_head(mx):
    x, marked = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    x.attach_grad()
    marked.attach_grad()
    with mx.autograd.record():
        y = x * x
        found = mx.autograd.grad([y, marked], [x], create_graph=True)[0]
    return found.asnumpy()


def whole_arrays_are_themselves(mx):
    found = []
    for np, matrix in ((mx.nd, mx.nd.ones((2, 2))), (mx.np, mx.np.ones((2, 2)))):
        for x in (matrix, np.zeros((3,)), matrix[0:1]):
            x.attach_grad()
            indices = (slice(None), (), slice(None, None, 1), slice(0, None), (slice(None), Ellipsis), slice(0, 2), None)
            found.append([[x[k] is x, x[k].grad is None] for k in indices])
    return found


def whole_sparse_arrays_are_themselves(mx):
    return mx.nd.ones((2, 2)).tostype("row_sparse")[:].stype


def formats_of_numpy_arrays(mx):
    np = mx.np
    mx.npx.set_np()
    try:
        arrays = [np.array([1.0, 2.0]), np.array([2.5]), np.zeros((0,)), np.ones((2, 2))[0]]
        scalars = [np.array(2.5), np.array(3, dtype="int32"), np.ones((2,))[0]]
        refused = [fails(lambda a=a, s=s: s.format(a)) for a in arrays for s in ("{:.2f}", "{:d}", "{:10}", "{:s}", "{:>30}")]
        return [refused, [f"{a}" for a in arrays], [f"{s:.2f}" for s in scalars]]
    finally:
        mx.npx.reset_np()


def partial_shapes(mx):
    """Unknown sizes are 0, or -1 under ``np_shape``; an unknown shape is (), or None."""
    found = []
    v, w = mx.sym.var("a"), mx.sym.var("w")
    dense = mx.sym.FullyConnected(v, w, num_hidden=3, no_bias=True, name="fc")
    given = [
        (dense, {"a": (-1, 2)}),
        (dense, {"a": (0, 2)}),
        (v + w, {"a": (-1, 3)}),
        (mx.sym.broadcast_add(v, w), {"a": (-1, 3), "w": (1, 3)}),
        (mx.sym.dot(v, w), {"a": (2, 3)}),
        (v, {}),
        (mx.sym.var("a", shape=(-1, 2)), {}),
        (mx.sym.BatchNorm(v, name="bn"), {"a": (-1, 4, 5)}),
        (mx.sym.reshape(v, shape=(-1, 2)), {"a": (-1, 4)}),
        (mx.sym.softmax(v), {"a": (0, 5)}),
    ]
    for active in (False, True):
        with mx.util.np_shape(active):
            found += [symbol.infer_shape_partial(**shapes) for symbol, shapes in given]
            found.append([mx.gluon.nn.Dense(3).weight.shape, mx.gluon.rnn.LSTM(3).l0_i2h_weight.shape])
    return found


def classes_of_arrays_in_initializers(mx):
    """The classes of the arrays that initializers of parameters get."""
    found = []

    class Noted(mx.init.Initializer):
        def _init_weight(self, name, arr):
            found.append([str(name), type(arr).__name__])
            arr[:] = 3

        _init_bias = _init_weight

    for active in (False, True):
        with mx.util.np_shape(active), mx.util.np_array(active):
            layer = mx.gluon.nn.Dense(2, in_units=2, prefix="d_", bias_initializer=Noted())
            layer.initialize(Noted())
            found.append([layer.weight.data().asnumpy().tolist(), layer.bias.data().asnumpy().tolist()])
    return found


def parameters_of_samplers(mx):
    """Which numbers are refused, here or where the result is read."""
    random = mx.nd.random
    draws = [
        lambda: random.normal(0, -1, shape=(2,)),
        lambda: random.normal(0, 0, shape=(2,)),
        lambda: random.randn(2, scale=-1.0),
        lambda: random.uniform(2, 1, shape=(2,)),
        lambda: random.uniform(1, 1, shape=(2,)),
        lambda: random.gamma(-1, 1, shape=(2,)),
        lambda: random.gamma(1, -1, shape=(2,)),
        lambda: random.gamma(0, 1, shape=(2,)),
        lambda: random.exponential(-1, shape=(2,)),
        lambda: random.poisson(-1, shape=(2,)),
        lambda: random.poisson(0, shape=(2,)),
        lambda: random.negative_binomial(-1, 0.5, shape=(2,)),
        lambda: random.negative_binomial(1, -0.5, shape=(2,)),
        lambda: random.generalized_negative_binomial(-1, 0.5, shape=(2,)),
        lambda: random.generalized_negative_binomial(1, -0.5, shape=(2,)),
        lambda: random.randint(3, 1, shape=(2,)),
    ]

    def refused(draw):
        try:
            draw().asnumpy()
        except mx.base.MXNetError:
            return True
        return False

    return [refused(draw) for draw in draws]
