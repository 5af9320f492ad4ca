"""asv finds the rows of the history, and they run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = Path(__file__).parents[2] / "asv_benchmarks"


@pytest.mark.ci
def test_asv_finds_all_rows():
    command = [sys.executable, "-m", "asv", "check", "--environment", f"existing:{sys.executable}"]
    done = subprocess.run(command, cwd=ROWS, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
