"""Examines networks of a library: ``python networks.py ZOO``, where a zoo is a module beside this one.

A zoo has `names()` and `candidates(name)`, which gives ways of calling a network. A question is a name and, if the way is known already,
its number. The same parameters and inputs are drawn on both sides, so the answers of Twofold and of MXNet can be compared.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
from answers import answer_lines, last_lines
from digests import digests, draws, flattened, new_value

#: Calls timed after the first ones: at least so many, and for so long.
STEADY, STEADY_SECONDS = 7, 0.5
#: The relative change of inputs that shows how much a network enlarges rounding.
NUDGE = 1e-6


class Way:
    """How to call a network.

    Parameters
    ----------
    build
        Makes the network.
    inputs
        Makes its inputs.
    trains
        Whether it is trained by a call with these inputs; some networks need targets then.
    """

    def __init__(self, build: Callable[[], Any], inputs: Callable[[], Sequence[Any]], trains: bool = True) -> None:
        self.build, self.inputs, self.trains = build, inputs, trains


def without_dropout(net: Any) -> None:
    """Let a network compute the same at each call."""

    def switch_off(block: Any) -> None:
        for name in ("_rate", "_dropout", "dropout"):
            if isinstance(getattr(block, name, None), float):
                setattr(block, name, 0.0)

    net.apply(switch_off)


def draw_parameters(net: Any) -> list[str]:
    """Draw all parameters that are learned or measured; return the names of all."""
    names = []
    for index, (name, parameter) in enumerate(net.collect_params().items()):
        names.append(f"{name} {parameter.shape}")
        if parameter.grad_req != "null" or "running" in name:
            value = new_value(name, parameter.shape, f"{index} {parameter.shape}")
            # new arrays: MXNet cannot write into those that its convolutions have put into a layout of their own
            parameter.initialize(init=mx.init.Constant(mx.nd.array(value, dtype=parameter.dtype)), force_reinit=True)
    return names


def loss_of(outputs: Sequence[Any]) -> Any:
    """A weighted mean of all outputs of floats, so that each has a gradient of its own."""
    total = 0
    for index, output in enumerate(outputs):
        if "float" in str(output.dtype):
            weights = mx.nd.array(draws(output.shape, f"weights {index}"))
            total = total + (output.astype("float32").clip(-1e4, 1e4) * weights).mean()
    return total


def gradients(net: Any, inputs: Sequence[Any], trains: bool) -> list[Any]:
    """The gradients of the parameters that have one."""
    with mx.autograd.record(train_mode=trains):
        loss = loss_of(flattened(net(*inputs)))
    loss.backward(train_mode=trains)  # MXNet's BatchNorm would combine the two modes, in no gradient of anything
    return [parameter.grad() for parameter in net.collect_params().values() if parameter.grad_req != "null"]


def graph_of(path: str) -> dict[str, Any]:
    """What an exported graph consists of."""
    with open(path + "-symbol.json", encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    return {"nodes": len(nodes), "operators": [node["op"] for node in nodes], "names": [node["name"] for node in nodes]}


def exported(net: Any, inputs: Sequence[Any], expected: Sequence[Any]) -> dict[str, Any]:
    """A network written to files and read back: its graph, and how far its outputs are from those before."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        net.export(path)
        graph = graph_of(path)
        names = [name for name in ("data", *(f"data{i}" for i in range(len(inputs)))) if name in graph["names"]]
        files = path + "-0000.params" if os.path.exists(path + "-0000.params") else None
        again = mx.gluon.SymbolBlock.imports(path + "-symbol.json", names, files)
        outputs = flattened(again(*inputs[: len(names)]))
    differences = [abs(a.astype("float64") - b.astype("float64")).max().asscalar() for a, b in zip(outputs, expected) if a.size]
    return {"graph": graph, "difference": max(differences, default=0.0), "outputs": len(outputs)}


def seconds(run: Callable[[], Any]) -> float:
    """How long a call takes until its arrays have been read."""
    begin = time.perf_counter()
    for array in flattened(run()):
        array.wait_to_read()
    return time.perf_counter() - begin


