"""Executors: forward, backward, requests, states, writes in between, other shapes, monitors, devices."""

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import DTypeError, ParameterError, ShapeError

from tests import probe

sym, nd = mx.sym, mx.nd


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)
    with mx.name.NameManager():
        yield


def filled(executor, seed=0):
    """The executor with random arguments; returns them as NumPy arrays."""
    draw = np.random.default_rng(seed)
    values = {n: draw.normal(size=a.shape).astype(a.dtype) for n, a in executor.arg_dict.items()}
    for name, value in values.items():
        executor.arg_dict[name][:] = value
    return values


def product(grad_req="write"):
    """(an executor of a * b, its arrays) on vectors of 2."""
    arrays = {"a": nd.array([2, 3]), "b": nd.array([5, 7])}
    grads = {n: nd.array([100, 100]) for n in arrays}
    return (sym.var("a") * sym.var("b")).bind(mx.current_context(), arrays, grads, grad_req), arrays


def test_outputs_and_gradients_stay_the_same_objects():
    executor, _ = product()
    output, grad = executor.outputs[0], executor.grad_dict["a"]
    executor.forward(is_train=True)
    executor.backward(nd.array([1, 10]))
    assert executor.outputs[0] is output
    assert executor.grad_dict["a"] is grad
    assert output.asnumpy().tolist() == [10, 21]
    assert grad.asnumpy().tolist() == [5, 70]


@pytest.mark.parametrize(
    ("grad_req", "a", "b"),
    [("write", [5, 7], [2, 3]), ("add", [105, 107], [102, 103]), ("null", [100, 100], [100, 100]), ({"a": "add"}, [105, 107], [100, 100])],
)
def test_grad_req_write_add_and_null(grad_req, a, b):
    executor, _ = product(grad_req)
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == a
    assert executor.grad_dict["b"].asnumpy().tolist() == b


def test_head_gradients_by_name_and_for_some_outputs():
    a = sym.var("a")
    pair = sym.Group([sym.square(a, name="s"), sym.exp(a, name="e")])
    executor = pair.simple_bind(mx.current_context(), a=(1,))
    executor.arg_dict["a"][:] = 3
    executor.forward(is_train=True)
    executor.backward({"s_output": nd.array([2]), "e_output": nd.array([0])})
    assert executor.grad_dict["a"].asnumpy().tolist() == [12]
    executor.backward([nd.array([1])])  # ones for the other output
    np.testing.assert_allclose(executor.grad_dict["a"].asnumpy(), [6 + np.exp(3)], rtol=1e-6)
    with pytest.raises(ShapeError, match="s_output"):
        executor.backward([nd.array([1, 2])])


def test_one_symbol_as_two_outputs_gets_both_head_gradients():
    a = sym.var("a")
    executor = sym.Group([a, a, sym.square(a)]).simple_bind(mx.current_context(), a=(1,))
    executor.forward(is_train=True, a=nd.array([3]))
    executor.backward([nd.array([1]), nd.array([10]), nd.array([100])])
    assert executor.grad_dict["a"].asnumpy().tolist() == [1 + 10 + 600]


def test_backward_without_a_training_forward_runs_one():
    executor, _ = product()
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [5, 7]


def test_backward_twice_gives_the_same():
    dropout = sym.Dropout(sym.var("a"), p=0.5)
    executor = dropout.simple_bind(mx.current_context(), a=(64,))
    executor.forward(is_train=True, a=nd.ones((64,)))
    executor.backward()
    first = executor.grad_dict["a"].asnumpy()
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == first.tolist() == executor.outputs[0].asnumpy().tolist()


def test_an_operand_used_twice_counts_twice():
    a = sym.var("a")
    executor = (a * a + sym.Concat(a, a, dim=0).sum()).simple_bind(mx.current_context(), a=(1,))
    executor.forward(is_train=True, a=nd.array([3]))
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [6 + 2]


def test_a_write_between_forward_and_backward_does_not_change_the_gradient():
    executor, arrays = product()
    executor.forward(is_train=True)
    arrays["b"][:] = 1000
    executor.outputs[0][:] = 1000
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [5, 7]
    assert arrays["b"].asnumpy().tolist() == [1000, 1000]


def test_a_written_output_is_not_what_backward_reads():
    executor = sym.exp(sym.var("a")).simple_bind(mx.current_context(), a=(2,))
    executor.forward(is_train=True)
    executor.outputs[0][:] = 50
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [1, 1]


