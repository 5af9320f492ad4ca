"""Every source that the adapter prints for the operator table and the fusion corpus compiles with NVIDIA's compiler."""

import gc
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation
from twofold.testing.op_conformance import check_backend

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu
from tests.cupy.conftest import SIMULATION, simulated
from tests.cupy.fusion_corpus import CORPUS, Program
from tests.cupy.test_operators import SAMPLES

batched_copy = pytest.importorskip("twofold_cupy.batched_copy")
pytestmark = simulated
#: At each push one in this many samples and programs is taken, and this many of the resulting sources.
SPREAD, FEW = 10, 12
#: Runs until a program's graph is captured; the last step-by-step run has its scalars in device memory.
ROUNDS = 4


def issued(programs: Iterable[Program], backend: Any) -> int:
    """Issue programs step by step and as graphs, launching nothing; returns the number of graphs captured."""
    before = backend.graphs.counts.captured
    try:
        with SIMULATION.gathering(compiles=False), pytest.MonkeyPatch.context() as patch:
            for as_graphs in (False, True):
                patch.setattr(SETTINGS, "cuda_graphs", as_graphs)
                for program in programs:
                    for _ in range(ROUNDS if as_graphs else 1):
                        program(mx.gpu(0))
    finally:  # the captured graphs do nothing and must not be used again
        drop_generation()
        gc.collect()
        backend.trim()
    return backend.graphs.counts.captured - before


def texts(backend, samples):
    """The sources that operators and all earlier tests have printed, in the order of their names."""
    with SIMULATION.gathering(compiles=False):
        for op, _, sample in samples:
            with suppress(Exception):  # nothing is computed, so it reads garbage
                check_backend(op, sample, backend)
    own = {source: names for source, names in SIMULATION.sources.items() if "#include <cupy" not in source}
    return sorted(own, key=lambda source: (own[source], source))


@pytest.fixture
def every_text(gpus, backend):
    """All sources, of the corpus and of the operators."""
    programs = list(CORPUS.values())
    assert issued(programs, backend) > len(programs)
    return texts(backend, SAMPLES)


@pytest.mark.ci
def test_a_sample_of_sources_compiles(backend):
    assert issued(list(CORPUS.values())[::SPREAD], backend)
    found = texts(backend, SAMPLES[3::SPREAD])
    assert len(found) > FEW
    for source in found[:: -(-len(found) // FEW)]:
        compile_for_gpu(source, "sm_90")  # fails the test by itself


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_source_compiles(every_text, architecture, record_property):
    for source in every_text:
        compile_for_gpu(source, architecture)
    record_property("told", f"{len(every_text)} texts of kernels compiled for {architecture}")


@pytest.mark.parametrize("size", batched_copy.SIZES)
def test_the_batched_copy_kernel_compiles(size):
    compile_for_gpu(batched_copy.kernel_source(size), "sm_90")


def test_an_invalid_source_is_rejected():
    with pytest.raises(AssertionError, match="undefined"):
        compile_for_gpu('extern "C" __global__ void f(float *x) { x[0] = undefined_function(x[0]); }', "sm_90")
