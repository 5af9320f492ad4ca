"""Iterators over image records where the real MXNet cannot be asked: order, resumption, random changes and what is wrong."""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import FormatError, ParameterError, ShapeError
from twofold.image.detection_records import DetectionAugmenter
from twofold.image.record_augmenter import RecordAugmenter, _hls, _rgb
from twofold.image.record_loader import RecordLoader

from tests.core.signals import interrupted_at
from tests.core.test_other_threads import after_calls
from tests.data.programs.images import _list_file, _pixels, _png
from tests.data.programs.record_iterators import _records

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return _records(mx, str(tmp_path), [_pixels(20, 24, k) for k in range(11)], [float(k) for k in range(11)])


def make(path: str, **options: Any) -> mx.io.ImageRecordIter:
    return mx.io.ImageRecordIter(path_imgrec=path, **{"data_shape": (3, 16, 16), "batch_size": 4, **options})


def labels(iterator: Any) -> list[float]:
    return [float(x) for batch in iterator for x in batch.label[0].asnumpy()[: 4 - batch.pad]]


RANDOM = {
    "shuffle": True,
    "rand_crop": True,
    "rand_mirror": True,
    "brightness": 0.2,
    "contrast": 0.2,
    "saturation": 0.2,
    "pca_noise": 0.1,
    "random_h": 20,
    "random_s": 20,
    "random_l": 20,
    "max_rotate_angle": 20,
    "max_shear_ratio": 0.1,
    "max_random_contrast": 0.1,
    "max_random_illumination": 5,
}


def test_a_border_that_the_crop_removes_changes_nothing(path: str) -> None:
    plain, padded = (next(make(path, pad=pad)).data[0].asnumpy() for pad in (0, 3))
    np.testing.assert_array_equal(padded, plain)


def test_results_do_not_depend_on_the_threads(path: str) -> None:
    one, many = ([[b.data[0].asnumpy(), b.label[0].asnumpy()] for b in make(path, preprocess_threads=n, **RANDOM)] for n in (1, 5))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_an_interrupt_while_a_batch_is_awaited_neither_loses_nor_repeats_one(path: str) -> None:
    code, firsts = mx.io.ImageRecordIter.iter_next.__code__, []
    for offset in after_calls(code):
        iterator = make(path, prefetch_buffer=1)
        if interrupted_at(iterator.next, code, offset):
            firsts.append(int(iterator.next().label[0].asnumpy()[0]))
            assert labels(iterator) == [float(k) for k in range(firsts[-1] + 4, 11)], offset
    assert firsts == [0] * firsts.count(0) + [4] * firsts.count(4)  # from the last call on the batch has been taken
    assert firsts.count(0) > 5
    assert firsts.count(4) < 5


