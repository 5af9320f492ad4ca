"""Buckets, sequences and Python modules, where MXNet gives no result to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ParameterError

from tests.module.programs.samples import X, Y, batches, params, perceptron


def nets(key: str) -> Any:
    """Nets of two weights, a and b: both, both in reverse order, or the first alone; the loss is the sum of the output."""
    out = mx.sym.Variable("data")
    for name in {"both": "ab", "turned": "ba", "first": "a"}[key]:
        out = mx.sym.dot(out, mx.sym.Variable(f"{name}_weight", shape=(4, 4)))
    return mx.sym.MakeLoss(mx.sym.sum(out, axis=1), name="loss"), ("data",), None


def bucket(key: Any, **kwargs: Any) -> mx.io.DataBatch:
    kwargs.setdefault("provide_data", [("data", (2, 4))])
    return mx.io.DataBatch([mx.nd.array(X[:2])], None, bucket_key=key, pad=0, **kwargs)


def bucketing(generate: Any = nets, key: Any = "both") -> mx.mod.BucketingModule:
    module = mx.mod.BucketingModule(generate, default_bucket_key=key)
    module.bind([("data", (2, 4))])
    return module


@pytest.mark.parametrize("key", ["turned", "first"])
def test_buckets_update_their_parameters_by_name(key: str) -> None:
    values = params(mx, {"a_weight": (4, 4), "b_weight": (4, 4)})
    module = bucketing()
    module.init_params(arg_params=values, aux_params={})
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9, "rescale_grad": 1.0})
    a, b, x = values["a_weight"].asnumpy(), values["b_weight"].asnumpy(), X[:2]
    ones = np.ones((2, 4), "float32")
    grads = {"turned": ((x @ b).T @ ones, x.T @ (ones @ a.T)), "first": (x.T @ ones, np.zeros((4, 4)))}[key]
    module.forward_backward(bucket(key))
    module.update()
    learnt = module.get_params()[0]
    np.testing.assert_allclose(learnt["a_weight"].asnumpy(), a - 0.5 * grads[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(learnt["b_weight"].asnumpy(), b - 0.5 * grads[1], rtol=1e-4, atol=1e-5)


def test_a_bucket_with_its_own_parameters_is_rejected() -> None:
    module = bucketing(key="first")
    module.init_params()
    with pytest.raises(ParameterError, match="b_weight"):
        module.forward(bucket("both"))


def test_a_batch_of_a_new_bucket_without_data_descriptions_is_rejected() -> None:
    module = bucketing()
    module.init_params()
    with pytest.raises(ParameterError, match="provide_data"):
        module.forward(bucket("first", provide_data=None))


def test_a_batch_without_a_bucket_is_for_the_current_one() -> None:
    module = mx.mod.BucketingModule(lambda key: (perceptron(mx), ["data"], ["softmax_label"]), default_bucket_key=1)
    module.bind([("data", (4, 4))], [("softmax_label", (4,))], for_training=False)
    module.set_params(params(mx), {})
    plain = mx.mod.Module(perceptron(mx))
    plain.bind([("data", (4, 4))], for_training=False)
    plain.set_params(params(mx), {})
    np.testing.assert_array_equal(module.predict(batches(mx)).asnumpy(), plain.predict(batches(mx)).asnumpy())


def test_symbols_of_buckets_can_be_given_in_a_dict() -> None:
    symbols = {key: nets(key) for key in ("both", "first")}
    values = params(mx, {"a_weight": (4, 4), "b_weight": (4, 4)})
    module = mx.mod.BucketingModule.load_dict(symbols, default_bucket_key="both", arg_params=values)
    module.bind([("data", (2, 4))], for_training=False)
    module.forward(bucket("first"))
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), (X[:2] @ values["a_weight"].asnumpy()).sum(axis=1), rtol=1e-5)
    with pytest.raises(ParameterError, match="turned"):
        module.forward(bucket("turned"))


def test_a_monitor_watches_buckets_that_come_later() -> None:
    module, monitor = bucketing(), mx.mon.Monitor(1, pattern="loss_output")
    module.init_params()
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(bucket("first"))
    assert [name for _, name, _ in monitor.toc()] == ["loss_output"]


def test_bucket_keys_that_cannot_be_saved_are_rejected(tmp_path: Any) -> None:
    module = bucketing()
    module.init_params()
    with pytest.raises(ParameterError, match="integers"):
        module.save_checkpoint(tmp_path / "b", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_loss_in_python_can_be_a_subclass() -> None:
    class Squares(mx.mod.PythonLossModule):
        def _backward_impl(self) -> None:
            self._scores_grad = self._scores - mx.nd.one_hot(self._labels, 4)

    module = Squares()
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.forward(mx.io.DataBatch([mx.nd.array(X[:2])], [mx.nd.array(Y[:2])]), is_train=True)
    module.backward()
    np.testing.assert_allclose(module.get_input_grads()[0].asnumpy(), X[:2] - np.eye(4)[Y[:2].astype(int)], rtol=1e-5)


def test_a_loss_in_python_without_a_gradient_says_what_to_define() -> None:
    module = mx.mod.PythonLossModule()
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.forward(mx.io.DataBatch([mx.nd.array(X[:2])], [mx.nd.array(Y[:2])]))
    with pytest.raises(MXNetError, match="_backward_impl"):
        module.backward()


def test_a_sequence_takes_parameters_by_name_and_rejects_unknown_ones() -> None:
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1")
    module = mx.mod.SequentialModule().add(mx.mod.Module(hidden, label_names=None))
    module.bind([("data", (4, 4))])
    module.init_params(mx.init.Zero())
    module.set_params(params(mx), {}, allow_extra=True)
    np.testing.assert_array_equal(module.get_params()[0]["fc1_bias"].asnumpy(), params(mx)["fc1_bias"].asnumpy())
    with pytest.raises(ParameterError, match="fc2_bias"):
        module.set_params(params(mx), {}, allow_missing=True)


def test_what_a_base_module_does_not_define_is_named() -> None:
    with pytest.raises(MXNetError, match="BaseModule does not define update"):
        mx.mod.BaseModule().update()
