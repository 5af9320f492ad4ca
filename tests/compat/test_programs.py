"""Every program that uses MXNet as libraries do gives the results of the real one (values.json, written by make_values.py)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

import twofold as mx
from twofold.compat import mxnet_alias
from twofold.imperative import array as array_module

from tests.against_mxnet import Program, each_program, mxnets_results
from tests.alias import undone_at_the_end
from tests.compat.programs import all_programs
from tests.oracle_programs import difference, plain

EXPECTED = mxnets_results(__file__)


@pytest.fixture(scope="module", autouse=True)
def alias() -> Iterator[None]:
    with undone_at_the_end():
        mxnet_alias.install()
        yield


@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    package = import_module("mxnet")
    with package.name.NameManager():
        assert difference(plain(program(package)), EXPECTED[name], 1e-6) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())


def test_an_array_of_a_gpu_is_loaded_on_the_cpu_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_module, "gpu_count", lambda: 0)
    make, (kind, values, dtype, _) = mx.nd.array([1, 2]).__reduce__()
    array = make(kind, values, dtype, mx.gpu(1))
    assert array.context == mx.cpu()
    assert array.asnumpy().tolist() == [1, 2]


def test_names_of_old_python_and_numpy_are_there_again() -> None:
    script = "\n".join(
        [
            "import json, numpy as np, numpy.lib.arraysetops as sets",
            "assert json.loads('[1]', encoding='utf-8') == [1]",
            "assert np.lib.arraysetops.unique([2, 1, 2]).tolist() == sets.union1d([1], [2]).tolist() == [1, 2]",
            "assert sets.in1d([1, 2], [2]).tolist() == [False, True]",
            "import inspect, random",
            "assert inspect.getargspec(lambda a, b=2, *c, **d: 0) == inspect.ArgSpec(['a', 'b'], 'c', 'd', (2,))",
            "assert inspect.getargspec(json.JSONEncoder.encode).args == ['self', 'o']",
            "assert sorted(random.sample({1, 2, 3}, 3)) == sorted(random.Random(1).sample({1, 2, 3}, k=3)) == [1, 2, 3]",
            "x = [1, 2, 3, 4]",
            "random.shuffle(x, lambda: 0.3)",
            "assert x == [4, 3, 1, 2]",
            "import multiprocessing, mxnet",
            "assert multiprocessing.pool.ThreadPool",
        ]
    )
    done = subprocess.run([sys.executable, "-m", "twofold", "run", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_an_import_by_call_passes_over_names_that_are_not_there() -> None:
    """Programs pass any name to get the inner module."""
    script = """
for name in ("mxnet", "mxnet.gluon.nn", "mxnet.contrib.text"):
    for given in ("", "dummy", "*"):
        assert __import__(name, fromlist=[given]).__name__ == name
try:
    from mxnet.gluon import nothing
except ImportError as error:
    assert "Twofold does not have it" in str(error)
"""
    done = subprocess.run([sys.executable, "-m", "twofold", "run", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_state_is_read_at_each_look_up_and_imports_change_no_attribute() -> None:
    script = """
import pydoc, mxnet as mx
from mxnet.contrib import amp
assert amp.amp._amp_initialized is False
amp.init()
assert amp.amp._amp_initialized is True
made = mx.gluon.model_zoo.vision.alexnet
assert pydoc.locate("mxnet.gluon.model_zoo.vision.alexnet")  # the function, and the module from Python 3.13 on
assert mx.gluon.model_zoo.vision.alexnet is made
import mxnet.gluon.model_zoo.vision.alexnet
assert mx.gluon.model_zoo.vision.alexnet is made
"""
    done = subprocess.run([sys.executable, "-m", "twofold", "run", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_an_executor_has_its_symbol() -> None:
    package = import_module("mxnet")
    symbol = package.sym.var("x") * 2
    executor = symbol.bind(package.cpu(), {"x": package.nd.ones(2)})
    assert executor._symbol.list_arguments() == ["x"]
    assert executor._symbol.list_outputs() == symbol.list_outputs()
