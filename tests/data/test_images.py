"""`mx.image` and image datasets where the real MXNet cannot be asked: errors, states, drawing, and files that it downloads."""

from __future__ import annotations

import hashlib
import io
import json
import random
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import FormatError, MissingFileError, MXNetError, ParameterError, ShapeError, WrongArgument
from twofold.gluon.data import vision

from tests.data.programs.images import BOXES, _list_file, _pixels, _png, _records


@pytest.fixture
def records(tmp_path: Path) -> tuple[str, str]:
    return _records(mx, str(tmp_path), [float(k) for k in range(5)])


def labels(iterator: Any) -> list[float]:
    return [float(x) for batch in iterator for x in batch.label[0].asnumpy()]


@pytest.mark.parametrize("last", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("indexed", [False, True])
def test_an_iterator_continues_where_another_was(records: tuple[str, str], last: str, indexed: bool) -> None:
    def make() -> mx.image.ImageIter:
        index = records[1] if indexed else None
        return mx.image.ImageIter(
            2, (3, 4, 4), path_imgrec=records[0], path_imgidx=index, shuffle=indexed, last_batch_handle=last, inter_method=0
        )

    whole = make()
    next(whole)
    state = json.loads(json.dumps(whole.state_dict()))
    resumed = make()
    resumed.load_state_dict(state)
    for _ in range(2):
        rng = random.getstate()
        expected = labels(whole)
        whole.reset()
        random.setstate(rng)
        assert labels(resumed) == expected
        resumed.reset()


def test_an_image_with_other_labels_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(_png(_pixels(4, 4)))
    file = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    for numbers in (1.0, [1.0, 2.0]):
        file.write(mx.recordio.pack(mx.recordio.IRHeader(0, numbers, 0, 0), (tmp_path / "a.png").read_bytes()))
    file.close()
    with pytest.raises(ShapeError, match=r"ImageIter: .*a\.rec: record 1 has 2 labels: given label_width=1; pass"):
        list(mx.image.ImageIter(2, (3, 4, 4), path_imgrec=str(tmp_path / "a.rec")))
    with pytest.raises(ShapeError, match=r"ImageIter: file a\.png has 2 labels: given label_width=3"):
        next(mx.image.ImageIter(1, (3, 4, 4), 3, imglist=[[[1.0, 2.0], "a.png"]], path_root=str(tmp_path)))
    both = mx.image.ImageIter(2, (3, 4, 4), 2, path_imgrec=str(tmp_path / "a.rec"))
    assert next(both).label[0].asnumpy().tolist() == [[1, 1], [1, 2]]


def test_a_damaged_image_is_named(tmp_path: Path, records: tuple[str, str]) -> None:
    content = Path(records[0]).read_bytes()
    Path(records[0]).write_bytes(content.replace(b"IDAT", b"XDAT", 1))
    with pytest.raises(FormatError, match=r"a\.rec: record 0: "):
        list(mx.image.ImageIter(2, (3, 4, 4), path_imgrec=records[0]))
    (tmp_path / "a.png").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"a\.png"):
        list(mx.image.ImageIter(1, (3, 4, 4), imglist=[[1, "a.png"]], path_root=str(tmp_path)))
    with pytest.raises(FormatError, match=r"a\.png"):
        mx.image.imread(tmp_path / "a.png")


def test_a_cut_image_raises() -> None:
    with pytest.raises(FormatError):
        mx.image.imdecode(_png(_pixels())[:60])


@pytest.mark.parametrize("kind", [2, 5, 7, 11], ids=["text", "fraction", "bytes", "float"])
def test_a_tiff_whose_strips_are_no_numbers_raises(kind: int) -> None:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (28, 20)).save(file, "TIFF")
    data = bytearray(file.getvalue())
    (directory,) = struct.unpack_from("<I", data, 4)
    entries = range(directory + 2, len(data) - 12, 12)
    (at,) = [at for at in entries if struct.unpack_from("<H", data, at) == (273,)][:1]  # offsets of the strips
    struct.pack_into("<H", data, at + 2, kind)
    with pytest.raises(FormatError):
        mx.image.imdecode(bytes(data))


