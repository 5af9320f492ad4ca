"""Messages for names that do not exist, and for the mistakes of a first hour: what is wrong, in the user's terms, and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.gluon import nn
from twofold.suggestions import did_you_mean

from tests.cases import each


class Forgetful(gluon.Block):
    """Does not call its base class's constructor."""

    def __init__(self) -> None:
        self.layer = nn.Dense(3)


def trainer(*args: object) -> gluon.Trainer:
    """A trainer of a small layer."""
    net = nn.Dense(8, in_units=5)
    net.initialize()
    return gluon.Trainer(net.collect_params(), *args)


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: nn.Linear, "module 'twofold.gluon.nn' has no attribute 'Linear'; use Dense"),
    (lambda: nn.Conv2d, "module 'twofold.gluon.nn' has no attribute 'Conv2d'; use Conv2D"),
    (lambda: nn.relu, "module 'twofold.gluon.nn' has no attribute 'relu'; see dir() of it"),
    (lambda: gluon.loss.MSELoss, "module 'twofold.gluon.loss' has no attribute 'MSELoss'; use L2Loss"),
    (lambda: gluon.rnn.LSTMCel, "module 'twofold.gluon.rnn' has no attribute 'LSTMCel'; did you mean 'LSTMCell'?"),
    (lambda: nd.conv2d, "module 'twofold.ndarray' has no attribute 'conv2d'; use Convolution"),
    (lambda: nd.fullyconnected, "module 'twofold.ndarray' has no attribute 'fullyconnected'; did you mean 'FullyConnected'?"),
    (lambda: mx.sym.Convolutoin, "module 'twofold.symbol' has no attribute 'Convolutoin'; did you mean 'Convolution' or 'Convolution_v1'?"),
    (lambda: mx.np.softmax, "module 'twofold.numpy' has no attribute 'softmax'; use mx.npx.softmax"),
    (lambda: mx.np.lnspace, "module 'twofold.numpy' has no attribute 'lnspace'; did you mean 'linspace' or 'logspace'?"),
    (lambda: mx.no_grad, "module 'twofold' has no attribute 'no_grad'; use mx.autograd.pause"),
    (lambda: mx.gloun, "module 'twofold' has no attribute 'gloun'; did you mean 'gluon'?"),
    (lambda: mx.optimizer.create("admm"), "Cannot find optimizer admm; did you mean 'adam'?"),
    (lambda: mx.metric.create("acuracy"), "metric.create: acuracy is not registered; did you mean 'accuracy'?"),
    (lambda: mx.init.create("xavierr"), "initializer.create: xavierr is not registered; did you mean 'xavier'?"),
    (lambda: nn.Dense(8, activation="rellu"), "Activation: there is no activation of that name: given 'rellu'; did you mean 'relu'?"),
    (lambda: trainer("adam", {"lr": 0.1}), "Adam: there is no argument 'lr'; use learning_rate"),
    (lambda: trainer("sgd", {"momentun": 0.9}), "SGD: there is no argument 'momentun'; did you mean 'momentum'?"),
    (
        Forgetful,
        "Forgetful.__init__: the base class does not know the block yet: given layer = Dense(…); call super().__init__() first",
    ),
]


@each("mistake, message", MISTAKES)
def test_a_mistake_is_named_with_what_to_do(mistake, message):
    with pytest.raises(mx.MXNetError) as found:
        mistake()
    assert str(found.value) == message


def test_names_that_do_not_exist_are_attribute_errors():
    assert not hasattr(nn, "Linear")
    with pytest.raises(ImportError, match="cannot import name 'Linear'"):
        from twofold.gluon.nn import Linear  # noqa: F401


def test_a_kernel_larger_than_its_input_is_what_the_message_begins_with():
    net = nn.Conv2D(8, kernel_size=9)
    net.initialize()
    with pytest.raises(
        mx.MXNetError, match=r"conv\d+: node conv\d+_fwd \(Convolution\): window: the kernel is larger than the padded input"
    ) as found:
        net(nd.ones((2, 3, 4, 4)))
    assert "Deferred initialization failed because shape cannot be inferred" in str(found.value)
    assert not type(found.value).__name__.startswith("_")


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
        ("zzz", ["relu"], "otherwise"),
        ("_relu", ["_private"], "otherwise"),
    ],
)
def test_suggestions_are_near_names(name, names, found):
    assert did_you_mean(name, names, "otherwise") == found
