"""Whatever decodes JPEGs, the pixels and the errors are the same."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import FormatError, MissingDependency
from twofold.formats.images import Picture, load_image
from twofold.formats.jpeg import decode_jpeg, decoder_name

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("simplejpeg")


def jpeg(size: tuple[int, int] = (61, 43), mode: str = "RGB", **options: Any) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).convert(mode).save(file, "JPEG", **{"quality": 85, **options})
    return file.getvalue()


def by_each(monkeypatch: pytest.MonkeyPatch, function: Callable[[], Any]) -> list[Any]:
    found = []
    for name in ("pillow", "simplejpeg"):
        monkeypatch.setattr(SETTINGS, "jpeg_decoder", name)
        assert decoder_name() == name
        found.append(function())
    return found


def pixels(data: bytes, channels: int | None) -> np.ndarray:
    record = load_image(data, channels)
    return np.frombuffer(record.data, np.uint8).reshape(record.shape or ())


@pytest.mark.parametrize("size", [(1, 1), (16, 16), (61, 43), (200, 7)])
@pytest.mark.parametrize(
    "options", [{"subsampling": k} for k in range(3)] + [{"progressive": True}, {"mode": "L"}, {"restart_marker_rows": 1}]
)
def test_pixels_are_the_same(monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], options: dict[str, Any]) -> None:
    data = jpeg(size, **options)
    for channels in (1, 3):
        pillow, simplejpeg = by_each(monkeypatch, lambda channels=channels: pixels(data, channels))
        np.testing.assert_array_equal(pillow, simplejpeg)
        assert decode_jpeg(data, channels, math.inf) is not None  # it was simplejpeg that decoded it


@pytest.mark.parametrize("channels", [1, 3])
def test_parts_and_padded_pixels_are_the_same(monkeypatch: pytest.MonkeyPatch, channels: int) -> None:
    data = jpeg()

    def seen() -> list[np.ndarray]:
        picture = Picture(data, channels)
        padded = np.frombuffer(picture.padded().data, np.uint8).reshape(43, 61, 4)[..., :channels]
        part = picture.part((5, 6, 20, 10))
        return [padded, np.frombuffer(part.data, np.uint8).reshape(10, 20, channels)]

    (padded, part), others = by_each(monkeypatch, seen)
    np.testing.assert_array_equal(padded, pixels(data, channels).reshape(43, 61, channels))
    np.testing.assert_array_equal(part, padded[6:16, 5:25])
    np.testing.assert_array_equal(padded, others[0])
    np.testing.assert_array_equal(part, others[1])


def exif(orientation: int) -> bytes:
    found = Image.Exif()
    found[0x0112] = orientation
    return found.tobytes()


@pytest.mark.parametrize("data", [jpeg(mode="CMYK"), jpeg(exif=exif(6)), jpeg(exif=exif(1))], ids=["CMYK", "turned", "upright"])
def test_what_only_pillow_knows_is_left_to_it(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    pillow, simplejpeg = by_each(monkeypatch, lambda: pixels(data, 3))
    np.testing.assert_array_equal(pillow, simplejpeg)
    assert decode_jpeg(data, 3, math.inf) is None


def test_images_are_turned_upright(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in by_each(monkeypatch, lambda: pixels(jpeg((61, 43), exif=exif(6)), 3)):
        assert found.shape == (61, 43, 3)


WHOLE = jpeg()
DAMAGED = [WHOLE[:-2], WHOLE[: len(WHOLE) // 2], WHOLE[:100], WHOLE[:3], WHOLE[2:], b"\xff\xd8\xff\xe0\xff\xff"]


def error_of(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        mx.image.imdecode(data)
    return str(caught.value)


@pytest.mark.parametrize("data", DAMAGED, ids=range(len(DAMAGED)))
def test_errors_are_the_same(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    pillow, simplejpeg = by_each(monkeypatch, lambda: error_of(data))
    assert pillow == simplejpeg


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_decoded_alike(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        data = bytearray(WHOLE)
        for place in rng.integers(2, len(data), rng.integers(1, 4)):
            data[place] = rng.integers(256)

        def outcome(data: bytes = bytes(data)) -> object:
            try:
                return pixels(data, 3).tobytes()
            except FormatError as error:
                return str(error)

        pillow, simplejpeg = by_each(monkeypatch, outcome)
        assert pillow == simplejpeg, bytes(data)


def test_large_images_are_left_to_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    for message in by_each(monkeypatch, lambda: error_of(WHOLE)):
        assert "an image too large to decode" in message


def test_a_decoder_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    monkeypatch.setattr(SETTINGS, "jpeg_decoder", "simplejpeg")
    with pytest.raises(MissingDependency, match=r"pip install 'twofold\[jpeg\]'"):
        mx.image.imdecode(WHOLE)
