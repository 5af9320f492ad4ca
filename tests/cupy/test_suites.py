"""The front ends' test suites with gpu(0) as the default context: a sample at each push, all of them in `make test-gpu-sim`."""

import os
import subprocess
import sys

import pytest

from tests.cupy.conftest import SIMULATION
from tests.on_gpu import SUITES

#: One in this many tests is run at each push.
EVERY = 120
#: Tests that take long, or need what not every machine has, are not sampled.
QUICK = "not slow and not mnist and not oracle and not fuzz"


@pytest.mark.ci
@pytest.mark.skipif(SIMULATION is None, reason="make test-gpu runs all of the suites")
@pytest.mark.timeout(900)
def test_a_sample_of_the_suites_passes_on_gpus(request, record_property):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.on_gpu", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "--every", str(EVERY), "-m", QUICK, *SUITES],
        cwd=request.config.rootpath, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    record_property("told", f"one test of {EVERY} of the suites on gpu(0): {done.stdout.splitlines()[-1]}")
