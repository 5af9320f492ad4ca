"""Ctrl-C or a full memory at any line: the program that goes on gets right results."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: One of so many lines; an odd number, so that both errors come to both.
EVERY = max(1, 30_001 // int(os.environ.get("FUZZ_CASES", "300")) | 1)
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.mark.fuzz
def test_a_program_goes_on_after_an_interrupt_at_any_line() -> None:
    command = [sys.executable, "-m", "tests.core.interrupts", str(SEED % EVERY), str(EVERY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stderr
    *broken, totals = done.stdout.splitlines()
    assert not broken, "\n".join(broken)
    assert ast.literal_eval(totals)["interrupted"] * EVERY > 10_000, totals
