"""``TWOFOLD_CHECK=1``: labels and indices out of range raise at the call that is given them, in place of MXNet's silence."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

import twofold as mx
from twofold import autograd, gluon, nd, sym
from twofold.config import SETTINGS
from twofold.errors import IndexingError

from tests.cases import each


@pytest.fixture
def _checks(monkeypatch):
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    monkeypatch.setattr(SETTINGS, "check", True)


def layer(block: gluon.HybridBlock, *arrays: nd.NDArray) -> None:
    """Train a hybridized block."""
    block.initialize()
    block.hybridize()
    with autograd.record():
        out = block(*arrays)
    out.backward()


def fit() -> None:
    """Train a module of two classes with labels 0 and 2."""
    net = sym.SoftmaxOutput(sym.FullyConnected(sym.Variable("data"), num_hidden=2), name="softmax")
    mx.mod.Module(net).fit(mx.io.NDArrayIter(numpy.ones((8, 3)), numpy.array([0, 2] * 4), batch_size=4), num_epoch=1)


ROWS = nd.ones((5, 3))
OUT_OF_RANGE: list[tuple[Callable[[], object], str]] = [
    (
        lambda: nd.Embedding(nd.array([1, 7]), ROWS, input_dim=5, output_dim=3),
        "Embedding: the index is out of range: given 7 at position 1; pass integers from 0 to 4",
    ),
    (lambda: nd.take(ROWS, nd.array([[1, -1]])), "take: the index is out of range: given -1 at position (0, 1); pass integers from 0 to 4"),
    (
        lambda: nd.take(nd.ones((300, 400)), nd.array([299, 300])),
        "take: the index is out of range: given 300 at position 1; pass integers from 0 to 299",
    ),
    (
        lambda: nd.pick(ROWS, nd.array([0, 1, 2, 3, 4])),
        "pick: the index is out of range: given 3 at position 3; pass integers from 0 to 2",
    ),
    (
        lambda: nd.pick(nd.ones(3), nd.array([float("nan")])),
        "pick: the index is out of range: given nan at position 0; pass integers from 0 to 2",
    ),
    (
        lambda: mx.npx.pick(mx.np.ones((2, 3)), mx.np.array([0, 3])),
        "pick: the index is out of range: given 3 at position 1; pass integers from 0 to 2",
    ),
    (
        lambda: nd.softmax_cross_entropy(nd.ones((2, 3)), nd.array([0, 3])),
        "softmax_cross_entropy: the label is out of range: given 3 at position 1; pass integers from 0 to 2",
    ),
    (
        lambda: nd.SoftmaxOutput(nd.ones((2, 3)), nd.array([-1, 3])),
        "SoftmaxOutput: the label is out of range: given -1 at position 0; pass integers from 0 to 2",
    ),
    (fit, "SoftmaxOutput: the label is out of range: given 2 at position 1; pass integers from 0 to 1"),
    (
        lambda: layer(gluon.loss.SoftmaxCrossEntropyLoss(prefix="loss_"), nd.ones((2, 3)), nd.array([0, 3])),
        "loss: pick: the index is out of range: given 3 at position 1; pass integers from 0 to 2",
    ),
    (
        lambda: layer(gluon.nn.Embedding(5, 2, prefix="words_"), nd.array([[0, 5]])),
        "words: Embedding: the index is out of range: given 5 at position (0, 1); pass integers from 0 to 4",
    ),
]


@pytest.mark.usefixtures("_checks")
@each("call, message", OUT_OF_RANGE)
def test_a_label_or_index_out_of_range_raises_at_the_call(call, message):
    with pytest.raises(IndexingError) as found:
        call()
    assert str(found.value) == message


@pytest.mark.usefixtures("_checks")
def test_what_is_in_range_gives_the_same_results():
    indices = nd.array([0, 2.7, -0.5, 4])
    assert nd.take(ROWS, indices).shape == (4, 3)
    assert nd.take(ROWS, nd.array([5, -1]), mode="wrap").shape == (2, 3)
    table = nd.arange(15).reshape((5, 3))
    table.attach_grad()
    with autograd.record():
        out = nd.Embedding(indices, table, input_dim=5, output_dim=3)
    out.backward()
    assert out.asnumpy().tolist() == table.asnumpy()[[0, 2, 0, 4]].tolist()
    assert table.grad.asnumpy()[:, 0].tolist() == [2, 0, 1, 0, 1]


@pytest.mark.usefixtures("_checks")
def test_ignored_labels_and_labels_that_are_probabilities_are_not_checked():
    logits = nd.ones((2, 3))
    assert nd.SoftmaxOutput(logits, nd.array([0, -1]), use_ignore=True).shape == (2, 3)
    assert nd.SoftmaxOutput(logits, nd.ones((2, 3)) * 7).shape == (2, 3)


def test_without_the_setting_results_are_mxnets():
    assert nd.pick(nd.array([[1, 2, 3]]), nd.array([7])).asscalar() == 3
    assert nd.Embedding(nd.array([7]), ROWS, input_dim=5, output_dim=3).shape == (1, 3)