def test_a_batch_that_cannot_be_loaded_is_passed(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    iterator, load = make(path), RecordLoader.load

    def broken(self: RecordLoader, key: Any, *given: Any) -> int:
        if key == iterator._keys[5]:
            raise ZeroDivisionError
        return load(self, key, *given)

    monkeypatch.setattr(RecordLoader, "load", broken)
    assert iterator.next().label[0].asnumpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        iterator.next()
    assert labels(iterator) == [8, 9, 10]


@pytest.mark.parametrize("batch_size", [22, 30])
def test_no_epoch_is_empty_where_a_batch_has_more_rows_than_there_are_images(path: str, batch_size: int) -> None:
    it, at = make(path, batch_size=batch_size), 0
    for _ in range(5):
        found = [float(x) for batch in it for x in batch.label[0].asnumpy()]
        assert found == [k % 11 for k in range(at, at + batch_size)]
        at = (at + batch_size) % 11
        it.reset()


def test_epochs_differ_and_have_every_image_once(path: str) -> None:
    it = make(path, round_batch=False, **RANDOM)
    epochs, first = [], []
    for _ in range(3):
        batches = list(it)
        epochs.append(labels(batches))
        first.append(batches[0].data[0].asnumpy())
        it.reset()
    assert all(sorted(epoch) == list(range(11)) for epoch in epochs)
    assert len({str(epoch) for epoch in epochs}) == 3
    assert not np.array_equal(first[0], first[1])


def test_rounded_epochs_go_on_in_the_next_order(path: str) -> None:
    it = make(path, shuffle=True)
    seen = []
    for _ in range(4):  # 44 images in 11 batches: four epochs
        for batch in it:
            seen += batch.label[0].asnumpy().tolist()
        it.reset()
    assert all(sorted(seen[11 * k : 11 * k + 11]) == list(range(11)) for k in range(4))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("skip", [1, 3, 4, 7])
def test_an_iterator_continues_where_another_was(path: str, shuffle: bool, skip: int) -> None:
    one, other = make(path, **{**RANDOM, "shuffle": shuffle}), make(path, **{**RANDOM, "shuffle": shuffle})

    def take(it: Any, count: int) -> list[np.ndarray]:
        found = []
        while len(found) < count:
            if it.iter_next():
                found.append(it.getdata().asnumpy())
            else:
                it.reset()
        return found

    take(one, skip)
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for a, b in zip(take(one, 5), take(other, 5), strict=True):
        np.testing.assert_array_equal(a, b)


def test_chunks_stay_together(tmp_path: Path) -> None:
    path = str(tmp_path / "a.rec")
    file = mx.recordio.MXRecordIO(path, "w")
    for k in range(12):  # of which three make a megabyte
        noise = np.random.default_rng(k).integers(0, 256, (400, 280, 3), "uint8")
        file.write(mx.recordio.pack(mx.recordio.IRHeader(0, float(k), k, 0), _png(noise)))
    file.close()
    it = make(path, shuffle=True, shuffle_chunk_size=1, batch_size=12, data_shape=(3, 2, 2))
    order = labels(it)[:12] or [float(x) for b in it for x in b.label[0].asnumpy()]
    it.reset()
    order = next(it).label[0].asnumpy().astype(int).tolist()
    assert sorted(order) == list(range(12))
    assert order != list(range(12))
    jumps = sum(abs(a - b) > 5 for a, b in itertools.pairwise(order))
    assert jumps <= 4


def test_the_index_is_not_needed(path: str) -> None:
    expected = labels(make(path, num_parts=2, part_index=1))
    os.remove(Path(path).with_suffix(".idx"))
    assert labels(make(path, num_parts=2, part_index=1)) == expected


def test_an_empty_file_and_an_empty_part_are_errors(path: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"a\.rec has no records: given part_index=19 of num_parts=20 with 11 records in all; pass a"):
        make(path, path_imgidx=path[:-3] + "idx", num_parts=20, part_index=19)
    empty = _records(mx, str(tmp_path), [], [])
    with pytest.raises(FormatError, match=r"a\.rec: ImageRecordIter: there are no records; name a file"):
        make(empty)


def test_limits_of_crops_are_numbers(path: str) -> None:
    for text, message in (
        ("(a,)", "min_crop_scales must be a tuple of floats: given '\\(a,\\)'"),
        ("()", "min_crop_scales has no numbers"),
    ):
        with pytest.raises(ParameterError, match=message):
            mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 4, 4), batch_size=1, min_crop_scales=text)


def test_parts_have_all_images(path: str) -> None:
    parts = [labels(make(path, num_parts=3, part_index=k, round_batch=False)) for k in range(3)]
    assert [x for part in parts for x in part] == list(range(11))


def test_a_record_that_is_no_image_is_named(path: str) -> None:
    content = Path(path).read_bytes()
    at = content.find(b"IHDR", content.find(b"IHDR") + 1)  # of record 11
    Path(path).write_bytes(content[:at] + b"XXXX" + content[at + 4 :])
    with pytest.raises(FormatError, match=r"a\.rec: record 11"):
        list(make(path))


def test_labels_that_do_not_match_are_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(ShapeError, match="record 10 has 1 labels"):
        list(make(path, label_width=2))
    with pytest.raises(FormatError, match="record 11"):
        list(make(path, path_imglist=_list_file(str(tmp_path), [[1.0]])))


def test_wrong_parameters_raise(path: str) -> None:
    for options in ({"batch_size": 0}, {"data_shape": (2, 4, 4)}, {"num_parts": 2, "part_index": 2}, {"label_width": 0}):
        with pytest.raises(ParameterError):
            make(path, **options)
    with pytest.raises(FormatError, match="larger than the image"):
        list(make(path, max_crop_size=30, min_crop_size=30))


def test_unknown_parameters_are_named(path: str) -> None:
    with pytest.warns(UserWarning, match="no parameter: given rand_flip"):
        make(path, rand_flip=True)