def test_weights_are_updated_in_place_after_backward():
    from twofold.imperative.counters import COUNTERS

    executor = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc").simple_bind(mx.current_context(), data=(2, 3))
    filled(executor)
    executor.forward(is_train=True)
    executor.backward()
    weight = executor.arg_dict["fc_weight"]
    buffer = probe.data(weight)
    COUNTERS.reset()
    weight[:] = 1
    assert probe.data(weight) is buffer
    assert COUNTERS.copied == COUNTERS.rebound == 0


def test_moving_statistics_are_written_by_backward_only():
    executor = sym.BatchNorm(sym.var("a"), fix_gamma=False, momentum=0.5, name="bn").simple_bind(mx.current_context(), a=(4, 2))
    values = filled(executor)
    mean = executor.aux_dict["bn_moving_mean"]
    executor.forward(is_train=True)
    assert mean.asnumpy().tolist() == [0, 0]
    executor.backward()
    np.testing.assert_allclose(mean.asnumpy(), 0.5 * values["a"].mean(0), rtol=1e-6)
    executor.forward(is_train=False)
    np.testing.assert_allclose(mean.asnumpy(), 0.5 * values["a"].mean(0), rtol=1e-6)


def test_states_that_operators_change_are_written_by_forward():
    weight, grad, momentum = (sym.var(n) for n in ("w", "g", "m"))
    update = sym.sgd_mom_update(weight, grad, momentum, lr=0.5, momentum=0.5)
    assert update.list_auxiliary_states() == ["m"]
    executor = update.bind(mx.current_context(), [nd.array([1]), nd.array([2])], aux_states=[nd.array([4])])
    assert executor.forward()[0].asnumpy().tolist() == [1 + 0.5 * 4 - 0.5 * 2]
    assert executor.aux_dict["m"].asnumpy().tolist() == [0.5 * 4 - 0.5 * 2]


def test_dropout_applies_in_training_only():
    executor = sym.Dropout(sym.var("a"), p=0.5).simple_bind(mx.current_context(), a=(100,))
    executor.arg_dict["a"][:] = 1
    assert executor.forward(is_train=False)[0].asnumpy().tolist() == [1] * 100
    assert set(executor.forward(is_train=True)[0].asnumpy()) == {0, 2}


