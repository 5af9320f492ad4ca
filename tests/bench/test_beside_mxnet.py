"""The page beside MXNet: its table, also of tasks that a library lacks, failed or got another result."""

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks.beside_mxnet import TASKS, difference, page, result, table

ROWS = [
    {"name": "a", "load": 1.0, "failed": {}, "twofold": {"cpu": 3.0}, "mxnet": {"cpu": 6.0}, "scipy": {"cpu": 1.5}},
    {"name": "b", "load": 2.0, "failed": {"mxnet": "no such operator"}, "twofold": {"cpu": 4.0, "words": 8000}},
]


def test_the_table_has_times_ratios_and_speeds():
    assert table(ROWS)[2:] == ["| a | 3 | 6 | 1.5 | 0.50 | 2.00 |", "| b | 4, 2000 thousand words/s |  |  |  |  |"]


def test_the_page_names_the_load_and_what_failed():
    text = page(ROWS)
    assert "the load was 1.0 to 2.0" in text.replace("\n", " ")
    assert "* b: mxnet: `no such operator`" in text


def test_results_are_compared_by_their_sums():
    dense = np.arange(12.0).reshape(4, 3)
    other = dense.copy()
    other[2, 1] += 6
    assert difference(result(mx.nd.array(dense).tostype("row_sparse")), result(dense)) == 0
    assert difference(result(other), result(dense)) == pytest.approx(6 / 26)


@pytest.mark.parametrize("name", [name for name in TASKS if "64 x" in name or "lazy" in name])
def test_twofold_and_scipy_compute_the_same(name):
    pytest.importorskip("scipy")
    function, given, _ = TASKS[name]
    runs = function(mx, *given), function(None, *given)
    for _ in range(2):
        ours, theirs = (result(run()) for run in runs)
        assert difference(ours, theirs) < 1e-5