def test_only_public_parameters_are_named(path: str) -> None:
    with pytest.warns(UserWarning, match=r"there is no parameter: given colour, shape; see help\(mx\.io\.ImageRecordIter\)"):
        assert make(path, colour=1, shape=(3, 8, 8)).provide_data[0].shape == (4, 3, 16, 16)


def test_an_image_without_opacity_is_named_where_it_is_asked_for(path: str) -> None:
    with pytest.raises(FormatError, match=r"record 10: an image without a fourth channel: given pixels of kind RGB; ask for 3"):
        next(make(path, data_shape=(4, 16, 16)))
    with pytest.raises(ParameterError, match="with 1, 3 or 4 channels"):
        make(path, data_shape=(2, 16, 16))
    with pytest.raises(ParameterError, match="with 1 or 3 channels"):
        mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(4, 16, 16), batch_size=1)


@pytest.mark.parametrize("jit", [True, False])
def test_opacity_is_a_channel_like_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jit: bool) -> None:
    """Colors under an opacity of 0 keep their numbers in a resized image, and the opacity its own when colors change."""
    if not jit:
        monkeypatch.setattr("twofold.image.geometry.Map.writer", lambda change, method: None)
    pixels = np.dstack([_pixels(12, 12), np.zeros((12, 12), "uint8")])
    options = {"data_shape": (4, 6, 6), "batch_size": 1, "resize": 6}
    clear = next(make(_records(mx, str(tmp_path), [pixels], [0.0]), **options)).data[0].asnumpy()[0]
    solid = next(make(_records(mx, str(tmp_path), [pixels[..., :3]], [0.0]), **options | {"data_shape": (3, 6, 6)})).data[0].asnumpy()[0]
    assert (clear[:3] == solid).all()
    assert (clear[3] == 0).all()
    half = np.dstack([_pixels(12, 12), np.full((12, 12), 99, "uint8")])
    path = _records(mx, str(tmp_path), [half], [0.0])
    for change in ("brightness", "contrast", "saturation", "pca_noise", "random_h", "random_s", "random_l"):
        strength = 0.5 if "_" not in change else 30
        changed = next(make(path, data_shape=(4, 12, 12), batch_size=1, **{change: strength})).data[0].asnumpy()[0]
        assert (changed[3] == 99).all()
        assert (changed[:3] != half[..., :3].transpose(2, 0, 1)).any(), change


def test_threads_end_with_the_iterator(path: str) -> None:
    before = threading.active_count()
    it = make(path)
    next(it)
    del it
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("ImageRecordIter"):
            thread.join(5)
    assert threading.active_count() <= before


def test_forked_processes_have_threads_of_their_own(path: str) -> None:
    it = make(path)
    next(it)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        it.reset()
        os.write(write, str(len(labels(it))).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 10) == b"11"


