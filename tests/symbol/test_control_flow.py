"""Loops and branches in symbols: the imperative ones' results and gradients, inference through bodies, JSON, random draws."""

import json
import re

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError, ShapeError
from twofold.symbol.inference import Inference

nd, sym = mx.nd, mx.sym
X, S, W = np.array([[0, 1], [2, 3], [4, 5]], "f4"), np.ones(2, "f4"), np.array([2, 3], "f4")


def loop(api, x, s, w):
    outputs, last = api.contrib.foreach(lambda d, state: (d * w + state, state + d), x, s)
    return outputs, last


def bound(symbol, grads=True, **arrays):
    args = {k: nd.array(v) for k, v in arrays.items()}
    return symbol.bind(mx.current_context(), args, args_grad={k: nd.zeros(v.shape) for k, v in args.items()} if grads else None)


def test_foreach_without_states_has_a_gradient():
    outputs, _ = sym.contrib.foreach(lambda d, states: (sym.square(d), states), sym.var("x"), [])
    executor = outputs.bind(mx.current_context(), {"x": nd.array([[1, 2], [3, 4]])}, {"x": nd.zeros((2, 2))})
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [[1, 4], [9, 16]]
    executor.backward(nd.ones((2, 2)))
    assert executor.grad_dict["x"].asnumpy().tolist() == [[2, 4], [6, 8]]


def test_foreach_equals_the_imperative_loop_with_gradients():
    arrays = [nd.array(a) for a in (X, S, W)]
    for a in arrays:
        a.attach_grad()
    with mx.autograd.record():
        want = loop(nd, *arrays)
    mx.autograd.backward(list(want))
    executor = bound(sym.Group(loop(sym, sym.var("x"), sym.var("s"), sym.var("w"))), x=X, s=S, w=W)
    got = executor.forward(is_train=True)
    executor.backward()
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy())
    for name, a in zip("xsw", arrays, strict=True):
        np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), a.grad.asnumpy())


def test_the_work_of_inference_is_linear_in_the_depth_of_loops(monkeypatch: pytest.MonkeyPatch):
    visits = []
    visit = Inference._visit
    monkeypatch.setattr(Inference, "_visit", lambda self, node, probing: visits.append(node) or visit(self, node, probing))

    def step(depth):
        if depth == 0:
            return lambda row, states: (row + states[0], [row * states[0]])
        return lambda row, states: mx.sym.contrib.foreach(step(depth - 1), mx.sym.expand_dims(row, 0), states)

    counts = []
    for depth in (2, 4, 8):
        loop = mx.sym.contrib.foreach(step(depth), mx.sym.var("data"), [mx.sym.var("state")])[0]
        visits.clear()
        assert loop.infer_shape(data=(2, 3), state=(3,))[1] == [(2, *[1] * depth, 3)]
        counts.append(len(visits))
    assert counts[2] - counts[1] <= 3 * (counts[1] - counts[0])


def test_shapes_are_inferred_through_a_body_both_ways():
    x, s = sym.var("x"), sym.var("s")

    def body(d, state):
        dense = sym.FullyConnected(sym.reshape(d, shape=(1, -1)), num_hidden=3, name="fc")
        return dense, state

    outputs, _ = sym.contrib.foreach(body, x, s)
    arguments, results, _ = outputs.infer_shape(x=(4, 2), s=(1,))
    shapes = dict(zip(outputs.list_arguments(), arguments, strict=True))
    assert (shapes["fc_weight"], shapes["fc_bias"], results) == ((3, 2), (3,), [(4, 1, 3)])


def test_a_body_can_read_values_computed_outside():
    x, s = sym.var("x"), sym.var("s")
    total = sym.sum(x * 2)
    outputs, _ = sym.contrib.foreach(lambda d, state: (sym.broadcast_add(d, total), state), x, s)
    (got,) = bound(outputs, x=X, s=S).forward()
    np.testing.assert_allclose(got.asnumpy(), X + 30)


