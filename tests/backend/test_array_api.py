"""The generic adapter: which library it takes, and what it says where the library has no such dtype."""

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

from twofold.device import CPU
from twofold.errors import DTypeError
from twofold_array_api import ArrayApiBackend


def test_environment_names_the_library(monkeypatch):
    monkeypatch.setenv("TWOFOLD_ARRAY_API", "array_api_strict")
    assert ArrayApiBackend().xp.standard is array_api_strict


def test_strict_arrays_are_the_default(monkeypatch):
    monkeypatch.delenv("TWOFOLD_ARRAY_API", raising=False)
    assert type(ArrayApiBackend().empty((2,), "float32")) is type(array_api_strict.asarray([0.0]))


def test_a_library_that_is_not_there_is_an_import_error(monkeypatch):
    monkeypatch.setenv("TWOFOLD_ARRAY_API", "no_such_library")
    with pytest.raises(ImportError, match="no_such_library"):
        ArrayApiBackend()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_dtype_outside_the_standard_is_refused(dtype):
    with pytest.raises(DTypeError, match=r"the library has no such dtype: given b?float16; use one of"):
        ArrayApiBackend().from_host(np.zeros(2, dtype), CPU)


def test_int64_and_uint64_compare_by_value_as_numpy_does():
    backend = ArrayApiBackend()
    lhs, rhs = np.array([-1, 2**62]), np.array([2**64 - 1, 2**62], np.uint64)
    got = backend.xp.equal(backend.from_host(lhs, CPU), backend.from_host(rhs, CPU))
    assert list(backend.to_host(got)) == [False, True]
