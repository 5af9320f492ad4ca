"""The options of ``run --numpy``: where arrays are made, which packages fold, and what is said about it."""

import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """Run code in a folder of its own; returns its output and error output."""

    def execute(code, *options, **environment):
        command = [sys.executable, "-m", "twofold", "run", "--numpy", *options, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path, env=os.environ | environment)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return execute


def test_a_device_is_the_context_of_the_whole_program(run):
    code = "import numpy as np\nx = np.ones(3)\nprint(x.context, (np.exp(x) * 2.0).context, np.random.rand(3).context)"
    assert run(code, "--device", "gpu:1", TWOFOLD_FAKE_GPUS="2")[0] == "gpu(1) gpu(1) gpu(1)\n"


def test_a_context_in_the_program_moves_the_arrays_that_are_made_in_it(run):
    code = "import numpy as np, twofold as mx\nwith mx.gpu(0):\n    x = np.ones(3)\nprint(x.context, type(np.ones(3)) is np.ndarray)"
    assert run(code, TWOFOLD_FAKE_GPUS="1")[0] == "gpu(0) True\n"


def test_named_packages_fold_and_others_do_not(run, tmp_path):
    for name in ("named", "other"):
        package = tmp_path / "elsewhere" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("from .part import numpy\n", encoding="utf-8")
        (package / "part.py").write_text("import numpy\n", encoding="utf-8")
    code = "import numpy, named, other\nprint(*[id(m.numpy) == id(numpy) for m in (named, other)])"  # (`is` compares what they stand for)
    path = os.pathsep.join([str(tmp_path / "elsewhere"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    assert run(code, PYTHONPATH=path)[0] == "False False\n"
    assert run(code, "--packages", "named", PYTHONPATH=path)[0] == "True False\n"


def test_the_lines_that_fold_are_explained_at_the_end_and_on_demand(run):
    code = "import numpy as np, twofold as mx\nx = np.arange(1e5)\nz = np.exp(x * 1e-6)\nprint(mx.explain())"
    said, at_exit = run(code, "--explain")
    assert said.startswith("<string>:3: ")
    lines, _, compare = at_exit.rstrip("\n").rpartition("\n")
    assert lines + "\n" == said
    assert re.fullmatch(r"\d+\.\d\d s; compare with plain NumPy: --no-fold in place of --explain", compare)
    assert run("import numpy", "--explain")[1].startswith("no large arrays were computed with\n0.")


def test_plain_numpy_runs_under_the_same_launcher(run):
    assert run("import numpy, sys\nprint(numpy is sys.modules['numpy'])", "--no-fold")[0] == "True\n"


def test_what_a_library_makes_of_folding_arrays_is_numpys(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "library.py").write_text("def twice(x):\n    return x.copy() * 2.0\n", encoding="utf-8")
    code = (
        "import sys, numpy as np\nsys.path.append('elsewhere')\nfrom library import twice\nx = np.arange(1e5)\n"
        "print(*[a.__array_priority__ == 0 for a in (x, twice(x), x.copy())])"
    )
    assert run(code)[0] == "False True False\n"
