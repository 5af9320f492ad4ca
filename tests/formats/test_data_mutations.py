"""Damaged files of training data: iterators and datasets read each mutation, refuse it, or skip the damage, in bounded time and memory."""

from __future__ import annotations

import io
import random
import resource
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, ShapeError
from twofold.formats.image_lists import load_image_list
from twofold.gluon.data import vision

from tests.cases import later_in_ci
from tests.formats.mutations import CASES, contents, mutated, outcomes

if TYPE_CHECKING:
    from pathlib import Path

Image = pytest.importorskip("PIL.Image")
#: Warnings of Pillow about metadata, and of iterators about what they skipped.
pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(240), pytest.mark.filterwarnings("ignore::UserWarning", "ignore:Image size")]

#: How much the process may grow beyond what tracemalloc sees: Pillow's memory. In kilobytes.
GROWTH = 200 << 10

TEXT = [b"1,2.5,-3e7,4\n5,6,7,8\n9,10,nan,inf\n", b"0.1, 2, 3 ,4\n\n1,2,3,4", b"1,2,3,4\r\n5,6,7,8\r\n"]
SPARSE = [b"1 0:0.5 3:1.25\n0 1:2\n-1 2:-3e5 # a comment\n", b"3 qid:7 0:1 1:1\n2\n1 3:nan\n"]
LISTS = [b"0\t1\ta.png\n1\t0\tb.png\n2\t2.5\tc.png\n", b"7\t1\t2\tx y.jpg\n\n8\t3\t4\t\xc3\xa4.png\n"]


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH


def compressed(mode: str, format: str, **options: Any) -> bytes:
    shape = {"L": (20, 28), "P": (20, 28), "1": (20, 28), "I;16": (20, 28), "LA": (20, 28, 2), "RGBA": (20, 28, 4), "CMYK": (20, 28, 4)}
    pixels = np.random.default_rng(len(mode)).integers(0, 255, shape.get(mode, (20, 28, 3)), "uint16" if mode == "I;16" else "uint8")
    image = Image.fromarray(pixels, mode) if mode in ("CMYK", "LA") else Image.fromarray(pixels)
    if mode in ("P", "1"):
        image = image.convert(mode)
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def rotated() -> Any:
    exif = Image.Exif()
    exif[0x0112] = 6  # the orientation
    return exif


