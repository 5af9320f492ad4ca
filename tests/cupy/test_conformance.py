"""The CuPy adapter keeps the backend protocol: the conformance suite that ships."""

from contextlib import suppress

import pytest

from twofold.opdef.registry import primitives
from twofold.testing import backend_conformance as conformance
from twofold.testing.backend_cases import REAL, cases

from tests.cases import spread_in_ci
from tests.cupy.conftest import SIMULATION

#: The dtypes tested at each push; each further one takes a compilation of every source.
SPREAD = ("float32", "int32", "float16")
#: Products of 8-bit integers have no others.
EIGHT_BITS = ("int8", "uint8", "int32")


def gather(backend, name, dtypes):
    """Compile the sources that a primitive's cases need together."""
    if SIMULATION is None:
        return
    with SIMULATION.gathering():
        for case in cases(name, dtypes):
            for way in (conformance.by_namespace, conformance.by_call, conformance.by_kernel):
                if way is conformance.by_namespace or not (case.is_weak or not primitives()[name].elementwise):
                    with suppress(Exception):  # nothing is computed, so results are garbage
                        way(backend, case)


@pytest.mark.parametrize("name", spread_in_ci(conformance.names()))
def test_primitive_gives_what_numpy_gives(backend, name):
    dtypes = EIGHT_BITS if name in ("integer_matmul", "integer_convolve") else SPREAD
    gather(backend, name, dtypes)
    conformance.check_primitive(backend, name, dtypes)


@pytest.mark.slow
@pytest.mark.parametrize("name", conformance.names())
def test_primitive_gives_what_numpy_gives_in_every_dtype(backend, name):
    gather(backend, name, REAL)
    conformance.check_primitive(backend, name, REAL)


@pytest.mark.parametrize("behaviour", conformance.BEHAVIOURS, ids=lambda f: f.__name__)
def test_adapter_keeps_the_protocol(backend, schedule, behaviour):
    behaviour(backend, SPREAD)
