"""Every adapter of the repository keeps the backend protocol: the conformance suite that ships, on NumPy, the array API and the fake."""

import pytest

from twofold.backend.protocol import Backend
from twofold.dtype import FLOATS, INTEGERS
from twofold.testing import backend_conformance as conformance
from twofold.testing.backend_cases import REAL
from twofold_array_api import ArrayApiBackend
from twofold_numpy import NumpyBackend

STANDARD = ("bool", *INTEGERS, *FLOATS[2:])  # what the array-API standard has: no 16-bit floats
ADAPTERS: dict[str, tuple[Backend, tuple[str, ...]]] = {
    "numpy": (NumpyBackend(), REAL),
    "array_api_strict": (ArrayApiBackend("array_api_strict"), STANDARD),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("name", conformance.names())
def test_primitive_gives_what_numpy_gives(adapter, name):
    backend, dtypes = ADAPTERS[adapter]
    conformance.check_primitive(backend, name, dtypes)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("behaviour", conformance.BEHAVIOURS, ids=lambda f: f.__name__)
def test_adapter_keeps_the_promise(adapter, behaviour):
    backend, dtypes = ADAPTERS[adapter]
    behaviour(backend, dtypes)
