"""``twofold doctor --names``: which names of MXNet sources mention and Twofold lacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from twofold.command import missing_names
from twofold.command.command_line import main
from twofold.command.mentions import Mention, read

from tests.alias import undone_at_the_end


@pytest.fixture(autouse=True)
def alias() -> Iterator[None]:
    with undone_at_the_end():
        yield


@pytest.fixture
def report(tmp_path, capsys):
    """The status and the lines of the report on a source, without the folder."""

    def run(text, name="script.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        status = main(["doctor", "--names", str(tmp_path)])
        return status, capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()

    return run


def paths(text: str) -> list[str]:
    return [mention.path for mention in read(text).mentions]


def test_a_program_that_runs_has_nothing_missing(report):
    status, lines = report("import mxnet as mx\nfrom mxnet.gluon import nn\nprint(mx.nd.ones(2), nn.Dense(2), mx.base.data_dir())\n")
    assert status == 0
    assert lines == ["1 files mention 5 names of MXNet; 0 names and attributes are missing in Twofold"]


def test_a_missing_name_is_reported_with_its_line_and_what_to_do(report):
    status, lines = report("import mxnet as mx\n\nmx.nd.no_such_operator(1)\nmx.th.abs(1)\nmx.nd.relux\n")
    assert status == 1
    assert lines[0].startswith("script.py:3: mxnet.ndarray.no_such_operator: Twofold does not have it")
    assert lines[1].startswith("script.py:4: mxnet.th")
    assert "remove the import" in lines[1]
    assert "did you mean 'relu'" in lines[2]
    assert lines[-1].endswith("; 3 names and attributes are missing in Twofold")


def test_an_attribute_of_a_class_is_missing_where_its_own_attribute_is_assigned(report):
    assert report("from mxnet.name import NameManager\nNameManager._current.value = NameManager()\n")[0] == 0
    status, lines = report("from mxnet.name import NameManager\nNameManager._no_such.value = NameManager()\n")
    assert status == 1
    assert lines[0].startswith("script.py:2: mxnet.name.NameManager._no_such: Twofold does not have it")


def test_the_sources_are_not_run(report):
    assert report("raise SystemExit(3)\nimport mxnet\nmxnet.nd.no_such_operator\n")[0] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import mxnet.gluon.nn as nn\nnn.x", ["mxnet.gluon.nn", "mxnet.gluon.nn.x"]),
        ("import mxnet.gluon\nmxnet.x.y", ["mxnet.gluon", "mxnet.x.y"]),
        ("from mxnet import nd as a\nb = a.random\nb.x", ["mxnet.nd", "mxnet.nd.random", "mxnet.nd.random.x"]),
        ("from mxnet.nd import *", ["mxnet.nd"]),
        ("from mxnet import nd\ndef f(nd):\n    return nd.x", ["mxnet.nd"]),
        ("from mxnet import nd\ndef f():\n    nd = 1\n    return nd.x", ["mxnet.nd"]),
        ("from mxnet import nd\nfor nd2 in nd.x: nd2.y", ["mxnet.nd", "mxnet.nd.x"]),
        ("def f():\n    return nd.x\nfrom mxnet import nd", ["mxnet.nd.x", "mxnet.nd"]),
        ("try:\n    from mxnet import nd\nexcept ImportError:\n    nd = None\nnd.x", ["mxnet.nd", "mxnet.nd.x"]),
        ("import mxnet as mx\nloss = mx.gluon.loss\nloss = loss.L2Loss()\nloss.x", ["mxnet", "mxnet.gluon.loss"]),
        ("class B:\n    def hybrid_forward(self, F, x):\n        return F.x(F.contrib.y)", ["F.x", "F.contrib.y"]),
        ("import torch.nn.functional as F\nF.x", []),
        ("from .mxnet import nd\nnd.x", []),
        ("import mxnet as mx\ngetattr(mx.nd, 'x')\ngetattr(mx.nd, 'y', None)", ["mxnet", "mxnet.nd.x", "mxnet.nd", "mxnet.nd"]),
        ("locate('mxnet.nd.array')\nprint('mxnet.nd.x')", ["mxnet.nd.array"]),
        ("a._b = c._d\ne.__f__", ["._d", "._b"]),
        ("import mxnet as mx\nmx.nd.x = 1", ["mxnet", "mxnet.nd"]),
        ("from mxnet import name\nname.NameManager._x.value = 1", ["mxnet.name", "mxnet.name.NameManager._x"]),
        ("import mxnet as mx\n[mx.x for mx in y]\nlambda mx: mx.x\nmx.z", ["mxnet", "mxnet.z"]),
    ],
)
def test_names_are_followed_to_what_they_stand_for(text, expected):
    assert sorted(paths(text)) == sorted(expected)


def test_what_a_try_catches_is_no_failure(report):
    text = "try:\n    from mxnet import no_such_name\nexcept (ImportError, KeyError):\n    no_such_name = None\n"
    assert read(text).mentions == [Mention(2, "mxnet.no_such_name", True)]
    status, lines = report(text)
    assert status == 0
    assert lines[0].endswith("(in a try)")


def test_what_the_sources_assign_is_not_missing(report):
    assert report("import mxnet as mx\nmx.nd.my_operator = print\nmx.nd.my_operator(1)\n")[0] == 0


def test_private_state_that_objects_lack_is_reported(report, monkeypatch):
    monkeypatch.setattr(missing_names, "_table", lambda: {"gluon.Trainer": {"_secret": "use trainer.learning_rate"}})
    status, lines = report("trainer._secret\nother._own = 1\nother._own\n")
    assert status == 1
    assert (
        lines[0] == "script.py:1: _secret: private state of gluon.Trainer in MXNet, which Twofold does not have; use trainer.learning_rate"
    )
    assert len(lines) == 2


def test_a_class_of_its_own_may_have_such_state(report, monkeypatch):
    monkeypatch.setattr(missing_names, "_table", lambda: {"gluon.Block": {"_secret": ""}})
    own = "class A:\n    def __init__(self):\n        self._secret = 1\n    def f(self):\n        return self._secret\n"
    assert report(own)[0] == 0
    derived = (
        "from mxnet.gluon import Block\nclass A(Block):\n    def __init__(self):\n        self._secret = 1\nclass B(A):\n    _secret = 2\n"
    )
    assert report(derived)[0] == 1
    of_another_kind = derived.replace("Block", "Parameter") + "    def f(self):\n        return self._secret\n"
    assert report(of_another_kind)[0] == 0


def test_functions_of_the_c_library_are_reported(report):
    status, lines = report("import mxnet as mx\nmx.base.check_call(mx.base._LIB.MXSymbolGetInputSymbols())\n")
    assert status == 1
    assert lines[0].startswith("script.py:2: mxnet.base._LIB.MXSymbolGetInputSymbols: Twofold has no C library")


def test_a_source_that_is_not_python_3_is_named_and_left_out(report):
    status, lines = report("print 'loss'\n")
    assert status == 0
    assert lines[0].startswith("script.py:1: not read: ")
    assert lines[-1].startswith("0 files")


def test_a_file_or_an_installed_package_can_be_named(tmp_path, capsys):
    (tmp_path / "one.py").write_text("import mxnet as mx\nmx.nd.no_such_operator\n", encoding="utf-8")
    assert main(["doctor", "--names", str(tmp_path / "one.py")]) == 1
    assert main(["doctor", "--names", "packaging"]) == 0
    assert " files mention 0 names" in capsys.readouterr().out
    assert main(["doctor", "--names", "no_such_package"]) == 1
    assert "no_such_package: no such file, folder or installed package" in capsys.readouterr().err


def test_the_table_of_private_state_names_classes_that_lack_it():
    from twofold.compat import mxnet_alias

    mxnet_alias.install()
    for path, names in missing_names._table().items():
        assert missing_names.missing_path(f"mxnet.{path}") is None, path
        for name in names:
            assert missing_names.missing_path(f"mxnet.{path}.{name}") is not None, f"{path}.{name} is there"
