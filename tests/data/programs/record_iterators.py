"""Iterators over image records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.data.programs.images import _list_file, _pixels, _png
from tests.oracle_programs import fails


def _records(mx: Any, folder: str, images: list[np.ndarray], labels: list[Any]) -> str:
    path = os.path.join(folder, "a.rec")
    file = mx.recordio.MXIndexedRecordIO(os.path.join(folder, "a.idx"), path, "w")
    for k, image in enumerate(images):
        file.write_idx(k + 10, mx.recordio.pack(mx.recordio.IRHeader(0, labels[k], k + 10, 0), _png(image)))
    file.close()
    return path


def _read(iterator: Any, epochs: int = 1, numbers: bool = False) -> Any:
    found: list[Any] = [[[d.name, d.shape, d.dtype.__name__] for d in (*iterator.provide_data, *iterator.provide_label)]]
    for _ in range(epochs):
        for batch in iterator:  # what the real iterators overwrite with a later batch is read at once
            data = batch.data[0].asnumpy()
            row = [data.dtype.name, data.tolist(), batch.label[0].asnumpy().tolist(), batch.pad]
            found.append([*row, [int(k) for k in batch.index]] if numbers else row)
        iterator.reset()
    return found


def _with_records(mx: Any, images: list[np.ndarray], labels: list[Any], *options: Any, cls: str = "ImageRecordIter", **how: Any) -> Any:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, images, labels)
        for one in options:
            given = {"data_shape": (3, 4, 4), "batch_size": 2, "preprocess_threads": 1, "verbose": False, **one}
            found.append(_read(getattr(mx.io, given.pop("cls", cls))(path_imgrec=path, **given), **how))
    return found


FLAT = [np.full((4, 4, 3), 10 * k + 20, "uint8") + np.array([0, 1, 2], "uint8") for k in range(5)]


def batches(mx: Any) -> Any:
    return _with_records(mx, FLAT, [float(k) for k in range(5)], {}, {"batch_size": "3", "round_batch": "True"}, epochs=2)


def numbers(mx: Any) -> Any:
    return _with_records(mx, FLAT, [float(k) for k in range(5)], {}, cls="ImageRecordIter_v1", numbers=True)


def kinds_of_pixels(mx: Any) -> Any:
    high = [np.full((4, 4, 3), 200, "uint8")]
    return _with_records(
        mx,
        FLAT[:2] + high,
        [1.0, 2.0, 3.0],
        {"cls": "ImageRecordUInt8Iter", "batch_size": 3},
        {"cls": "ImageRecordInt8Iter", "batch_size": 3},
        {"dtype": "uint8", "batch_size": 3},
        {"data_shape": (1, 4, 4), "batch_size": 3},
        {"data_name": "x", "label_name": "y", "batch_size": 3},
    )


def opacity(mx: Any) -> Any:
    clear = [_pixels(4, 4, k, 4) for k in range(2)]
    return _with_records(
        mx,
        clear,
        [1.0, 2.0],
        {"data_shape": (4, 4, 4)},
        {"data_shape": (4, 4, 4), "mean_r": 1, "mean_g": 2, "mean_b": 3, "mean_a": 4, "std_r": 2, "std_g": 4, "std_b": 8, "std_a": 16},
        {"data_shape": (4, 4, 4), "cls": "ImageRecordUInt8Iter", "mirror": True},
        {"data_shape": (4, 4, 4), "cls": "ImageRecordInt8Iter"},
        {"data_shape": (4, 6, 6), "pad": 1, "fill_value": 7},
        {"data_shape": (4, 2, 2), "resize": 2, "inter_method": 0},
        {"data_shape": (3, 4, 4), "mean_a": 4},
        {"data_shape": (1, 4, 4)},
    )


def images_without_opacity(mx: Any) -> Any:
    return fails(lambda: _with_records(mx, FLAT[:2], [1.0, 2.0], {"data_shape": (4, 4, 4)}))


def normalized(mx: Any) -> Any:
    return _with_records(
        mx,
        FLAT,
        [float(k) for k in range(5)],
        {"mean_r": 1, "mean_g": 2, "mean_b": 3, "std_r": 2, "std_g": 4, "std_b": 8, "scale": 0.5, "batch_size": 5},
        {"scale": "0.5", "batch_size": 5},
        {"mean_r": 5, "batch_size": 5},
    )


def parts(mx: Any) -> Any:
    return _with_records(mx, FLAT, [float(k) for k in range(5)], *({"num_parts": 2, "part_index": k} for k in range(2)))


def shares(mx: Any) -> Any:
    """Which records of different sizes each of several parts has, by bytes and, with an index, by number; only parts that have some."""
    images = [np.random.RandomState(k).randint(0, 255, (8 + k * 5 % 7, 8, 3)).astype("uint8") for k in range(11)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, images, [float(k) for k in range(11)])
        for index, counts in (("", (2, 3, 4, 5)), (os.path.join(folder, "a.idx"), (2, 3, 4))):
            for count in counts:
                for part in range(count):
                    given = {"data_shape": (3, 4, 4), "batch_size": 1, "preprocess_threads": 1, "verbose": False, "path_imgidx": index}
                    it = mx.io.ImageRecordIter(path_imgrec=path, num_parts=count, part_index=part, **given)
                    found.append([int(batch.label[0].asnumpy()[0]) for batch in it])
    return found


def cut(mx: Any) -> Any:
    return [
        _with_records(mx, [_pixels(h, w)], [1.0], {"batch_size": 1}, {"batch_size": 1, "mirror": True}, {"batch_size": 1, "pad": 3})
        for h, w in [(4, 4), (6, 8), (5, 7), (4, 9)]
    ]


def padded(mx: Any) -> Any:
    return _with_records(mx, [_pixels(2, 2)], [1.0], {"batch_size": 1, "pad": 1}, {"batch_size": 1, "pad": 1, "fill_value": 7})


def labels(mx: Any) -> Any:
    found = [_with_records(mx, FLAT[:2], [[1, 2.0], [3, 4.0]], {"label_width": 2})]
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, FLAT, [float(k) for k in range(5)])
        given = {"path_imgrec": path, "data_shape": (3, 4, 4), "batch_size": 5, "preprocess_threads": 1, "verbose": False}
        for width in (1, 2):
            listed = _list_file(folder, [[k + 0.5, k + 0.25][:width] for k in range(5)])
            found.append(_read(mx.io.ImageRecordIter(path_imglist=listed, label_width=width, **given)))
    return found


def mean_images(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, FLAT, [float(k) for k in range(5)])
        given = {"path_imgrec": path, "data_shape": (3, 4, 4), "batch_size": 5, "preprocess_threads": 1, "verbose": False}
        mean = os.path.join(folder, "mean.bin")
        first = _read(mx.io.ImageRecordIter(mean_img=mean, **given))
        stored = {name: array.asnumpy().tolist() for name, array in mx.nd.load(mean).items()}
        mx.nd.save(mean, {"mean_img": mx.nd.full((3, 4, 4), 3)})
        return [first, stored, _read(mx.io.ImageRecordIter(mean_img=mean, **given))]


def orders(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, FLAT, [float(k) for k in range(5)])
        given = {"path_imgrec": path, "data_shape": (3, 4, 4), "batch_size": 5, "preprocess_threads": 1, "verbose": False}
        it = mx.io.ImageRecordIter(shuffle=True, **given)
        found = []
        for _ in range(8):
            found.append([float(x) for batch in it for x in batch.label[0].asnumpy()])
            it.reset()
        return [[sorted(epoch) for epoch in found], len({str(epoch) for epoch in found}) > 2]


def wrong_parameters(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, FLAT, [float(k) for k in range(5)])
        make = mx.io.ImageRecordIter
        return [
            fails(lambda: make(path_imgrec=path, batch_size=2)),
            fails(lambda: make(path_imgrec=path, data_shape=(3, 4, 4))),
            fails(lambda: make(path_imgrec=path, data_shape=(4, 4), batch_size=2)),
            fails(lambda: make(path_imgrec=path, data_shape=(3, 4, 4), batch_size=2, dtype="float16")),
            fails(lambda: make(path_imgrec=path, data_shape=(3, 4, 4), batch_size="x")),
        ]


def _linear(image: np.ndarray, place: Callable[[np.ndarray, np.ndarray], Any], h: int, w: int) -> np.ndarray:
    """An image interpolated linearly at places (x, y) of pixels' centers in it, which depend on those of the results."""
    x, y = place(np.arange(w)[None, :] + 0.5, np.arange(h)[:, None] + 0.5)
    x, y = np.broadcast_arrays(np.clip(x - 0.5, 0, image.shape[1] - 1), np.clip(y - 0.5, 0, image.shape[0] - 1))
    left, top = np.minimum(x.astype(int), image.shape[1] - 2), np.minimum(y.astype(int), image.shape[0] - 2)
    u, v = (x - left)[..., None], (y - top)[..., None]
    rows = [image[top + k, left] * (1 - u) + image[top + k, left + 1] * u for k in (0, 1)]
    return rows[0] * (1 - v) + rows[1] * v


