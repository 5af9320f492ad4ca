"""The summary of seconds per suite, in a run of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.sources import ROOT
from tests.suite_seconds import suite_of, table


def test_a_test_belongs_to_its_folder_below_tests():
    assert suite_of("tests/formats/deep/test_params.py::test_a[x/y]") == "formats"
    assert suite_of("tests/test_readme.py::test_a") == "tests"


def test_a_suite_over_its_budget_says_so_and_the_slowest_comes_first():
    lines = table({"fast": 1.0, "slow": 9.0}, {"default": 5, "fast": 0.5})
    assert lines == ["slow                      9.0 s of    5  over budget", "fast                      1.0 s of    0  over budget"]


@pytest.mark.ci
def test_the_table_precedes_the_last_line_with_several_workers():
    command = [sys.executable, "-m", "pytest", "-n", "2", "-k", "belongs_to_its_folder", "tests/house/test_suite_seconds.py"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "1 passed" in lines[-1]
    assert lines[-2].startswith("house ")
    assert "seconds per suite" in lines[-3]
