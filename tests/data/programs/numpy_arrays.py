"""The classes of the arrays that images are made into under ``npx.set_np``."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from .images import _folder_of_images, _pixels, _png, _records


def _classes(*arrays: Any) -> list[str]:
    return [type(a).__name__ for a in arrays]


def images_and_datasets(mx: Any) -> Any:
    image, vision = mx.image, mx.gluon.data.vision
    mx.npx.set_np()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            with open(path, "wb") as file:
                file.write(_png(_pixels()))
            one = image.imread(path)
            seen: list[Any] = []

            def noted(a: Any, label: Any) -> Any:
                seen.append(_classes(a))
                return a, label

            found = _classes(
                one,
                image.imdecode(_png(_pixels())),
                image.imresize(one, 4, 3),
                image.resize_short(one, 4),
                image.random_crop(one, (4, 4))[0],
                image.fixed_crop(one, 1, 1, 3, 3, (5, 5)),
                image.ResizeAug(4)(one),
                image.CastAug()(one),
                vision.transforms.ToTensor()(one),
                vision.transforms.Resize(4)(one),
            )
            values = image.imresize(one, 4, 3).asnumpy()
            os.makedirs(os.path.join(folder, "root", "a"))
            _folder_of_images(os.path.join(folder, "root", "a"), 2)
            vision.ImageFolderDataset(os.path.join(folder, "root"), transform=noted)[0]
            records, index = _records(mx, folder, [0.0, 1.0])
            vision.ImageRecordDataset(records, transform=noted)[0]
            batch = next(image.ImageIter(2, (3, 4, 4), path_imgrec=records, path_imgidx=index))
            found += _classes(*batch.data, *batch.label)
            shapes = [batch.data[0].shape, batch.label[0].shape]
            return [found, seen, values, shapes]
    finally:
        mx.npx.reset_np()
