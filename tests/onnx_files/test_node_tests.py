"""ONNX's own tests of nodes: what passes stays passing, and nothing fails but with an error of this package."""

from __future__ import annotations

import re

import pytest

from .node_tests import PAGE, faults, node_tests

#: Every so many tests in `make test-ci`; all of them in `make test-all`.
STEP = 12


@pytest.fixture(scope="module")
def tests():
    import onnx

    made_with = re.search(r"package `onnx` ([0-9.]*[0-9])", PAGE.read_text(encoding="utf-8")).group(1)
    if onnx.__version__ != made_with:
        pytest.skip(f"the page lists the tests of onnx {made_with}, installed is {onnx.__version__}")
    return node_tests()


def listed():
    """The names on the page of tests that do not pass."""
    text = PAGE.read_text(encoding="utf-8")
    return {f"test_{name}" for name in re.findall(r"`(\w+)`", text.partition("by reason")[2])}


def check(tests):
    """Compare with the page."""
    found = faults(tests)
    assert set(found) <= listed(), {n: r for n, r in found.items() if n not in listed()}


@pytest.mark.ci
def test_a_sample_of_the_node_tests_passes_as_documented(tests):
    check(tests[::STEP])


@pytest.mark.slow
def test_all_node_tests_pass_as_documented(tests):
    check(tests)


def test_the_page_counts_what_it_lists():
    text = PAGE.read_text(encoding="utf-8")
    total, passed = (int(n) for n in re.search(r"ships (\d+) tests.*passes\s+(\d+) of them", text, re.S).groups())
    assert total - passed == len(listed())
    assert sum(map(int, re.findall(r"\*\* \((\d+)\)", text))) == total - passed
