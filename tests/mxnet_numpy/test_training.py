"""Gluon under ``npx.set_np()``: networks train as with the real MXNet (training.json, written by training.py)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle_programs import difference

SCRIPT = Path(__file__).with_name("training.py")
WANTED = json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, "-m", "twofold", "run", str(SCRIPT)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=250, check=True).stdout)


@pytest.mark.parametrize("run", WANTED)
def test_a_network_trains_as_mxnets(run, found):
    assert difference(found[run], WANTED[run], 1e-3) is None


def test_no_run_is_missing(found):
    assert found.keys() == WANTED.keys()
