"""The generic adapter: which library it uses, and its errors for unsupported dtypes."""

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

from twofold.device import CPU
from twofold.errors import DTypeError
from twofold.testing import backend_conformance as conformance
from twofold_array_api import ArrayApiBackend


def test_environment_names_the_library(monkeypatch):
    monkeypatch.setenv("TWOFOLD_ARRAY_API", "array_api_strict")
    assert ArrayApiBackend().xp.standard is array_api_strict


def test_strict_arrays_are_the_default(monkeypatch):
    monkeypatch.delenv("TWOFOLD_ARRAY_API", raising=False)
    assert type(ArrayApiBackend().empty((2,), "float32")) is type(array_api_strict.asarray([0.0]))


def test_a_missing_library_is_an_import_error(monkeypatch):
    monkeypatch.setenv("TWOFOLD_ARRAY_API", "no_such_library")
    with pytest.raises(ImportError, match="no_such_library"):
        ArrayApiBackend()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_dtype_outside_the_standard_is_rejected(dtype):
    with pytest.raises(DTypeError, match=r"the library has no such dtype: given b?float16; use one of"):
        ArrayApiBackend().from_host(np.zeros(2, dtype), CPU)


def test_int64_and_uint64_compare_by_value_as_numpy_does():
    backend = ArrayApiBackend()
    lhs, rhs = np.array([-1, 2**62]), np.array([2**64 - 1, 2**62], np.uint64)
    got = backend.xp.equal(backend.from_host(lhs, CPU), backend.from_host(rhs, CPU))
    assert list(backend.to_host(got)) == [False, True]


def test_memory_is_shared_through_dlpack():
    host = np.zeros(3, "float32")
    backend = ArrayApiBackend()
    backend.write(backend.from_dlpack(host), slice(1, None), backend.scalar(2.0, "float32"))
    assert list(host) == [0, 2, 2]


@pytest.fixture
def storing(monkeypatch):
    """The adapter over a library that computes in int64 and float32 and only stores the rest, as torch stores uint64."""
    backend = ArrayApiBackend()
    monkeypatch.setattr(type(backend.xp), "computed", frozenset(["bool", "int64", "float32"]))
    return backend


@pytest.fixture
def on_host(storing, monkeypatch):
    """The calls that ran on the host."""
    seen = []
    run = type(storing.xp).on_host
    monkeypatch.setattr(type(storing.xp), "on_host", lambda xp, function, *arrays: seen.append(function) or run(xp, function, *arrays))
    return seen


@pytest.mark.parametrize("name", ["add", "right_shift", "less", "invert", "where", "max", "argmin", "sum"])
def test_dtypes_the_library_only_stores_are_computed_on_the_host(name, storing, on_host):
    conformance.check_primitive(storing, name, ("uint64",))
    assert on_host


def test_dtypes_the_library_only_stores_are_taken_flipped_and_multiplied_on_the_host(storing, on_host):
    host = np.arange(6, dtype=np.uint64).reshape(2, 3) + np.uint64(2**63)
    array, places = storing.from_host(host, CPU), storing.from_host(np.array([1, 0, 1]), CPU)
    np.testing.assert_array_equal(storing.to_host(storing.xp.take(array, places, axis=0)), host[[1, 0, 1]])
    np.testing.assert_array_equal(storing.to_host(storing.xp.slice(array, key=((None, None, None), (None, None, -1)))), host[:, ::-1])
    np.testing.assert_array_equal(storing.to_host(storing.xp.matmul(array, storing.xp.permute_dims(array, axes=(1, 0)))), host @ host.T)
    assert len(on_host) == 3