def test_a_data_dependent_trip_count_recompiles_nothing():
    i, s, w = sym.var("i"), sym.var("s"), sym.var("w")
    outputs, last = sym.contrib.while_loop(
        lambda i, s: i < 3, lambda i, s: (sym.broadcast_add(i, s * w), [i + 1, s * 2]), [i, s], max_iterations=5
    )
    executor = bound(sym.Group([outputs, *last]), i=[0.0], s=[1.0, 2.0], w=[1.0, 1.0])
    got = [a.asnumpy() for a in executor.forward()]
    np.testing.assert_allclose(got[0], [[1, 2], [3, 5], [6, 10], [0, 0], [0, 0]])
    np.testing.assert_allclose(got[1], [3])
    np.testing.assert_allclose(got[2], [8, 16])
    shorter = [a.asnumpy() for a in executor.forward(i=nd.array([2.0]))]
    np.testing.assert_allclose(shorter[0], [[3, 4], [0, 0], [0, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize(("chosen", "want"), [(1.0, [2, 3]), (0.0, [2, 2])])
def test_cond_runs_the_chosen_branch(chosen, want):
    p, x, w, s = (sym.var(n) for n in "pxws")
    result = sym.contrib.cond(p, lambda: x * w, lambda: x + s)
    executor = bound(result, p=[chosen], x=S, w=W, s=S)
    (got,) = executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(got.asnumpy(), want)
    np.testing.assert_allclose(executor.grad_dict["w"].asnumpy(), [chosen, chosen])
    np.testing.assert_allclose(executor.grad_dict["s"].asnumpy(), [1 - chosen, 1 - chosen])


def test_variables_of_one_name_in_bodies_are_one_variable():
    result = sym.contrib.cond(sym.var("p") > 0, lambda: sym.var("a") * 2, lambda: sym.var("a") + 1)
    assert result.list_arguments() == ["p", "a"]
    executor = bound(result, p=[1], a=S)
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), 2 * np.asarray(S))
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["a"].asnumpy(), [2, 2])


def test_variables_of_one_name_in_and_around_loops_are_one_variable():
    step = lambda i, s: (i + sym.sum(sym.var("x")), s * sym.var("w") + sym.var("w"))  # noqa: E731
    outputs, state = sym.contrib.foreach(step, sym.var("x"), sym.var("s"))
    both = sym.Group([outputs, state])
    assert both.list_arguments() == ["x", "s", "w"]
    got = [a.asnumpy() for a in bound(both, x=np.array([1, 2]), s=S, w=W).forward()]
    np.testing.assert_allclose(got[0], [[4], [5]])
    np.testing.assert_allclose(got[1], (np.asarray(S) * W + W) * W + W)
    counted, _ = sym.contrib.while_loop(lambda i: i < sym.var("m"), lambda i: (i + sym.var("m"), [i + 1]), [sym.var("i")], max_iterations=3)
    assert counted.list_arguments() == ["i", "m"]
    np.testing.assert_allclose(bound(counted, i=[1], m=[3]).forward()[0].asnumpy(), [[4], [5], [0]])


def test_inner_variables_are_named_after_the_outputs_that_they_stand_for():
    a, b, d = (sym.var(n) for n in "abd")
    parts = sym.split(a, 2, name="z")
    seen = []

    def step(i, states):
        seen.extend(s.name for s in (*i, *states))
        return i[0] + i[1], [2 * s for s in states]

    sym.contrib.foreach(step, [d, parts[1]], [a, b])
    assert seen == ["d-0", "z-1", "a-0", "b-0"]


def test_states_from_the_node_of_a_result_are_copies():
    def step(i, states):
        total = i + states[0]
        return total, [states[1], total]

    result, states = sym.contrib.foreach(step, sym.var("d"), [sym.var("a"), sym.var("b")])
    inner = json.loads(result.tojson())["nodes"][-1]["subgraphs"][0]["nodes"]
    assert [node["op"] for node in inner if node["op"] != "null"] == ["elemwise_add", "_copy", "_copy"]
    executor = bound(sym.Group([result, *states]), d=[[1, 2], [3, 4]], a=S, b=W)
    got = [x.asnumpy() for x in executor.forward()]
    first = np.add([1, 2], S)
    np.testing.assert_allclose(got[0], [first, np.add([3, 4], W)])
    np.testing.assert_allclose(got[1:], [first, np.add([3, 4], W)])