def interpolated(mx: Any) -> Any:
    """Whether interpolated pixels are within 1.01 of those computed here."""
    big, small, square = _pixels(10, 12).astype(float), _pixels(6, 7).astype(float), _pixels(8, 8).astype(float)
    cases = [
        (big, {"resize": 8}, _linear(big, lambda x, y: (x * 12 / 9, y * 10 / 8), 8, 8)),
        (big, {"resize": 16}, _linear(big, lambda x, y: ((x + 5) * 12 / 19, (y + 4) * 10 / 16), 8, 8)),
        (small, {}, _linear(small, lambda x, y: (x * 7 / 9, y * 6 / 8), 8, 8)),
        (big, {"max_img_size": 9}, _linear(big, lambda x, y: (x + 1.5, y + 0.5), 8, 8)),
        (big, {"max_crop_size": 6, "min_crop_size": 6}, _linear(big[2:8, 3:9], lambda x, y: (x * 6 / 8, y * 6 / 8), 8, 8)),
        (square, {"rotate": 90}, _linear(square, lambda x, y: (9 - y, x), 8, 8)),
    ]
    found = []
    for image, options, expected in cases:
        ((_, batch),) = _with_records(mx, [image.astype("uint8")], [0.0], {"data_shape": (3, 8, 8), "batch_size": 1, **options})
        pixels = np.array(batch[1][0]).transpose(1, 2, 0)
        inside = slice(1, None) if "rotate" in options else slice(None)  # the first row lies outside of the image
        found.append(bool(np.abs(pixels - expected)[inside].max() < 1.01))
    return found


