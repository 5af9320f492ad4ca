"""Networks whose shapes are inferred in traced functions."""

import twofold as mx
from twofold import func


def test_a_network_of_deferred_shapes_is_initialized_where_it_is_traced() -> None:
    for arrays in (mx.nd, mx.np):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
        net.initialize()
        x = arrays.ones((3, 5))
        first = func.jit(lambda x, net=net: net(x))(x)
        assert net[0].weight.shape == (4, 5)
        assert (first.asnumpy() == net(x).asnumpy()).all()


def test_the_body_of_scan_initializes_a_network_once() -> None:
    net = mx.gluon.nn.Dense(3)
    net.initialize(mx.init.Uniform(1.0))
    x = mx.np.ones((2, 4, 3))
    _, ys = func.scan(lambda c, part: (c, net(part)), 0, x)
    assert (ys[0] == net(x[0])).all()
    assert (ys[0] == ys[1]).all()
    assert abs(ys).max() > 0


def test_training_a_network_whose_first_call_is_traced() -> None:
    net = mx.gluon.nn.Dense(1)
    net.initialize(mx.init.One())
    step = func.jit(lambda x: net(x).sum())
    x = mx.nd.array([[1.0, 2.0]])
    step(x)
    with mx.autograd.record():
        y = step(x)
    y.backward()
    assert net.weight.grad().asnumpy().tolist() == [[1, 2]]
    net.weight.set_data(mx.nd.array([[5.0, 5.0]]))
    assert step(x).asscalar() == 15