def test_a_record_that_the_list_lacks_is_named(tmp_path: Path, records: tuple[str, str]) -> None:
    path = _list_file(str(tmp_path), [[1.0]])
    with pytest.raises(FormatError, match="11"):
        list(mx.image.ImageIter(2, (3, 4, 4), path_imgrec=records[0], path_imgidx=records[1], path_imglist=path))


@pytest.mark.parametrize("line", ["1\ta.png\n", "x\t1\ta.png\n", "1\tx\ta.png\n", "1 2 a.png\n"])
def test_lines_of_lists_that_are_wrong_are_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.lst").write_text("0\t1\tb.png\n" + line)
    with pytest.raises(FormatError, match="line 2"):
        mx.image.ImageIter(1, (3, 4, 4), path_imglist=str(tmp_path / "a.lst"))


def test_an_entry_without_a_label_is_named() -> None:
    with pytest.raises(ParameterError, match="entry 2 of a list of images has no label"):
        mx.image.ImageIter(1, (3, 8, 8), imglist=[[0, "a.png"], ["b.png"]])


@pytest.mark.parametrize("given", ["text", 10])
def test_what_is_no_buffer_is_not_decoded(given: Any) -> None:
    with pytest.raises(WrongArgument, match="must be bytes"):
        mx.image.imdecode(given)


def test_boxes_are_drawn(tmp_path: Path) -> None:
    rec, _ = _records(mx, str(tmp_path), BOXES)
    it = mx.image.ImageDetIter(2, (3, 40, 50), path_imgrec=rec, mean=True, std=True)
    drawn = list(it.draw_next(color=(255, 0, 0), thickness=1, mean=True, std=True, id2labels=["a", "b", "c", "d"]))
    assert len(drawn) == 5
    assert {image.shape for image in drawn} == {(40, 50, 3)}
    left, top, right, bottom = (int(share * size) for share, size in zip(BOXES[4][5:], (50, 40, 50, 40), strict=True))
    assert (drawn[4][top, left : right + 1] == (255, 0, 0)).all()
    assert (drawn[4][top : bottom + 1, right] == (255, 0, 0)).all()
    plain = list(it.draw_next(color=(255, 0, 0), thickness=1, mean=True, std=True))
    assert any((a != b).any() for a, b in zip(drawn, plain, strict=True))


def test_parts_keep_boxes_on_their_objects() -> None:
    random.seed(4)
    image = np.zeros((60, 80, 3), "uint8")
    image[15:45, 20:60] = 200  # an object
    label = np.array([[0, 20 / 80, 15 / 60, 60 / 80, 45 / 60]])
    crop = mx.image.DetRandomCropAug(0.9, (0.75, 1.33), (0.3, 0.9))
    pad = mx.image.DetRandomPadAug((0.75, 1.33), (1.5, 3.0), pad_val=(0, 0, 0))
    for augmenter in (crop, pad, mx.image.DetHorizontalFlipAug(1)):
        changed = 0
        for _ in range(30):
            part, boxes = augmenter(mx.nd.array(image, dtype="uint8"), label.copy())
            h, w = part.shape[:2]
            left, top, right, bottom = np.rint(boxes[0, 1:] * [w, h, w, h]).astype(int)
            inside = part.asnumpy()[..., 0] == 200
            assert inside[top:bottom, left:right].all()
            assert inside.sum() == (bottom - top) * (right - left)
            changed += part.shape != image.shape
        assert changed > 20 or isinstance(augmenter, mx.image.DetHorizontalFlipAug)


def test_augmenters_that_can_do_nothing_say_so() -> None:
    with pytest.warns(UserWarning, match="invalid area_range"):
        crop = mx.image.DetRandomCropAug(area_range=(0.5, 0.1))
    image, label = mx.nd.zeros((4, 4, 3)), np.zeros((1, 5))
    assert crop(image, label)[0] is image


