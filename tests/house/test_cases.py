"""Tests that run many cases: every case runs, every failure is named, and one case can be chosen."""

import subprocess
import sys

from tests.house.sources import ROOT

PROGRAM = """
import pytest
from tests.cases import each

@pytest.fixture
def ten():
    return 10

@pytest.mark.parametrize("factor", [1, 2])
@each("number, text", [(1, "a"), (3, "b"), pytest.param(5, "c", id="five"), (4, "d")], by=lambda number, _: "odd" if number % 2 else "even")
def test_sums(number, text, factor, ten):
    if number == 4:
        pytest.skip("even")
    assert number * factor + ten not in (13, 15, 20), f"a sum {text}"
"""


def outcome(tmp_path, *options):
    path = tmp_path / "test_sums.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    return subprocess.run([*command, str(path), *options], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_a_test_of_many_cases_runs_all_of_them_and_names_those_that_fail(tmp_path):
    text = outcome(tmp_path)
    assert "2 failed, 2 skipped" in text
    assert "2 of 3 cases failed" in text
    assert "8 cases in 4 tests" in text
    for case in ("[3-b-1]", "[five-1]", "[five-2]"):
        assert f"test_sums{case}" in text
    for case in ("[1-a-1]", "[1-a-2]", "[3-b-2]"):
        assert f"test_sums{case}" not in text
    assert "a sum b" in text
    assert "a sum c" in text


def test_a_case_can_be_chosen(tmp_path):
    text = outcome(tmp_path, "--case", "[1-a")
    assert "2 passed, 2 deselected" in text
