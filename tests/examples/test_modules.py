"""Networks as symbols: composed, bound and trained by `Module`; and both ways of programming in one loop."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd, sym

ROWS = np.random.RandomState(0).normal(size=(60, 4)).astype(np.float32)
CLASSES = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(np.float32)


@pytest.fixture(autouse=True)
def fresh_names():
    """Automatic names count from 0 in each test."""
    with mx.name.NameManager():
        yield


def perceptron():
    hidden = sym.Activation(sym.FullyConnected(sym.Variable("data"), num_hidden=16, name="fc1"), act_type="tanh", name="tanh")
    return sym.SoftmaxOutput(sym.FullyConnected(hidden, num_hidden=2, name="fc2"), name="softmax")


def batches():
    return mx.io.NDArrayIter(ROWS, CLASSES, batch_size=20)


# a two-layer perceptron and its names


def test_automatic_names_count_by_operator():
    net = sym.FullyConnected(sym.Activation(sym.FullyConnected(sym.Variable("data"), num_hidden=128), act_type="relu"), num_hidden=10)
    assert net.list_arguments() == [
        "data",
        "fullyconnected0_weight",
        "fullyconnected0_bias",
        "fullyconnected1_weight",
        "fullyconnected1_bias",
    ]
    assert net.list_outputs() == ["fullyconnected1_output"]


def test_explicit_names_give_their_variables_names():
    assert perceptron().list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "softmax_label"]
    assert perceptron().list_outputs() == ["softmax_output"]


def test_a_net_is_composed_with_another():
    front = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="front")
    back = sym.FullyConnected(sym.Variable("input"), num_hidden=2, name="back")
    both = back(input=front, name="both")
    assert both.list_arguments() == ["data", "front_weight", "front_bias", "back_weight", "back_bias"]
    assert back.list_arguments() == ["input", "back_weight", "back_bias"]
    draw = np.random.RandomState(0)
    shapes = dict(zip(both.list_arguments(), both.infer_shape(data=(5, 4))[0], strict=True))
    values = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    out = both.eval(**{name: nd.array(value) for name, value in values.items()})[0].asnumpy()
    hidden = values["data"] @ values["front_weight"].T + values["front_bias"]
    np.testing.assert_allclose(out, hidden @ values["back_weight"].T + values["back_bias"], rtol=1e-5)


# bind and simple_bind


def test_bind_computes_on_arrays_that_stay_the_callers():
    a, b = sym.Variable("a"), sym.Variable("b")
    x, y, dx = nd.array([1, 2, 3]), nd.array([4, 5, 6]), nd.zeros((3,))
    executor = (a * b).bind(mx.cpu(), args={"a": x, "b": y}, args_grad={"a": dx})
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [4, 10, 18]
    executor.backward(nd.ones((3,)))
    assert dx.asnumpy().tolist() == [4, 5, 6]
    x[:] = 10
    assert executor.forward()[0].asnumpy().tolist() == [40, 50, 60]


def test_simple_bind_makes_the_arrays_from_the_shape_of_the_data():
    executor = perceptron().simple_bind(mx.cpu(), data=(20, 4))
    assert {name: array.shape for name, array in executor.arg_dict.items()} == {
        "data": (20, 4),
        "fc1_weight": (16, 4),
        "fc1_bias": (16,),
        "fc2_weight": (2, 16),
        "fc2_bias": (2,),
        "softmax_label": (20,),
    }
    executor.forward(data=nd.array(ROWS[:20]))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.full((20, 2), 0.5))  # all weights are zero


# checkpoints


def test_checkpoints_by_callback_and_training_that_goes_on_from_the_best(tmp_path):
    prefix, figures = tmp_path / "net", []
    mx.random.seed(0)
    module = mx.mod.Module(perceptron())
    module.fit(
        batches(),
        eval_data=batches(),
        eval_metric="ce",
        num_epoch=6,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 2.0},
        epoch_end_callback=mx.callback.do_checkpoint(prefix),
        eval_end_callback=lambda param: figures.append(param.eval_metric.get()[1]),
    )
    assert sorted(file.name for file in tmp_path.glob("*[ns]")) == [*(f"net-000{k}.params" for k in range(1, 7)), "net-symbol.json"]
    best = int(np.argmin(figures)) + 1

    symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, best)
    again = mx.mod.Module(symbol)
    again.bind(batches().provide_data, batches().provide_label)
    again.init_params(arg_params=arg_params, aux_params=aux_params)
    assert again.score(batches(), "ce")[0][1] == pytest.approx(min(figures), rel=1e-5)

    again = mx.mod.Module(symbol)
    again.fit(
        batches(),
        begin_epoch=best,
        num_epoch=best + 20,
        arg_params=arg_params,
        aux_params=aux_params,
        optimizer_params={"learning_rate": 0.2},
    )
    assert again.score(batches(), "ce")[0][1] < min(figures)


def test_momentum_goes_on_where_it_was_saved(tmp_path):
    options = {"optimizer_params": {"learning_rate": 0.5, "momentum": 0.9}}
    straight, first = mx.mod.Module(perceptron()), mx.mod.Module(perceptron())
    start = {"initializer": mx.init.One()}
    straight.fit(batches(), num_epoch=2, **start, **options)
    first.fit(batches(), num_epoch=1, **start, **options)
    first.save_checkpoint(tmp_path / "net", 1, save_optimizer_states=True)
    second = mx.mod.Module.load(tmp_path / "net", 1, load_optimizer_states=True)
    with pytest.warns(UserWarning, match="already initialized"):
        second.fit(batches(), begin_epoch=1, num_epoch=2, **options)
    for name, value in straight.get_params()[0].items():
        np.testing.assert_allclose(second.get_params()[0][name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)


# both ways of programming


@pytest.mark.parametrize("devices", ["cpu", "gpus"])
def test_gradients_by_symbols_and_updates_by_statements(request, devices):
    context = mx.cpu() if devices == "cpu" else request.getfixturevalue("gpus")[1]
    executor = perceptron().simple_bind(context, data=(60, 4), softmax_label=(60,))
    draw = np.random.RandomState(1)
    for name, array in executor.arg_dict.items():
        if name.endswith("weight"):
            array[:] = draw.normal(scale=0.5, size=array.shape)
    executor.arg_dict["data"][:], executor.arg_dict["softmax_label"][:] = ROWS, CLASSES
    learnt = [name for name in executor.arg_dict if name not in ("data", "softmax_label")]
    velocity = {name: nd.zeros(executor.arg_dict[name].shape, ctx=context) for name in learnt}
    for step in range(200):
        executor.forward(is_train=True)
        executor.backward()
        for name in learnt:
            velocity[name] *= 0.9
            velocity[name] += executor.grad_dict[name] / len(ROWS)
            executor.arg_dict[name][:] -= (0.5 if step < 150 else 0.1) * velocity[name]
    assert np.mean(executor.forward()[0].asnumpy().argmax(axis=1) == CLASSES) > 0.95


def test_the_same_step_by_statements_and_by_a_module():
    module = mx.mod.Module(perceptron())
    module.bind(batches().provide_data, batches().provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    executor = perceptron().simple_bind(mx.cpu(), data=(20, 4), softmax_label=(20,))
    executor.copy_params_from(module.get_params()[0])
    batch = next(batches())
    module.forward_backward(batch)
    module.update()
    executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
    executor.backward()
    for name, value in module.get_params()[0].items():
        executor.arg_dict[name] -= 0.5 * executor.grad_dict[name] / 20
        np.testing.assert_allclose(executor.arg_dict[name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)
