"""Threads that decode large images take turns, so that memory is bounded; a single image of any size that Pillow takes is decoded."""

from __future__ import annotations

import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory
from twofold.formats import images, jpeg
from twofold.formats.decoding_room import ROOM, Room
from twofold.formats.images import Picture, load_image

if TYPE_CHECKING:
    from collections.abc import Callable

pillow = pytest.importorskip("PIL.Image")


def encoded(width: int, height: int, format: str = "PNG") -> bytes:
    file = io.BytesIO()
    pillow.new("RGB", (width, height), (1, 2, 3)).save(file, format)
    return file.getvalue()


def in_thread(function: Callable[..., object], *args: object) -> object:
    """The result of a function that another thread calls: the main one always has room."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function, *args).result(60)


def enter(room: Room, pixels: int, order: list[object]) -> None:
    with room.of(pixels):
        order.append(pixels)


def test_an_image_waits_until_there_is_room_for_it_and_one_of_any_size_is_decoded_alone():
    room, order = Room(10), []

    def hold(held: int, waits: int) -> None:
        thread = threading.Thread(target=enter, args=(room, waits, order))
        with room.of(held):
            if held + 4 <= room.most:
                in_thread(enter, room, 4, order)
            thread.start()
            while not room._turn.locked() and thread.is_alive():
                pass
            order.append("out")
        thread.join(60)

    for held, waits in ((6, 5), (6, 100), (100, 1)):
        in_thread(hold, held, waits)
    assert order == [4, "out", 5, 4, "out", 100, "out", 1]


def test_an_error_makes_room_again():
    room = Room(10)

    def fail() -> None:
        with room.of(10):
            raise ValueError("damaged")

    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            in_thread(fail)
    in_thread(enter, room, 10, [])


def test_the_main_thread_never_waits_so_that_an_interrupt_leaves_all_room():
    room = Room(10)

    def hold() -> None:
        with room.of(10):
            taken.set()
            entered.wait(60)

    taken, entered = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    enter(room, 100, [])
    entered.set()
    thread.join(60)
    assert room._used == 0


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
    taken, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with ROOM.of(ROOM.most):
            taken.set()
            forked.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    child = os.fork()
    if not child:
        inside = threading.Thread(target=enter, args=(ROOM, ROOM.most, []), daemon=True)
        inside.start()
        inside.join(30)
        os._exit(8 if inside.is_alive() else 7)
    forked.set()
    thread.join(60)
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
