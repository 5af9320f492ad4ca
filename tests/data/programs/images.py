"""Images: decoding, sizes, crops, augmenters, and what iterators make of them."""

from __future__ import annotations

import os
import random
import struct
import tempfile
import zlib
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _png(pixels: np.ndarray) -> bytes:
    """A PNG file of pixels (h, w), (h, w, 3) or (h, w, 4)."""
    h, w = pixels.shape[:2]
    kind = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">2I5B", w, h, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _pixels(h: int = 7, w: int = 9, seed: int = 0, channels: int | None = 3) -> np.ndarray:
    shape = (h, w) if channels is None else (h, w, channels)
    return np.random.RandomState(seed).randint(0, 256, shape).astype("uint8")


def _image(mx: Any, *args: Any, dtype: str = "uint8") -> Any:
    return mx.nd.array(_pixels(*args), dtype=dtype)


def decoding(mx: Any) -> Any:
    color, gray, alpha = (_png(_pixels(channels=c)) for c in (3, None, 4))
    decode = mx.image.imdecode
    return [
        [decode(data), decode(data, flag=0), decode(data, to_rgb=False), decode(data, 1, 0), decode(data, flag=0, to_rgb=1)]
        for data in (color, gray, alpha)
    ]


def decoding_other_buffers(mx: Any) -> Any:
    data = _png(_pixels())
    out = mx.nd.zeros((7, 9, 3), dtype="uint8")
    mx.image.imdecode(data, out=out)
    return [mx.image.imdecode(bytearray(data)), mx.image.imdecode(mx.nd.array(np.frombuffer(data, "uint8"), dtype="uint8")), out]


def decoding_failures(mx: Any) -> Any:
    return [fails(lambda d=d: mx.image.imdecode(d).asnumpy()) for d in (b"", b"no image")]


