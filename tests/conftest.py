"""Shared by several suites: the shared material next to the repository, and the real MXNet to compare with."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# Machine code differs from NumPy's ufuncs in the last bits, and most tests ask for equal ones; half of the tests of some suites use it,
# and programs that run as users have them.
os.environ["TWOFOLD_JIT"] = "0"
# every graph is planned by the code under test, whatever an earlier run has stored
os.environ["TWOFOLD_KEEP_PLANS"] = "0"
# Smaller arrays than fold by default, so that tests of folding arrays are quick.
os.environ.setdefault("TWOFOLD_FOLD_ELEMENTS", "65536")

# Tests start hundreds of processes, each of which would compile all of Twofold to bytecode where the environment keeps none.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(Path(tempfile.gettempdir()) / f"twofold-bytecode-{os.environ.get('USER', '')}")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Time decides no test: beside other processes an example may take any number of milliseconds.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

SHARED = Path(__file__).parents[1] / "../shared"
ORACLE_IMPOSSIBLE = 2  # exit status of the tool where no Python is old enough for MXNet 1.9.1
ORACLE_SECONDS = 300  # its first call installs MXNet


def absent(what: str) -> NoReturn:
    """Skip a test for want of something, or fail it where nothing may be wanting."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}, and CI=true", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="module", autouse=True)
def _what_is_older() -> None:
    """Hide objects of earlier modules from the garbage collector: tests that call it would otherwise take seconds each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_sites() -> None:
    """Forget which lines have stopped waiting: what a test counts must not depend on the tests before it."""
    from twofold.imperative.sites import SITES

    SITES.clear()


#: Where every other test runs with machine code, as programs of users do. Random searches of other suites divide their programs.
IN_MACHINE_CODE = ("tests/gluon/", "tests/module/", "tests/numpy/")

#: Where programs run as users have them: with what the extra ``jit`` installs, which compiles kernels that take long.
AS_USERS = ("tests/examples/", "tests/whole_programs/", "tests/training/test_programs.py")


def runs_in_machine_code(item: pytest.Item) -> bool:
    """Whether kernels are compiled in a test: a stable choice by its name; TWOFOLD_TEST_JIT=all chooses all that may be."""
    if not item.nodeid.startswith(IN_MACHINE_CODE) or item.get_closest_marker("exact") is not None:
        return False
    return os.environ.get("TWOFOLD_TEST_JIT") == "all" or crc32(item.nodeid.encode()) % 2 == 0


@pytest.fixture
def machine_code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of a process that compiles kernels at their first use; the code is kept between runs of pytest."""
    cache = getattr(request.config, "cache", None)
    folder = tmp_path_factory.mktemp("machine_code") if cache is None else cache.mkdir("twofold")
    return {"TWOFOLD_JIT": "1", "TWOFOLD_JIT_EAGER": "1", "TWOFOLD_CACHE": str(folder)}


@pytest.fixture(autouse=True)
def _some_run_in_machine_code(request: pytest.FixtureRequest) -> Iterator[None]:
    is_as_users = request.node.nodeid.startswith(AS_USERS) and request.node.get_closest_marker("exact") is None
    is_compiled = runs_in_machine_code(request.node)
    if not (is_as_users or is_compiled):
        yield
        return
    from twofold.config import SETTINGS

    # a patch of its own: the fixture `monkeypatch` would be made before a suite's own fixtures, and undone after them
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TWOFOLD_JIT")
        for name, value in request.getfixturevalue("machine_code").items() if is_compiled else ():
            patch.setenv(name, value)
        patch.setattr(SETTINGS, "jit", True)
        patch.setattr(SETTINGS, "jit_eager", is_compiled)
        if is_compiled and request.node.nodeid.startswith("tests/numpy/"):
            from tests.machine_code import array_methods

            patched: AbstractContextManager[object] = array_methods()
        else:
            patched = nullcontext()
        with patched:
            yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    """The URL of an empty folder that is nobody else's, in fsspec's store in memory."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    folder = f"/{tmp_path.name}"
    memory.makedirs(folder)
    yield f"memory:/{folder}"
    memory.rm(folder, recursive=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of fixtures, data and tools next to the repository."""
    if not SHARED.is_dir():
        absent("no shared material beside the repository")
    return SHARED.resolve()


@pytest.fixture(scope="session")
def oracle(shared: Path) -> Callable[..., str]:
    """Run a Python program with the real MXNet 1.9.1 and return what it prints."""

    def run(script: str, *args: object) -> str:
        command = [str(shared / "tools" / "oracle"), "-c", script, *map(str, args)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=ORACLE_SECONDS, check=False)
        if result.returncode == ORACLE_IMPOSSIBLE:
            absent(result.stderr.strip())
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests told by ``record_property("told", text)``, those in other processes too."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    told = (text for report in reports for name, text in getattr(report, "user_properties", ()) if name == "told")
    for text in dict.fromkeys(told):
        terminalreporter.write_line(text)