@pytest.fixture(scope="module")
def pictures() -> dict[str, list[bytes]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return {
            "JPEG": [
                compressed("RGB", "JPEG", quality=90),
                compressed("RGB", "JPEG", progressive=True),
                compressed("L", "JPEG"),
                compressed("CMYK", "JPEG"),
                compressed("RGB", "JPEG", exif=rotated(), subsampling=0, comment=b"words"),
            ],
            "PNG": [
                compressed("RGB", "PNG"),
                compressed("P", "PNG", transparency=3),
                compressed("I;16", "PNG"),
                compressed("LA", "PNG"),
                compressed("RGBA", "PNG", exif=rotated(), dpi=(72, 72)),
                compressed("1", "PNG"),
            ],
            "others": [
                compressed("RGB", "BMP"),
                compressed("P", "GIF"),
                compressed("RGB", "TIFF"),
                compressed("RGB", "TIFF", compression="tiff_lzw"),
                compressed("RGB", "PPM"),
                compressed("RGBA", "WEBP"),
            ],
        }


def with_checksums(seed: int, files: list[bytes]) -> bytes:
    """A mutated PNG file whose chunks have right checksums."""
    data = bytearray(mutated(seed, files))
    place = 8
    while place + 12 <= len(data):
        end = place + 8 + int.from_bytes(data[place : place + 4], "big")
        if end + 4 > len(data):
            break
        data[end : end + 4] = zlib.crc32(data[place + 4 : end]).to_bytes(4, "big")
        place = end + 4
    return bytes(data)


@pytest.mark.parametrize(("kind", "mutate"), [("JPEG", mutated), ("PNG", mutated), ("PNG", with_checksums), ("others", mutated)])
def test_pictures(pictures: dict[str, list[bytes]], kind: str, mutate: Callable[[int, list[bytes]], bytes]) -> None:
    def load(data: bytes) -> None:
        mx.image.imdecode(data, 1)
        mx.image.imdecode(data, 0)
        mx.recordio.unpack_img(mx.recordio.pack((0, 1.0, 1, 0), data))

    loaded, refused = outcomes(pictures[kind], load, mutate)
    assert loaded > CASES // 100
    assert refused > CASES // 20


def _file(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_comma_separated_values(tmp_path: Path) -> None:
    def load(data: bytes) -> None:
        for batch in mx.io.CSVIter(_file(tmp_path, "a.csv", data), (4,), batch_size=2):
            batch.data[0].asnumpy()

    loaded, refused = outcomes(TEXT, load, refusals=(FormatError, ShapeError))
    assert min(loaded, refused) > CASES // 20


def test_sparse_rows(tmp_path: Path) -> None:
    def load(data: bytes) -> None:
        for batch in mx.io.LibSVMIter(_file(tmp_path, "a.svm", data), (4,), batch_size=2):
            batch.data[0].asnumpy()

    loaded, refused = outcomes(SPARSE, load)
    assert min(loaded, refused) > CASES // 20


def test_lists() -> None:
    loaded, refused = outcomes(LISTS, lambda data: list(load_image_list(data)))
    assert min(loaded, refused) > CASES // 20


def test_lists_with_skipped_lines(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        _file(tmp_path, name, compressed("RGB", "PNG"))

    def load(data: bytes) -> None:
        list(mx.image.ImageIter(2, (3, 9, 9), 1, None, _file(tmp_path, "a.lst", data), str(tmp_path), on_bad_sample="skip"))

    loaded, refused = outcomes(LISTS[:1], load)
    assert min(loaded, refused) > CASES // 20


READERS: dict[str, Callable[..., Any]] = {
    "threads": lambda path, **how: mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 9, 9), batch_size=3, **how),
    "augmenters": lambda path, **how: mx.image.ImageIter(3, (3, 9, 9), path_imgrec=path, **how),
    "dataset": lambda path, **how: mx.gluon.data.DataLoader(
        vision.ImageRecordDataset(path).transform_first(vision.transforms.Resize(9)), 3, **how
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("policy", ["raise", "skip"])
@pytest.mark.parametrize("reader", later_in_ci(READERS))
def test_records_of_images(tmp_path: Path, shared: Path, reader: str, policy: str) -> None:
    def load(data: bytes) -> None:
        for _ in READERS[reader](_file(tmp_path, "a.rec", data), on_bad_sample=policy):
            pass

    loaded, refused = outcomes(contents(shared / "fixtures", "images_scalar.rec"), load, refusals=(FormatError, ShapeError))
    assert loaded > CASES // (20 if policy == "raise" else 6)
    assert refused > CASES // 100


def test_indexes_of_records(tmp_path: Path, shared: Path) -> None:
    path = _file(tmp_path, "a.rec", (shared / "fixtures" / "indexed.rec").read_bytes())

    def load(data: bytes) -> None:
        file = mx.recordio.MXIndexedRecordIO(_file(tmp_path, "a.idx", data), path, "r")
        for key in file.keys:
            file.read_idx(key)

    loaded, refused = outcomes(contents(shared / "fixtures", "indexed.idx"), load)
    assert min(loaded, refused) > CASES // 20


def test_digits(tmp_path: Path, shared: Path) -> None:
    images, labels = ((shared / "fixtures" / name).read_bytes() for name in ("tiny-images-idx3-ubyte", "tiny-labels-idx1-ubyte"))
    names = {train: vision.MNIST._files[train] for train in (True, False)}
    _file(tmp_path, names[True][1], labels)
    _file(tmp_path, names[False][0], images)

    def load(data: bytes) -> None:
        train = len(data) > 1000
        path = _file(tmp_path, names[train][0 if train else 1], data)
        parts = (path, str(tmp_path / names[True][1])) if train else (str(tmp_path / names[False][0]), path)
        for batch in mx.io.MNISTIter(image=parts[0], label=parts[1], batch_size=2, shuffle=False):
            batch.data[0].asnumpy()
        vision.MNIST(tmp_path, train)[0]

    loaded, refused = outcomes([images, labels], load, refusals=(FormatError, ShapeError, IndexError))
    assert min(loaded, refused) > CASES // 20


@pytest.mark.ci
def test_random_damage_of_records_loses_only_the_damaged(tmp_path: Path) -> None:
    """With an index and without one, each record that was not damaged is read."""
    file = mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
    for k in range(12):
        image = np.full((5, 5, 3), 20 * k, "uint8")
        file.write_idx(k, mx.recordio.pack_img((0, float(k), k, 0), image, img_fmt=".png"))
    file.close()
    whole = (tmp_path / "a.rec").read_bytes()
    starts = [*file.idx.values(), len(whole)]
    for seed in range(CASES):
        draw = random.Random(seed)
        data, hit = bytearray(whole), set()
        for _ in range(draw.randint(1, 3)):
            k = draw.randrange(12)
            place = draw.randrange(starts[k], starts[k + 1])
            data[place] ^= draw.randint(1, 255)
            hit.add(k)
        path = _file(tmp_path, "b.rec", bytes(data))
        for index in ({}, {"path_imgidx": str(tmp_path / "a.idx")}):
            it = mx.io.ImageRecordIter(
                path_imgrec=path,
                data_shape=(3, 5, 5),
                batch_size=12,
                round_batch=False,
                on_bad_sample="skip",
                preprocess_threads=1,
                **index,
            )
            batch = next(it)
            pixels = batch.data[0].asnumpy()[: 12 - batch.pad, 0, 0, 0]
            assert {20.0 * k for k in range(12) if k not in hit} <= {*pixels.tolist()}, f"seed {seed}"
