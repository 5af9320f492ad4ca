"""Every text that the operator table has the adapter print compiles for GPUs, by NVIDIA's own compiler."""

from contextlib import suppress

import pytest

from twofold.testing.op_conformance import check_backend

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu
from tests.cupy.conftest import SIMULATION
from tests.cupy.test_operators import SAMPLES

handover = pytest.importorskip("twofold_cupy.handover")
pytestmark = pytest.mark.skipif(SIMULATION is None, reason="the simulation collects the texts")
#: Every so many-th sample is taken at each push, and of their texts every third.
SPREAD = 10


def texts(backend, samples):
    """The texts that operators have printed, in the order of their names."""
    before = set(SIMULATION.sources)
    with SIMULATION.gathering():
        for op, _, sample in samples:
            with suppress(Exception):
                check_backend(op, sample, backend)
    new = {source: names for source, names in SIMULATION.sources.items() if source not in before and "#include <cupy" not in source}
    return sorted(new, key=lambda source: (new[source], source))


def test_a_spread_of_texts_compiles(backend):
    found = texts(backend, SAMPLES[3::SPREAD])
    assert len(found) > SPREAD
    for source in found[::3]:
        compile_for_gpu(source, "sm_90")  # fails the test by itself


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_text_compiles(backend, architecture):
    texts(backend, SAMPLES)
    for source in SIMULATION.sources:
        if "#include <cupy" not in source:
            compile_for_gpu(source, architecture)


@pytest.mark.parametrize("size", handover.SIZES)
def test_the_kernel_before_and_after_graphs_compiles(size):
    compile_for_gpu(handover.text(size), "sm_90")


def test_a_text_that_is_wrong_is_refused():
    with pytest.raises(AssertionError, match="undefined"):
        compile_for_gpu('extern "C" __global__ void f(float *x) { x[0] = undefined_function(x[0]); }', "sm_90")
