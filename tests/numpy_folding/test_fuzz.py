"""Random programs give NumPy's results, layouts and sharing of memory, whatever waits, folds or is handed out."""

import os
import subprocess
import sys

import pytest

CASES = int(os.environ.get("FUZZ_CASES", "300"))
#: Each path is taken in this share of all.
LEAST = 0.02


@pytest.mark.fuzz
@pytest.mark.parametrize("half", [0, 1], ids=["ufuncs", "machine code"])
def test_random_programs_are_numpys_bit_by_bit(record_property, machine_code, half):
    environment = os.environ | {"TWOFOLD_FOLD_ELEMENTS": "40", "TWOFOLD_DEFER_ELEMENTS": "40"}
    if half:
        environment |= machine_code
    command = [sys.executable, "-m", "tests.numpy_folding.random_programs", str(-(-CASES // 2)), str(half * CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(count) for name, count in (word.split("=") for word in done.stdout.split())}
    record_property("told", f"folding arrays, paths taken in {CASES // 2} random programs: {done.stdout.strip()}")
    assert min(counts.values()) >= LEAST * sum(counts.values()), counts
