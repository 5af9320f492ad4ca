"""Damaged files give a model or a `FormatError`, and nothing else."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError

from .mutations import networks, with_damaged_bytes, with_damaged_fields

CASES = max(400, int(os.environ.get("FUZZ_CASES", "0")))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return networks(str(tmp_path_factory.mktemp("networks")))


def outcome(path, data):
    """Whether a file is read; any exception but a `FormatError` passes through."""
    with open(path, "wb") as file:
        file.write(data)
    try:
        mx.contrib.onnx.import_model(path)
    except FormatError:
        return False
    return True


def test_undamaged_files_are_read(files, path):
    assert all(outcome(path, data) for data in files)


def test_every_cut_is_refused(files, path):
    smallest = min(files, key=len)
    assert not any(outcome(path, smallest[:k]) for k in range(0, len(smallest) - 12, 7))


@pytest.mark.fuzz
@pytest.mark.parametrize("damage", [with_damaged_bytes, with_damaged_fields], ids=["bytes", "fields"])
def test_damaged_files_are_read_or_refused(damage, files, path, record_property):
    read = 0
    for seed in range(CASES):
        rng = random.Random(seed)
        data = damage(rng, rng.choice(files))
        try:
            read += outcome(path, data)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    record_property("told", f"damaged ONNX files ({damage.__name__}): {read} of {CASES} read, the others refused")
    assert 0 < read < CASES


def model_of(op, arrays, **attributes):
    """The bytes of a model with one node, of constants."""
    from onnx import helper, numpy_helper

    node = helper.make_node(op, [*arrays], ["out"], **attributes)
    given = [numpy_helper.from_array(a, name) for name, a in arrays.items() if name]
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("out", 1, None)], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


PLANE = {"x": np.ones((1, 1, 4), "int64")}
BEYOND_REASON = {
    "an index": ("GatherElements", {"data": np.ones(3, "float32"), "places": np.array([2**62, 0, 1])}, {}),
    "an index that is no number": ("GatherElements", {"data": np.ones(2, "float32"), "places": np.array([np.nan, 0], "float32")}, {}),
    "a missing input": ("Min", {"a": np.ones(2), "": None}, {}),
    "a depth": ("OneHot", {"i": np.array([1]), "depth": np.array(10**9), "values": np.array([0.0, 1.0])}, {}),
    "a window": ("MaxPool", PLANE, {"kernel_shape": [2**62], "dilations": [1]}),
    "a window in padding": ("MaxPool", PLANE, {"kernel_shape": [10**9], "pads": [10**9, 10**9]}),
    "a dilation": ("MaxPool", PLANE, {"kernel_shape": [2], "dilations": [0]}),
    "padding": ("AveragePool", {"x": np.ones((1, 1, 4), "float32")}, {"kernel_shape": [2], "pads": [0, 2**40]}),
}


@pytest.mark.parametrize("what", BEYOND_REASON)
def test_numbers_beyond_reason_are_refused_at_once(path, what):
    op, arrays, attributes = BEYOND_REASON[what]
    assert not outcome(path, model_of(op, arrays, **attributes))


def recurrent_model(kind, hidden_size, steps=3, size=2):
    """A recurrent layer of given weights that claims a size of its states."""
    from onnx import helper, numpy_helper

    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    arrays = {"W": np.ones((1, gates * size, 5), "float32"), "R": np.ones((1, gates * size, size), "float32")}
    node = helper.make_node(kind, ["x", *arrays], ["out"], hidden_size=hidden_size)
    given = [numpy_helper.from_array(a, name) for name, a in arrays.items()]
    x, out = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", (steps, 4, 5)), ("out", (steps, 1, 4, size))))
    graph = helper.make_graph([node], "g", [x], [out], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_has_the_size_of_its_weights(kind, path):
    """Zeros of the claimed size would be made first."""
    assert outcome(path, recurrent_model(kind, 2))
    assert not outcome(path, recurrent_model(kind, 10**9))
    assert not outcome(path, recurrent_model(kind, 1))


def test_a_layer_that_is_unrolled_has_few_steps(path):
    assert outcome(path, recurrent_model("LSTM", 2, steps=5000))
    assert not outcome(path, recurrent_model("GRU", 2, steps=5000))


def test_a_split_has_as_many_parts_as_outputs(path):
    from onnx import helper

    def model(number):
        node = helper.make_node("Split", ["x"], ["a", "b"], num_outputs=number)
        values = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", (3,)), ("a", (2,)), ("b", (1,)))]
        graph = helper.make_graph([node], "g", values[:1], values[1:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()

    assert outcome(path, model(2))
    assert not outcome(path, model(2**31))
