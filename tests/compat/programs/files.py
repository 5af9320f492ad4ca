"""Saved blocks, graphs and states of optimizers."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any


def _network(mx: Any, prefix: str) -> Any:
    nn = mx.gluon.nn

    class Two(mx.gluon.HybridBlock):
        def __init__(self, prefix: str) -> None:
            super().__init__(prefix=prefix)
            with self.name_scope():
                self.a, self.b = nn.Dense(3, in_units=2), nn.Dense(2, in_units=3)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.b(self.a(x))

    return Two(prefix)


def blocks_under_other_prefixes(mx: Any) -> Any:
    """Parameters are found by their places in the structure."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for hybridizes in (True, False):
            place = os.path.join(folder, str(hybridizes))
            net = _network(mx, "one_")
            net.initialize(mx.init.One())
            if hybridizes:
                net.hybridize()
            net(mx.nd.ones((1, 2)))
            net.save(place)
            found.append(sorted(mx.nd.load(place + "-model.params")))
            other, before = _network(mx, "two_"), _network(mx, "three_")
            before.initialize(mx.init.Zero())
            for again in (other, before):
                again.load(place)
                found.append([again(mx.nd.ones((1, 2))), again._active, len(again._cached_graph)])
    return found


def graphs_with_numpys_shapes(mx: Any) -> Any:
    def attributes(symbol: Any) -> Any:
        return json.loads(symbol.tojson())["attrs"]

    plain = mx.sym.var("a", shape=(0, 2)) + 1
    with mx.util.np_shape(True):
        text = plain.tojson()
        found = [attributes(plain), attributes(mx.sym.load_json(text))]
    return [*found, attributes(plain), attributes(mx.sym.load_json(text)), mx.sym.load_json(text).infer_shape_partial()]


def exported_with_numpys_shapes(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    with tempfile.TemporaryDirectory() as folder, mx.util.np_shape(True):
        net(mx.nd.ones((1, 2)))
        net.export(os.path.join(folder, "net"))
        with open(os.path.join(folder, "net-symbol.json"), encoding="utf-8") as file:
            return json.load(file)["attrs"]


def keys_of_states(mx: Any) -> Any:
    """By number where the module updates, or the store on one device; by name where a store updates on several."""
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    found = []
    for store in ("local", None):
        for devices in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
            module = mx.mod.Module(mx.sym.SoftmaxOutput(fc, name="softmax"), context=devices)
            module.bind([("data", (4, 2))], [("softmax_label", (4,))])
            module.init_params()
            module.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
            module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.ones(4)]))
            module.update()
            updater = module._kvstore._updater if module._update_on_kvstore else module._updater
            found.append(sorted(map(repr, updater.states)))
    return found
