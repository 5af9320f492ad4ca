"""What is NumPy's stays NumPy's under ``run --numpy``: real scripts print the same, warn alike, and share memory with C code."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import later_in_ci

SCRIPTS = sorted(Path(__file__).with_name("numpy_scripts").glob("*.py"))


def ran(*command):
    """The status, output and error output of Python run with some arguments."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize("script", later_in_ci(SCRIPTS, 3), ids=lambda path: path.stem)
def test_a_script_prints_and_warns_as_on_numpy(script):
    plain = ran(str(script))
    if plain[1] and plain[1][-1].startswith("skipped: "):
        pytest.skip(plain[1][-1])
    assert plain[0] == 0, plain[2]
    assert ran("-m", "twofold", "run", "--numpy", str(script)) == plain
