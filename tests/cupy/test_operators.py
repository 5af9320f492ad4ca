"""Every operator matches NumPy on CuPy: a sample of the table at each push, all of it in `make test-gpu-sim`."""

from contextlib import suppress

import pytest

import twofold.ndarray  # noqa: F401  (registers the operators)
from twofold.opdef.registry import OPS
from twofold.opdef.samples import samples_of
from twofold.testing.op_conformance import check_backend

from tests.cases import each
from tests.cupy.conftest import SIMULATION

SAMPLES = [(op, k, sample) for op in OPS.values() if not op.is_eager for k, sample in enumerate(samples_of(op))]
#: One in this many samples is run at each push.
SPREAD = 6


@each(
    "op, sample",
    [pytest.param(op, s, id=f"{op.title}-{k}", marks=[] if n % SPREAD == 0 else pytest.mark.slow) for n, (op, k, s) in enumerate(SAMPLES)],
)
def test_operator_matches_numpy(op, sample, backend):
    if SIMULATION is not None:
        with SIMULATION.gathering(), suppress(Exception):  # nothing is computed, so it reads garbage
            check_backend(op, sample, backend)
    check_backend(op, sample, backend, 2e-5)