def test_bodies_have_names_of_their_own_in_the_whole_process():
    def scopes():
        with mx.name.NameManager():
            outer, _ = sym.contrib.foreach(
                lambda i, s: sym.contrib.foreach(lambda j, t: (j + 1, t), i, s, name="inner"), sym.var("d"), sym.var("s"), name="outer"
            )
        text = outer.tojson().replace("\\", "")
        return sorted(set(re.findall(r'"__subgraph_name__": "([^"]*)"', text)))

    first, second = scopes(), scopes()
    number = int(first[0].removeprefix("outer"))
    assert first == [f"outer{number}", f"outer{number}$inner0"]
    assert second == [f"outer{number + 1}", f"outer{number + 1}$inner0"]


def test_each_step_draws_new_numbers_and_a_seed_repeats_them():
    outputs, _ = sym.contrib.foreach(lambda d, state: (sym.Dropout(d, p=0.5), state), sym.var("x"), sym.var("s"))
    executor = bound(outputs, x=np.ones((4, 30)), s=S)
    mx.random.seed(3)
    first = executor.forward(is_train=True)[0].asnumpy()
    mx.random.seed(3)
    np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), first)
    assert len({row.tobytes() for row in first}) == 4


def test_a_loop_round_trips_through_json():
    graph = sym.Group(loop(sym, sym.var("x"), sym.var("s"), sym.var("w")))
    text = graph.tojson()
    again = sym.load_json(text)
    assert again.tojson() == text
    for a, b in zip(bound(graph, x=X, s=S, w=W).forward(), bound(again, x=X, s=S, w=W).forward(), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


@pytest.mark.oracle
def test_the_real_mxnet_runs_our_json(oracle, tmp_path):
    graph = sym.Group(loop(sym, sym.var("x"), sym.var("s"), sym.var("w")))
    path = tmp_path / "loop.json"
    graph.save(str(path))
    program = f"""
import mxnet as mx
s = mx.sym.load({str(path)!r})
e = s.bind(mx.current_context(), dict(x=mx.nd.array({X.tolist()}), s=mx.nd.ones(2), w=mx.nd.array({W.tolist()})))
print([a.asnumpy().tolist() for a in e.forward()])
"""
    want = [a.asnumpy().tolist() for a in bound(graph, x=X, s=S, w=W).forward()]
    assert str(want) in oracle(program)


@pytest.mark.parametrize("computed", [False, True], ids=["a variable", "a computed value"])
@pytest.mark.parametrize(
    ("goes_on", "step"),
    [
        (lambda x, i, b: i < 3, lambda x, i, b: ([x], [x * 2 + b, i + 1])),
        (lambda x, i, b: x.sum() < 30 + b.sum(), lambda x, i, b: ([x], [x * 2, i + 1])),
    ],
    ids=["the body reads it", "the test reads it"],
)
def test_a_value_outside_that_is_the_first_of_a_loop_variable_stays_as_it_is(goes_on, step, computed):
    def repeated(api, b):
        b = b * 3 if computed else b
        variables = [b, api.zeros((1,))]
        _, (x, i) = api.contrib.while_loop(lambda x, i: goes_on(x, i, b), lambda x, i: step(x, i, b), variables, max_iterations=8)
        return x, i

    given = nd.array([[3]])
    given.attach_grad()
    with mx.autograd.record():
        want = repeated(nd, given)
    want[0].backward()
    symbol = sym.load_json(sym.Group(repeated(sym, sym.var("b"))).tojson())
    executor = bound(symbol, b=given.asnumpy())
    got = executor.forward(is_train=True)
    executor.backward([nd.ones((1, 1)), nd.zeros((1,))])
    assert [g.asnumpy().tolist() for g in got] == [w.asnumpy().tolist() for w in want]
    assert executor.grad_dict["b"].asnumpy().tolist() == given.grad.asnumpy().tolist()


def test_a_predicate_of_several_elements_is_refused_in_words():
    x = sym.var("x")
    with pytest.raises(ShapeError, match=r"cond: the predicate has one element: given shape \(3,\)"):
        sym.contrib.cond(x > 0, lambda: x, lambda: -x).eval(x=nd.ones((3,)))


def test_a_loop_without_a_bound_is_rejected():
    with pytest.raises(ParameterError, match="max_iterations"):
        sym.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), sym.var("i"))


@pytest.mark.parametrize("api", [nd, sym])
def test_errors_say_what_a_body_must_return(api):
    x, s = (sym.var("x"), sym.var("s")) if api is sym else (nd.array(X), nd.array(S))
    for returned, shown in ((3, "int"), ((x, x, x), "3 of them")):
        with pytest.raises(ParameterError, match=f"foreach: the body must return a pair, outputs and new states: given {shown}"):
            api.contrib.foreach(lambda d, state, r=returned: r, x, s)
    with pytest.raises(ParameterError, match="while_loop: func must return a pair, outputs and new states: given int"):
        api.contrib.while_loop(lambda v: api.sum(v) < 100, lambda v: 3, [s], max_iterations=2)