def reading(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.png")
        with open(path, "wb") as file:
            file.write(_png(_pixels()))
        read = mx.image.imread
        return [read(path), read(path, 0), read(path, to_rgb=False), fails(lambda: read(path + "x").asnumpy())]


def sizes(mx: Any) -> Any:
    pairs = [((640, 480), (720, 120)), ((360, 1000), (480, 500)), ((10, 10), (5, 5)), ((7, 3), (9, 9)), ((100, 90), (200, 30))]
    return [mx.image.scale_down(*pair) for pair in pairs]


def resizing(mx: Any) -> Any:
    image = _image(mx, 8, 6)
    found = [
        mx.image.imresize(image, w, h, interp=k).astype("float32") / 256 for k in (0, 3) for w, h in [(4, 4), (9, 11), (6, 8), (3, 10)]
    ]
    out = mx.nd.zeros((4, 4, 3), dtype="uint8")
    mx.image.imresize(image, 4, 4, 0, out=out)
    return [*found, out]


def resizing_methods(mx: Any) -> Any:
    image = _image(mx, 8, 6, dtype="float32")
    image = image / 256
    found = [mx.image.imresize(image, w, h, interp=k) for k in (0, 1, 2, 3, 4) for w, h in [(4, 4), (9, 11), (3, 10)]]
    return [*found, [fails(lambda k=k: mx.image.imresize(image, 4, 4, interp=k).asnumpy()) for k in (11, -1)]]


def short_sides(mx: Any) -> Any:
    return [mx.image.resize_short(_image(mx, h, w), size, interp=0) for h, w, size in [(8, 6, 4), (6, 8, 4), (5, 5, 9), (7, 3, 5)]]


def borders(mx: Any) -> Any:
    border = mx.image.copyMakeBorder
    image = _image(mx, 3, 4)
    return [
        border(image, 1, 2, 0, 1),
        border(image, 1, 0, 2, 0, 0, 7.0),
        border(image, 1, 1, 1, 1, type=0, values=(1.0, 2.0, 3.0)),
        *(border(image, 2, 1, 1, 2, type=k) for k in (1, 2, 3, 4)),
    ]


def crops(mx: Any) -> Any:
    image = _image(mx, 8, 6)
    crop, center = mx.image.fixed_crop, mx.image.center_crop
    return [
        crop(image, 1, 2, 3, 4),
        crop(image, 1, 2, 3, 4, size=(3, 4)),
        crop(image, 0, 0, 6, 8, size=(3, 4), interp=0),
        center(image, (3, 4), 0),
        center(image, (5, 5), 0),
        center(image, (12, 4), 0),
        center(image, (4, 9), 0),
    ]


def random_crops(mx: Any) -> Any:
    random.seed(3)
    image = _image(mx, 8, 6)
    return [
        [mx.image.random_crop(image, size, 0) for size in [(3, 4), (2, 2), (9, 9), (6, 8)]],
        [mx.image.random_size_crop(image, (4, 4), area, ratio, 0) for area, ratio in [((0.2, 0.5), (0.5, 2)), (0.6, (0.9, 1.1))]],
        mx.image.random_size_crop(image, (4, 4), (0.9, 1.0), (20, 30), 0),
        mx.image.random_size_crop(image, (4, 4), 0.3, (0.9, 1.1), 0, min_area=0.5),
    ]


def normalizing(mx: Any) -> Any:
    image = _image(mx, 3, 3, dtype="float32")
    normalize = mx.image.color_normalize
    same = image.copy()
    normalize(same, mx.nd.array([1.0, 2.0, 3.0]))
    return [
        normalize(image.copy(), mx.nd.array([1.0, 2.0, 3.0]), mx.nd.array([2.0, 4.0, 8.0])),
        normalize(image.copy(), None, mx.nd.array([2.0, 4.0, 8.0])),
        normalize(image.copy(), 5.0),
        same,
    ]


def rotations(mx: Any) -> Any:

    images = mx.nd.array(np.random.RandomState(0).rand(2, 3, 9, 9))
    rotate = mx.image.imrotate
    return [
        rotate(images[0], 30),
        rotate(images, -45, zoom_in=True),
        rotate(images, mx.nd.array([10.0, 200.0]), zoom_out=True),
        rotate(images[0], 90),
        [
            fails(lambda: rotate(images, 10, True, True)),
            fails(lambda: rotate(images.astype("uint8"), 10)),
            fails(lambda: rotate(images[0], mx.nd.array([10.0]))),
            fails(lambda: rotate(images, mx.nd.array([10.0]))),
            fails(lambda: rotate(images[0, 0], 10)),
            fails(lambda: rotate(images, "10")),
        ],
        mx.image.random_rotate(images, (-20, 20)).shape,
        mx.image.random_rotate(images[0], (-20, 20), zoom_in=True).shape,
    ]


def _described(augmenters: Any) -> Any:
    return [augmenter.dumps() for augmenter in augmenters]


def lists_of_augmenters(mx: Any) -> Any:
    create = mx.image.CreateAugmenter
    everything = {"resize": 30, "rand_mirror": True, "mean": True, "std": True, "brightness": 0.1, "contrast": 0.2, "saturation": 0.3}
    return [
        _described(create((3, 20, 24))),
        _described(create((3, 20, 24), rand_crop=True, inter_method=1)),
        _described(create((3, 20, 24), rand_crop=True, rand_resize=True)),
        _described(create((3, 20, 24), hue=0.2, pca_noise=0.1, rand_gray=0.5, **everything)),
        _described(create((3, 20, 24), mean=np.array([1.0, 2.0, 3.0]))),
        _described(create((3, 20, 24), std=np.array([1.0, 2.0, 3.0]))),
        [
            fails(lambda: create((3, 20, 24), rand_resize=True)),
            fails(lambda: create((3, 20, 24), mean=np.array([1.0, 2.0]))),
            fails(lambda: create((3, 20, 24), unknown=1)),
        ],
    ]


def augmenters_described(mx: Any) -> Any:
    image = mx.image
    one = image.CastAug()
    return _described(
        [
            image.ResizeAug(5),
            image.ForceResizeAug((5, 6), 1),
            image.RandomCropAug((5, 6)),
            image.RandomSizedCropAug((5, 6), 0.1, (0.5, 2)),
            image.RandomSizedCropAug((5, 6), 0.1, (0.5, 2), min_area=0.3),
            image.CenterCropAug((5, 6)),
            image.HorizontalFlipAug(0.5),
            image.CastAug("float16"),
            image.BrightnessJitterAug(0.1),
            image.ContrastJitterAug(0.1),
            image.SaturationJitterAug(0.1),
            image.HueJitterAug(0.1),
            image.ColorJitterAug(0.1, 0, 0.2),
            image.LightingAug(0.1, np.array([1.0, 2.0, 3.0]), np.eye(3)),
            image.ColorNormalizeAug(mx.nd.array([1.0, 2.0, 3.0]), None),
            image.RandomGrayAug(0.5),
            image.SequentialAug([one, one]),
            image.RandomOrderAug([one]),
            image.Augmenter(a=1, b=np.array([1, 2])),
        ]
    )


def augmenters(mx: Any) -> Any:
    image = mx.image
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002  (what augmenters draw from)
    picture = _image(mx, 8, 6)
    floating = picture.astype("float32") / 255
    return [
        image.ResizeAug(4, 0)(picture),
        image.ForceResizeAug((5, 3), 0)(picture),
        image.CenterCropAug((3, 4), 0)(picture),
        image.RandomCropAug((3, 4), 0)(picture),
        image.RandomSizedCropAug((3, 4), 0.5, (0.5, 2), 0)(picture),
        image.HorizontalFlipAug(1)(picture),
        image.HorizontalFlipAug(0)(picture),
        image.CastAug()(picture),
        image.BrightnessJitterAug(0.5)(floating.copy()),
        image.ContrastJitterAug(0.5)(floating.copy()),
        image.SaturationJitterAug(0.5)(floating.copy()),
        image.HueJitterAug(0.5)(floating.copy()),
        image.LightingAug(0.5, np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3))(floating.copy()),
        image.ColorNormalizeAug(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 4.0]))(floating.copy()),
        image.ColorNormalizeAug(mx.nd.array([1.0, 2.0, 3.0]), None)(floating.copy()),
        image.RandomGrayAug(1)(floating.copy()),
        image.RandomGrayAug(0)(floating.copy()),
        image.SequentialAug([image.HorizontalFlipAug(1), image.CastAug("float16")])(picture),
        image.RandomOrderAug([image.BrightnessJitterAug(0.5), image.HorizontalFlipAug(1)])(floating.copy()),
    ]