def test_each_forward_draws_new_numbers_and_a_seed_repeats_them():
    executor = sym.random.uniform(shape=(3,)).bind(mx.current_context(), [])
    draws = []
    for _ in range(2):
        mx.random.seed(7)
        draws.append([executor.forward()[0].asnumpy().tolist() for _ in range(2)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


def test_a_softmax_of_large_logits_has_a_finite_logarithm():
    executor = sym.log(sym.softmax(sym.var("a"))).simple_bind(mx.current_context(), a=(1, 2))
    executor.forward(is_train=True, a=nd.array([[1e4, -1e4]]))
    executor.backward(nd.array([[0, 1]]))
    assert executor.outputs[0].asnumpy().tolist() == [[0, -2e4]]
    assert executor.grad_dict["a"].asnumpy().tolist() == [[-1, 1]]
    assert "1 formula rewritten" in executor.explain()


def test_reshape_shares_arrays_whose_shape_stays():
    executor = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc").simple_bind(mx.current_context(), data=(6, 3))
    smaller = executor.reshape(data=(2, 3))
    assert smaller.arg_dict["fc_weight"] is executor.arg_dict["fc_weight"]
    assert smaller.grad_dict["fc_weight"] is executor.grad_dict["fc_weight"]
    assert smaller.forward()[0].shape == (2, 4)
    with pytest.raises(ShapeError, match="allow_up_sizing"):
        executor.reshape(data=(7, 3))
    with pytest.raises(ShapeError, match=r"fc_weight.*partial_shaping"):
        executor.reshape(data=(6, 2))
    assert executor.reshape(data=(7, 2), allow_up_sizing=True, partial_shaping=True).arg_dict["fc_weight"].shape == (4, 2)


def test_parameters_are_copied_by_name():
    executor = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc").simple_bind(mx.current_context(), data=(1, 2))
    given = {"fc_bias": nd.array([1, 2], dtype="float64"), "other": nd.array([1])}
    with pytest.raises(ParameterError, match='"other"'):
        executor.copy_params_from(given)
    executor.copy_params_from(given, allow_extra_params=True)
    assert executor.arg_dict["fc_bias"].asnumpy().tolist() == [1, 2]
    assert executor.arg_dict["fc_bias"].dtype is np.float32


def test_a_monitor_sees_every_inner_output():
    net = sym.square(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), name="sq")
    executor = net.simple_bind(mx.current_context(), data=(1, 2))
    executor.arg_dict["fc_bias"][:] = 3
    seen = {}
    executor.set_monitor_callback(lambda name, value: seen.update({name: value.asnumpy().tolist()}))
    executor.forward()
    assert seen == {"fc_output": [[3, 3]], "sq_output": [[9, 9]]}
    names = []  # a variable is also reported under its own name each time a node reads it
    executor.set_monitor_callback(lambda name, value: names.append(name), monitor_all=True)
    executor.forward()
    assert names == ["data", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output", "sq_input0", "sq_output"]
    assert [name.decode("utf-8") for name in names] == names  # MXNet's names are bytes


def test_a_monitor_sees_the_same_random_draws():
    executor = sym.Dropout(sym.var("a"), p=0.5, name="d").simple_bind(mx.current_context(), a=(50,))
    seen = []
    executor.set_monitor_callback(lambda name, value: seen.append(value.asnumpy().tolist()))
    executor.forward(is_train=True, a=nd.ones((50,)))
    output, mask = seen
    assert output == mask == executor.outputs[0].asnumpy().tolist()  # of ones, of which the mask keeps some


def test_buckets_share_parameters():
    def net(length):
        return sym.FullyConnected(sym.Reshape(sym.var("data"), shape=(-1, 2)), num_hidden=length, name=f"fc{length}")

    big = net(3).simple_bind(mx.current_context(), data=(4, 2))
    same = net(3).simple_bind(mx.current_context(), data=(2, 2), shared_exec=big, shared_arg_names=["fc3_weight", "fc3_bias"])
    assert same.arg_dict["fc3_weight"] is big.arg_dict["fc3_weight"]
    assert same.grad_dict["fc3_bias"] is big.grad_dict["fc3_bias"]
    assert same.arg_dict["data"] is not big.arg_dict["data"]


def test_a_shared_buffer_is_used_and_filled():
    buffer = {}
    first = sym.exp(sym.var("a")).simple_bind(mx.current_context(), shared_buffer=buffer, a=(2,))
    assert buffer == {"a": first.arg_dict["a"]}
    assert sym.exp(sym.var("a")).simple_bind(mx.current_context(), shared_buffer=buffer, a=(2,)).arg_dict["a"] is first.arg_dict["a"]
    assert sym.exp(sym.var("a")).simple_bind(mx.current_context(), shared_buffer={**buffer}, a=(3,)).arg_dict["a"].shape == (3,)


def test_dtypes_follow_from_type_dict():
    executor = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc").simple_bind(
        mx.current_context(), type_dict={"data": "float64"}, data=(1, 2)
    )
    assert {a.dtype for a in executor.arg_arrays} == {np.float64}
    assert executor.outputs[0].dtype is np.float64


def test_gradients_of_integer_arguments_are_zero():
    embedding = sym.Embedding(sym.var("i"), input_dim=3, output_dim=2, name="e")
    executor = embedding.simple_bind(mx.current_context(), type_dict={"i": "int32"}, i=(2,))
    executor.forward(is_train=True, i=nd.array([1, 1], dtype="int32"))
    executor.backward()
    assert executor.grad_dict["i"].asnumpy().tolist() == [0, 0]
    assert executor.grad_dict["e_weight"].asnumpy().tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize("given", [{"a": (2,)}, {"a": (2,), "b": (3,)}], ids=["too few", "contradicting"])
def test_simple_bind_errors_name_the_problem(given):
    with pytest.raises(ShapeError, match="b"):
        sym.dot(sym.var("a"), sym.var("b"), name="d").simple_bind(mx.current_context(), **given)


def test_two_variables_of_one_name_are_rejected():
    with pytest.raises(ParameterError, match="variables have the same name"):
        (sym.var("a") + sym.var("a")).bind(mx.current_context(), [nd.ones((1,)), nd.ones((1,))])


def test_memory_plans_and_explanations_name_programs():
    executor = sym.square(sym.var("a")).simple_bind(mx.current_context(), a=(4,))
    here = mx.current_context()
    assert set(executor.memory_plan()) == {f"forward on {here}", f"training forward on {here}", f"backward on {here}"}
    assert executor.memory_plan()[f"forward on {here}"].nbytes == 4 * 4 * 2
    assert "square" in executor.explain()


def two_groups():
    with mx.AttrScope(ctx_group="one"):
        first = sym.Activation(sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc1"), act_type="tanh")
    with mx.AttrScope(ctx_group="two"):
        second = sym.FullyConnected(first, num_hidden=3, name="fc2")
        both = sym.broadcast_add(second, sym.sum(first, axis=1, keepdims=True))
    with mx.AttrScope(ctx_group="one"):
        return sym.Group([sym.LinearRegressionOutput(both + 1, sym.var("label"), name="out"), first])


@pytest.mark.parametrize("devices", [(mx.cpu(1), mx.cpu(2)), (mx.gpu(0), mx.gpu(1)), (mx.cpu(0), mx.gpu(1))], ids=str)
def test_groups_on_several_devices_compute_the_same(devices, gpus):
    results = []
    for groups in (None, dict(zip(("one", "two"), devices, strict=True))):
        executor = two_groups().simple_bind(mx.current_context(), group2ctx=groups, data=(5, 6))
        filled(executor)
        executor.forward(is_train=True)
        executor.backward([nd.ones((5, 3)), nd.full((5, 4), 0.5)])
        results.append([a.asnumpy() for a in (*executor.outputs, *executor.grad_arrays)])
        if groups:
            assert executor.arg_dict["fc1_weight"].context == executor.grad_dict["fc1_weight"].context == devices[0]
            assert executor.arg_dict["fc2_weight"].context == devices[1]
    for one, several in zip(*results, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-5, atol=1e-6)


def deep(layers, forced=False):
    x = sym.var("data")
    for k in range(layers):
        x = sym.FullyConnected(x, num_hidden=6, name=f"fc{k}")
        with mx.AttrScope(**({"force_mirroring": "True"} if forced else {})):
            x = sym.Dropout(sym.Activation(x, act_type="tanh", name=f"act{k}"), p=0.25, name=f"drop{k}")
    return sym.SoftmaxOutput(x, name="softmax")


def test_recomputation_saves_memory_and_gives_the_same_bits(monkeypatch):
    kept, results = [], []
    for forced, variable in ((False, "0"), (True, "0"), (False, "1")):
        monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", variable)
        mx.random.seed(3)
        executor = deep(16, forced).simple_bind(mx.current_context(), data=(8, 6))
        filled(executor)
        executor.forward(is_train=True)
        executor.backward()
        kept.append(len(executor._run.parts(True)[0].training.saved))
        results.append([a.asnumpy().tobytes() for a in (*executor.outputs, *executor.grad_arrays)])
    assert results[0] == results[1] == results[2]
    # per layer tanh's and dropout's results; with force_mirroring the matrix product instead; with the variable about the root of 48
    assert kept[0] > 2 * 16
    assert kept[1] < kept[0]
    assert kept[2] <= 8


def test_recomputing_a_branch_with_other_readers(monkeypatch):
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
    a = sym.var("a")
    b = sym.exp(a)
    executor = sym.Group([sym.sin(b) * b, b, sym.BlockGrad(b)]).simple_bind(mx.current_context(), a=(3,))
    executor.arg_dict["a"][:] = [0.1, 0.2, 0.3]
    executor.forward(is_train=True)
    executor.backward([nd.ones((3,))] * 3)
    x = np.exp(np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(executor.grad_dict["a"].asnumpy(), (np.cos(x) * x + np.sin(x) + 1) * x, rtol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: nd.zeros((3,)), ShapeError, r"args_grad for b has a different shape: given \(3,\) for \(2,\)"),
        (lambda: nd.zeros((1, 2)), ShapeError, r"args_grad for b has a different shape: given \(1, 2\) for \(2,\)"),
        (lambda: nd.zeros((2,), dtype="float64"), DTypeError, "args_grad for b has a different dtype: given float64 for float32"),
    ],
)
@pytest.mark.parametrize("request_", ["write", "add"])
def test_a_gradient_array_must_match_its_argument(wrong, error, message, request_):
    arrays, symbol = [nd.ones((2,)), nd.ones((2,))], sym.var("a") * sym.var("b")
    for given in ([nd.zeros((2,)), wrong()], {"b": wrong()}):
        with pytest.raises(error, match=message):
            symbol.bind(mx.current_context(), arrays, args_grad=given, grad_req=request_)
    symbol.bind(mx.current_context(), arrays, args_grad={"b": wrong()}, grad_req="null")  # nothing is written into it


def test_a_context_must_be_an_object():
    for bind in (
        lambda s: s.bind("cpu", [nd.ones((1,))]),
        lambda s: s.simple_bind("cpu", a=(1,)),
        lambda s: s.eval("cpu", a=nd.ones((1,))),
    ):
        with pytest.raises(DTypeError, match="Context type error: given 'cpu'"):
            bind(sym.var("a"))


@pytest.mark.parametrize("training", [False, True])
def test_a_duplicate_output_is_two_arrays(training):
    b = sym.exp(sym.var("a"))
    executor = sym.Group([b, b]).simple_bind(mx.current_context(), a=(2,))
    for _ in range(2):
        first, second = executor.forward(is_train=training)
        first[:] = 7
        assert second.asnumpy().tolist() == [1, 1]
    if training:
        executor.backward()
        assert executor.grad_dict["a"].asnumpy().tolist() == [2, 2]


def test_writing_an_output_read_by_another_device_changes_no_gradient():
    with mx.AttrScope(ctx_group="one"):
        a = sym.var("x") * 2
    with mx.AttrScope(ctx_group="two"):
        b = a * a
    executor = sym.Group([a, b]).simple_bind(mx.current_context(), group2ctx={"one": mx.cpu(0), "two": mx.cpu(1)}, x=(3,))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)[0][:] = 100
    executor.backward([nd.zeros((3,)), nd.ones((3,))])
    assert executor.grad_dict["x"].asnumpy().tolist() == [8, 8, 8]


