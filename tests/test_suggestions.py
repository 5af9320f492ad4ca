"""Suggestions for names that do not exist; `tests.mistakes` has the messages with them."""

from __future__ import annotations

import pytest

import twofold as mx
from twofold.gluon import nn
from twofold.suggestions import did_you_mean

from tests.cases import each


def test_names_that_do_not_exist_are_attribute_errors():
    assert not hasattr(nn, "Linear")
    with pytest.raises(ImportError, match="cannot import name 'Linear'"):
        from twofold.gluon.nn import Linear  # noqa: F401


def test_optimizers_of_users_may_take_any_argument(monkeypatch):
    monkeypatch.setattr(mx.optimizer.Optimizer, "opt_registry", dict(mx.optimizer.Optimizer.opt_registry))

    @mx.optimizer.register
    class Probing(mx.optimizer.Optimizer):
        def __init__(self, **kwargs):
            self.probe = kwargs.pop("probe")
            super().__init__(**kwargs)

    assert mx.optimizer.create("probing", probe=3, learning_rate=0.5).probe == 3


@each(
    "name, names, found",
    [
        ("acuracy", ["accuracy", "f1"], "did you mean 'accuracy'?"),
        ("RELU", ["relu", "prelu"], "did you mean 'relu'?"),
        ("sdg", ["adam", "sgd"], "did you mean 'sgd'?"),
        ("zzz", ["relu"], "otherwise"),
        ("_relu", ["_private"], "otherwise"),
    ],
)
def test_suggestions_are_near_names(name, names, found):
    assert did_you_mean(name, names, "otherwise") == found
