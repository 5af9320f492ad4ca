"""Tables that the documentation prints from what they describe."""

from __future__ import annotations

import re

import pytest

printed = pytest.importorskip("printed")


def test_the_table_of_suites_has_the_numbers_of_the_pages_that_it_names():
    rows = [line.strip("| ").split(" | ") for line in "\n".join(printed.suites_table()).split("\n") if re.match(r"\| [A-Z]", line)]
    counts = {row[0]: [int(cell.replace(",", "")) for cell in row[1:3]] for row in rows}
    assert list(counts) == ["Public names of MXNet 1.9.1", "NumPy's own tests, on folding arrays", "ONNX's tests of single nodes"]
    assert all(0 < passing <= total for passing, total in counts.values())


def test_a_number_that_a_page_does_not_state_is_an_error():
    with pytest.raises(printed.ExtensionError, match="mend the pattern"):
        printed.number("README.md", r"([0-9]+) unicorns")
