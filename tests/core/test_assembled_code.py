"""Assembled code is kept for the next process until a source changes."""

import importlib.util
import os
import subprocess
import sys

import pytest

from twofold.assembled_code import KeptCode

KEY = ("file.py", "function", 3, (("legacy", True), ("reverse", None)))
USE = """
import twofold as mx
from twofold import assembly
assembled, assemble = [], assembly._assemble
def counting(function, known):
    assembled.append(function.__name__)
    return assemble(function, known)
assembly._assemble = counting
x = mx.nd.array([1, 2, 3])
with mx.autograd.record():
    y = (x + 1) * mx.np.array([2.0]).item()
print(y.asnumpy().tolist(), len(assembled))
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """The file of a module of the package that has been loaded."""
    path = tmp_path / "loaded.py"
    path.write_text("x = 1\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("twofold_loaded", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "twofold_loaded", module)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return path


@pytest.fixture
def written(tmp_path, source):
    """A file with the code of one function."""
    path = str(tmp_path / "kept" / "code")
    kept = KeptCode(path)
    assert kept.get(KEY) is None
    entry = kept.add(KEY, ((lambda: 3).__code__, {"name": "module"}))
    assert kept.get(KEY) is entry
    kept._write()
    return path


def test_another_process_finds_the_code(written):
    code, names = KeptCode(written).get(KEY)
    assert eval(code) == 3
    assert names == {"name": "module"}
    assert KeptCode(written).get((*KEY[:3], ())) is None


def test_no_code_is_used_after_a_source_has_changed(written, source):
    source.write_text("x = 12\n", encoding="utf-8")
    assert KeptCode(written).get(KEY) is None
    source.unlink()
    assert KeptCode(written).get(KEY) is None


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"", lambda data: b"\0" * 16 + data[16:], lambda data: data[:16] + b"i"]
)
def test_a_damaged_file_is_no_file(written, damage):
    with open(written, "rb+") as file:
        data = damage(file.read())
        file.seek(0)
        file.truncate()
        file.write(data)
    assert KeptCode(written).get(KEY) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, source):
    (tmp_path / "file").write_text("", encoding="utf-8")
    kept = KeptCode(str(tmp_path / "file" / "code"))
    kept.get(KEY)
    kept.add(KEY, ((lambda: 3).__code__, {}))
    kept._write()
    assert (tmp_path / "file").read_text(encoding="utf-8") == ""


def test_the_second_process_assembles_nothing(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": str(tmp_path)}
    outputs = []
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True)
        values, _, count = run.stdout.rpartition(" ")
        outputs.append((values, int(count)))
    assert outputs[0][0] == outputs[1][0] == "[4.0, 6.0, 8.0]"
    assert outputs[0][1] > 20
    assert outputs[1][1] == 0
