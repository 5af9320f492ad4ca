"""The reader hands out what was stored: arrays, attributes and errors of the oracle's cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.oracle_values.reader import FOLDER, Case, case_records, load_cases, load_conventions

LARGEST_ARCHIVE = 1_500_000  # bytes


def find(op: str, **attrs: object) -> Case:
    """The first case of an operator with these attributes."""
    return next(case for case in load_cases(op) if case.attrs == attrs)


def test_every_stored_array_can_be_read():
    groups = ("inputs", "outputs", "heads", "gradients", "states_after_forward", "states_after_backward")
    for case in load_cases():
        for group in groups:
            for array in getattr(case, group).in_order():
                assert isinstance(array, np.ndarray), f"{case}: {group}"


def test_names_are_unique():
    names = [record["name"] for record in case_records()]
    assert len(names) == len(set(names))


def test_the_archive_stays_small():
    assert (FOLDER / "values.npz").stat().st_size < LARGEST_ARCHIVE


def test_inputs_and_results_have_the_dtypes_that_are_listed():
    for case in load_cases():
        given = [None if array is None else str(array.dtype) for array in case.positional()]
        assert given == list(case.input_dtypes), case
        assert [str(array.dtype) for array in case.outputs.in_order()] == list(case.output_dtypes), case


def test_a_case_either_has_results_or_an_error():
    for case in load_cases():
        assert bool(case.outputs) == (case.error is None), case


def test_a_gradient_has_the_shape_of_its_input():
    for case in load_cases():
        for position, gradient in case.gradients.items():
            assert gradient.shape == case.inputs[position].shape, case


def test_heads_match_the_outputs():
    for case in load_cases():
        if case.heads:
            assert [a.shape for a in case.heads.in_order()] == [a.shape for a in case.outputs.in_order()], case


def test_sequences_among_attributes_are_tuples():
    assert find("Reshape", shape=(4, 0, 2), reverse=False).outputs[0].shape == (4, 3, 2)


def test_an_optional_input_left_out_is_none():
    case = next(case for case in load_cases("CTCLoss") if len(case.inputs) < case.input_count)
    assert case.positional()[2] is None


def test_sigmoid_is_the_logistic_function():
    case = load_cases("sigmoid")[0]
    expected = 1 / (1 + np.exp(-case.inputs[0]))
    np.testing.assert_allclose(case.outputs[0], expected, rtol=1e-6)
    np.testing.assert_allclose(case.gradients[0], case.heads[0] * expected * (1 - expected), rtol=1e-5)


def test_batch_norm_keeps_its_states_until_backward():
    case = find("BatchNorm", fix_gamma=False, use_global_stats=False)
    mean = case.inputs[3]
    np.testing.assert_array_equal(case.states_after_forward[3], mean)
    expected = 0.9 * mean + 0.1 * case.inputs[0].mean(axis=(0, 2))
    np.testing.assert_allclose(case.states_after_backward[3], expected, rtol=1e-5)


def test_a_refused_case_says_why():
    case = next(case for case in load_cases("Activation") if case.attrs == {"act_type": "swish"})
    assert case.exception == "MXNetError"
    assert case.error is not None
    assert case.error.startswith("Invalid Input: 'swish'")


@pytest.mark.parametrize(("expression", "expected"), [("i / 2", [[0, 1], [1, -2]]), ("i % 3", [[1, 2], [0, 2]])])
def test_a_convention_holds_its_result(expression: str, expected: list):
    row = next(row for row in load_conventions("whole numbers") if row.expression == expression)
    assert row.result["dtype"] == "int32"
    assert row.result["values"] == expected


def test_a_convention_that_raises_names_the_exception():
    row = next(row for row in load_conventions("conversion") if row.expression == "bool(a)")
    assert (row.exception, row.result) == ("ValueError", {})
    assert row.message is not None


def test_nan_in_a_convention_is_a_string_that_float_reads():
    row = next(row for row in load_conventions("assignment") if row.setup.endswith("x[:] = None"))
    assert math.isnan(float(row.result["values"][0][0]))
