"""Programs that read files of others import nothing from the working folder; programs that start scripts follow Python's rule."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import twofold as mx
from twofold import nd

SOURCES = Path(mx.__file__).parents[1]


def run(folder, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), *filter(None, sys.path[1:])])}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [("-m", "twofold"), ("-mtwofold",), ("-m", "twofold.__main__")], ids=" ".join)
def test_show_runs_no_module_that_lies_beside_a_file(words, tmp_path):
    nd.save(str(tmp_path / "a.params"), {"weight": nd.ones(3)})
    for name in ("html", "json", "logging", "zipfile", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the working folder ran')\n")
    run(tmp_path, *words, "show", "a.params", "--html", "page.html")
    assert "weight" in (tmp_path / "page.html").read_text()


def test_a_script_imports_the_modules_beside_it(tmp_path):
    (tmp_path / "neighbor.py").write_text("VALUE = 5\n")
    (tmp_path / "script.py").write_text("import neighbor\nprint(neighbor.VALUE)\n")
    assert "5" in run(tmp_path, "-m", "twofold", "run", "script.py")


def test_another_package_with_a_program_of_the_same_name_keeps_its_folder(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("import twofold\n")
    (tmp_path / "app" / "__main__.py").write_text("import neighbor\nprint(neighbor.VALUE)\n")
    (tmp_path / "neighbor.py").write_text("VALUE = 5\n")
    assert run(tmp_path, "-m", "app", "show").strip() == "5"
