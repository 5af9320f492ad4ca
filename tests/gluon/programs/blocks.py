"""Blocks: names, scopes, children, representation, hooks, casting, errors."""

from __future__ import annotations

import json
import types
import warnings
from typing import Any

from tests.oracle_programs import fails


def _model(mx: Any) -> Any:
    class Model(mx.gluon.Block):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.dense0 = mx.gluon.nn.Dense(5, in_units=4)
                self.dense1 = mx.gluon.nn.Dense(5, in_units=5)
                self.w = self.params.get("w", shape=(3, 3))

        def forward(self, x: Any) -> Any:
            return self.dense1(self.dense0(x))

    return Model


def names(mx: Any) -> Any:
    model = _model(mx)
    with mx.name.NameManager():
        made = [model(), model(), model(prefix="foo_"), model(prefix="foo"), model(prefix="")]
    listed = [[m.name, m.prefix, m.dense0.name, list(m.collect_params().keys())] for m in made]
    selected = [list(made[0].collect_params(select).keys()) for select in (".*bias", "model0_dense0.*|model0_w")]
    return [listed, selected, repr(made[0]), repr(made[0].params)]


def shared_parameters(mx: Any) -> Any:
    model = _model(mx)
    first = model(prefix="a_")
    second = model(prefix="b_", params=first.collect_params())
    return [list(second.collect_params().keys()), all(second.collect_params()[k] is v for k, v in first.collect_params().items())]


def names_of_layers(mx: Any) -> Any:
    nn = mx.gluon.nn
    with mx.name.NameManager():
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Conv2D(2, 3), nn.Conv1D(2, 3), nn.MaxPool2D(), nn.AvgPool1D(), nn.Activation("relu"), nn.Dense(2, activation="tanh"))
            net.add(nn.BatchNorm(), nn.Dropout(0.5), nn.Lambda("tanh") if False else nn.HybridLambda("tanh"))
        outside = nn.Dense(3)
    return [[b.name for b in net], outside.name, net[5].act.name]


def attributes(mx: Any) -> Any:
    m = _model(mx)(prefix="m_")
    m.dense0 = mx.gluon.nn.Dense(2, in_units=4, prefix="other_")
    m.register_child(mx.gluon.nn.Dense(2, prefix="third_"))
    refused = [
        fails(lambda: setattr(m, "dense0", 3)),
        fails(lambda: setattr(m, "w", mx.gluon.Parameter("z", shape=2))),
        fails(lambda: setattr(m, "w", 3)),
        fails(lambda: mx.gluon.nn.HybridSequential().add(mx.gluon.nn.Lambda("tanh"))),
    ]
    return [refused, list(m._children), [c.name for c in m._children.values()], list(m._collect_params_with_prefix())]


