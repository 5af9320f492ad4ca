"""The comparison of libraries with MXNet finds what differs, and its page is that of the figures that are kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tools.libraries import page
from tools.libraries.comparison import differences, distance_of_all
from tools.libraries.environment import libraries


def digest(array: np.ndarray, **other: Any) -> dict[str, Any]:
    sums = [float(array.sum()), float(array[::2].sum())]
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "norm": float(np.linalg.norm(array)),
        "projections": sums,
        "strange": 0,
    } | other


def test_equal_arrays_have_no_distance() -> None:
    assert distance_of_all([digest(np.arange(5.0))], [digest(np.arange(5.0))]) == 0


@pytest.mark.parametrize("other", [{"shape": [5, 1]}, {"dtype": "float32"}, {"strange": 2}])
def test_another_shape_dtype_or_number_of_infinities_is_infinitely_far(other: dict[str, Any]) -> None:
    assert distance_of_all([digest(np.arange(5.0), **other)], [digest(np.arange(5.0))]) == float("inf")


def test_a_part_that_differs_is_named_unless_rounding_explains_it() -> None:
    theirs = {"names": ["w"], "outputs": [digest(np.arange(5.0))], "nudged outputs": [digest(np.arange(5.0))]}
    ours = {"names": ["w"], "outputs": [digest(np.arange(5.0) * 1.01)]}
    assert list(differences(ours, theirs)) == ["outputs"]
    assert differences(ours, theirs | {"nudged outputs": [digest(np.arange(5.0) * 1.001)]}) == {}


def test_a_part_agrees_if_ours_does_once_the_inputs_differ_by_rounding() -> None:
    theirs = {"names": [], "gradients": [digest(np.arange(5.0))], "nudged gradients": [digest(np.arange(5.0))]}
    ours = {"names": [], "gradients": [digest(np.arange(5.0) * 1.1)]}
    assert list(differences(ours, theirs)) == ["gradients"]
    assert differences(ours | {"nudged gradients": [digest(np.arange(5.0))]}, theirs) == {}


def test_rounding_is_measured_by_the_graph_where_calls_have_no_gradients() -> None:
    theirs = {"names": [], "gradients": {"error": "targets"}, "hybridized gradients": [digest(np.arange(5.0))]}
    ours = theirs | {"hybridized gradients": [digest(np.arange(5.0) * 1.01)]}
    assert list(differences(ours, theirs)) == ["hybridized gradients"]
    assert differences(ours, theirs | {"nudged hybridized gradients": [digest(np.arange(5.0) * 1.001)]}) == {}


def test_what_mxnet_cannot_do_is_no_difference_and_what_only_it_can_is_one() -> None:
    assert differences({"error": "ours"}, {"error": "theirs"}) == {}
    assert differences({"error": "ours"}, {"names": []}) == {"all": "ours"}
    assert differences({"names": [], "outputs": {"error": "e"}}, {"names": [], "outputs": [digest(np.ones(2))]}) == {"outputs": "e"}


def test_the_page_is_that_of_the_figures() -> None:
    kept = json.loads(page.FIGURES.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.page(kept["results"], kept["about"])


def test_every_library_has_figures() -> None:
    kept = json.loads(page.FIGURES.read_text(encoding="utf-8"))["results"]
    assert {library.title for library in libraries()} == {*kept}
