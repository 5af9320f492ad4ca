"""Ordinary programs on the CPU give the same results with the generic adapter as with NumPy's."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.backend.programs import PROGRAMS

SCRIPT = Path(__file__).with_name("programs.py")


def results_on(folder, **variables):
    """The programs' results in a separate process, by program and name."""
    path = folder / f"{'_'.join(variables.values())}.npz"
    result = subprocess.run(
        [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, timeout=250, check=False, env={**os.environ, **variables}
    )
    assert result.returncode == 0, result.stderr
    return dict(np.load(path))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return [
        results_on(folder, TWOFOLD_BACKEND_CPU="numpy"),
        results_on(folder, TWOFOLD_BACKEND_CPU="array_api", TWOFOLD_ARRAY_API="array_api_strict"),
    ]


@pytest.mark.ci
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_matches_numpy(name, results):
    wanted, got = [{k: v for k, v in found.items() if k.startswith(f"{name}: ")} for found in results]
    for found in (wanted, got):
        assert f"{name}: error" not in found, str(found[f"{name}: error"])
    assert wanted
    assert got.keys() == wanted.keys()
    for key, want in wanted.items():
        assert (got[key].dtype, got[key].shape) == (want.dtype, want.shape), key
        np.testing.assert_allclose(got[key], want, rtol=2e-5, atol=1e-6, err_msg=key)