def least_seconds(run: Callable[[], Any]) -> float:
    """How long the fastest of several calls takes: a short one has many chances to be left alone by other programs."""
    times = [seconds(run) for _ in range(STEADY)]
    while sum(times) < STEADY_SECONDS:
        times.append(seconds(run))
    return min(times)


class Part:
    """Collects what the parts of an examination give; one that fails does not end it."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def note(self, name: str, part: Callable[[], Any]) -> Any:
        """Run a part and note its result, or its error."""
        try:
            self.found[name] = part()
        except Exception as error:
            self.found[name] = {"error": last_lines(error)}
        return self.found[name]


def trained(net: Any, inputs: Sequence[Any], trains: bool) -> dict[str, Any]:
    """The parameters after one step, and the times of the first and of a later step."""
    step = steps_of(net, inputs, trains)
    first = seconds(step)
    values = learned(net)
    return {"parameters": values, "first": first, "steady": least_seconds(step)}


def steps_of(net: Any, inputs: Sequence[Any], trains: bool) -> Callable[[], list[Any]]:
    """A function that trains a network for one step and gives its parameters."""
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def step() -> list[Any]:
        gradients(net, inputs, trains)
        trainer.step(1, ignore_stale_grad=True)
        return [parameter.data() for parameter in net.collect_params().values()]

    return step


def learned(net: Any) -> list[dict[str, Any]]:
    """The digests of the parameters that are trained."""
    return digests(p.data() for p in net.collect_params().values() if p.grad_req != "null")


def trained_once(net: Any, inputs: Sequence[Any], trains: bool) -> list[dict[str, Any]]:
    """The parameters after one step."""
    steps_of(net, inputs, trains)()
    return learned(net)


def examined(way: Way) -> dict[str, Any]:
    """What a network computes, as a network of calls and as a graph, and how long it takes."""
    with mx.name.NameManager():
        net = way.build()
    without_dropout(net)
    net.initialize(mx.init.Normal(0.02))
    inputs = [draw if hasattr(draw, "asnumpy") else mx.nd.array(draw, dtype=draw.dtype) for draw in way.inputs()]
    net(*inputs)
    part = Part()
    part.note("names", lambda: draw_parameters(net))
    outputs = flattened(net(*inputs))
    part.found["outputs"] = digests(outputs)
    part.note("gradients", lambda: digests(gradients(net, inputs, way.trains)))
    draw_parameters(net)
    # how much rounding matters: the same with inputs that differ by rounding
    nudged = [x * mx.nd.array(1 + NUDGE * draws(x.shape, "nudge"), dtype=x.dtype) if "float" in str(x.dtype) else x for x in inputs]
    part.note("nudged outputs", lambda: digests(flattened(net(*nudged))))
    part.note("nudged gradients", lambda: digests(gradients(net, nudged, way.trains)))
    draw_parameters(net)
    net.hybridize()
    part.note("first call", lambda: seconds(lambda: net(*inputs)))
    part.note("steady call", lambda: least_seconds(lambda: net(*inputs)))
    part.note("hybridized outputs", lambda: digests(flattened(net(*inputs))))
    if isinstance(net, mx.gluon.HybridBlock):
        part.note("export", lambda: exported(net, inputs, outputs))
    part.note("hybridized gradients", lambda: digests(gradients(net, inputs, way.trains)))
    draw_parameters(net)
    # detectors that want targets in training have gradients only by the graph of a call before
    part.note("nudged hybridized gradients", lambda: digests(gradients(net, nudged, way.trains)))
    draw_parameters(net)
    part.note("step", lambda: trained(net, inputs, way.trains))
    draw_parameters(net)
    part.note("nudged step", lambda: trained_once(net, nudged, way.trains))
    return part.found


def answer(question: dict[str, Any]) -> Any:
    """The names of a zoo, or one network examined in the way that is asked for, or in the first that works."""
    zoo = importlib.import_module(sys.argv[1])
    if "name" not in question:
        return zoo.names()
    ways = zoo.candidates(question["name"])
    numbers = range(len(ways)) if question.get("way") is None else [question["way"]]
    error = ""
    for number in numbers:
        mx.random.seed(1)
        try:
            return {"way": number, **examined(ways[number])}
        except Exception as failure:
            error = error or last_lines(failure)
            if question.get("way") is not None:
                raise
    return {"error": error}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answer_lines(answer)
