"""`FeedForward`, where MXNet gives no result to compare with."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, MXNetError, ParameterError, ShapeError

from tests.module.programs.composition import SHAPES, _buckets, _generator
from tests.module.programs.samples import X, Y, batches, params, perceptron


def test_a_function_of_bucket_keys_is_trained_as_a_bucketing_module() -> None:
    model = mx.model.FeedForward(
        lambda key: _generator(mx)(key)[0], num_epoch=2, arg_params=params(mx, SHAPES), aux_params={}, learning_rate=0.5
    )
    model.fit(_buckets(mx))
    module = mx.mod.BucketingModule(_generator(mx), default_bucket_key=6)
    module.fit(_buckets(mx), num_epoch=2, arg_params=params(mx, SHAPES), aux_params={}, optimizer_params={"learning_rate": 0.5})
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(model.arg_params[name].asnumpy(), value.asnumpy())


def test_feed_forward_trains_as_a_module_does() -> None:
    model = mx.model.FeedForward(perceptron(mx), num_epoch=3, arg_params=params(mx), aux_params={}, learning_rate=0.5, momentum=0.9)
    model.fit(batches(mx))
    module = mx.mod.Module(perceptron(mx))
    module.fit(batches(mx), num_epoch=3, arg_params=params(mx), aux_params={}, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    np.testing.assert_array_equal(model.predict(X), module.predict(batches(mx)).asnumpy())


def test_predictions_use_changed_parameters() -> None:
    model = mx.model.FeedForward(perceptron(mx), num_epoch=1, arg_params=params(mx), aux_params={}, learning_rate=0.5)
    before = model.predict(X)
    model.fit(batches(mx))
    assert not np.allclose(model.predict(X), before)


def test_several_outputs_are_predicted_in_a_list() -> None:
    inner = perceptron(mx).get_internals()
    both = mx.sym.Group([inner["act_output"], inner["softmax_output"]])
    hidden, out = mx.model.FeedForward(both, arg_params=params(mx), aux_params={}).predict(X)
    assert (hidden.shape, out.shape) == ((10, 5), (10, 3))


@pytest.mark.parametrize(
    ("data", "labels", "error", "text"),
    [
        (X, None, ParameterError, "y must be specified"),
        (X, Y[:3], ShapeError, "10 and 3"),
        (X, X, ShapeError, "1D"),
        (X.tolist(), Y, DTypeError, "list"),
    ],
)
def test_data_that_does_not_match_is_rejected(data: object, labels: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        mx.model.FeedForward(perceptron(mx), num_epoch=1).fit(data, labels)


def test_training_without_a_number_of_epochs_is_rejected() -> None:
    with pytest.raises(ParameterError, match="num_epoch"):
        mx.model.FeedForward(perceptron(mx)).fit(X, Y)


def test_a_model_without_parameters_says_what_to_do() -> None:
    with pytest.raises(MXNetError, match="fit the model"):
        mx.model.FeedForward(perceptron(mx)).predict(X)
    with pytest.raises(ParameterError, match="fc2_weight, fc2_bias"):
        mx.model.FeedForward(perceptron(mx), arg_params={"fc1_weight": mx.nd.ones((5, 4)), "fc1_bias": mx.nd.ones((5,))}).predict(X)
