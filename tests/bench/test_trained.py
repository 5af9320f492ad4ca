"""The networks that are trained beside other libraries: their losses, how they are compared, and the table."""

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks import training
from asv_benchmarks.trained import report, ways
from asv_benchmarks.trained.by_gluon import NETWORKS, trained
from asv_benchmarks.trained.inputs import TASKS


def test_every_task_has_a_network_and_a_title():
    assert set(TASKS) == {*NETWORKS, "dcgan"}
    assert set(report.TITLES) == {*TASKS, "gpt_step"}
    assert "gpt_step" in training.ROWS


@pytest.mark.parametrize("name", ["word2vec", "fm"])
def test_a_step_returns_the_loss_before_it_and_lowers_it(name):
    net = trained(mx, name)
    first = net.step()
    assert first == pytest.approx([np.log(2)], rel=1e-2)
    assert net.step() < first


def test_weights_that_are_taken_start_the_same_training():
    net = trained(mx, "word2vec")
    weights = net.weights()
    losses = [net.step() for _ in range(3)]
    net.take(weights)
    assert [net.step() for _ in range(3)] == losses


def test_losses_that_differ_are_refused():
    ways.check("torch", [[1.0], [0.5]], [[1.0], [0.501]], 1e-2)
    with pytest.raises(AssertionError, match="losses of torch and twofold"):
        ways.check("torch", [[1.0], [0.5]], [[1.0], [0.52]], 1e-2)


def test_the_table_has_times_ratios_and_memory_of_what_was_measured():
    found = {
        "lstm": {"twofold": (0.2, 0.3), "torch": (0.25, 0.5), "mxnet": (0.4, 0.4)},
        "gpt_step": {"twofold": (0.5, 0.5), "jax.jit": (1.0, 1.0)},
        "memory": {"lstm": {"twofold": 100.4, "torch": 120.0, "mxnet": 90.0}},
    }
    lines = report.table(found)
    assert lines[2] == f"| {TASKS['lstm'].title} | 200 ms | 1.25 |  |  | 2.00 | 100 / 120 / - / 90 |"
    assert lines[3] == f"| {report.TITLES['gpt_step']} | 500 ms |  |  | 2.00 |  |  |"