def _branch(x, s, w):
    return sym.contrib.cond(sym.sum(s) > 1, lambda: sym.sin(s * w), lambda: sym.cos(s))


def _walk(x, s, w):
    outputs, (_, last) = sym.contrib.while_loop(
        lambda i, s: i < 3, lambda i, s: (s * w, [i + 1, sym.sin(s * w)]), [sym.sum(s) * 0, s], max_iterations=5
    )
    return sym.sum(outputs, axis=0) + last


def _scan(x, s, w):
    outputs, last = loop(sym, sym.tanh(x), s, w)
    return sym.sum(outputs, axis=0) * last


@pytest.mark.parametrize("graph", [_branch, _walk, _scan])
@pytest.mark.parametrize("way", ["compiled", "hybridized", "watched"])
def test_a_recorded_loop_has_gradients_of_any_order(graph, way):
    symbol = graph(sym.var("x"), sym.var("s"), sym.var("w"))
    names = symbol.list_arguments()
    if way == "compiled":
        compiled = mx.compile(symbol)
        run = lambda *arrays: compiled(**dict(zip(names, arrays, strict=True)))  # noqa: E731
    else:
        run = mx.gluon.SymbolBlock(symbol, [sym.var(name) for name in names])
        if way == "watched":
            run.register_op_hook(lambda *value: None)

    def penalty(s):
        given = {"x": nd.array(X / 5, dtype="float64"), "s": nd.array(s, dtype="float64"), "w": nd.array(W / 3, dtype="float64")}
        given["s"].attach_grad()
        with mx.autograd.record():
            (gradient,) = mx.autograd.grad(run(*(given[name] for name in names)), [given["s"]], create_graph=True)
            total = (gradient * gradient).sum()
        total.backward()
        return total.asscalar(), given["s"].grad.asnumpy()

    start, step = np.array([0.7, 0.9]), 1e-6
    numeric = [(penalty(start + step * e)[0] - penalty(start - step * e)[0]) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(penalty(start)[1], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_symbol_of_a_gradient_is_a_block(recorded):
    x = sym.var("x")
    block = mx.gluon.SymbolBlock(sym.square(x).grad(["x"]), x)
    data = nd.array([1, 2, 3])
    if recorded:
        data.attach_grad()
        with mx.autograd.record():
            y = block(data)
        y.backward()
        assert data.grad.asnumpy().tolist() == [2, 2, 2]
    else:
        y = block(data)
    assert y.asnumpy().tolist() == [2, 4, 6]


def _masked_total(F, x):
    return F.sum(F.contrib.boolean_mask(x, x > 0))


@pytest.mark.parametrize(
    "outputs",
    [
        lambda x, s: mx.sym.contrib.foreach(lambda d, total: (_masked_total(mx.sym, d), total), x, s)[0],
        lambda x, s: mx.sym.contrib.while_loop(
            lambda k, d: k < 2, lambda k, d: (_masked_total(mx.sym, d), [k + 1, d]), [s, x], max_iterations=3
        )[0],
    ],
    ids=["foreach", "while_loop"],
)
def test_a_body_whose_shapes_depend_on_values_is_refused_in_words(outputs):
    found = outputs(mx.sym.Variable("x"), mx.sym.Variable("s"))
    found = found[0] if isinstance(found, list) else found
    with pytest.raises(ValueError, match=r"in its body the shape of a result depends on values.*boolean_mask"):
        found.eval(x=mx.nd.ones((3,)), s=mx.nd.zeros((1,)))


def test_a_hybridized_body_whose_shapes_depend_on_values_is_refused_in_words():
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, s):
            return F.contrib.foreach(lambda d, total: (_masked_total(F, d) + total, total), x, s)[0]

    x, s = mx.nd.ones((2, 3)), mx.nd.zeros((1,))
    block = Block()
    assert block(x, s).asnumpy().tolist() == [[3], [3]]
    block.hybridize()
    with pytest.raises(ValueError, match=r"run it on arrays without hybridizing"):
        block(x, s)
