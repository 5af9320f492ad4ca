"""Threads that decode large images take turns, so that memory is bounded; a single image of any size that Pillow takes is decoded."""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import pytest

from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory
from twofold.formats import images, jpeg
from twofold.formats.decoding_room import ROOM, Room
from twofold.formats.images import Picture, load_image

pillow = pytest.importorskip("PIL.Image")


def encoded(width: int, height: int, format: str = "PNG") -> bytes:
    file = io.BytesIO()
    pillow.new("RGB", (width, height), (1, 2, 3)).save(file, format)
    return file.getvalue()


def test_an_image_waits_until_there_is_room_for_it_and_one_of_any_size_is_decoded_alone():
    room, order = Room(10), []

    def enter(pixels: int) -> None:
        with room.of(pixels):
            order.append(pixels)

    for held, waits in ((6, 5), (6, 100), (100, 1)):
        thread = threading.Thread(target=enter, args=(waits,))
        with room.of(held):
            if held + 4 <= room.most:
                enter(4)
            thread.start()
            while not room._turn.locked() and thread.is_alive():
                pass
            order.append("out")
        thread.join(60)
    assert order == [4, "out", 5, 4, "out", 100, "out", 1]


def test_an_error_makes_room_again():
    room = Room(10)
    with pytest.raises(ValueError, match="damaged"), room.of(10):
        raise ValueError("damaged")
    with room.of(10):
        pass


@pytest.mark.parametrize("decoder", ["pillow", "simplejpeg"])
def test_every_way_to_decode_asks_for_room(monkeypatch: pytest.MonkeyPatch, decoder: str) -> None:
    if decoder == "simplejpeg":
        pytest.importorskip("simplejpeg", reason="simplejpeg is not installed")
    monkeypatch.setattr(SETTINGS, "jpeg_decoder", decoder)
    asked: list[int] = []

    class Asked(Room):
        def of(self, pixels: int) -> Any:
            asked.append(pixels)
            return super().of(pixels)

    for module in (images, jpeg):
        monkeypatch.setattr(module, "ROOM", Asked(1))
    for data in (encoded(5, 7), encoded(16, 8, "JPEG")):
        for decode in (load_image, lambda d: load_image(d, 3), lambda d: load_image(d, 1), lambda d: Picture(d, 3)):
            decode(data)
    assert asked == [35] * 4 + [128] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_a_thread_decodes_has_room():
    with ROOM.of(ROOM.most):
        child = os.fork()
        if not child:
            with ROOM.of(ROOM.most):
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("decoder", ["pillow", "auto"])
def test_an_image_that_does_not_fit_into_memory_is_told(monkeypatch: pytest.MonkeyPatch, decoder: str) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(SETTINGS, "jpeg_decoder", decoder)
    data = encoded(16, 8, "JPEG")
    if decoder == "auto":
        monkeypatch.setattr(pytest.importorskip("simplejpeg", reason="simplejpeg is not installed"), "decode_jpeg", refuse)
    monkeypatch.setattr(pillow.Image, "load", refuse)
    monkeypatch.setattr(pytest.importorskip("PIL.ImageFile").ImageFile, "load", refuse)
    with pytest.raises(DeviceOutOfMemory, match="decode it with fewer threads"):
        load_image(data, 3)
