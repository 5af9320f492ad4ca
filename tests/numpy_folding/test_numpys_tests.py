"""Some files of NumPy's own tests pass on folding arrays, but for what the list allows; `tools/numpy_suite.py` runs them all."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.ci
def test_files_that_take_seconds(tmp_path, record_property):
    command = [sys.executable, str(ROOT / "tools" / "numpy_suite.py"), "--smoke", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    record_property("told", done.stdout.strip().splitlines()[-1] if done.stdout else "nothing ran")
    assert done.returncode == 0, done.stdout + done.stderr
    passed, _, rest = done.stdout.rpartition(" element(s) up, ")[2].partition(" of ")
    assert int(passed) > 300, rest  # an installation without NumPy's tests would test nothing
