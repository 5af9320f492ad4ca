"""Every text that the operator table has the adapter print compiles for GPUs, by NVIDIA's own compiler."""

from contextlib import suppress

import pytest

from twofold.testing.op_conformance import check_backend

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu
from tests.cupy.conftest import SIMULATION, simulated
from tests.cupy.test_operators import SAMPLES

handover = pytest.importorskip("twofold_cupy.handover")
pytestmark = simulated
#: Every so many-th sample is taken at each push, and of all texts that there are then so many.
SPREAD, FEW = 10, 12


def texts(backend, samples):
    """The texts that operators and earlier tests have printed, in the order of their names."""
    with SIMULATION.gathering():
        for op, _, sample in samples:
            with suppress(Exception):
                check_backend(op, sample, backend)
    own = {source: names for source, names in SIMULATION.sources.items() if "#include <cupy" not in source}
    return sorted(own, key=lambda source: (own[source], source))


def test_a_spread_of_texts_compiles(backend):
    found = texts(backend, SAMPLES[3::SPREAD])
    assert len(found) > FEW
    for source in found[:: -(-len(found) // FEW)]:
        compile_for_gpu(source, "sm_90")  # fails the test by itself


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_text_compiles(backend, architecture):
    for source in texts(backend, SAMPLES):
        compile_for_gpu(source, architecture)


@pytest.mark.parametrize("size", handover.SIZES)
def test_the_kernel_before_and_after_graphs_compiles(size):
    compile_for_gpu(handover.text(size), "sm_90")


def test_a_text_that_is_wrong_is_refused():
    with pytest.raises(AssertionError, match="undefined"):
        compile_for_gpu('extern "C" __global__ void f(float *x) { x[0] = undefined_function(x[0]); }', "sm_90")