#: Labels of images: a head of two numbers or more, objects of five.
BOXES = [
    [2, 5, 0, 0.1, 0.2, 0.5, 0.6],
    [2, 5, 1, 0.3, 0.1, 0.9, 0.4, 0, 0.2, 0.2, 0.7, 0.8],
    [2, 5, 0, 0.5, 0.5, 0.4, 0.6, 1, 0.1, 0.1, 0.2, 0.3],
    [4, 5, 9, 9, 3, 0.25, 0.25, 0.75, 0.75],
]


def _detection(mx: Any, *options: Any, shape: tuple[int, int] = (4, 4), **how: Any) -> Any:
    images = [_pixels(*shape, seed=k) for k in range(len(BOXES))]
    return _with_records(mx, images, BOXES, *options, cls="ImageDetRecordIter", **how)


def detection(mx: Any) -> Any:
    found = _detection(
        mx,
        {},
        {"label_pad_width": 20, "label_pad_value": -7},
        {"rand_mirror_prob": 1},
        {"mean_r": 1, "std_r": 2, "scale": 0.5, "mean_g": 2, "std_g": 4, "std_b": 1},
        {"data_shape": (3, 6, 6), "resize_mode": "shrink"},
        {"data_name": "x", "label_name": "y"},
        numbers=True,
    )
    return [found, _detection(mx, {}, epochs=2)]


def detection_in_larger_batches(mx: Any) -> Any:
    """Images that are not resized fill a corner of the data; the rest is 0."""
    ((_, *found),) = _detection(mx, {"data_shape": (3, 8, 6), "resize_mode": "fit"}, shape=(4, 6))
    return found


