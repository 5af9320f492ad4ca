"""``twofold doctor --check script.py`` runs a script in which labels and indices out of range are errors."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, mxnet as mx
print(sys.argv[1:])
print(mx.nd.Embedding(mx.nd.array([7]), mx.nd.ones((5, 3)), input_dim=5, output_dim=3).shape)
"""


def twofold(*words):
    variables = {name: value for name, value in os.environ.items() if name not in ("TWOFOLD_CHECK", "TWOFOLD_TRACEBACK")}
    return subprocess.run([sys.executable, "-m", "twofold", *words], capture_output=True, text=True, check=False, env=variables)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def test_a_script_is_run_with_its_arguments_and_checks(script):
    found = twofold("doctor", "--check", script, "--epochs", "3")
    assert found.returncode == 1
    assert found.stdout == "['--epochs', '3']\n"
    assert found.stderr.splitlines()[-1] == (
        "twofold.errors.IndexingError: Embedding: the index is out of range: given 7 at position 0; pass integers from 0 to 4"
    )


def test_run_does_not_check(script):
    assert twofold("run", script).stdout == "[]\n(1, 3)\n"


def test_a_script_is_needed():
    found = twofold("doctor", "--check")
    assert found.returncode == 2
    assert found.stderr.endswith("error: --check: pass a script\n")
