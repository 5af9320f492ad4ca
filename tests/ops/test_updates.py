"""Updates of many weights: master weights, schedules, unusual calls, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.program import compile as compilation


def test_the_master_weight_of_lamb_is_updated():
    weight, step = mx.nd.array([1, 2], dtype="float16"), mx.nd.array([0.5, -0.5])
    master = mx.nd.array([1, 2])
    norm = mx.nd.array([2])
    mx.nd.mp_lamb_update_phase2(weight, step, norm, norm, master, lr=0.5, out=weight)
    assert weight.asnumpy().tolist() == master.asnumpy().tolist() == [0.75, 2.25]


def test_updates_of_several_weights_return_them():
    one, two = mx.nd.array([1, 2]), mx.nd.array([[3]])
    first, second = mx.nd.multi_sgd_update(one, one, two, two, lrs=(0.5, 0.1), wds=(0, 0), num_weights=2)
    assert first.asnumpy().tolist() == [0.5, 1]
    np.testing.assert_allclose(second.asnumpy(), [[2.7]], rtol=1e-6)


def test_group_adagrad_has_one_sum_per_row():
    weight, grad, history = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 3], [2, 2]]), mx.nd.array([[4], [0]])
    new = mx.nd.contrib.group_adagrad_update(weight, grad, history, lr=0.1, epsilon=0)
    assert history.asnumpy().tolist() == [[9], [4]]
    np.testing.assert_allclose(new.asnumpy(), [[1 - 0.1 / 3, 2 - 0.1], [2.9, 3.9]], rtol=1e-6)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_schedule_of_several_weights_compiles_nothing(monkeypatch, in_place):
    weights, grad = [mx.nd.ones((300, 300)) for _ in range(2)], mx.nd.ones((300, 300))

    def step(rate):
        arrays = [x for w in weights for x in (w, grad)]
        out = {"out": weights} if in_place else {}
        found = mx.nd.multi_sgd_update(*arrays, lrs=(rate, 2 * rate), wds=(rate, 0), num_weights=2, **out)
        return [w.asnumpy() for w in found]

    for k in range(6):
        step(0.1 + k)
    made: list[object] = []
    original = compilation.Program.__init__
    monkeypatch.setattr(compilation.Program, "__init__", lambda self, *args, **kw: made.append(args) or original(self, *args, **kw))
    for k in range(3):
        step(0.7 + k)
    assert made == []


def test_symbols_update_the_states_of_several_weights():
    names = ["w0", "g0", "m0", "w1", "g1", "m1"]
    symbol = mx.sym.multi_sgd_mom_update(*map(mx.sym.Variable, names), lrs=(0.5, 1), wds=(0, 0), momentum=0.5, num_weights=2)
    args = {n: mx.nd.array([2.0]) for n in names if n[0] != "m"}
    states = {n: mx.nd.array([4.0]) for n in names if n[0] == "m"}
    bound = symbol.bind(mx.current_context(), args, aux_states=states)
    assert [x.asnumpy().tolist() for x in bound.forward()] == [[3], [2]]
    assert {n: x.asnumpy().tolist() for n, x in bound.aux_dict.items()} == {"m0": [1], "m1": [0]}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: mx.nd.multi_sgd_update(x, x, x, x, lrs=(1,), wds=(0, 0), num_weights=2), "lrs needs one number for each weight"),
        (lambda x: mx.nd.multi_sgd_update(x, x, x, x, lrs=(1, 1), wds=(0, 0)), "number of arrays is wrong"),
        (lambda x: mx.nd.multi_sgd_update(x, x, wds=(0,)), "Required parameter lrs"),
        (lambda x: mx.nd.multi_sgd_update(lrs=(1,), wds=(0,)), "arrays are missing"),
        (lambda x: mx.nd.reset_arrays(x, num_arrays=2), "num_arrays is not the number of arrays"),
        (lambda x: mx.nd.all_finite(x.astype("int32")), "floating-point"),
    ],
)
def test_bad_calls_are_explained(call, says):
    with pytest.raises(mx.MXNetError, match=says):
        call(mx.nd.ones((2,)))