def test_shapes_that_depend_on_values_are_those_of_each_run():
    chosen = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"))
    assert chosen.infer_shape_partial(x=(3, 2), mask=(3,))[1] == [(0, 2)]
    executor = mx.sym.FullyConnected(chosen, num_hidden=1, no_bias=True, name="fc").simple_bind(mx.cpu(), x=(3, 2), mask=(3,))
    assert executor.outputs[0].shape == (0, 1)
    executor.arg_dict["fc_weight"][:] = [[1, 10]]
    x = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    for mask, expected in (([1, 0, 1], [[21], [65]]), ([0, 1, 0], [[43]]), ([0, 0, 0], [])):
        (out,) = executor.forward(is_train=True, x=x, mask=mx.nd.array(mask))
        assert out.asnumpy().tolist() == expected
        executor.backward(mx.nd.ones(out.shape))
        assert executor.grad_dict["x"].asnumpy().tolist() == [[m, 10 * m] for m in mask]
    seen = []
    executor.set_monitor_callback(lambda name, value: seen.append((name, value.shape)), monitor_all=True)
    executor.forward(mask=mx.nd.array([1, 1, 0]))
    assert ("fc_data", (2, 2)) in seen
    assert ("fc_output", (2, 1)) in seen


def test_a_monitor_sees_hidden_outputs_of_shapes_that_depend_on_values():
    chosen = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"), name="chosen")
    executor = mx.sym.BatchNorm(chosen, name="bn").simple_bind(mx.cpu(), x=(3, 2), mask=(3,))
    seen = {}
    executor.set_monitor_callback(lambda name, value: seen.update({name: value.asnumpy().tolist()}))
    executor.forward(is_train=True, x=mx.nd.array([[1, 2], [3, 4], [5, 6]]), mask=mx.nd.array([1, 0, 1]))
    assert list(seen) == ["chosen_output", "bn_output", "bn_mean", "bn_var"]
    assert seen["bn_mean"] == [3, 4]


def test_shapes_that_depend_on_values_are_not_compiled():
    with pytest.raises(ParameterError, match="compile: shapes that depend on values cannot be compiled: given chosen"):
        mx.compile(mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"), name="chosen"))


@pytest.mark.parametrize("computed", [False, True])
def test_the_slopes_of_a_parametric_relu_get_the_derivative_whatever_computes_its_input(computed):
    """MXNet's graphs write the result over a computed input, and then multiply this gradient by the slopes."""
    x, slopes = sym.var("x"), sym.var("slopes", shape=(1,))
    executor = sym.LeakyReLU(x * 1 if computed else x, slopes, act_type="prelu").simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=nd.array([[-1, 2], [-3, -4]]), slopes=nd.array([0.25]))
    executor.backward([nd.array([[1, 10], [100, 1000]])])
    assert executor.grad_dict["slopes"].asnumpy().tolist() == [-1 - 300 - 4000]
    assert executor.grad_dict["x"].asnumpy().tolist() == [[0.25, 10], [25, 250]]
