"""Plans on disk: a second process plans nothing, and whatever a plan depends on is part of its key."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.graph.tables import drop_generation
from twofold.opdef import OPS
from twofold.program import stored_plans
from twofold.program.compile import Program
from twofold.program.stored_plans import PLANS, Counts

HOST = backend_for(CPU)
X, Y = leaf("x", (300, 8), "float32"), leaf("y", (300, 8), "float32")


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """Plans are stored in a folder of the test's own; none has been made."""
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path))
    monkeypatch.setattr(SETTINGS, "keep_plans", True)
    monkeypatch.setattr(Counts, "planned", 0)
    monkeypatch.setattr(Counts, "loaded", 0)


def graph(x=X, y=Y, sums=20):
    """A graph that is large enough: products, reductions, views, constants, an operation of several results."""
    for k in range(sums):
        x = G.exp(x * 0.01) + G.sum(y, axis=1, keepdims=True) * G.iota(size=8, dtype="float32")
        y = G.maximum(x, G.full(shape=(300, 8), value=-0.0, dtype="float32")) - float(k)
    return [x, G.reshape(y, shape=(8, 300)), G.matmul(G.permute_dims(x, axes=(1, 0)), y)]


def compiled(outputs=None, leaves=(X, Y), **options):
    return Program(outputs or graph(), leaves, HOST, **options)


def counts():
    return Counts.planned, Counts.loaded


def arrays():
    rng = np.random.default_rng(0)
    return [rng.standard_normal((300, 8)).astype("float32") for _ in range(2)]


def test_a_plan_is_read_where_an_equal_graph_was_planned():
    first = compiled()
    assert counts() == (1, 0)
    drop_generation()  # the nodes of the second program are others
    second = compiled(graph())
    assert counts() == (1, 1)
    assert second.source == first.source
    assert second.passes == first.passes
    assert repr(second.plan) == repr(first.plan)
    for a, b in zip(first.run(arrays()), second.run(arrays()), strict=True):
        assert a.tobytes() == b.tobytes()


def test_plans_with_an_operator_of_a_program_are_not_kept(monkeypatch):
    monkeypatch.setattr(OPS["exp"].rule, "__module__", "users_program")  # its rules may change without a change of the key
    compiled()
    assert counts() == (0, 0)


def test_donated_inputs_are_in_the_plan():
    compiled(donated=[X])
    program = compiled(donated=[X])
    assert counts() == (1, 1)
    assert program.overwrites
    assert list(program.plan.donated) == [X]


@pytest.mark.parametrize(
    ("leaves", "options"),
    [
        ((X, Y), {"donated": [X]}),
        ((Y, X), {}),
        ((X, Y), {"share": False}),
        ((X, Y), {"in_place": False}),
        ((X, Y), {"fold": False}),
        ((X, Y), {"big": 1 << 20}),
    ],
)
def test_what_a_plan_depends_on_is_in_its_key(leaves, options):
    compiled()
    compiled(leaves=leaves, **options)
    assert counts() == (2, 0)


def test_results_that_a_caller_could_hold_are_in_the_key():
    compiled()
    outputs = graph()
    compiled(outputs, boundaries=[outputs[2].inputs[0]])  # a transposed view, which is then copied
    assert counts() == (2, 0)


@pytest.mark.parametrize("other", [graph(sums=21), graph(x=X * 2.0), graph(y=leaf("y", (300, 8), "float32") * -0.0)])
def test_another_graph_has_another_plan(other):
    compiled()
    compiled(graph(y=Y * 0.0))
    compiled(other)
    assert counts() == (3, 0)


def test_types_of_inputs_are_in_the_key():
    def scaled(dtype):
        x = leaf("x", (300, 8), dtype)
        y = G.exp(x)
        for _ in range(40):
            y = G.exp(y + x)
        return Program([y], [x], HOST)

    scaled("float32")
    scaled("float64")
    assert counts() == (2, 0)


def test_settings_are_in_the_key(monkeypatch):
    compiled()
    monkeypatch.setattr(SETTINGS, "defer_elements", 10)
    compiled(graph())
    assert counts() == (2, 0)


def test_sources_are_in_the_key(monkeypatch):
    compiled()
    monkeypatch.setattr(stored_plans, "_sources", lambda: "changed")
    compiled()
    assert counts() == (2, 0)


def test_nothing_is_stored_where_the_setting_is_off(monkeypatch):
    monkeypatch.setattr(SETTINGS, "keep_plans", False)
    compiled()
    assert counts() == (0, 0)
    assert not PLANS.folder.exists()


def test_small_graphs_and_loops_are_not_stored():
    Program([G.exp(X)], [X], HOST)
    mx.nd.contrib.foreach(lambda x, s: (x + s, x + s), mx.nd.ones((3, 2)), mx.nd.zeros((2,)))
    assert counts() == (0, 0)


def stored():
    (path,) = PLANS.folder.iterdir()
    return path


def test_a_damaged_file_is_planned_again():
    compiled()
    path = stored()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        path.write_bytes(damaged)
        expected = compiled().run(arrays())
        assert Counts.loaded == 0
        assert path.read_bytes() == whole  # and stored again
    assert compiled().run(arrays())[0].tobytes() == expected[0].tobytes()
    assert Counts.loaded == 1


def other_type(record):
    record["nodes"][-1][2] = [[[3], "float32"]]


def unknown_operator(record):
    record["operators"][0][0] = "system"


def outside(record):
    record["outputs"] = [10**6]


def not_a_program(record):
    record.clear()


def other_place(record):
    single = next(s for s in record["steps"] if len(s[0]) == 1)
    record["places"] = [p for p in record["places"] if p[0] != single[0][0]]


@pytest.mark.parametrize("change", [other_type, unknown_operator, outside, not_a_program, other_place])
def test_a_file_that_is_no_plan_of_the_graph_is_planned_again(change):
    compiled()
    key = stored().stem
    content = PLANS.load(key)
    record = json.loads(content)
    change(record)
    PLANS.store(key, json.dumps(record).encode())
    compiled()
    assert counts() == (2, 0)


SCRIPT = """
import sys
import numpy as np
import twofold as mx
from twofold.program.stored_plans import Counts

mx.random.seed(0)
np.random.seed(0)
net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10, thumbnail=True)
net.initialize(mx.init.Xavier())
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
x = mx.nd.array(np.random.rand(2, 3, 8, 8))
for _ in range(2):
    with mx.autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(2)
print(Counts.planned, Counts.loaded, loss.asnumpy().tobytes().hex())
"""


def test_a_second_process_plans_nothing(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))
    own = {"TWOFOLD_CACHE": str(tmp_path / "cache"), "TWOFOLD_KEEP_PLANS": "1", "TWOFOLD_JIT": "0"}

    def run() -> list[str]:
        done = subprocess.run([sys.executable, str(path)], env=os.environ | own, capture_output=True, text=True, check=True)
        return done.stdout.split()

    planned, loaded, first = run()
    assert int(planned) >= 1
    assert loaded == "0"
    again, read, second = run()
    assert (again, read) == ("0", planned)
    assert second == first
    assert Path(own["TWOFOLD_CACHE"], "plans").is_dir()