def test_a_large_image_is_not_decoded(path: str) -> None:
    data = bytearray(_png(_pixels(4, 4)))
    data[16:24] = (100_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    with pytest.raises(FormatError, match="too large"):
        RecordAugmenter((3, 4, 4))(bytes(data), np.random.default_rng(0))


# machine code


@pytest.fixture
def jit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(SETTINGS, "jit", True)


@pytest.mark.usefixtures("jit")
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_centers_of_resized_images_are_those_of_the_functions(path: str, dtype: str, channels: int) -> None:
    found = next(make(path, resize=17, data_shape=(channels, 15, 13), mirror=True, dtype=dtype, mean_g=3.5, std_g=0.3)).data[0].asnumpy()
    for k in range(4):
        image = mx.image.imdecode(_png(_pixels(20, 24, k)), flag=channels != 1)
        part = mx.image.resize_short(image, 17, 1).asnumpy()[1:16, 3:16].transpose(2, 0, 1)[..., ::-1]
        if dtype == "float32" and channels == 3:
            part = part.astype("float32")
            part[1] = (part[1] - np.float32(3.5)) * (1 / np.float32(0.3))
        np.testing.assert_array_equal(found[k], np.minimum(part, 127) if dtype == "int8" else part)


@pytest.mark.usefixtures("jit")
@pytest.mark.parametrize(
    "options",
    [
        {"rand_crop": True, "resize": 18, "rand_mirror": True, "max_random_contrast": 0.2, "max_random_illumination": 9, "scale": 0.5},
        {"random_resized_crop": True, "min_random_area": 0.3, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2, "std_b": 2},
        {"max_crop_size": 19, "min_crop_size": 9, "resize": 19, "brightness": 0.3},
        {"dtype": "uint8", "rand_crop": True},
        {"data_shape": (3, 33, 31)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_machine_code_gives_what_pillow_gives(monkeypatch: pytest.MonkeyPatch, path: str, options: dict[str, Any]) -> None:
    first = [batch.data[0].asnumpy() for batch in make(path, **options)]
    monkeypatch.setattr(SETTINGS, "jit", False)
    for a, b in zip(first, (batch.data[0].asnumpy() for batch in make(path, **options)), strict=True):
        # bytes that are 1 less, multiplied by what numbers are multiplied with; rounded again where brightness is changed
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), atol=2 if "brightness" in options else 1.3)


@pytest.mark.usefixtures("jit")
def test_a_mean_image_is_subtracted(path: str, tmp_path: Path) -> None:
    mean = mx.nd.random.uniform(0, 255, (3, 16, 16))
    mx.nd.save(str(tmp_path / "mean"), {"mean_img": mean})
    plain, less = (next(make(path, resize=18, **more)).data[0] for more in ({}, {"mean_img": str(tmp_path / "mean")}))
    np.testing.assert_array_equal(less.asnumpy(), (plain - mean).asnumpy())


# random changes, by their distribution


@pytest.fixture
def photo() -> bytes:
    shades = np.add.outer(np.arange(60) * 2, np.arange(80)).astype("uint8")
    file = io.BytesIO()
    Image.fromarray(np.stack([shades, shades // 2 + 60, 255 - shades], 2)).save(file, "PNG")
    return file.getvalue()


def drawn(photo: bytes, count: int = 60, **options: Any) -> list[np.ndarray]:
    augmenter = RecordAugmenter(options.pop("shape", (3, 60, 80)), **options)
    return [augmenter(photo, np.random.default_rng(k)).astype(float) for k in range(count)]


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation"])
def test_factors_of_colors(photo: bytes, name: str) -> None:
    (same,) = drawn(photo, 1)
    found = drawn(photo, **{name: 0.2})
    if name == "brightness":
        factors = [image.mean() / same.mean() for image in found]
    elif name == "contrast":
        factors = [(image.max() - image.min()) / (same.max() - same.min()) for image in found]
    else:
        factors = [np.ptp(image, axis=2).mean() / np.ptp(same, axis=2).mean() for image in found]
    assert 0.75 < min(factors) < 0.85
    assert max(factors) <= 1.21
    assert abs(np.mean(factors) - 1) < 0.06


def test_sizes_of_random_parts(photo: bytes) -> None:
    # the red channel grows by 1 with each column and by 2 with each row: its range tells the part's size
    found = drawn(
        photo,
        shape=(3, 30, 30),
        random_resized_crop=True,
        min_random_area=0.2,
        max_random_area=0.5,
        min_aspect_ratio=0.8,
        max_aspect_ratio=1.25,
    )
    areas = [np.ptp(image[15, :, 0]) * np.ptp(image[:, 15, 0]) / 2 / 4800 for image in found]
    assert 0.12 < min(areas) < 0.25
    assert 0.38 < max(areas) < 0.55


def test_random_turns_fill_the_corners(photo: bytes) -> None:
    found = drawn(photo, max_rotate_angle=30, fill_value=7)
    filled = [(image == 7).all(2).mean() for image in found]
    assert 0.1 < max(filled) < 0.35
    assert min(filled) < 0.05


def test_hues_turn_and_return() -> None:
    colors = np.random.default_rng(0).random((50, 50, 3), "float32")
    np.testing.assert_allclose(_rgb(*_hls(colors)), colors, atol=1e-5)
    red = np.zeros((1, 1, 3), "float32") + np.array([1, 0, 0], "float32")
    hue, light, saturation = _hls(red)
    np.testing.assert_allclose(_rgb((hue + 1 / 3) % 1, light, saturation)[0, 0], [0, 1, 0], atol=1e-6)


@pytest.mark.parametrize("kind", ["cubic", "areas", "Lanczos", "automatic", "random", "nearest"])
def test_other_interpolations_are_those_of_imresize(photo: bytes, kind: str) -> None:
    method = {"nearest": 0, "cubic": 2, "areas": 3, "Lanczos": 4, "automatic": 9, "random": 10}[kind]
    (found,) = drawn(photo, 1, shape=(3, 30, 40), resize=30, inter_method=method)
    whole = mx.nd.array(drawn(photo, 1)[0], dtype="uint8")
    methods = range(5) if method == 10 else [3 if method == 9 else method]
    errors = [np.abs(found - mx.image.imresize(whole, 40, 30, m).asnumpy()).max() for m in methods]
    assert min(errors) <= 1


# detection


@pytest.fixture
def scene() -> bytes:
    """A gray image of 60 by 80 with a bright object at (20, 15) to (60, 45)."""
    pixels = np.full((60, 80, 3), 50, "uint8")
    pixels[15:45, 20:60] = 250
    return _png(pixels)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"rand_mirror_prob": 0.5}, id="mirrored"),
        pytest.param({"rand_pad_prob": 1, "max_pad_scale": 3, "fill_value": 60}, id="padded"),
        pytest.param(
            {"rand_crop_prob": 1, "min_crop_scales": (0.5,), "min_crop_aspect_ratios": (0.5,), "max_crop_aspect_ratios": (2.0,)}, id="cut"
        ),
        pytest.param(
            {
                "rand_crop_prob": 0.8,
                "num_crop_sampler": 2,
                "min_crop_scales": (0.3, 0.6),
                "min_crop_overlaps": (0.3, 0.1),
                "crop_emit_mode": "overlap",
                "rand_mirror_prob": 0.5,
                "rand_pad_prob": 0.5,
                "max_pad_scale": 2,
                "fill_value": 60,
            },
            id="all",
        ),
    ],
)
def test_boxes_stay_on_their_objects(scene: bytes, options: dict[str, Any]) -> None:
    augmenter = DetectionAugmenter((3, 96, 96), **options)
    whole = np.array([[3, 0.25, 0.25, 0.75, 0.75]], "float32")
    changed = 0
    for k in range(60):
        pixels, (box,) = augmenter(scene, whole, np.random.default_rng(k))
        left, top, right, bottom = box[1:] * 96
        rows, columns = np.nonzero(pixels[..., 0] > 155)
        found = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert np.abs(np.array(found) - [left, top, right, bottom]).max() <= 2.5
        changed += not np.allclose(box, whole[0], atol=1e-3)
    assert changed > 20 or "max_pad_scale" not in options


def test_colors_of_scenes_change_as_often_as_asked(scene: bytes) -> None:
    augmenter = DetectionAugmenter((3, 60, 80), max_random_contrast=0.3, random_contrast_prob=0.5)
    objects = np.array([[3, 0.25, 0.25, 0.75, 0.75]], "float32")
    shades = [augmenter(scene, objects, np.random.default_rng(k))[0][0, 0, 0] for k in range(100)]
    assert 30 < sum(shade != 50 for shade in shades) < 65
    assert min(shades) < 42
    assert max(shades) > 58


@pytest.mark.parametrize(("name", "limit"), [("illumination", 50), ("contrast", 0.5)])
def test_scenes_in_batches_change_as_often_and_as_far_as_asked(scene: bytes, tmp_path: Path, name: str, limit: float) -> None:
    path, count = str(tmp_path / "a.rec"), 60
    file = mx.recordio.MXRecordIO(path, "w")
    for k in range(count):
        file.write(mx.recordio.pack(mx.recordio.IRHeader(0, [2, 5, 3, 0.25, 0.25, 0.75, 0.75], k, 0), scene))
    file.close()
    given = {"path_imgrec": path, "data_shape": (3, 60, 80), "batch_size": count, f"max_random_{name}": limit}
    (batch,) = mx.io.ImageDetRecordIter(**given, **{f"random_{name}_prob": 0.5})
    shades = batch.data[0].asnumpy()[:, 0, 0, 0]
    assert 15 < (shades != 50).sum() < 45
    assert (shades == shades.round()).all()  # whole numbers, as colors of images
    furthest = limit if name == "illumination" else 50 * limit
    assert 0.7 * furthest < abs(shades - 50).max() <= furthest


def test_batches_have_the_numbers_of_their_records_with_any_number_of_threads(path: str) -> None:
    assert [make(path, preprocess_threads=count).next().index.tolist() for count in (0, 1, 3)] == [[10, 11, 12, 13]] * 3
