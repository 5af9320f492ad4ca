"""What is printed for a width of vectors, with half of this processor's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from twofold_numpy.jit.compiler import compiler

from tests.conftest import absent

if (OWN := compiler()) is None or OWN.machine.vector_bits < 256:
    absent("no vectors of 256 bits, or no llvmlite")

FOLDER = Path(__file__).parent
#: The tests of code that depends on the width.
FILES = ("convolution", "depthwise_gradients", "direct_convolution", "tiles", "window_reductions")


@pytest.mark.ci
@pytest.mark.parametrize("name", FILES)
def test_code_for_half_the_width_passes_the_same_tests(name):
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.narrow_vectors", "-m", "not slow and not ci")
    command = [sys.executable, "-m", "pytest", *options, str(FOLDER / f"test_{name}.py")]
    place = FOLDER.parents[1]
    found = subprocess.run(
        command, cwd=place, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stdout[-3000:]
    assert " passed" in found.stdout
