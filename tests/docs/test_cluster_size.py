"""The page on sizes of clusters has the picture and the tables that the code gives."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from statistics import median
from typing import Any

import pytest

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(HOW_TO / "cluster_size.py"))


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return json.loads((HOW_TO / "cluster-size.json").read_text(encoding="utf-8"))


def test_the_picture_is_up_to_date(script: dict[str, Any]) -> None:
    assert script["picture"]() == (HOW_TO / "cluster-size.svg").read_text(encoding="utf-8")


def test_the_tables_are_up_to_date(script: dict[str, Any], figures: dict[str, Any]) -> None:
    page = (HOW_TO / "cluster-size.md").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->\n|" in page for name in script["TABLES"])
    assert script["with_tables"](page, figures) == page


def test_a_table_replaces_the_old_one(script: dict[str, Any], figures: dict[str, Any]) -> None:
    old = "".join(f"before {name}\n<!-- {name} -->\nold\n<!-- end of {name} -->\nafter\n" for name in script["TABLES"])
    new = script["with_tables"](old, figures)
    assert "\nold\n" not in new
    assert f"before measured\n<!-- measured -->\n{script['measured'](figures)}\n<!-- end of measured -->\nafter\n" in new


def test_three_quarters_of_the_measured_sums_are_within_a_fifth_of_the_forecast(script: dict[str, Any], figures: dict[str, Any]) -> None:
    found = [median(cell) for cell in script["ratios"](figures).values()]
    assert sum(abs(ratio - 1) <= 0.2 for ratio in found) >= 0.75 * len(found)


def test_all_measured_steps_are_within_a_fifth_of_the_forecast(script: dict[str, Any], figures: dict[str, Any]) -> None:
    steps = script["step_cells"](figures)
    assert {workers for _, workers in steps} == {2, 3, 4, 6, 8}
    found = {key: median(cell["measured"] / cell["predicted"] for cell in cells) for key, cells in steps.items()}
    assert {key: ratio for key, ratio in found.items() if abs(ratio - 1) > 0.2} == {}


def test_a_simulated_cluster_is_the_one_that_is_kept(script: dict[str, Any], figures: dict[str, Any]) -> None:
    for workers, servers in ((4, 1), (16, 4)):
        assert script["play"](workers, servers) in figures["simulated"]
