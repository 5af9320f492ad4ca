"""Parameters and graphs in files: names, missing and extra entries, casting, exported graphs."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from .running import fill, real
from tests.oracle_programs import fails


def _net(mx: Any, sizes: tuple[int, ...] = (3, 2), prefix: str = "net_") -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        for size in sizes:
            net.add(nn.Dense(size))
    return net


def _saved(mx: Any) -> Any:
    net = _net(mx)
    net.initialize()
    net(mx.nd.ones((1, 4)))
    fill(mx, net)
    folder = tempfile.mkdtemp()
    net.save_parameters(os.path.join(folder, "by_place"))
    net.collect_params().save(os.path.join(folder, "by_name"))
    net.collect_params().save(os.path.join(folder, "stripped"), strip_prefix="net_")
    return net, folder


def names_in_files(mx: Any) -> Any:
    _, folder = _saved(mx)
    return {name: {k: list(v.shape) for k, v in mx.nd.load(os.path.join(folder, name)).items()} for name in sorted(os.listdir(folder))}


def loading(mx: Any) -> Any:
    net, folder = _saved(mx)
    x = mx.nd.array(real(2, 4))
    want, found = net(x), []
    for load in (
        lambda other: other.load_parameters(os.path.join(folder, "by_place")),
        lambda other: other.collect_params().load(os.path.join(folder, "by_name")),
        lambda other: other.collect_params().load(os.path.join(folder, "stripped"), restore_prefix="net_"),
        lambda other: other.load_parameters(os.path.join(folder, "stripped")),
        lambda other: other.load_parameters(os.path.join(folder, "by_place"), ctx=mx.cpu(1)),
    ):
        other = _net(mx)
        load(other)
        device = other[0].weight.list_ctx()[0]
        found.append([(other(x.as_in_context(device)) - want.as_in_context(device)).abs().sum(), str(device)])
    return found


def missing_and_extra(mx: Any) -> Any:
    _, folder = _saved(mx)
    path = os.path.join(folder, "by_place")
    return [
        fails(lambda: _net(mx, (3, 2, 1)).load_parameters(path)),
        fails(lambda: _net(mx, (3, 2, 1)).load_parameters(path, allow_missing=True)),
        fails(lambda: _net(mx, (3,)).load_parameters(path)),
        fails(lambda: _net(mx, (3,)).load_parameters(path, ignore_extra=True)),
        fails(lambda: _net(mx, (4, 2)).load_parameters(path)),
        fails(lambda: _net(mx).collect_params().load(os.path.join(folder, "stripped"))),
        fails(lambda: _net(mx, prefix="n_").collect_params().load(os.path.join(folder, "by_name"), restore_prefix="x")),
    ]


def casting(mx: Any) -> Any:
    _, folder = _saved(mx)
    path = os.path.join(folder, "by_place")
    found = []
    for source in ("current", "saved"):
        net = _net(mx)
        net.cast("float16")
        found.append(fails(lambda net=net: net.load_parameters(path)))
        net.load_parameters(path, cast_dtype=True, dtype_source=source)
        found.append(net[0].weight.data().dtype.__name__)
    return found


def shared_layers(mx: Any) -> Any:
    nn = mx.gluon.nn
    first = nn.Dense(4, in_units=4)
    net = nn.HybridSequential()
    net.add(first, nn.Dense(4, in_units=4, params=first.params), first)
    net.initialize(mx.init.One())
    path = os.path.join(tempfile.mkdtemp(), "p")
    net.save_parameters(path)
    everything = list(mx.nd.load(path))
    net.save_parameters(path, deduplicate=True)
    return [everything, len(mx.nd.load(path)), fails(lambda: net.load_parameters(path))]


def exporting(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dropout(0.5), nn.Dense(2))
    refused = fails(lambda: net.export("nowhere"))
    net.initialize()
    net.hybridize()
    x = mx.nd.array(real(2, 1, 4, 4))
    net(x)
    fill(mx, net)
    path = os.path.join(tempfile.mkdtemp(), "model")
    net.export(path, epoch=7)
    with open(path + "-symbol.json") as file:
        nodes = json.load(file)["nodes"]
    block = mx.gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0007.params", ctx=mx.current_context())
    arrays = {k: list(v.shape) for k, v in sorted(mx.nd.load(path + "-0007.params").items())}
    described = [[n["op"], n["name"], n.get("attrs"), n["inputs"]] for n in nodes]
    return [refused, described, arrays, net(x), block(x), list(block.collect_params().keys()), sorted(block._reg_params)]


def symbol_blocks(mx: Any) -> Any:
    sym = mx.sym
    x, y = sym.Variable("x"), sym.Variable("y")
    h = sym.FullyConnected(x, num_hidden=3, name="pre_fc")
    block = mx.gluon.SymbolBlock([h, h * y], [x, y])
    block.initialize(mx.init.One())
    a, b = mx.nd.array(real(2, 4)), mx.nd.array(real(2, 3))
    outputs = block(a, b)
    composed = block(sym.Variable("u"), sym.Variable("v"))
    return [
        outputs,
        repr(block).split("\n")[-2].split(":")[-1],
        list(block.collect_params().keys()),
        sorted(block._reg_params),
        [s.list_arguments() for s in composed],
        fails(lambda: mx.gluon.SymbolBlock(h, [h])),
        fails(lambda: block(a)),
    ]


def whole_models(mx: Any) -> Any:
    net, folder = _saved(mx)
    net.hybridize()
    x = mx.nd.array(real(2, 4))
    want = net(x)
    net.save(os.path.join(folder, "whole"))
    other = _net(mx)
    other.load(os.path.join(folder, "whole"))
    return [sorted(f for f in os.listdir(folder) if f.startswith("whole")), (other(x) - want).abs().sum()]


def names_in_files_of_save_params(mx: Any) -> Any:
    net, folder = _saved(mx)
    x = mx.nd.array(real(2, 4))
    path = os.path.join(folder, "old")
    net.save_params(path)
    other = _net(mx, prefix="other_")
    other.load_parameters(path)
    return [sorted(mx.nd.load(path)), net(x), other(x)]


def _without_graphs(entry: Any) -> Any:
    return {k: _without_graphs(v) for k, v in entry.items() if k not in ("symbol", "inputs")} if isinstance(entry, dict) else entry


def entries_of_saved_models(mx: Any) -> Any:
    """MXNet finds blocks by these keys, and reads a graph where an entry says that there is one."""
    prefix = os.path.join(tempfile.mkdtemp(), "m")
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(3, in_units=2, prefix="a_"), nn.HybridSequential(prefix="inner_"), nn.BatchNorm(in_channels=2, prefix="bn_"))
    net[1].add(nn.Dense(2, in_units=3, prefix="b_"))
    net.initialize(mx.init.One())
    net(mx.nd.ones((1, 2)))
    found = []
    for change in (lambda: None, net.hybridize, lambda: net(mx.nd.ones((1, 2)))):
        change()
        net.save(prefix)
        with open(prefix + "-model.json") as file:
            found.append(json.dumps(_without_graphs(json.load(file))))
    return found