def _folder_of_images(folder: str, count: int = 5) -> list[str]:
    names = []
    for k in range(count):
        names.append(f"{k}.png")
        with open(os.path.join(folder, names[-1]), "wb") as file:
            file.write(_png(_pixels(6 + k, 8, k)))
    return names


def _list_file(folder: str, labels: list[list[float]]) -> str:
    path = os.path.join(folder, "a.lst")
    with open(path, "w") as file:
        for k, values in enumerate(labels):
            file.write("\t".join([str(k + 10), *map(str, values), f"{k}.png"]) + "\n")
    return path


def _records(mx: Any, folder: str, labels: list[Any]) -> tuple[str, str]:
    rec, idx = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
    file = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
    for k, label in enumerate(labels):
        file.write_idx(k + 10, mx.recordio.pack(mx.recordio.IRHeader(0, label, k, 0), _png(_pixels(6 + k, 8, k))))
    file.close()
    return rec, idx


def _epochs(iterator: Any, epochs: int = 2) -> Any:
    found = []
    for _ in range(epochs):
        found.append([[batch.data, batch.label, batch.pad] for batch in iterator])
        iterator.reset()
    return found


def _layout(iterator: Any) -> Any:
    return str(iterator.provide_data), str(iterator.provide_label)


def iterators_over_lists(mx: Any) -> Any:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        names = _folder_of_images(folder)
        path = _list_file(folder, [[float(k)] for k in range(5)])
        for last in ("pad", "discard", "roll_over"):
            it = mx.image.ImageIter(2, (3, 4, 4), path_imglist=path, path_root=folder, last_batch_handle=last, inter_method=0)
            found.append([_layout(it), _epochs(it, 3)])
        given = [[k, name] for k, name in enumerate(names)]
        it = mx.image.ImageIter(2, (3, 4, 4), imglist=given, path_root=folder, data_name="x", label_name="y", dtype="int32")
        found.append([_layout(it), [batch.label for batch in it]])
        given = [[[k, k + 0.5], name] for k, name in enumerate(names)]
        it = mx.image.ImageIter(3, (3, 4, 4), label_width=2, imglist=given, path_root=folder)
        found.append([_layout(it), [batch.label for batch in it]])
        given = [[k, k + 0.5, name] for k, name in enumerate(names)]
        it = mx.image.ImageIter(3, (3, 4, 4), label_width=2, imglist=given, path_root=folder, num_parts=2, part_index=1)
        found.append([_layout(it), [[batch.label, batch.pad] for batch in it]])
    return found


