"""`make test-gpu-sanitizer`: its calls, recorded by a stand-in for compute-sanitizer."""

import json
import stat
import sys
from pathlib import Path

import pytest

from tests import sanitizer

TOOL = """#!{python}
import json, os, pathlib, sys
log = pathlib.Path({log!r})
known = {{name: os.environ.get(name) for name in ("TWOFOLD_TEST_GPU", "TWOFOLD_TEST_SANITIZER", "PYTEST_TIMEOUT")}}
log.write_text(log.read_text() + json.dumps([sys.argv[1:], known]) + "\\n")
sys.exit({fails} if sys.argv[2] == {failing!r} else 0)
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Put the stand-in on PATH; it reports a finding with one tool. Returns a function that lists its calls."""
    log = tmp_path / "calls"

    def installed(failing="", status=sanitizer.FOUND):
        log.write_text("")
        program = tmp_path / "bin" / sanitizer.NAME
        program.parent.mkdir(exist_ok=True)
        program.write_text(TOOL.format(python=sys.executable, log=str(log), failing=failing, fails=status))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(program.parent))
        return lambda: [json.loads(line) for line in log.read_text().splitlines()]

    return installed


@pytest.fixture
def nowhere(monkeypatch):
    for name in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sanitizer.shutil, "which", lambda name, path: None)


def test_each_tool_runs_the_marked_tests_on_the_device(calls, capfd):
    made = calls()
    assert sanitizer.main(["-x"]) == 0
    assert [arguments[1] for arguments, _ in made()] == ["memcheck", "racecheck", "initcheck"]
    for arguments, known in made():
        at = arguments.index(sys.executable)
        assert arguments[at + 1 :][:5] == ["-m", "pytest", "tests/cupy", "-m", "sanitizer"]
        assert arguments[-1] == "-x"
        assert arguments[arguments.index("--error-exitcode") + 1] == str(sanitizer.FOUND)
        assert known == {"TWOFOLD_TEST_GPU": "device", "TWOFOLD_TEST_SANITIZER": "1", "PYTEST_TIMEOUT": "0"}
    assert capfd.readouterr().out.splitlines()[-3:] == [f"{tool}: nothing found" for tool in sanitizer.TOOLS]


def test_findings_fail_but_the_other_tools_still_run(calls, capfd):
    made = calls("memcheck")
    assert sanitizer.main([]) == 1
    assert len(made()) == len(sanitizer.TOOLS)
    assert f"memcheck: exit status {sanitizer.FOUND}: it has found something" in capfd.readouterr().out


def test_a_single_tool_can_be_chosen(calls):
    made = calls()
    assert sanitizer.main(["--tool", "racecheck"]) == 0
    assert [arguments[1] for arguments, _ in made()] == ["racecheck"]


def test_the_toolkits_folder_is_searched(calls, tmp_path, monkeypatch):
    calls()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert sanitizer.located() == str(tmp_path / "bin" / sanitizer.NAME)


@pytest.mark.usefixtures("nowhere")
def test_a_missing_sanitizer_is_reported(capsys):
    assert sanitizer.main([]) == 2
    assert "compute-sanitizer is not there" in capsys.readouterr().err
    assert sanitizer.main(["--optional"]) == 0


def test_there_are_marked_tests():
    folder = Path(__file__).parents[1] / "cupy"
    assert sum("mark.sanitizer" in path.read_text(encoding="utf-8") for path in folder.glob("test_*.py")) >= 4