def sequences(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.Sequential(prefix="s_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.Dense(2, activation="relu", in_units=3))
    return [len(net), repr(net), repr(net[0]), repr(net[-1]), repr(net[0:1]), [b.name for b in net], len(nn.Sequential())]


def apply_to_descendants(mx: Any) -> Any:
    m, seen = _model(mx)(prefix="m_"), []
    returned = m.apply(lambda block: seen.append(block.name))
    return [seen, returned is m]


def hooks(mx: Any) -> Any:
    m, seen = _model(mx)(prefix="m_"), []
    m.initialize(mx.init.One())
    before = m.register_forward_pre_hook(lambda block, inputs: seen.append(["before", block.name, len(inputs)]))
    after = m.dense1.register_forward_hook(lambda block, inputs, out: seen.append(["after", block.name, list(out.shape)]))
    x = mx.nd.ones((2, 4))
    m(x)
    before.detach()
    m(x)
    after.detach()
    with m.register_forward_hook(lambda block, inputs, out: seen.append(["inside", block.name])):
        m(x)
    m(x)
    return seen


def casting(mx: Any) -> Any:
    m = _model(mx)(prefix="m_")
    m.initialize(mx.init.One())
    m.cast("float64")
    return [str(m.dense0.weight.dtype), m(mx.nd.ones((1, 4), dtype="float64"))]


def unregistered_containers(mx: Any) -> Any:
    class Model(mx.gluon.Block):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.layers = [mx.gluon.nn.Dense(2)]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Model().collect_params()
    return [str(w.message).strip() for w in caught if "unregistered" in str(w.message)]


def invalid_calls(mx: Any) -> Any:
    nn, x = mx.gluon.nn, mx.nd.ones((2, 4))
    net = nn.Dense(2)
    return [
        fails(lambda: mx.gluon.Block()(x)),
        fails(lambda: mx.gluon.HybridBlock()(x)),
        fails(lambda: net(x)),
        fails(lambda: nn.Lambda("nothing_of_that_name")),
        fails(lambda: nn.HybridLambda("nothing_of_that_name")),
        fails(lambda: nn.Lambda(3)),
        fails(lambda: nn.LeakyReLU(-1)),
        fails(lambda: nn.Conv2D(2, 3, layout="NHCW")),
        fails(lambda: nn.Conv2D(2, (1, 2, 3))),
        fails(lambda: nn.MaxPool2D(layout="NWHC")),
        fails(lambda: nn.MaxPool2D((2, 2, 2))),
        fails(lambda: net(3)),
    ]


def _traced(mx: Any) -> Any:
    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.w = self.params.get("w", shape=(2, 0), allow_deferred_init=True)
                self.d = mx.gluon.nn.Dense(2)

        def hybrid_forward(self, F: Any, x: Any, y: Any = None, *args: Any, w: Any = None) -> Any:
            h = self.d(F.FullyConnected(x, w, num_hidden=2, no_bias=True))
            more = [] if y is None else [y + h]
            return h, [h * 2, (h + 1, *more)]

    return Net


def structure_of_outputs(mx: Any) -> Any:
    """Tuples become lists once a block is hybridized."""
    net, x = _traced(mx)(prefix="n_"), mx.nd.ones((3, 4))
    net.initialize(mx.init.One())
    found = [net(x), net(x, mx.nd.ones((3, 2)))]
    kinds = [[type(f).__name__, type(f[1]).__name__, type(f[1][1]).__name__] for f in found]
    net.hybridize()
    compiled = [net(x), net(x, None)]
    kinds += [[type(f).__name__, type(f[1]).__name__, type(f[1][1]).__name__] for f in compiled]
    return [found, compiled, kinds, fails(lambda: net(x, mx.nd.ones((3, 2)))), fails(lambda: net(x, 3))]


def names_of_nodes(mx: Any) -> Any:
    net = _traced(mx)(prefix="n_")
    net.initialize(mx.init.One())
    symbols = net(mx.sym.Variable("data"))
    nodes = json.loads(symbols[1][1][0].tojson())["nodes"]
    return [[n["op"], n["name"], n.get("attrs")] for n in nodes]


def replaced_forward_of_a_layer(mx: Any) -> Any:
    """As tools for quantization do: parameters added to a layer reach the function that replaces its own."""

    def forward(self: Any, F: Any, x: Any, weight: Any, bias: Any = None, scale: Any = None) -> Any:
        return self.former(F, F.broadcast_mul(x, scale), weight, bias)

    found = []
    for way in ("new", "used", "hybridized"):
        layer = mx.gluon.nn.Dense(2, in_units=2, prefix="layer_")
        layer.initialize(mx.init.One())
        x = mx.nd.array([[1, 2]])
        if way == "used":
            layer(x)
        if way == "hybridized":
            layer.hybridize()
        layer.scale = layer.params.get("scale", shape=(1,), init="ones", differentiable=False)
        layer.scale.initialize(mx.init.Constant(3))
        layer.former = layer.hybrid_forward
        layer.hybrid_forward = types.MethodType(forward, layer)
        with mx.autograd.record():
            y = layer(x)
        y.backward()
        found.append([y, layer.weight.grad(), layer(mx.sym.var("x")).list_arguments()])
    return found
