"""Pickles that the real MXNet wrote (`make_pickles`) are loaded by Python's ``pickle``, and what is loaded can be pickled again."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from twofold.compat import mxnet_alias
from twofold.errors import UnknownDevice, WrongType

from tests.alias import undone_at_the_end
from tests.compat.pickled_objects import described, objects
from tests.oracle_programs import difference, plain

STORED: dict[str, tuple[str, Any]] = json.loads(Path(__file__).with_name("pickles.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def mxnet() -> Iterator[Any]:
    with undone_at_the_end():
        mxnet_alias.install()
        yield import_module("mxnet")


def loaded(name: str) -> Any:
    """An object from a pickle that MXNet wrote."""
    return pickle.loads(base64.b64decode(STORED[name][0]))


@pytest.mark.parametrize("name", STORED)
def test_an_object_is_what_mxnet_pickled(mxnet: Any, name: str) -> None:
    found = loaded(name)
    assert difference(plain(described(mxnet, found)), STORED[name][1], 1e-6) is None


@pytest.mark.parametrize("name", STORED)
def test_it_can_be_pickled_again(mxnet: Any, name: str) -> None:
    again = pickle.loads(pickle.dumps(loaded(name)))
    assert difference(plain(described(mxnet, again)), STORED[name][1], 1e-6) is None


def test_every_object_is_stored(mxnet: Any) -> None:
    assert list(objects(mxnet)) == list(STORED)


@pytest.mark.parametrize("protocol", range(6))
def test_what_is_made_here_is_loaded_again(mxnet: Any, protocol: int) -> None:
    for name, make in objects(mxnet).items():
        with mxnet.name.NameManager():
            again = pickle.loads(pickle.dumps(make(), protocol))
        assert difference(plain(described(mxnet, again)), STORED[name][1], 1e-6) is None, name


def test_a_program_needs_no_more_than_the_import() -> None:
    script = "import base64, mxnet as mx, pickle, sys\nprint(type(pickle.loads(base64.b64decode(sys.argv[1]))).__name__)"
    names = {
        "array of mx.np": "ndarray",
        "symbol": "Symbol",
        "parameter": "Parameter",
        "context gpu": "Context",
        "rows": "RowSparseNDArray",
    }
    for name, kind in names.items():
        command = [sys.executable, "-m", "twofold", "run", "-c", script, STORED[name][0]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.split() == [kind], done.stderr


def test_a_loaded_parameter_is_trained(mxnet: Any) -> None:
    weight = loaded("parameter")
    trainer = mxnet.gluon.Trainer([weight], "sgd", {"learning_rate": 0.5})
    with mxnet.autograd.record():
        loss = (weight.data() * 3).sum()
    loss.backward()
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [-0.5, -0.5]


def test_an_updater_goes_on_with_loaded_states(mxnet: Any) -> None:
    updaters = [loaded("updater"), mxnet.optimizer.get_updater(mxnet.optimizer.SGD())]
    updaters[1].set_states(base64.b64decode(STORED["states of sgd"][0]))
    for updater in updaters:
        weight = mxnet.nd.ones((2,))
        updater(3, mxnet.nd.ones((2,)), weight)
        # momentum · state - lr · gradient, of the step before and now
        before, lr = (0.5, 0.5) if updater is updaters[0] else (0.01, 0.01)
        assert weight.asnumpy() == pytest.approx([1 - 0.5 * before - lr] * 2)


def test_a_loaded_context_serves_where_an_equal_one_does(mxnet: Any) -> None:
    context = loaded("context cpu")
    with context:
        assert mxnet.nd.ones((1,)).context == mxnet.cpu(1)
    assert mxnet.nd.ones((1,), ctx=context).context == mxnet.cpu(1)
    assert mxnet.nd.ones((1,)).as_in_context(context).context == mxnet.cpu(1)
    assert mxnet.nd.ones((1,)).copyto(context).context == mxnet.cpu(1)
    assert context == mxnet.cpu(1)
    assert mxnet.cpu(1) == context
    assert context != mxnet.cpu(0)


def test_classes_are_not_called_without_arguments_but_by_pickles(mxnet: Any) -> None:
    with pytest.raises(TypeError, match="device_type"):
        mxnet.Context()
    with pytest.raises(UnknownDevice):
        mxnet.Context("")
    with pytest.raises(WrongType, match=r"mx\.nd\.array"):
        mxnet.nd.NDArray([1, 2])
    assert mxnet.nd.NDArray(None).shape == (0,)


def test_functions_of_the_dialect_can_be_pickled(mxnet: Any) -> None:
    x = mxnet.np.ones((2, 2))
    for name in ("abs", "add", "stack", "matmul", "broadcast_arrays", "cov", "random.uniform", "linalg.svd", "linalg.qr"):
        function = resolve_name(f"mxnet.np:{name}")
        again = pickle.loads(pickle.dumps(function))
        assert again.__name__ == function.__name__
        assert "random" in name or "linalg" in name or again == function
    assert pickle.loads(pickle.dumps(mxnet.np.stack))([x, x]).shape == (2, 2, 2)
    assert pickle.loads(pickle.dumps(mxnet.np.linalg.qr))(x)[0].shape == (2, 2)


def test_classes_of_users_are_made_as_they_say(mxnet: Any) -> None:
    class Named(mxnet.nd.NDArray):
        def __init__(self, name: str) -> None:
            self.name = name

    assert Named("a").name == "a"
    assert type(mxnet.np.ndarray(None)) is mxnet.np.ndarray
