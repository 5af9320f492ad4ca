"""Small models, and damage to them: of their bytes, and of the fields of the protocol buffer, which remains readable as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import twofold as mx
from twofold import gluon, nd
from twofold.contrib.onnx.op_reader import OP_READERS

if TYPE_CHECKING:
    import random

#: What sizes, axes and codes are replaced by.
INTEGERS = [-(2**62), -(2**31), -2, -1, 0, 1, 2, 3, 5, 7, 64, 1_000_003, 2**20, 2**31 - 1, 2**31, 2**62]
NUMBERS = [0.0, -1.0, 2.5, 1e30, -1e-30, float("inf"), float("nan")]
OPERATORS = [*OP_READERS, "If", "Loop", "Scan", "Unheard"]
#: Fields that say nothing about the graph.
IDLE = {"doc_string", "domain", "ir_version", "producer_name", "producer_version"}
#: The kinds of fields of protocol buffers, by their number there.
INTEGRAL, FLOATING, ENUM, TEXT = (1, 2, 3, 4), (5, 6), 8, 9
LIMITS = {1: (-(2**31), 2**31 - 1), 2: (-(2**63), 2**63 - 1), 3: (0, 2**32 - 1), 4: (0, 2**64 - 1)}


def networks(folder: str) -> list[bytes]:
    """Files of a convolutional, a recurrent and a normalized network, and one with computations of shapes."""
    convolutional, recurrent, normalized = (gluon.nn.HybridSequential() for _ in range(3))
    convolutional.add(gluon.nn.Conv2D(2, 3, padding=1), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D(), gluon.nn.Dense(2))
    recurrent.add(gluon.rnn.LSTM(2, layout="NTC"))
    normalized.add(gluon.nn.Embedding(4, 3), gluon.nn.LayerNorm(), gluon.nn.GELU())
    found = []
    for net, shape in ((convolutional, (1, 1, 4, 4)), (recurrent, (1, 3, 2)), (normalized, (1, 3))):
        net.initialize()
        net.hybridize()
        net(nd.ones(shape))
        net.export(f"{folder}/net")
        files = [f"{folder}/net{end}" for end in ("-symbol.json", "-0000.params")]
        path = mx.onnx.export_model(*files, [shape], onnx_file_path=f"{folder}/net.onnx", opset_version=17)
        with open(path, "rb") as file:
            found.append(file.read())
    return [*found, _shaped()]


def _shaped() -> bytes:
    from onnx import helper, numpy_helper

    rows = [
        ("Shape", ["x"], ["shape"], {}),
        ("Gather", ["shape", "zero"], ["first"], {"axis": 0}),
        ("Concat", ["first", "rest"], ["wanted"], {"axis": 0}),
        ("Reshape", ["x", "wanted"], ["rows"], {}),
        ("HardSwish", ["rows"], ["active"], {}),
        ("Slice", ["active", "zero", "two"], ["part"], {}),
        ("Unsqueeze", ["part", "pair"], ["image"], {}),
        ("Resize", ["image", "", "scales"], ["large"], {"mode": "linear"}),
        ("ConstantOfShape", ["two"], ["zeros"], {}),
        ("Pad", ["part", "pads"], ["padded"], {}),
    ]
    arrays: dict[str, Any] = {"zero": [0], "rest": [-1], "two": [2], "pair": [0, 1], "pads": [0, 1, 0, 1]}
    arrays["scales"] = np.float32([1, 1, 2, 2])
    graph = helper.make_graph(
        [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in rows],
        "shaped",
        [helper.make_tensor_value_info("x", 1, (2, 3, 4))],
        [helper.make_tensor_value_info(name, 1, None) for name in ("large", "zeros", "padded")],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def with_damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes cut, changed, or with some added or removed."""
    out, kind, at = bytearray(data), rng.randrange(4), rng.randrange(len(data))
    if kind == 0:
        return bytes(out[:at])
    if kind == 1:
        for _ in range(rng.randint(1, 4)):
            out[rng.randrange(len(out))] = rng.randrange(256)
    elif kind == 2:
        del out[at : at + rng.randint(1, 8)]
    else:
        out[at:at] = rng.randbytes(rng.randint(1, 8))
    return bytes(out)


def with_damaged_fields(rng: random.Random, data: bytes) -> bytes:
    """The model with up to three fields changed, removed or repeated."""
    from onnx import ModelProto

    model = ModelProto()
    model.ParseFromString(data)
    for _ in range(rng.randint(1, 3)):
        names = [name for n in model.graph.node for name in (*n.input, *n.output)] + [t.name for t in model.graph.initializer]
        if fields := [(m, f) for m, f in _fields(model) if f.name not in IDLE]:  # the first change may have removed the graph
            message, field = rng.choice(fields)
            _damage(rng, message, field, names or ["x"])
    return model.SerializeToString()


def _fields(message: Any) -> list[tuple[Any, Any]]:
    """All fields that are set, with the messages that they are in."""
    found = []
    for field, value in message.ListFields():
        found.append((message, field))
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                found += _fields(inner)
    return found


def _damage(rng: random.Random, message: Any, field: Any, names: list[str]) -> None:
    value = getattr(message, field.name)
    if not field.is_repeated:
        if field.message_type is None:
            setattr(message, field.name, _changed(rng, field, value, names))
        else:
            message.ClearField(field.name)
        return
    at, kind = rng.randrange(len(value)), rng.randrange(3)
    if kind == 0:
        del value[at]
    elif field.message_type is not None:
        (value.add() if kind == 1 else value[at]).CopyFrom(value[rng.randrange(len(value))])
    elif kind == 1:
        value.append(value[at])
    else:
        value[at] = _changed(rng, field, value[at], names)


def _changed(rng: random.Random, field: Any, old: Any, names: list[str]) -> Any:
    """Another value for a field."""
    if field.cpp_type in INTEGRAL:
        low, high = LIMITS[field.cpp_type]
        new = rng.choice(INTEGERS) if rng.random() < 0.8 else old + rng.choice((-1, 1))
        return min(max(new, low), high)
    if field.cpp_type in FLOATING:
        return rng.choice(NUMBERS)
    if field.cpp_type == ENUM:
        return rng.choice(list(field.enum_type.values_by_number))
    if field.cpp_type == TEXT and isinstance(old, bytes):
        return rng.choice((old[: len(old) // 2], old + b"x", rng.randbytes(len(old))))
    if field.cpp_type == TEXT:
        return rng.choice(OPERATORS) if field.name == "op_type" else rng.choice((rng.choice(names), "", f"{old}x"))
    return old
