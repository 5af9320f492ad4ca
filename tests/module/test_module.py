"""`Module` where MXNet gives no result to compare with: error messages, and what MXNet rejects or gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ParameterError, ShapeError

from tests.module.programs.samples import X, Y, batch, batches, bound, normalized, params, perceptron

if TYPE_CHECKING:
    from pathlib import Path


def features() -> Any:
    """A net without labels."""
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")


# errors


@pytest.mark.parametrize(
    ("action", "advice"),
    [
        (lambda module: module.forward(batch(mx)), r"bind\(\)"),
        (lambda module: module.init_params(), r"bind\(\)"),
        (lambda module: module.get_params(), r"init_params\(\)"),
        (lambda module: module.update(), r"bind\(\)"),
        (lambda module: module.output_shapes, r"bind\(\)"),
        (lambda module: module.install_monitor(mx.mon.Monitor(1)), r"bind\(\)"),
    ],
)
def test_a_module_that_is_not_bound_says_what_to_call(action: Callable[[Any], Any], advice: str) -> None:
    with pytest.raises(MXNetError, match=advice):
        action(mx.mod.Module(perceptron(mx)))


def test_a_module_without_parameters_or_optimizer_says_what_to_call() -> None:
    module = mx.mod.Module(perceptron(mx))
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    with pytest.raises(MXNetError, match=r"init_params\(\)"):
        module.forward(batch(mx))
    module.init_params()
    with pytest.raises(MXNetError, match=r"init_optimizer\(\)"):
        module.update()


def test_backward_of_a_module_for_inference_says_how_to_bind_it() -> None:
    module = bound(mx, for_training=False)
    with pytest.raises(MXNetError, match="for_training=True"):
        module.backward()
    with pytest.raises(MXNetError, match="inputs_need_grad=True"):
        module.get_input_grads()


def test_a_missing_parameter_is_named() -> None:
    module = mx.mod.Module(perceptron(mx))
    module.bind([("data", (4, 4))])
    with pytest.raises(ParameterError, match=r"fc1_bias is not presented.*allow_missing"):
        module.init_params(arg_params={"fc1_weight": mx.nd.ones((5, 4))})


def test_a_parameter_of_another_shape_is_named_with_both_shapes() -> None:
    with pytest.raises(ShapeError, match=r"fc1_bias.*\(6,\).*\(5,\)"):
        bound(mx).set_params(dict(params(mx), fc1_bias=mx.nd.ones((6,))), {})


def test_binding_a_checkpoint_that_lacks_a_parameter_raises(tmp_path: Path) -> None:
    some = {name: value for name, value in params(mx).items() if name != "fc2_bias"}
    mx.model.save_checkpoint(tmp_path / "m", 1, perceptron(mx), some, {})
    module = mx.mod.Module.load(tmp_path / "m", 1)
    with pytest.raises(ParameterError, match="fc2_bias is missing"):
        module.bind([("data", (4, 4))])


def test_a_mismatched_batch_names_the_layer_and_leaves_the_module_usable() -> None:
    module = bound(mx)
    module.forward(batch(mx))
    expected = module.get_outputs()[0].asnumpy()
    with pytest.raises(ShapeError, match="fc1"):
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 7))], [mx.nd.ones((4,))]))
    assert module.data_shapes[0].shape == (4, 4)
    module.forward(batch(mx))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), expected)


def test_a_batch_of_too_few_arrays_is_rejected() -> None:
    with pytest.raises(ParameterError, match="data"):
        bound(mx).forward(mx.io.DataBatch([], [mx.nd.ones((4,))]))


def test_more_devices_than_rows_are_rejected() -> None:
    with pytest.raises(ParameterError, match="2 rows for 3 devices"):
        bound(mx, size=2, context=[mx.cpu(k) for k in range(3)])


def test_a_misspelled_label_is_rejected() -> None:
    with pytest.raises(ParameterError, match="label_names"):
        mx.mod.Module(perceptron(mx)).bind([("data", (4, 4))], [("softmax_labels", (4,))])


# what MXNet rejects


def test_labels_the_symbol_lacks_go_to_metrics_only() -> None:
    module = mx.mod.Module(features(), label_names=None)
    module.bind(batches(mx).provide_data, batches(mx).provide_label, for_training=False)
    module.init_params(mx.init.One())
    expected = np.mean(np.argmax(np.repeat(X.sum(axis=1, keepdims=True), 3, axis=1), axis=1) == Y)
    assert module.score(batches(mx, 5), "acc") == [("accuracy", expected)]


def test_a_training_module_predicts_unlabeled_batches_of_any_size() -> None:
    module = bound(mx)
    module.forward_backward(batch(mx))
    whole = module.predict(X).asnumpy()
    np.testing.assert_allclose(module.predict(X[:3]).asnumpy(), whole[:3], rtol=1e-5)


def test_executors_of_recurring_shapes_are_kept() -> None:
    module = bound(mx)
    module.forward(batch(mx))
    first = module._exec_group.execs
    module.forward(batch(mx, 8, 10))
    assert module._exec_group.execs is not first
    module.forward(batch(mx))
    assert module._exec_group.execs is first


def test_a_monitor_sees_batches_of_every_size() -> None:
    module, monitor = bound(mx), mx.mon.Monitor(1, pattern="fc2_output")
    module.install_monitor(monitor)
    for rows in ((0, 4), (4, 10), (0, 4)):
        monitor.tic()
        module.forward(batch(mx, *rows))
        assert [name for _, name, _ in monitor.toc() if name.endswith("output")] == ["fc2_output"]


def test_a_monitor_lists_each_parameter_once_after_batches_of_other_sizes() -> None:
    module, monitor = bound(mx), mx.mon.Monitor(1, pattern="fc2_weight")
    module.install_monitor(monitor)
    for rows in ((0, 4), (4, 10), (0, 4)):
        monitor.tic()
        module.forward(batch(mx, *rows))
        assert [name for _, name, _ in monitor.toc()] == ["fc2_weight"]


def test_a_custom_store_without_an_optimizer_sums_gradients() -> None:
    class Summing(mx.kv.KVStoreBase):
        type = "summing"

        def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
            for target in out:
                value.copyto(target)

        def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
            total = sum((v.as_in_context(mx.cpu()) for v in value[1:]), value[0].copy())
            for target in value if out is None else out:
                total.copyto(target)

    two, one = bound(mx, context=[mx.cpu(0), mx.cpu(1)]), bound(mx)
    for module, store in ((two, Summing()), (one, None)):
        module.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.5})
        module.forward_backward(batch(mx))
        module.update()
    for name, value in one.get_params()[0].items():
        np.testing.assert_allclose(two.get_params()[0][name].asnumpy(), value.asnumpy(), atol=1e-6)


def test_compressed_gradients_are_multiples_of_the_threshold() -> None:
    module = mx.mod.Module(perceptron(mx), context=[mx.cpu(0), mx.cpu(1)], compression_params={"type": "2bit", "threshold": 0.25})
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(arg_params=params(mx), aux_params={})
    module.init_optimizer(kvstore="device", optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
    module.forward_backward(batch(mx))
    module.update()
    change = (params(mx)["fc2_bias"] - module.get_params()[0]["fc2_bias"]).asnumpy() / 0.25
    np.testing.assert_allclose(change, np.round(change), atol=1e-5)
    assert np.abs(change).max() >= 1


# what MXNet gets wrong


def test_rebinding_keeps_learned_parameters() -> None:
    module = bound(mx)
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    module.forward_backward(batch(mx))
    module.update()
    learnt = module._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy()
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], force_rebind=True)
    np.testing.assert_array_equal(module._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy(), learnt)
    module.forward_backward(batch(mx, 0, 2))
    module.update()
    assert not np.array_equal(module.get_params()[0]["fc1_weight"].asnumpy(), learnt)


def test_get_params_returns_moving_statistics_before_the_first_update() -> None:
    module = bound(mx, normalized(mx))
    module.forward_backward(batch(mx))
    np.testing.assert_allclose(module.get_params()[1]["bn_moving_mean"].asnumpy(), 0.1 * X[:4].mean(axis=0), rtol=1e-4)


def test_a_bias_is_trained_if_only_its_layers_weight_is_fixed() -> None:
    both = [mx.mod.Module(perceptron(mx), fixed_param_names=names) for names in ([], ["fc1_weight"])]
    for module in both:
        module.bind([("data", (4, 4))], [("softmax_label", (4,))])
        module.init_params(arg_params=params(mx), aux_params={})
        module.forward_backward(batch(mx))
    free, fixed = (module._exec_group.execs[0].grad_dict["fc1_bias"].asnumpy() for module in both)
    np.testing.assert_allclose(fixed, free, rtol=1e-6)
    assert np.abs(fixed).min() > 0


def test_no_batch_is_lost_when_only_some_are_evaluated() -> None:
    module, data = bound(mx), batches(mx, 2)
    module.score(data, "acc", num_batch=2)
    outputs = [outs[0].asnumpy() for outs, _, _ in module.iter_predict(data, reset=False)]
    np.testing.assert_allclose(np.concatenate(outputs), module.predict(X).asnumpy()[4:], rtol=1e-5)


# what programs rely on


def test_the_learning_rate_can_change_between_steps() -> None:
    module = bound(mx)
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    module._optimizer.lr = 0.0
    module.forward_backward(batch(mx))
    module.update()
    np.testing.assert_array_equal(module.get_params()[0]["fc1_weight"].asnumpy(), params(mx)["fc1_weight"].asnumpy())


def test_get_params_returns_copies() -> None:
    module = bound(mx)
    module.get_params()[0]["fc2_bias"][:] = 100
    module.forward(batch(mx))
    assert module.get_outputs()[0].asnumpy().max() < 1
    np.testing.assert_array_equal(module.get_params()[0]["fc2_bias"].asnumpy(), params(mx)["fc2_bias"].asnumpy())


def test_parameters_for_more_layers_than_the_symbol_has_are_ignored() -> None:
    """Feature extraction relies on it: MXNet ignores names that the symbol lacks, unless ``allow_missing`` is set."""
    given, extra = {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.ones(3)}, {"top_weight": mx.nd.ones((2, 3))}
    for module in (mx.mod.Module(features(), label_names=None), mx.mod.SequentialModule().add(mx.mod.Module(features(), label_names=None))):
        module.bind([("data", (2, 4))])
        module.set_params(given | extra, {})
        np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), np.ones((3, 4)))
        with pytest.raises(ParameterError, match="top_weight"):
            module.set_params(given | extra, {}, allow_missing=True)


def test_parameters_are_listed_in_the_symbols_order() -> None:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="z")
    module = mx.mod.Module(mx.sym.FullyConnected(x, num_hidden=2, name="a"), label_names=None)
    module.bind([("data", (2, 4))])
    module.init_params()
    assert list(module.get_params()[0]) == ["z_weight", "z_bias", "a_weight", "a_bias"]


@pytest.mark.parametrize("epochs", [1, 2])
def test_an_epoch_without_batches_gives_a_warning(epochs: int) -> None:
    data = mx.io.NDArrayIter(X, Y, batch_size=4)
    assert list(data)  # `fit` does not reset before its first epoch
    with pytest.warns(
        UserWarning, match=r"^fit: epoch 0 had no batches: train_data was at its end, or .*; call its reset\(\) before fit"
    ) as found:
        mx.mod.Module(perceptron(mx)).fit(data, num_epoch=epochs)
    assert len(found) == 1
    assert found[0].filename == __file__


def test_a_bucketing_module_says_which_parameters_are_fixed():
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.BucketingModule(lambda key: (symbol, ["data"], []), default_bucket_key=3, fixed_param_names=["fc_bias"])
    assert module._fixed_param_names == ["fc_bias"]
    assert module._state_names == []


def test_callbacks_read_the_arguments_of_fit():
    """By MXNet's names, as programs of its users do."""
    seen = []

    def keep(param):
        named = param.locals
        seen.append((named["num_epoch"], named["optimizer"], named["eval_data"], named["nbatch"], named["end_of_batch"]))
        assert named["arg_params"] is named["aux_params"] is named["monitor"] is None
        assert named["self"] is module
        assert {"begin_epoch", "data_batch", "initializer", "kvstore", "optimizer_params", "tic", "train_data"} <= named.keys()

    module = mx.mod.Module(perceptron(mx))
    data = mx.io.NDArrayIter(X, Y, len(X) // 2)
    module.fit(data, num_epoch=1, batch_end_callback=keep)
    assert seen == [(1, "sgd", None, 0, False), (1, "sgd", None, 1, True)]
