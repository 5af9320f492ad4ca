"""Machine code that writes images into batches gives the bytes of the operator that resizes images, and NumPy's normalization."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.ops.image_resizing import LINEAR, resized

pytest.importorskip("llvmlite")

UNCHANGED = (0.0,) * 4 + (1.0,) * 4 + (0.0,) * 4


@pytest.fixture(autouse=True)
def jit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "jit", True)


def write(*args: object) -> None:
    found = backend_for(CPU).target.host_code.picture_writer()
    assert found is not None
    found(*args)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_resized_images_have_the_bytes_of_the_operator(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width, h, w = (int(n) for n in rng.integers((2, 2, 1, 1), 70))
    if seed % 6 == 0:  # half the size, for which OpenCV takes means, and the same size
        height, width = (2 * h, 2 * w) if seed % 12 else (max(h, 2), max(w, 2))
        h, w = (h, w) if seed % 12 else (height, width)
    image = rng.integers(0, 256, (height, width + 3, 4), dtype=np.uint8)[:, 1 : width + 1]  # rows with gaps
    rows, columns, channels, mirror = int(rng.integers(1, h + 1)), int(rng.integers(1, w + 1)), (1, 3)[seed % 2], seed % 4 > 1
    top, left = int(rng.integers(h - rows + 1)), int(rng.integers(w - columns + 1))
    expected = resized(np, image[..., :channels], height=h, width=w, interp=LINEAR)[top : top + rows, left : left + columns]
    expected = expected.transpose(2, 0, 1)[..., :: -1 if mirror else 1]
    for dtype in ("uint8", "float32"):
        batch = np.full((3, channels, rows, columns), 7, dtype)
        write(image, (width / w, left + 0.5), (height / h, top + 0.5), mirror, UNCHANGED, batch[1])
        np.testing.assert_array_equal(batch[1], expected)
        assert (batch[[0, 2]] == 7).all()  # nothing beside it is written


def test_numbers_are_normalized_as_numpy_does_it() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (9, 37, 4), dtype=np.uint8)
    mean, factor, shift = rng.normal(100, 50, 4), rng.uniform(0.01, 0.1, 4), rng.normal(size=4)
    found = np.empty((3, 9, 37), "float32")
    write(image, (1.0, 0.5), (1.0, 0.5), False, (*mean, *factor, *shift), found)
    planes = image[..., :3].transpose(2, 0, 1).astype("float32")
    per_channel = [x.astype("float32")[:3, None, None] for x in (mean, factor, shift)]
    np.testing.assert_array_equal(found, (planes - per_channel[0]) * per_channel[1] + per_channel[2])


def test_the_setting_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert backend_for(CPU).target.host_code.picture_writer() is None


@pytest.mark.parametrize("width", [16, 32, 224])
@pytest.mark.parametrize("shift", [0, 4])
def test_stores_past_the_caches_give_the_same(width: int, shift: int) -> None:
    memory = np.zeros(3 * 5 * width * 4 + 128, "uint8")
    begin = -memory.ctypes.data % 64 + shift  # with a shift of 4 bytes they are not possible
    found = memory[begin : begin + 3 * 5 * width * 4].view("float32").reshape(3, 5, width)
    image = np.random.default_rng(0).integers(0, 256, (7, 2 * width, 4), dtype=np.uint8)
    write(image, (2.0, 0.5), (7 / 5, 0.5), True, UNCHANGED, found)
    expected = resized(np, image[..., :3], height=5, width=width, interp=LINEAR)[:, ::-1].transpose(2, 0, 1)
    np.testing.assert_array_equal(found, expected)
    assert not memory[:begin].any()
    assert not memory[begin + found.nbytes :].any()