def iterators_over_records(mx: Any) -> Any:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = _records(mx, folder, [float(k) for k in range(5)])
        for last in ("pad", "discard", "roll_over"):
            it = mx.image.ImageIter(2, (3, 4, 4), path_imgrec=rec, last_batch_handle=last)
            found.append([_layout(it), [[[b[1], b[2]] for b in epoch] for epoch in _epochs(it, 3)]])
        it = mx.image.ImageIter(2, (3, 4, 4), path_imgrec=rec, path_imgidx=idx, num_parts=2, part_index=0)
        found.append(_epochs(it))
        path = _list_file(folder, [[k + 0.25] for k in range(5)])
        it = mx.image.ImageIter(2, (3, 4, 4), path_imgrec=rec, path_imgidx=idx, path_imglist=path)
        found.append([batch.label for batch in it])
        it = mx.image.ImageIter(2, (3, 4, 4), path_imgrec=rec, path_imgidx=idx, shuffle=True)
        found.append(sorted(float(x) for batch in it for x in batch.label[0].asnumpy()[: 2 - batch.pad]))
    return found


def iterators_of_subclasses(mx: Any) -> Any:
    """Subclasses describe what they make of the batches, and leave images out."""

    class Gray(mx.image.ImageIter):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.provide_data = [("gray", (2, 1, 4, 4))]

        def next(self) -> Any:
            batch = super().next()
            return mx.io.DataBatch([batch.data[0].mean(axis=1, keepdims=True)], batch.label, pad=batch.pad)

    class Chosen(mx.image.ImageIter):
        def check_valid_image(self, data: Any) -> None:
            if float(data.asnumpy().sum()) % 2:
                raise RuntimeError("odd")

    class ChosenWithBoxes(mx.image.ImageDetIter):
        def check_valid_image(self, data: Any) -> None:
            if float(data[0].asnumpy().sum()) % 2:
                raise RuntimeError("odd")

    class Failing(mx.image.ImageIter):
        def check_valid_image(self, data: Any) -> None:
            raise ValueError("not these")

    with tempfile.TemporaryDirectory() as folder:
        rec, idx = _records(mx, folder, [float(k) for k in range(5)])
        sources = {"path_imgrec": rec, "path_imgidx": idx}
        gray = Gray(2, (3, 4, 4), **sources)
        found = [_layout(gray), _epochs(gray), _epochs(Chosen(2, (3, 4, 4), **sources))]
        found.append(fails(Failing(2, (3, 4, 4), **sources).next))
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = _records(mx, folder, BOXES)
        found.append(_epochs(ChosenWithBoxes(2, (3, 4, 4), path_imgrec=rec, path_imgidx=idx)))
    return found


def iterators_that_are_wrong(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        rec, _idx = _records(mx, folder, [float(k) for k in range(5)])
        make = mx.image.ImageIter
        return [
            fails(lambda: make(2, (3, 4, 4))),
            fails(lambda: make(2, (1, 4, 4), path_imgrec=rec)),
            fails(lambda: make(2, (4, 4), path_imgrec=rec)),
            fails(lambda: make(2, (3, 4, 4), path_imgrec=rec, shuffle=True)),
            fails(lambda: make(2, (3, 4, 4), path_imgrec=rec, dtype="uint8")),
            fails(lambda: make(2, (3, 4, 4), path_imgrec=rec, unknown=1)),
            fails(lambda: make(2, (3, 4, 4), path_imgrec=rec + "x")),
        ]


#: Labels of images: a head of two numbers, objects of five.
BOXES = [
    [2, 5, 0, 0.1, 0.2, 0.5, 0.6],
    [2, 5, 1, 0.3, 0.1, 0.9, 0.4, 0, 0.2, 0.2, 0.7, 0.8],
    [2, 5, 2, 0.0, 0.0, 1.0, 1.0],
    [2, 5, 0, 0.5, 0.5, 0.4, 0.6, 1, 0.1, 0.1, 0.2, 0.3],
    [4, 5, 9, 9, 3, 0.25, 0.25, 0.75, 0.75],
]


def lists_of_detection_augmenters(mx: Any) -> Any:
    create = mx.image.CreateDetAugmenter
    several = {"min_object_covered": [0.1, 0.5], "aspect_ratio_range": [(0.5, 2), (0.75, 1.33)], "area_range": (0.1, 1.0)}
    colors = {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3, "pca_noise": 0.1, "hue": 0.2, "rand_gray": 0.1}
    return [
        _described(create((3, 20, 24))),
        _described(create((3, 20, 24), resize=30, rand_crop=0.5, rand_pad=0.4, rand_mirror=True, mean=True, std=True, **colors)),
        _described(create((3, 20, 24), rand_crop=1, **several)),
        _described(create((3, 20, 24), rand_pad=1, pad_val=(1, 2, 3), inter_method=1)),
        mx.image.CreateMultiRandCropAugmenter(max_attempts=[5, 6], skip_prob=0.5).dumps(),
        [
            fails(lambda: mx.image.CreateMultiRandCropAugmenter(max_attempts=[5, 6], min_object_covered=[1, 2, 3])),
            fails(lambda: mx.image.DetBorrowAug(mx.image.DetHorizontalFlipAug(0.5))),
            fails(lambda: mx.image.DetRandomSelectAug([mx.image.CastAug()])),
        ],
    ]


def detection_augmenters(mx: Any) -> Any:
    image = mx.image
    picture = _image(mx, 8, 6)
    label = np.array(BOXES[1][2:]).reshape(-1, 5)
    flipped = image.DetHorizontalFlipAug(1)(picture, label.copy())
    borrowed = image.DetBorrowAug(image.ForceResizeAug((4, 4), 0))(picture, label.copy())
    selected = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1)], 0)(picture, label.copy())
    skipped = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1)], 1)(picture, label.copy())
    whole = image.DetRandomCropAug(1.0, (0.75, 0.75), (1.0, 1.0), 0.3, 5)(picture, label.copy())
    return [flipped, borrowed, selected, skipped, whole]


