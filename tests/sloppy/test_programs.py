"""Careless programs run as on the real MXNet (values.json, written by make_values.py); where it has to guess, one warning says so."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import MXNetError

from tests.oracle_programs import difference
from tests.sloppy.outcomes import outcome
from tests.sloppy.programs import all_programs

PROGRAMS = all_programs()
EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
#: What MXNet runs and Twofold refuses, with the reason.
REFUSED = {
    "gradients.head_gradient_of_another_shape": "MXNet reads beyond the memory of the head gradient",
    "batches.batch_size_of_zero": "MXNet only creates the iterator, and never ends an epoch of it",
    "blocks.negative_sizes": "MXNet only creates the layer, and cannot run it",
    "training.optimizer_with_text": "MXNet only creates the optimizer, and fails in the first update",
    "symbols.bind_with_a_gradient_of_another_shape": "MXNet writes as much of the gradient as fits, or beyond the array",
}
#: What MXNet refuses or crashes on, and Twofold runs: the reason is a row of docs/reference/compatibility.md.
RUNS = {
    "arrays.float_num_hidden",
    "arrays.float_kernel",
    "arrays.float_axis",
    "arrays.float_shape_of_uniform",
    "arrays.float_shape_of_a_normal",
    "arrays.float_repeats",
    "arrays.float_begin_of_slice",
    "arrays.float_depth_of_one_hot",
    "arrays.numpy_shape",
    "arrays.bool_as_a_number",
    "gradients.head_gradient_of_another_dtype",
    "batches.shorter_labels_discarded",
    "batches.namedtuple_of_data",
    "batches.batches_of_a_users_class_in_predict",
    "batches.batch_of_numpy_arrays",
    "batches.labels_as_a_column",
    "batches.numpy_array_in_predict",
    "symbols.simple_bind_with_a_float_shape",
    "symbols.simple_bind_with_a_list",
    "symbols.infer_shape_of_a_list",
    "symbols.load_of_extra_params",
    "scripts.context_as_text",
}
MARK = "TWOFOLD_STRICT=1 makes this an error"


def run(name: str) -> tuple[dict[str, Any], list[warnings.WarningMessage]]:
    """A program's outcome, and the warnings that it issued."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        found = outcome(PROGRAMS[name], mx)
    return found, issued


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if "returns" in e and n not in REFUSED])
def test_what_mxnet_runs_is_run_with_the_same_result(name: str) -> None:
    found, _ = run(name)
    assert "returns" in found, found
    assert difference(found["returns"], EXPECTED[name]["returns"], 2e-5) is None


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if "raises" in e and n not in RUNS])
def test_what_mxnet_refuses_is_caught_by_the_same_classes(name: str) -> None:
    found, _ = run(name)
    assert set(EXPECTED[name]["raises"]) <= set(found.get("raises", ())), found


def test_the_lists_of_differences_are_exact() -> None:
    assert {n for n in REFUSED if "raises" in run(n)[0]} == {n for n in REFUSED if "returns" in EXPECTED[n]} == set(REFUSED)
    assert {n for n in RUNS if "returns" in run(n)[0]} == {n for n in RUNS if "raises" in EXPECTED[n]} == set(RUNS)
    assert [n for n, e in EXPECTED.items() if "crashes" in e] == ["gradients.marks_of_two_lengths"]


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(PROGRAMS)


def tolerated() -> list[str]:
    """The programs with which MXNet goes on although it cannot have been meant."""
    return [name for name in PROGRAMS if any(MARK in str(w.message) for w in run(name)[1])]


def test_a_warning_names_the_line_of_the_program() -> None:
    names = tolerated()
    assert len(names) > 40
    for name in names:
        issued = [w for w in run(name)[1] if MARK in str(w.message)]
        place = sys.modules[f"tests.sloppy.programs.{name.partition('.')[0]}"].__file__
        assert {(w.filename, w.category) for w in issued} == {(place, UserWarning)}, name


def test_each_of_them_is_an_error_if_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tolerated()
    monkeypatch.setattr(SETTINGS, "strict", True)
    for name in names:
        with warnings.catch_warnings(action="ignore"), pytest.raises(MXNetError):
            PROGRAMS[name](mx)


def test_a_line_warns_once_under_pythons_default_filter() -> None:
    x = mx.nd.array([4.0])
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("default")
        for _ in range(3):
            mx.nd.sqrt(x, foo=1)
    assert [w.lineno for w in issued] == [test_a_line_warns_once_under_pythons_default_filter.__code__.co_firstlineno + 5]


def test_a_function_of_no_parameters_ignores_what_it_is_given_and_one_of_some_does_not() -> None:
    x = mx.nd.array([4.0])
    with pytest.warns(UserWarning, match=r"sqrt: there is no parameter: given foo, bar"):
        assert mx.nd.sqrt(x, foo=1, bar=2).asscalar() == 2
    with pytest.raises(MXNetError, match="Cannot find argument"):
        mx.nd.clip(x, 0, 1, foo=1)
