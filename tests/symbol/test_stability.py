"""Formulas written out in small operators are stabilized in symbols, hybridized and compiled graphs; others are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd

sym = mx.sym

#: Logits and a label whose probability is 0 in float32: its logarithm is the difference of the logits, -20000.
HUGE = np.array([[1e4, -1e4, 0]], "float32")
LABEL = np.array([1], "float32")

Formula = Callable[[Any, Any, Any], Any]


def quotient(F, p):
    return F.broadcast_div(F.exp(p), F.sum(F.exp(p), axis=1, keepdims=True))


#: Negative logarithms of the probability of the label: 20000, with the gradient (1, -1, 0).
CROSS_ENTROPIES: dict[str, Formula] = {
    "pick": lambda F, p, k: -F.log(F.pick(F.softmax(p), k)),
    "pick of the quotient": lambda F, p, k: -F.log(F.pick(quotient(F, p), k)),
    "one_hot": lambda F, p, k: -F.log(F.sum(F.softmax(p) * F.one_hot(k, depth=3), axis=1)),
    "one_hot first, of the whole": lambda F, p, k: -F.log(F.sum(F.one_hot(k, depth=3) * F.softmax(p))),
    "comparison": lambda F, p, k: (
        -F.log(F.sum(F.softmax(p) * F.broadcast_equal(F.reshape(k, shape=(-1, 1)), F.reshape(F.arange(3), shape=(1, 3)))))
    ),
    "slice_axis": lambda F, p, k: -F.log(F.slice_axis(F.softmax(p), axis=1, begin=1, end=2)),
    "slice": lambda F, p, k: -F.log(F.slice(F.softmax(p), begin=(0, 1), end=(1, 2))),
    "reshape": lambda F, p, k: -F.pick(F.log(F.reshape(F.softmax(p), shape=(3, 1))), k, axis=0),
    "transpose": lambda F, p, k: -F.pick(F.log(F.transpose(F.softmax(p))), k, axis=0),
    "expand_dims": lambda F, p, k: -F.pick(F.log(F.expand_dims(F.softmax(p), axis=0)), F.expand_dims(k, axis=0)),
    "squeeze": lambda F, p, k: -F.log(F.squeeze(F.slice_axis(F.softmax(p), axis=1, begin=1, end=2), axis=1)),
    "take": lambda F, p, k: -F.log(F.take(F.softmax(p), k, axis=1)),
    "batch_take": lambda F, p, k: -F.log(F.batch_take(F.softmax(p), F.cast(k, dtype="int32"))),
    "gather_nd": lambda F, p, k: -F.log(F.gather_nd(F.softmax(p), F.stack(F.zeros_like(k), k))),
    "split": lambda F, p, k: -F.log(F.split(F.softmax(p), num_outputs=3, axis=1)[1]),
    "concat": lambda F, p, k: -F.log(F.slice_axis(F.concat(F.softmax(p), F.softmax(p), dim=1), axis=1, begin=4, end=5)),
    "broadcast": lambda F, p, k: -F.mean(F.pick(F.log(F.broadcast_axis(F.softmax(p), axis=0, size=4)), F.tile(k, reps=4))),
    "flip": lambda F, p, k: -F.pick(F.log(F.flip(F.flip(F.softmax(p), axis=1), axis=1)), k),
    "a number times": lambda F, p, k: -F.log(F.pick(F.softmax(p), k) * 2) + np.log(2),
    "SoftmaxActivation": lambda F, p, k: -F.pick(F.log(F.SoftmaxActivation(p)), k),
    "softmin": lambda F, p, k: -F.pick(F.log(F.softmin(-p)), k),
    "lengths": lambda F, p, k: -F.log(F.pick(F.softmax(p, F.cast(k + 2, dtype="int32"), use_length=True), k)),
    "log2": lambda F, p, k: -F.log2(F.pick(F.softmax(p), k)) * np.log(2),
    "log10": lambda F, p, k: -F.log10(F.pick(F.softmax(p), k)) * np.log(10),
}

#: Functions of logits at 10000, -10000 and 0, their values and gradients there.
BINARY: dict[str, tuple[Formula, list[float], list[float]]] = {
    "log of Activation": (lambda F, p, k: F.log(F.Activation(p, act_type="sigmoid")), [0, -1e4, -np.log(2)], [0, 1, 0.5]),
    "log of sigmoid": (lambda F, p, k: F.log(F.sigmoid(p)), [0, -1e4, -np.log(2)], [0, 1, 0.5]),
    "log of the formula": (lambda F, p, k: F.log(1 / (1 + F.exp(-p))), [0, -1e4, -np.log(2)], [0, 1, 0.5]),
    "log of the reciprocal": (lambda F, p, k: F.log(F.reciprocal(1 + F.exp(-p))), [0, -1e4, -np.log(2)], [0, 1, 0.5]),
    "log of the other formula": (lambda F, p, k: F.log(F.exp(p) / (1 + F.exp(p))), [0, -1e4, -np.log(2)], [0, 1, 0.5]),
    "log of the rest": (lambda F, p, k: F.log(1 - F.sigmoid(p)), [-1e4, 0, -np.log(2)], [-1, 0, -0.5]),
    "log of the rest of a part": (
        lambda F, p, k: F.log(1 - F.reshape(F.sigmoid(p), shape=(3,))),
        [-1e4, 0, -np.log(2)],
        [-1, 0, -0.5],
    ),
    "log1p of the negative": (lambda F, p, k: F.log1p(-F.sigmoid(p)), [-1e4, 0, -np.log(2)], [-1, 0, -0.5]),
    "softplus": (lambda F, p, k: F.log1p(F.exp(p)), [1e4, 0, np.log(2)], [1, 0, 0.5]),
    "the logistic function": (lambda F, p, k: 1 / (1 + F.exp(-p)), [1, 0, 0.5], [0, 0, 0.25]),
    "log of exp": (lambda F, p, k: F.log(F.exp(p)), [1e4, -1e4, 0], [1, 1, 1]),
}

#: Formulas outside the table, which are not rewritten.
OTHERS: dict[str, Formula] = {
    "an output that makes its own gradient": lambda F, p, k: F.log(F.SoftmaxOutput(p, k)),
    "a stable sum": lambda F, p, k: F.log(F.softmax(p) + 1e-8),
    "a factor with a gradient": lambda F, p, k: F.log(F.sum(F.softmax(p) * (p * p))),
    "a choice": lambda F, p, k: F.log(F.where(p > 0, p, F.ones_like(p))),
    "no exponential": lambda F, p, k: F.log(F.reshape(p * p + 1, shape=(-1,))),
}


def hybridized(formula: Formula, data: np.ndarray, label: np.ndarray, active: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """(value, gradient of its sum) of a block."""

    class Block(gluon.HybridBlock):
        def hybrid_forward(self, F, p, k):
            return F.broadcast_add(formula(F, p, k), 0 * F.sum(k))

    block = Block()
    block.hybridize(active)
    x = nd.array(data)
    x.attach_grad()
    with autograd.record():
        y = block(x, nd.array(label))
    y.backward()
    return y.asnumpy().ravel(), x.grad.asnumpy().ravel()


def executed(formula: Formula, data: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """(value, gradient of its sum, first line of `explain`) of an executor."""
    arrays = {"p": nd.array(data), "l": nd.array(label)}
    symbol = formula(sym, sym.var("p"), sym.var("l"))
    given = {name: arrays[name] for name in symbol.list_arguments()}
    executor = symbol.bind(mx.current_context(), given, {"p": nd.zeros(data.shape)}, {n: "write" if n == "p" else "null" for n in given})
    y = executor.forward(is_train=True)[0]
    executor.backward(nd.ones_like(y))
    return y.asnumpy().ravel(), executor.grad_dict["p"].asnumpy().ravel(), executor.explain().splitlines()[0]


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_a_cross_entropy_of_huge_logits_is_their_difference(name):
    for value, gradient, *_ in (hybridized(CROSS_ENTROPIES[name], HUGE, LABEL), executed(CROSS_ENTROPIES[name], HUGE, LABEL)):
        np.testing.assert_allclose(value, [2e4], rtol=1e-6)
        np.testing.assert_allclose(gradient, [1, -1, 0], rtol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_a_logistic_formula_of_huge_logits_is_finite(name):
    formula, want, slope = BINARY[name]
    for value, gradient, *_ in (hybridized(formula, HUGE, LABEL), executed(formula, HUGE, LABEL)):
        np.testing.assert_allclose(value, want, rtol=1e-6)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)


@pytest.mark.parametrize("name", [*CROSS_ENTROPIES, *BINARY])
def test_a_rewritten_formula_computes_the_same_function(name):
    """For small logits it gives the results of the individual operators."""
    formula = CROSS_ENTROPIES.get(name) or BINARY[name][0]
    data = np.array([[0.5, -1.25, 2]], "float32")
    for got, want in zip(hybridized(formula, data, LABEL), hybridized(formula, data, LABEL, active=False), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_other_formulas_are_not_rewritten(name):
    data = np.array([[0.5, -1.25, 2]], "float32")
    value, gradient, first = executed(OTHERS[name], data, LABEL)
    assert "rewritten" not in first
    for got, want in zip((value, gradient), hybridized(OTHERS[name], data, LABEL, active=False), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_explain_counts_the_formulas():
    p, k = sym.var("p"), sym.var("l")
    arrays = {"p": nd.array(HUGE), "l": nd.array(LABEL)}
    both = sym.Group([sym.log(sym.pick(sym.softmax(p), k)), sym.log(1 - sym.sigmoid(p))])
    assert both.bind(mx.current_context(), arrays).explain().startswith("2 formulas rewritten to stable ones\n")


def test_a_compiled_symbol_is_stable():
    loss = mx.compile(CROSS_ENTROPIES["pick"](sym, sym.var("p"), sym.var("l")))
    assert loss(p=nd.array(HUGE), l=nd.array(LABEL)).asnumpy().tolist() == [2e4]


def test_imperative_code_is_not_rewritten():
    with np.errstate(all="ignore"):
        assert CROSS_ENTROPIES["pick"](nd, nd.array(HUGE), nd.array(LABEL)).asnumpy().tolist() == [np.inf]


def test_an_out_of_range_label_has_probability_0():
    value, _ = hybridized(CROSS_ENTROPIES["one_hot"], HUGE, np.array([7], "float32"))
    assert value.tolist() == [np.inf]


def test_log_sum_exp_of_infinities_is_infinite():
    formula = sym.log(sym.sum(sym.exp(sym.var("x")), axis=1))
    value = formula.eval(x=nd.array([[np.inf, 0], [-np.inf, -np.inf]]))[0].asnumpy()
    assert value.tolist() == [np.inf, -np.inf]


def test_bodies_of_loops_are_rewritten():
    out, _ = sym.contrib.foreach(lambda x, s: (sym.log(sym.softmax(x)), s), sym.var("x"), [])
    executor = out.bind(mx.current_context(), {"x": nd.array([[1e4, -1e4], [0, 0]])})
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), [[0, -2e4], [-np.log(2)] * 2], rtol=1e-6)
    assert "1 formula rewritten" in executor.explain()


def test_a_users_own_gradient_is_kept():
    @mx.op("own_probability")
    def probability(xp, data):
        return xp.exp(data) / xp.sum(xp.exp(data))

    @probability.grad
    def _(xp, dout):
        return dout * 0

    probability.sample(lambda draw: draw(draw.real((3,)), gradient=False))
    symbol = sym.log(sym.own_probability(sym.var("y")))
    executor = symbol.bind(mx.current_context(), {"y": nd.array([1, 2, 3])}, {"y": nd.zeros((3,))})
    executor.forward(is_train=True)
    executor.backward(nd.ones((3,)))
    assert executor.grad_dict["y"].asnumpy().tolist() == [0, 0, 0]


def test_a_long_product_is_searched_quickly():
    x = sym.var("x")
    for _ in range(40):
        x = x * x
    assert sym.log(x).eval(x=nd.array([1]))[0].asnumpy().tolist() == [0]