def random_parts_of_detection(mx: Any) -> Any:
    """Sizes and boxes that random augmenters leave: the seed of Python's generator determines them."""
    random.seed(1)
    picture = _image(mx, 60, 80)
    label = np.array([[0, 0.2, 0.3, 0.6, 0.7], [1, 0.5, 0.5, 0.9, 0.95]])
    flips = [mx.image.DetHorizontalFlipAug(0.5), mx.image.DetHorizontalFlipAug(0.9)]
    found = []
    for augmenter in (
        mx.image.DetRandomCropAug(0.3, (0.75, 1.33), (0.2, 0.9), 0.3, 50),
        mx.image.DetRandomCropAug(0.0, (0.5, 2.0), (0.8, 0.82), 0.0, 3),
        mx.image.DetRandomPadAug((0.75, 1.33), (1.5, 3.0), 50),
        mx.image.DetRandomPadAug((0.5, 2.0), (1.0, 1.1), 2),
        mx.image.DetRandomSelectAug(flips, 0.3),
    ):
        parts = [augmenter(picture, label.copy()) for _ in range(30)]
        found.append([[part.shape[:2], np.round(boxes, 4)] for part, boxes in parts])
    return found


def detection_iterators(mx: Any) -> Any:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = _records(mx, folder, BOXES)
        it = mx.image.ImageDetIter(2, (3, 4, 4), path_imgrec=rec, inter_method=0)
        found.append([_layout(it), it.label_shape, _epochs(it)])
        it.reshape(label_shape=(4, 5))
        found.append([_layout(it), [batch.label for batch in it]])
        it.reshape(data_shape=(3, 5, 6))
        found.append(_layout(it))
        other = mx.image.ImageDetIter(2, (3, 4, 4), path_imgrec=rec, path_imgidx=idx)
        it.sync_label_shape(other)
        found.append([_layout(other), other.label_shape])
        found.append(
            [
                fails(lambda: it.reshape(label_shape=(1, 5))),
                fails(lambda: it.reshape(label_shape=(4, 6))),
                fails(lambda: it.sync_label_shape(None)),
                fails(lambda: mx.image.ImageDetIter(2, (3, 4, 4), path_imgrec=_records(mx, folder, [[2, 5, 0, 1, 1]])[0])),
                fails(lambda: mx.image.ImageDetIter(2, (3, 4, 4), path_imgrec=_records(mx, folder, [[2, 5, 0, 0.5, 0.5, 0.5, 0.6]])[0])),
            ]
        )
    return found


def folders_and_records_as_datasets(mx: Any) -> Any:
    vision = mx.gluon.data.vision
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("dogs", "cats"):
            os.mkdir(os.path.join(folder, name))
            _folder_of_images(os.path.join(folder, name), 2)
        data = vision.ImageFolderDataset(folder)
        found.append([len(data), data.synsets, [label for _, label in data.items], [data[k] for k in range(4)]])
        gray = vision.ImageFolderDataset(folder, flag=0, transform=lambda image, label: (image.shape, label))
        found.append([gray[k] for k in range(4)])
        rec, _ = _records(mx, folder, [1.0, [2.0, 3.0], 4.0])
        records = vision.ImageRecordDataset(rec)
        found.append([len(records), [records[k] for k in range(3)]])
        found.append(list(vision.ImageRecordDataset(rec, 0, lambda image, label: image.shape)[0]))
    return found
