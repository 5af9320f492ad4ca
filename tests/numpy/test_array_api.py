"""``twofold.np`` as an array API namespace: what it says of itself, and libraries that compute with a foreign namespace."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import array_api_compat
import numpy
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import MXNetError

from tests.devices import fake_gpus
from tests.numpy.namespace_uses import USES

np = mx.np


def test_devices_are_its_own():
    info = np.__array_namespace_info__()
    assert info.devices()[0] == mx.cpu()
    assert np.ones(3).device == info.default_device() == mx.current_context()
    assert len(info.devices()) == 1 + mx.context.num_gpus()
    with mx.cpu(1):
        assert info.default_device() == mx.cpu(1)
    for device in info.devices()[:1]:
        assert np.zeros(2, device=device).device == device
        assert info.dtypes(device=device)["float32"] == numpy.float32
    with pytest.raises(MXNetError, match="no such device"):
        info.dtypes(device="tpu")


def test_the_rest_is_numpys():
    info, numpys = np.__array_namespace_info__(), numpy.__array_namespace_info__()
    assert info.capabilities() == numpys.capabilities()
    assert info.default_dtypes(device=None) == numpys.default_dtypes()
    for kind in (None, "bool", "real floating", ("integral", "complex floating")):
        assert info.dtypes(kind=kind) == numpys.dtypes(kind=kind)
    with pytest.raises(ValueError, match="unsupported kind"):
        info.dtypes(kind="text")


def test_array_api_compat_knows_arrays_and_devices():
    x = np.ones((2, 3))
    assert array_api_compat.array_namespace(x) is np
    assert array_api_compat.is_array_api_obj(x)
    assert not array_api_compat.is_numpy_array(x)
    assert array_api_compat.device(x) == mx.current_context()
    assert array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, mx.cpu()) is not None


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_sorting_downwards(dtype):
    values = numpy.random.default_rng(0).integers(0, 5, (20, 30)).astype(dtype)
    x, upwards = np.array(values), values.astype("int64")
    for axis in (0, 1, -1):
        expected = numpy.argsort(-upwards, axis, kind="stable")
        numpy.testing.assert_array_equal(np.argsort(x, axis, stable=True, descending=True).asnumpy(), expected)
        numpy.testing.assert_array_equal(np.sort(x, axis, descending=True).asnumpy(), numpy.flip(numpy.sort(values, axis), axis))
    numpy.testing.assert_array_equal(np.sort(x, None, descending=True).asnumpy(), numpy.sort(values, None)[::-1])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_nan_comes_last_downwards_too(monkeypatch, dtype, elements):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    x = np.array([[3, numpy.nan, -1, numpy.inf], [0, -numpy.inf, 2, 5]]).astype(dtype)
    first, second = [numpy.inf, 3, -1, numpy.nan], [5, 2, 0, -numpy.inf]
    x.attach_grad()
    with mx.autograd.record():
        y = np.sort(x, descending=True)
        (y[:, 0] * np.array([2, 3]).astype(dtype)).sum().backward()
    z = x.copy()
    z.sort(descending=True)
    for found in (y, z, np.sort(x.copy(), descending=True)):
        numpy.testing.assert_array_equal(found.asnumpy(), numpy.array([first, second], dtype))
    assert x.grad.tolist() == [[0, 0, 0, 2], [0, 0, 0, 3]]
    assert np.argsort(x, descending=True).tolist() == x.argsort(descending=True).tolist() == [[3, 0, 2, 1], [3, 2, 0, 1]]


@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_nan_of_bfloat16_comes_last_in_either_direction(monkeypatch, elements):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    x = mx.nd.array([1, numpy.nan, 3, 2, numpy.nan, -4], dtype="bfloat16").as_np_ndarray() * 2
    for array in (x, x.as_nd_ndarray()):
        found = [float(v) for v in array.sort()] if array is not x else np.sort(x).tolist()
        numpy.testing.assert_array_equal(found, [-8, 2, 4, 6, numpy.nan, numpy.nan])
    numpy.testing.assert_array_equal(np.sort(x, descending=True).tolist(), [6, 4, 2, -8, numpy.nan, numpy.nan])
    assert np.argsort(x).tolist() == [5, 0, 3, 2, 1, 4]
    assert np.argsort(x, descending=True).tolist() == [2, 3, 0, 5, 1, 4]


def test_patterns_of_sequences_match_as_with_numpys_arrays():
    def matched(array):
        match array:
            case [first, second]:
                return "two", float(first), float(second)
            case [first, *others]:
                return "more", float(first), len(others)
            case _:
                return "none"

    for values in ([1.0, 2.0], [3.0], [4.0, 5.0, 6.0], []):
        want = matched(numpy.array(values))
        for x in (np.array(values), np.array(values) + 0, np.array([0, *values])[1:]):
            assert matched(x) == want
            assert not isinstance(x, Sequence)
    assert matched(mx.nd.ones(2)) == "none"


def test_distinct_values_come_in_order():
    for values in ([0, 1], [3, 1, 2, 0, 5, 5], [1.5, numpy.nan, -2.0, numpy.nan]):
        expected = numpy.unique(values, equal_nan=False)
        numpy.testing.assert_array_equal(np.unique_values(np.array(values)).asnumpy(), expected)


def test_an_empty_index_gives_an_array():
    """Scalars of NumPy would have another namespace: SciPy writes ``x[()]`` before it returns a total, and computes with that."""
    x = np.asarray(3.0)
    for a in (x, x * 2, np.ones((2, 3)), np.ones(4)[1:]):
        found = a[()]
        assert isinstance(found, np.ndarray)
        numpy.testing.assert_array_equal(found.asnumpy(), a.asnumpy())
    found = x[()]
    x += 2.0
    assert (found, x) == (3.0, 5.0)
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x)[()]
    y.backward()
    assert x.grad == 10.0


def test_frequencies_are_arrays_on_the_device():
    assert np.fft.fftfreq(6, 0.5).device == mx.current_context()
    numpy.testing.assert_array_equal(np.fft.fftfreq(6, 0.5).asnumpy(), numpy.fft.fftfreq(6, 0.5))
    assert np.fft.rfftfreq(6, device=mx.cpu(1)).device == mx.cpu(1)


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_a_mask_without_axes_selects_the_only_element_or_none(where):
    with fake_gpus(1) as gpus, mx.cpu() if where == "cpu" else gpus[0]:
        for chosen in (True, False):
            for value in (2.0, numpy.float64(2.0), np.asarray(2.0), np.asarray([2.0])):
                x = np.asarray(3.0) + 0.0
                x[np.asarray(chosen)] = value
                assert float(x) == (2.0 if chosen else 3.0)


ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = sorted({name.partition(".")[0] for name in USES})


@pytest.mark.ci
@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_compute_with_its_arrays(library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    command = [sys.executable, "-W", "ignore", "-m", "tests.numpy.namespace_uses", library]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}
