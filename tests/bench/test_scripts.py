"""The comparison of NumPy scripts: every script is listed, outputs are compared as they should be; no times are asserted."""

import json
import math
import subprocess
import sys

import pytest

from asv_benchmarks.scripts import plot, report
from asv_benchmarks.scripts.__main__ import parse_scripts
from asv_benchmarks.scripts.rounds import ROOT, Result, Runs, difference
from asv_benchmarks.scripts.table import FOLDED, NUMPY, PROGRAMS, REPLACED, SCRIPTS, WAYS


def test_every_script_is_in_the_table():
    assert sorted(s.name for s in SCRIPTS) == sorted(file.stem for file in PROGRAMS.glob("*.py"))
    assert len(SCRIPTS) >= 40
    assert sum(s.chain for s in SCRIPTS) >= 8


@pytest.mark.parametrize(
    ("want", "got", "tolerance", "verdict"),
    [
        ("a 1.5\n", "a 1.5\n", 0, "same"),
        ("a 1.5 nan\n", "a 1.50000000001 nan\n", 1e-9, "close"),
        ("a 1.5\n", "a 1.50000000001\n", 0, "differs"),
        ("a 1.5\n", "a 1.6\n", 1e-9, "differs"),
        ("a 1.5\n", "b 1.5\n", 1, "differs"),
        ("a 1.5\n", "a 1.5\na 1.5\n", 1, "differs"),
        ("[1. 2.]\n", "array([1., 2.])\n", 1, "differs"),
    ],
)
def test_outputs_are_compared_word_by_word_and_number_by_number(want, got, tolerance, verdict):
    assert difference(want, got, tolerance).split(":")[0] == verdict


def test_ratios_are_those_of_medians_and_a_failure_is_reported():
    runs = {
        NUMPY.name: Runs([1.0, 2.0, 9.0], output="1"),
        REPLACED.name: Runs([3.0, 4.0, 1.0], output="1"),
        FOLDED.name: Runs(failure="oh"),
    }
    result = Result(SCRIPTS[0], runs)
    assert result.ratio("np") == 1.5
    assert math.isnan(result.ratio("run"))
    assert "| 1.50 | same |" in report.line(result, WAYS)
    assert report.complaints([result], WAYS) == [f"{SCRIPTS[0].name} by run: stopped: oh"]


def test_groups_and_chains_select_scripts():
    assert {s.group for s in parse_scripts("image")} == {"image"}
    assert all(s.chain for s in parse_scripts("chains"))


def test_the_table_of_a_page_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n")
    report.write_page(page, ["new"])
    assert page.read_text() == f"above\n{report.BEGIN}\nnew\n{report.END}\nbelow\n"


@pytest.mark.ci
def test_a_script_prints_the_same_in_every_way(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "asv_benchmarks.scripts", "--only", "knapsack", "--rounds", "1", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "all results agree" in done.stdout
    record = json.loads(file.read_text())
    assert set(record["scripts"]["knapsack"]["ways"]) == {way.name for way in WAYS}
    plot.draw(record, tmp_path / "picture.svg")
    assert "knapsack" in (tmp_path / "picture.svg").read_text()