@pytest.mark.parametrize("label", [[2, 4, 0, 0.1, 0.1, 0.2, 0.2], [1, 5, 0, 0.1, 0.1, 0.2, 0.2], [2, 5, 0, 0.1, 0.1, 0.2, 0.2, 9]])
def test_labels_of_detection_that_are_wrong_raise(tmp_path: Path, label: list[float]) -> None:
    rec, _ = _records(mx, str(tmp_path), [label])
    with pytest.raises(MXNetError, match="inconsistent"):
        mx.image.ImageDetIter(1, (3, 4, 4), path_imgrec=rec)


@pytest.mark.parametrize("create", [mx.image.CreateAugmenter, mx.image.CreateDetAugmenter])
def test_augmenters_of_what_is_no_shape(create: Any) -> None:
    with pytest.raises(IndexError, match=r"data_shape is \(c, h, w\): given \(3, 32\)"):
        create((3, 32))
    for wrong in (32, None, "(3, 32, 32)"):
        with pytest.raises(TypeError, match="data_shape is not a shape"):
            create(wrong)


# datasets


def cifar_rows(count: int, labels: int, seed: int, classes: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    given = np.stack([rng.integers(0, c, count) for c in classes], 1)
    return np.concatenate([given, rng.integers(0, 256, (count, 3072))], 1).astype("uint8")


@pytest.mark.filterwarnings("ignore:.* is not the published file")
def test_cifar10_in_files(tmp_path: Path) -> None:
    rows = [cifar_rows(3, 1, k, (10,)) for k in range(6)]
    for k in range(5):
        (tmp_path / f"data_batch_{k + 1}.bin").write_bytes(rows[k].tobytes())
    (tmp_path / "cifar-10-batches-bin").mkdir()
    (tmp_path / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(rows[5].tobytes())
    data = vision.CIFAR10(str(tmp_path))
    image, label = data[4]
    assert len(data) == 15
    assert image.shape == (32, 32, 3)
    assert image.dtype == np.uint8
    assert label.dtype == np.int32
    assert label == rows[1][1, 0]
    assert int(image[2, 5, 1].asscalar()) == rows[1][1, 1 + 1024 + 2 * 32 + 5]
    assert vision.CIFAR10(tmp_path, train=False, transform=lambda image, label: int(label))[2] == rows[5][2, 0]


@pytest.mark.filterwarnings("ignore:.* is not the published file")
def test_cifar100_in_its_archive(tmp_path: Path) -> None:
    rows = cifar_rows(4, 2, 0, (20, 100))
    with tarfile.open(tmp_path / "cifar-100-binary.tar.gz", "w:gz") as archive:
        for name in ("train.bin", "test.bin"):
            member = tarfile.TarInfo(f"cifar-100-binary/{name}")
            member.size = rows.nbytes
            archive.addfile(member, io.BytesIO(rows.tobytes()))
    assert [int(label) for _, label in vision.CIFAR100(tmp_path)] == rows[:, 0].tolist()
    assert [int(label) for _, label in vision.CIFAR100(tmp_path, True, train=False)] == rows[:, 1].tolist()
    whole = (tmp_path / "cifar-100-binary.tar.gz").read_bytes()
    (tmp_path / "cifar-100-binary.tar.gz").write_bytes(whole[:-2000])
    with pytest.raises(FormatError, match="damaged"):
        vision.CIFAR100(tmp_path)


def test_cifar_files_other_than_the_published_ones_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = cifar_rows(2, 1, 0, (10,)).tobytes()
    (tmp_path / "test_batch.bin").write_bytes(content)
    found = hashlib.sha1(content).hexdigest()
    with pytest.warns(UserWarning, match=f"CIFAR10: test_batch.bin is not .*{found}, not 67eb016db431130d61cd03c7ad570b013799c88c"):
        assert len(vision.CIFAR10(tmp_path, train=False)) == 2
    monkeypatch.setitem(vision.CIFAR10._sums, "test_batch.bin", found)
    monkeypatch.setattr(SETTINGS, "strict", True)
    assert len(vision.CIFAR10(tmp_path, train=False)) == 2


def test_cifar_files_that_are_missing_or_wrong_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"put cifar-10-binary\.tar\.gz, or data_batch_1\.bin .SHA-1 aadd24acce27caa7"):
        vision.CIFAR10(tmp_path)
    for k in range(5):
        (tmp_path / f"data_batch_{k + 1}.bin").write_bytes(b"\x0b" + bytes(3072))
    with pytest.raises(FormatError, match="no class"):
        vision.CIFAR10(tmp_path)
    (tmp_path / "data_batch_1.bin").write_bytes(bytes(3000))
    with pytest.raises(FormatError, match="whole images"):
        vision.CIFAR10(tmp_path)


def test_lists_of_images_as_datasets(tmp_path: Path) -> None:
    for k in range(3):
        (tmp_path / f"{k}.png").write_bytes(_png(_pixels(6 + k, 8, k)))
    listed = vision.ImageListDataset(str(tmp_path), [[1, "0.png"], [[2, 3], "1.png"]])
    assert len(listed) == 2
    assert listed[1][1].asnumpy().tolist() == [2, 3]
    np.testing.assert_array_equal(listed[1][0].asnumpy(), _pixels(7, 8, 1))
    _list_file(str(tmp_path), [[1.5], [2.5], [3.5]])
    listed = vision.ImageListDataset(str(tmp_path), "a.lst", flag=0)
    assert listed[2][0].shape == (8, 8, 1)
    assert listed[2][1].asnumpy().tolist() == [3.5]


def test_folders_say_what_they_ignore(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("x")
    (tmp_path / "readme").write_text("x")
    with pytest.warns(UserWarning, match="Ignoring") as caught:
        data = vision.ImageFolderDataset(tmp_path)
    assert len(data) == 0
    assert data.synsets == ["a"]
    assert len(caught) == 2
    with pytest.raises(MissingFileError):
        vision.ImageFolderDataset(tmp_path / "b")


def test_the_first_decoder_gives_floats_with_channels_first() -> None:
    pixels, mean = _pixels(6, 8, 0), mx.nd.arange(0, 3 * 6 * 8).reshape((3, 6, 8))
    wanted = pixels.transpose(2, 0, 1).astype("f")
    np.testing.assert_array_equal(mx.nd.imdecode(_png(pixels)).asnumpy(), wanted)
    np.testing.assert_array_equal(mx.nd.imdecode(_png(pixels), mean=mean).asnumpy(), wanted - mean.asnumpy())
    np.testing.assert_array_equal(mx.nd.imdecode(_png(pixels), (2, 1, 5, 3)).asnumpy(), wanted[:, 1:3, 2:5])
    assert mx.nd.imdecode(_png(pixels), channels=1).shape == (1, 6, 8)
    out = mx.nd.zeros((2, 3, 6, 8))
    assert mx.nd.imdecode(_png(pixels), out=out, index=1) is out
    np.testing.assert_array_equal(out.asnumpy(), [0 * wanted, wanted])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"clip_rect": (0, 0, 9, 6)}, ParameterError),
        ({"clip_rect": (5, 0, 5, 6)}, ParameterError),
        ({"channels": 4}, ParameterError),
        ({"mean": mx.nd.zeros((6, 8, 3))}, ShapeError),
        ({"out": mx.nd.zeros((3, 6, 7))}, ShapeError),
        ({"out": mx.nd.zeros((2, 3, 6, 8)), "index": 2}, ParameterError),
    ],
)
def test_the_first_decoder_names_what_does_not_fit(given: dict[str, Any], error: type) -> None:
    with pytest.raises(error, match="imdecode"):
        mx.nd.imdecode(_png(_pixels(6, 8, 0)), **given)