def margins_of_detection(mx: Any) -> Any:
    """Beside an image that does not fill the data are black pixels: the mean is subtracted from them, too."""
    numbers = {"mean_r": 10, "std_r": 2, "mean_g": 20, "scale": 0.5, "mean_b": 4}
    shape = {"data_shape": (3, 8, 6)}
    found = _detection(mx, *({**shape, "resize_mode": mode, **numbers} for mode in ("fit", "shrink")), shape=(4, 6))
    with tempfile.TemporaryDirectory() as folder:
        mean = os.path.join(folder, "mean.bin")
        mx.nd.save(mean, {"mean_img": mx.nd.arange(3 * 8 * 6).reshape((3, 8, 6))})
        return [found, _detection(mx, {**shape, "resize_mode": "fit", "mean_img": mean}, shape=(4, 6))]


def limits_of_colors_that_never_change(mx: Any) -> Any:
    """The probabilities of changes of color are 0 unless they are given, so limits alone change nothing."""
    limits = {"max_random_hue": 20, "max_random_saturation": 50, "max_random_illumination": 50, "max_random_contrast": 0.5}
    return _detection(mx, limits)


def texts_of_limits_of_crops(mx: Any) -> Any:
    """Numbers of batches: what is in them is random."""
    crops = {"rand_crop_prob": 1, "num_crop_sampler": 1}
    others = {"min_crop_overlaps": "(0.1,)", "max_crop_trials": "(50,)"}
    limits = [{"min_crop_scales": text, **others} for text in ("(0.3,)", "[0.3]", "0.3", 0.3)]
    wrong = [fails(lambda text=text: _detection(mx, {**crops, "min_crop_scales": text})) for text in ("(a,)", "(0.3", "()")]
    return [[len(found) for found in _detection(mx, *({**crops, **one} for one in limits))], wrong]


