"""Graphs from a grammar, with parameters that no honest writer has: symbols, and ONNX."""

from __future__ import annotations

import json
import random
import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np

import twofold as mx
from twofold.errors import FormatError, MXNetError

from tests.campaign.trials import Ended, Trial, measured, too_slow
from tests.symbol import hostile_parameters
from tests.symbol.hostile_parameters import (
    MEMORY,
    WRITABLE,
    drawn,
    graph_of,
    hostile,
    interrupt,
    outcome,
    samples_of,
    shapes_of,
    text,
    with_names,
)

INTEGERS = [0, 1, 2, 3, -1, -2, 7, 255, 65_536, 10**9, 2**31, -(2**31), 2**40, 2**62, -(2**62)]
FLOATS = [0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, float("inf"), float("nan")]
SHAPES: list[tuple[int, ...]] = [(2, 3, 4, 4), (2, 3, 4), (2, 3), (3,), (), (0, 2), (1, 1), (2**20, 2**20), (2**40,), (1,) * 33]


def _ended(found: str, graph: str) -> Ended:
    return (
        Ended(found) if found.islower() else Ended("too slow" if found == "TOO SLOW" else "undocumented error", f"{found}: {graph[:500]}")
    )


class Symbols:
    """Symbols of operators with hostile parameters."""

    def __init__(self, _: Path) -> None:
        signal.signal(signal.SIGVTALRM, interrupt)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
        self.ops = [(op, names) for op, names in with_names().values() if op.params]
        self.valid: dict[int, list[tuple[str, Any]]] = {}

    def samples(self, number: int) -> list[tuple[str, Any]]:
        """Names and samples of an operator that files can have."""
        if number not in self.valid:
            op, names = self.ops[number]
            self.valid[number] = [(name, s) for name in names for s in samples_of(op) if outcome(graph_of(name, s, {})) == "accepted"]
        return self.valid[number]

    def single(self, seed: int) -> Ended:
        """One operator."""
        number = seed % len(self.ops)
        found = self.samples(number)
        if not found:
            return Ended("none left")
        draw = random.Random(f"campaign {seed}")
        graph = drawn(draw, self.ops[number][0], *draw.choice(found))
        return _ended(outcome(graph), graph)

    def several(self, seed: int) -> Ended:
        """Two to eight operators, each on what the others give; some parameters are hostile."""
        draw = random.Random(f"several {seed}")
        nodes: list[dict[str, Any]] = []

        def entry(shape: tuple[int, ...]) -> list[int]:
            """A variable of a shape, or what an earlier node gives."""
            if nodes and draw.random() < 0.4:
                return [draw.randrange(len(nodes)), draw.choice([0, 0, 0, 1]), 0]
            shape = draw.choice(SHAPES) if draw.random() < 0.1 else shape
            nodes.append({"op": "null", "name": f"x{len(nodes)}", "inputs": [], "attrs": {"__shape__": str(shape)}})
            return [len(nodes) - 1, 0, 0]

        for k in range(draw.randint(2, 6)):
            number = draw.randrange(len(self.ops))
            found = self.samples(number)
            if not found:
                continue
            name, sample = draw.choice(found)
            op = self.ops[number][0]
            attrs = {key: text(v) for key, v in sample.params.items() if key in op.params and isinstance(v, WRITABLE)}
            attrs |= hostile(draw, op) if draw.random() < 0.3 else {}
            inputs = [entry(shape) for shape in shapes_of(sample)]
            nodes.append({"op": name, "name": f"n{k}", "inputs": inputs, "attrs": attrs})
        if not nodes:
            return Ended("none left")
        variables = [k for k, node in enumerate(nodes) if node["op"] == "null"]
        graph = json.dumps({"nodes": nodes, "arg_nodes": variables, "heads": [[len(nodes) - 1, 0, 0]]})
        return _ended(outcome(graph), graph)


