"""`import twofold` loads little: counted in modules, which do not vary as seconds do."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.house.sources import ROOT, budgets

# Extras and the like: only callers of what needs them pay for them.
LATE = {"PIL", "cupy", "graphviz", "llvmlite", "matplotlib", "opt_einsum", "rich", "safetensors", "scipy", "sklearn", "torch"}
SEARCH_PATH = f"import sys; sys.path[:0] = [{str(ROOT / 'src')!r}, {str(ROOT / 'backends')!r}]; "
LOADED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s*(\S+)$", re.MULTILINE)


def loaded_modules(report: str) -> set[str]:
    """The modules that a report of `python -X importtime` names."""
    return set(LOADED.findall(report))


def modules_of(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for the statement."""
    command = [sys.executable, "-X", "importtime", "-c", SEARCH_PATH + statement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return loaded_modules(run.stderr)


@pytest.fixture(scope="module")
def added() -> set[str]:
    """The modules that `import twofold` loads and `import numpy` does not."""
    if not (ROOT / "src/twofold/__init__.py").exists():
        pytest.skip("src/twofold has no __init__.py yet")
    return modules_of("import twofold") - modules_of("import numpy")


def test_the_report_of_the_interpreter_is_read():
    report = "import time: self [us] | cumulative | imported package\nimport time:       190 |       1190 |   numpy.linalg\n"
    assert loaded_modules(report) == {"numpy.linalg"}


def test_a_module_that_an_import_adds_is_counted():
    assert "wave" in modules_of("import wave") - modules_of("pass")


def test_importing_twofold_loads_few_modules(added: set[str]):
    assert len(added) <= budgets()["caps"]["import_modules"], sorted(added)


def test_importing_twofold_loads_no_extra(added: set[str]):
    assert not {name.partition(".")[0] for name in added} & LATE


def test_arrays_load_nothing_that_only_writing_files_needs():
    assert not modules_of("import twofold as mx; mx.nd, mx.io, mx.recordio") & {"shutil", "tempfile"}
    assert "hashlib" not in modules_of("import twofold as mx; mx.nd")


def test_networks_load_nothing_that_only_downloads_need():
    assert not modules_of("import twofold as mx; mx.gluon") & {"http.client", "ssl", "urllib.request"}


def test_stores_load_nothing_that_only_their_checkpoints_need():
    assert "tempfile" not in modules_of("import twofold as mx; mx.kv")


def test_stores_load_no_symbols():
    loaded = modules_of("import twofold as mx; mx.kv")
    assert not {name for name in loaded if name.startswith(("twofold.symbol", "twofold.metric", "twofold.executor"))}


def test_submodules_are_imported_by_their_short_names():
    modules_of(
        "import twofold.np as np, twofold.nd, twofold.sym, twofold.npx, twofold.mod, twofold.kv as kv, twofold.np.linalg as linalg; "
        "import twofold.numpy.linalg, twofold as mx; "
        "assert np is mx.np is sys.modules['twofold.numpy'] and np.__name__ == np.__spec__.name == 'twofold.numpy'; "
        "assert linalg is twofold.numpy.linalg and kv is mx.kvstore"
    )


def test_namespaces_that_are_attributes_are_imported_as_modules():
    modules_of(
        "from twofold.np.lib.stride_tricks import sliding_window_view as windows; from twofold.np.testing import assert_allclose; "
        "import twofold.np.fft as fft, twofold.np.ma.core, twofold.nd.contrib, twofold.sym.linalg, numpy; "
        "import twofold.numpy.lib.stride_tricks, twofold as mx; "
        "assert windows is mx.np.lib.stride_tricks.sliding_window_view is not numpy.lib.stride_tricks.sliding_window_view; "
        "assert fft is mx.np.fft and assert_allclose is numpy.testing.assert_allclose and mx.np.ma.core is numpy.ma.core; "
        "assert mx.nd.contrib.foreach and mx.sym.linalg.gemm"
    )


HELP = "from twofold.command import main\ntry: main({words})\nexcept SystemExit: pass\nloaded = sys.modules.keys()\n"


def test_the_list_of_programs_imports_none_of_them():
    modules_of(
        HELP.format(words=["-h"])
        + "assert {name for name in loaded if name.startswith('twofold.command.')} == {'twofold.command.command_line'}, loaded"
    )


def test_a_launcher_loads_neither_arrays_nor_symbols():
    modules_of(
        HELP.format(words=["launch", "-h"]) + "assert 'twofold.command.launch' in loaded\n"
        "assert not loaded & {'twofold.imperative.array', 'twofold.symbol', 'twofold.kvstore', 'twofold.profiler'}, loaded"
    )


def test_a_script_of_numpys_loads_no_engine(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy as np\nprint(np.ones(3).sum())\n")
    modules_of(
        HELP.format(words=["run", "--numpy", str(script)]) + "assert 'twofold.numpy_folding.face' in loaded\n"
        "assert not loaded & {'twofold.imperative.array', 'twofold.graph.ir', 'twofold.ops', 'llvmlite'}, loaded"
    )


@pytest.mark.parametrize("name", ["twofold.nothing", "twofold.np.nothing", "twofold.np.lib.nothing", "twofold.np.arange"])
def test_other_submodules_are_not_found(name):
    with pytest.raises(ModuleNotFoundError, match=f"'{name}'"):
        __import__(name)


@pytest.mark.parametrize("statement", ["import twofold.np", "import twofold as mx; mx.nd", "from twofold import gluon"])
def test_the_garbage_collector_rests_while_modules_are_loaded(statement: str):
    """Collections would find nothing, and take a seventh of the time; one may follow."""
    program = f"""
import gc, sys
began = []
gc.callbacks.append(lambda phase, _: began.append(phase) if "twofold.dtype" in sys.modules and phase == "start" else None)
{statement}
assert gc.isenabled()
print(len(began))
"""
    run = subprocess.run([sys.executable, "-c", SEARCH_PATH + program], capture_output=True, text=True, check=True)
    assert int(run.stdout) <= 1