def wrong_detection(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = _records(mx, folder, FLAT[:4], BOXES)
        given = {"path_imgrec": path, "data_shape": (3, 4, 4), "batch_size": 2, "preprocess_threads": 1, "verbose": False}
        make = mx.io.ImageDetRecordIter
        found = [
            fails(lambda: make(label_pad_width=3, **given)),
            fails(lambda: make(label_width=7, **given)),
            fails(lambda: make(resize_mode="x", **given)),
            fails(lambda: make(crop_emit_mode="x", **given)),
        ]
        _records(mx, folder, FLAT[:1], [[2, 5, 0, 0.1, 0.1]])
        return [*found, fails(lambda: list(make(**given)))]


def nothing_to_read(mx: Any) -> Any:
    """An empty file, and more parts than records."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for cls in ("ImageRecordIter", "ImageRecordUInt8Iter", "ImageRecordInt8Iter", "ImageRecordIter_v1", "ImageDetRecordIter"):
            given = {"path_imgrec": _records(mx, folder, [], []), "data_shape": (3, 4, 4), "batch_size": 2, "verbose": False}
            found.append(fails(lambda cls=cls, given=given: getattr(mx.io, cls)(**given)))
        records = mx.gluon.data.vision.ImageRecordDataset(os.path.join(folder, "a.rec"))
        found.append([len(records), list(mx.gluon.data.DataLoader(records, 2))])
        path = _records(mx, folder, FLAT[:3], [0.0, 1.0, 2.0])
        for index in ("", path[:-3] + "idx"):
            given = {"path_imgrec": path, "path_imgidx": index, "data_shape": (3, 4, 4), "batch_size": 2, "verbose": False, "num_parts": 6}
            found.append([fails(lambda k=k, given=given: mx.io.ImageRecordIter(part_index=k, **given)) for k in range(6)])
    return found


def _shards(mx: Any, folder: str) -> list[str]:
    """Three files of 5, 3 and 4 records, an empty one, and an index of all of them joined."""
    paths, entries, start = [], [], 0
    for name, first, count in (("a", 0, 5), ("b", 10, 3), ("empty", 0, 0), ("c", 20, 4)):
        paths.append(os.path.join(folder, name + ".rec"))
        file = mx.recordio.MXIndexedRecordIO(os.path.join(folder, name + ".idx"), paths[-1], "w")
        for k in range(first, first + count):
            entries.append(f"{len(entries)}\t{start + file.tell()}\n")
            file.write_idx(k, mx.recordio.pack(mx.recordio.IRHeader(0, float(k), k, 0), _png(np.full((4, 4, 3), k, "uint8"))))
        file.close()
        start += os.path.getsize(paths[-1])
    with open(os.path.join(folder, "joint.idx"), "w") as index:
        index.writelines(entries)
    return paths


def several_files(mx: Any) -> Any:
    """Files of records with semicolons between: their order, parts, several epochs, and names that are wrong."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        a, b, empty, c = _shards(mx, folder)
        joint = os.path.join(folder, "joint.idx")

        def labels(path: str, epochs: int = 1, cls: str = "ImageRecordIter", **options: Any) -> list[Any]:
            given = {"data_shape": (3, 4, 4), "batch_size": 2, "preprocess_threads": 1, "verbose": False, **options}
            it = getattr(mx.io, cls)(path_imgrec=path, **given)
            rows = []
            for _ in range(epochs):
                rows.append([[int(k) for k in batch.label[0].asnumpy()] for batch in it])
                it.reset()
            return rows

        everything = ";".join([a, b, empty, c])
        found += [labels(f"{a};{b}"), labels(f"{b};{a};"), labels(f"{a};{a}"), labels(everything, 2)]
        found += [labels(everything, 3, batch_size=5), labels(f"{b};{a}", cls="ImageRecordUInt8Iter")]
        for index in ("", joint):
            options = {"path_imgidx": index, "batch_size": 1}
            found += [labels(everything, num_parts=n, part_index=k, **options) for n in (2, 3) for k in range(n)]
            epochs = labels(everything, 2, shuffle=True, **options)
            found += [sorted(epochs[0]), sorted(epochs[1]), epochs[0] != epochs[1], epochs[0] != sorted(epochs[0])]
        wrong = [f"{a};;{b}", f";{a}", ";", f"{a}; {b}", f"{a},{b}"]
        found += [[fails(lambda path=path: labels(path)) for path in wrong]]
    return found


def folder_of_files(mx: Any) -> Any:
    """The files of a folder, in any order (MXNet takes that of the file system), without those of the folders in it."""
    with tempfile.TemporaryDirectory() as folder:
        inner = os.path.join(folder, "inner")
        os.mkdir(inner)
        for path in _shards(mx, inner)[:2]:
            os.rename(path, os.path.join(folder, os.path.basename(path)))
        found = []
        for path in (folder, folder + "/"):
            given = {"data_shape": (3, 4, 4), "batch_size": 1, "preprocess_threads": 1, "verbose": False}
            batches = mx.io.ImageRecordIter(path_imgrec=path, **given)
            found.append(sorted(int(batch.label[0].asnumpy()[0]) for batch in batches))
    return found


def patterns_of_files(mx: Any) -> Any:
    """Regular expressions for the paths of the files in a folder; `_shards` has a.rec, b.rec, c.rec and an empty one."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        a = _shards(mx, folder)[0]
        for path in _shards(mx, folder):
            os.remove(path.replace(".rec", ".idx"))
        os.rename(a, os.path.join(folder, "axrec"))

        def labels(name: str) -> list[int]:
            given = {"data_shape": (3, 4, 4), "batch_size": 1, "preprocess_threads": 1, "verbose": False}
            batches = mx.io.ImageRecordIter(path_imgrec=name, **given)
            return sorted(int(batch.label[0].asnumpy()[0]) for batch in batches)

        patterns = ([".*rec"], ["(a|b).rec"], [".*\\.rec"], ["b.+"], ["c.rec", ".*xrec"])
        found += [labels(";".join(os.path.join(folder, part) for part in parts)) for parts in patterns]
        wrong = ["a.rec", "z.*rec", "B.*rec", "b.re", "(a.rec"]
        found.append([fails(lambda name=name: labels(os.path.join(folder, name))) for name in wrong])
    return found
