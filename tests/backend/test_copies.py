"""Copies into row-major order: the same elements in machine code as by NumPy, and which arrays take which way."""

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold_numpy import copies

from .jit import fresh

__all__ = ["fresh"]
DTYPES = ["uint8", "float16", "int32", "float32", "int64", "float64", "complex128"]


@pytest.fixture
def compiled(monkeypatch):
    """Small arrays are transposed in machine code too; counts those that are."""
    monkeypatch.setattr(copies, "LEAST", 0)
    monkeypatch.setattr(copies, "is_worth_loading", lambda work: True)
    taken = []
    make = copies.IN_MACHINE_CODE[0]
    monkeypatch.setattr(copies, "IN_MACHINE_CODE", [lambda item: taken.append(item) or make(item)])
    return taken


def array(shape, dtype, seed=0):
    return (np.random.default_rng(seed).random(shape) * 200).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 48), (37, 53), (3, 16, 8), (2, 21, 7, 5), (2, 1, 40, 9)], ids=str)
def test_every_order_of_axes_is_copied(compiled, fresh, shape, dtype):
    x = array(shape, dtype)
    for axes in {tuple(np.random.default_rng(k).permutation(len(shape)).tolist()) for k in range(12)}:
        for turned in (x.transpose(axes), x.transpose(axes)[::-1], x.transpose(axes)[..., 1:], x[..., ::2].transpose(axes)):
            out = np.full(turned.shape, 7, dtype)
            copies.copy_into(out, turned)
            np.testing.assert_array_equal(out, turned)
            assert copies.packed(turned).flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_may_have_gaps(compiled, fresh, dtype):
    """As images in padded ones, and a band of rows of a result."""
    image = array((20, 9, 19), dtype)
    padded, bands = np.full((11, 21, 20), 7, dtype), np.full((20, 30, 19), 7, dtype)
    inside, band = padded[1:10, 1:20], bands[:, 10:19].transpose(1, 0, 2)
    copies.copy_alone(inside, image.transpose(1, 2, 0))
    copies.copy_alone(band.swapaxes(1, 2), np.ascontiguousarray(image.transpose(1, 0, 2)).swapaxes(1, 2))
    np.testing.assert_array_equal(inside, image.transpose(1, 2, 0))
    np.testing.assert_array_equal(band, image.transpose(1, 0, 2))
    assert (padded == 7).sum() >= padded.size - inside.size
    assert (bands[:, :10] == 7).all()
    assert (bands[:, 19:] == 7).all()
    if dtype != "complex128":
        assert compiled


def test_machine_code_takes_transposed_arrays(compiled, fresh):
    images = array((3, 20, 9, 9), "float32")
    bytes_ = array((2, 50, 60), "uint8").swapaxes(1, 2)
    for x, is_taken in (
        (images.transpose(0, 2, 3, 1), True),
        (images.reshape(60, 81).T, True),
        (images[:, 0].swapaxes(1, 2), False),
        (bytes_, True),
    ):
        compiled.clear()
        copies.copy_into(np.empty(x.shape, x.dtype), x)
        assert compiled == [x.itemsize] * is_taken


@pytest.mark.parametrize("jit", [False, True])
def test_what_machine_code_cannot_copy_is_numpys(compiled, fresh, monkeypatch, jit):
    monkeypatch.setattr(SETTINGS, "jit", jit)
    shifted = np.frombuffer(bytes(range(256)) * 17, np.uint8)[1:4097].view("float32").reshape(32, 32)  # not aligned
    objects = np.array([[object()] * 20] * 20, object)
    for x in (shifted.T, objects.T, array((20, 40, 30), "float32")[:, ::2, ::3].T, array((40, 40), ">i4").T):
        out = np.empty(x.shape, x.dtype.newbyteorder("="))
        copies.copy_into(out, x)
        np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("count", [1, 2])
def test_large_strided_arrays_are_copied_by_all_threads(count, monkeypatch):
    shared = []
    monkeypatch.setattr(copies, "run_all", lambda tasks: (shared.append(len(tasks)), [task() for task in tasks]))
    monkeypatch.setattr(copies.workers, "count", lambda: count)
    images = array((3, 64, 60, 60), "float32")
    for x, is_shared in ((np.moveaxis(images, 1, -1), count > 1), (images, False), (images[:1].T, False), (images[:, :, 0, 0], False)):
        out = np.zeros(x.shape, x.dtype)
        shared.clear()
        copies.copy_into(out, x)
        assert (shared == [2]) == is_shared
        np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_packed_is_numpys_ascontiguousarray(dtype):
    x = array((300, 200), "float32")
    assert copies.packed(x, dtype).tobytes() == np.ascontiguousarray(x, dtype).tobytes()
    assert copies.packed(x.T, dtype).tobytes() == np.ascontiguousarray(x.T, dtype).tobytes()
    assert copies.packed(x) is x
