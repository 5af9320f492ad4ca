"""Parameters of operators in files: any number is refused or works, in bounded time and memory."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError
from twofold.opdef import find
from twofold.opdef.params import MOST_COUNT, MOST_LAYERS, literal

from tests.symbol.hostile_parameters import outcome

ROOT = Path(__file__).parents[2]
PER_OPERATOR = 1 + int(os.environ.get("FUZZ_CASES", "300")) // 100
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.mark.fuzz
def test_any_parameter_of_any_operator_in_a_file_is_refused_or_works() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.symbol.hostile_parameters", str(SEED), str(PER_OPERATOR)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=1200)
    *bad, totals = done.stdout.splitlines()
    counts = ast.literal_eval(totals)
    assert not bad, "\n".join(bad)
    # neither all refused, nor all harmless
    assert min(counts["accepted"], counts["refused"]) > 50 * PER_OPERATOR


@pytest.mark.parametrize(
    ("name", "params", "shapes"),
    [
        ("RNN", {"num_layers": MOST_LAYERS + 1, "state_size": 2, "mode": "lstm"}, [(2, 1, 2)]),
        ("SliceChannel", {"num_outputs": MOST_COUNT + 1}, [(2, 4)]),
        ("LRN", {"nsize": 10**9}, [(1, 4, 2, 2)]),
        ("_npi_diff", {"n": 10**9}, [(4,)]),
        ("_npi_tensordot_int_axes", {"axes": 10**9}, [(2,), (2,)]),
        ("multi_sgd_mom_update", {"num_weights": 10**12, "lrs": (0.1,), "wds": (0.0,)}, [(2,), (2,), (2,)]),
        ("Pooling", {"kernel": (2**64, 2)}, [(1, 1, 4, 4)]),
        ("Correlation", {"max_displacement": 10**9, "pad_size": 10**9}, [(1, 1, 4, 4), (1, 1, 4, 4)]),
        ("_npi_pad", {"pad_width": ((10**9, 0),), "mode": "reflect"}, [(4,)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_counts_beyond_their_bounds_are_refused_at_once(name: str, params: dict[str, object], shapes: list[tuple[int, ...]]) -> None:
    nodes = [{"op": "null", "name": f"x{k}", "inputs": [], "attrs": {"__shape__": str(shape)}} for k, shape in enumerate(shapes)]
    places = [*range(len(shapes))]
    nodes.append({"op": name, "name": "node", "attrs": {k: str(v) for k, v in params.items()}, "inputs": [[k, 0, 0] for k in places]})
    graph = {"nodes": nodes, "arg_nodes": places, "heads": [[len(places), 0, 0]]}
    assert outcome(json.dumps(graph)) == "refused"


def test_integers_have_64_bits() -> None:
    assert find("expand_dims").bind(axis=2**63 - 1).params["axis"] == 2**63 - 1
    for axis in (2**63, -(2**63) - 1, str(10**30)):
        with pytest.raises(ParameterError, match="64 bits"):
            find("expand_dims").bind(axis=axis)


def test_an_operator_on_fewer_weights_than_it_names_is_refused() -> None:
    weight, grad, momentum = (mx.sym.var(name) for name in "wgm")
    with pytest.raises(ParameterError, match="number of arrays"):
        mx.sym.multi_sgd_mom_update(weight, grad, momentum, lrs=(0.1, 0.1), wds=(0, 0), num_weights=2)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_inserting_and_deleting_at_slices_agree_with_numpy(size: int) -> None:
    array = np.arange(2 * size, dtype="float32").reshape(size, 2)
    row = np.array([[7, 8]], "float32")
    for start in (None, 0, 1, 3, -2):
        for stop in (None, 2, 5, -1):
            for step in (None, 1, 2, 3, -1, -2):
                where = slice(start, stop, step)
                np.testing.assert_array_equal(mx.np.delete(mx.np.array(array), where, axis=0).asnumpy(), np.delete(array, where, axis=0))
                got = mx.np.insert(mx.np.array(array), where, mx.np.array(row), axis=0)
                np.testing.assert_array_equal(got.asnumpy(), np.insert(array, where, row, axis=0))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
@pytest.mark.parametrize("width", [(1, 0), (0, 3), (9, 17)])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_padding_wider_than_the_axis_agrees_with_numpy(mode: str, width: tuple[int, int], size: int) -> None:
    array = np.arange(size, dtype="float32")
    np.testing.assert_array_equal(mx.np.pad(mx.np.array(array), (width,), mode=mode).asnumpy(), np.pad(array, (width,), mode=mode))


@pytest.mark.parametrize("text", ["(" + "1, -2L, 3.5, 1e2, " * 10_000 + ")", "[" + "1,.5," * 10_000 + "7 ]"])
def test_a_long_tuple_of_numbers_takes_memory_in_proportion(text):
    wanted = ast.literal_eval(text.replace("L", ""))
    tracemalloc.start()
    try:
        found = literal(text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found, [*map(type, found)]) == (wanted, [*map(type, wanted)])
    assert most < 50 * len(text)


@pytest.mark.parametrize("text", ["(" + "1," * 9000 + "x)", "(" * 20_000 + ")" * 20_000, "9" * 20_000, "(" + "1,(2,)," * 9000 + ")"])
def test_a_long_text_that_is_no_tuple_of_numbers_is_refused(text):
    with pytest.raises(ValueError, match="neither a number nor a tuple of numbers"):
        literal(text)