def single_symbols(folder: Path) -> Trial:
    """Trials of symbols with one operator."""
    assert hostile_parameters.SECONDS == 2
    return Symbols(folder).single


def symbols(folder: Path) -> Trial:
    """Trials of symbols with several operators."""
    return Symbols(folder).several


def onnx_graphs(folder: Path) -> Trial:
    """Trials of ONNX models: operators that are read, with attributes of the right type and any value."""
    import onnx

    from twofold.contrib.onnx.op_reader import OP_READERS

    signal.signal(signal.SIGVTALRM, too_slow)
    schemas = {s.name: s for s in onnx.defs.get_all_schemas() if s.name in OP_READERS and not s.domain}
    path = str(folder / "grammar.onnx")

    def trial(seed: int) -> Ended:
        data = _model(random.Random(seed), schemas)
        Path(path).write_bytes(data)

        def load() -> Ended:
            try:
                symbol, params, _ = mx.contrib.onnx.import_model(path)
            except FormatError:
                return Ended("refused")
            try:
                symbol.infer_shape_partial(**{name: a.shape for name, a in params.items()})
            except MXNetError:
                return Ended("refused")
            return Ended("accepted")

        return measured(load, len(data))

    return trial


def _model(draw: random.Random, schemas: dict[str, Any]) -> bytes:
    from onnx import helper, numpy_helper

    arrays = {f"c{k}": _constant(draw) for k in range(draw.randint(1, 4))}
    shape = draw.choice(SHAPES[:7])
    known, nodes = ["x", *arrays], []
    for k in range(draw.randint(1, 5)):
        name = draw.choice(list(schemas))
        schema = schemas[name]
        least, most = schema.min_input, min(schema.max_input, 5)
        inputs = [draw.choice(known) if draw.random() < 0.95 else "" for _ in range(draw.randint(least, max(least, most)))]
        outputs = [f"n{k}_{j}" for j in range(max(1, schema.min_output))]
        attributes = {
            a.name: value
            for a in schema.attributes.values()
            if (a.required or draw.random() < 0.5) and (value := _attribute(draw, str(a.type))) is not None
        }
        nodes.append(helper.make_node(name, inputs, outputs, **attributes))
        known += outputs
    out = [helper.make_tensor_value_info(known[-1], 1, None)]
    given = [numpy_helper.from_array(a, name) for name, a in arrays.items()]
    graph = helper.make_graph(nodes, "grammar", [helper.make_tensor_value_info("x", 1, shape)], out, given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", draw.choice([9, 11, 13, 17]))]).SerializeToString()


def _constant(draw: random.Random) -> np.ndarray:
    """An array that a graph holds: sizes, axes or weights."""
    shape = draw.choice([(), (1,), (2,), (4,), (3, 3), (2, 3, 3, 3), (0,)])
    size = int(np.prod(shape))
    if draw.random() < 0.6:
        return np.array([draw.choice(INTEGERS) for _ in range(size)], "int64").reshape(shape)
    return np.array([draw.choice(FLOATS) for _ in range(size)], "float32").reshape(shape)


def _attribute(draw: random.Random, kind: str) -> Any:
    """A value of an attribute's type; None for graphs and tensors."""
    match kind.rpartition(".")[2]:
        case "INT":
            return draw.choice(INTEGERS)
        case "FLOAT":
            return draw.choice(FLOATS)
        case "STRING":
            return draw.choice(["", "SAME_UPPER", "VALID", "linear", "nearest", "constant", "reflect", "x" * 1000, "forward", "\0"])
        case "INTS":
            return [draw.choice(INTEGERS) for _ in range(draw.choice([1, 2, 2, 4, 4, 8, 40]))]
        case "FLOATS":
            return [draw.choice(FLOATS) for _ in range(draw.randint(1, 4))]
        case "STRINGS":
            return [draw.choice(["Tanh", "Relu", ""]) for _ in range(draw.randint(1, 3))]
    return None
