"""`ImageDetIter`: batches of images with the boxes of their objects."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import ndarray as nd
from ..errors import FormatError, InvalidValue, MissingDependency, ParameterError
from ..formats.images import draw_text
from ..formats.records import ArrayRecord
from ..imperative.array import Array
from ..io.skipped import BAD_SAMPLE
from .detection import CreateDetAugmenter, DetAugmenter, split_label
from .iterator import ImageIter
from .usual_augmenters import DEVIATION, MEAN

if TYPE_CHECKING:
    from ..ndarray.array import NDArray
    from ..recordio.labeled import Label

#: Marks rows of a batch's label without an object.
NO_OBJECT = -1


class ImageDetIter(ImageIter):
    """Iterates over images and the boxes of their objects.

    The label of an image in its record or list has a head and objects. The head is: its length, two or more; the length of an object,
    five or more; and any further numbers. An object is: its class; left, top, right and bottom as shares of the width and height; and any
    further numbers. In a batch, labels have shape (n, most objects of an image, length of an object), with -1 where there is no object.

    Parameters
    ----------
    batch_size
        Number of images in a batch.
    data_shape
        Shape (3, h, w) of an image in a batch.
    path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts
        As for `ImageIter`.
    imglist, data_name, label_name, last_batch_handle, on_bad_sample
        As for `ImageIter`.
    aug_list
        The augmenters; those of `CreateDetAugmenter` with ``**kwargs`` if None.
    **kwargs
        Parameters of `CreateDetAugmenter`.

    Raises
    ------
    MXNetError
        If a label is malformed, or no object has a width and a height.
    """

    _checks_lists: ClassVar[bool] = True

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int | str = 1,
        aug_list: Sequence[DetAugmenter] | None = None,
        imglist: list[Sequence[Any]] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        on_bad_sample: str = "raise",
        **kwargs: Any,
    ) -> None:
        files = path_imgrec, path_imglist, path_root, path_imgidx
        ends = {"last_batch_handle": last_batch_handle, "on_bad_sample": on_bad_sample}
        # without augmenters: those of `ImageIter` would not move the boxes
        super().__init__(batch_size, data_shape, 1, *files, shuffle, part_index, num_parts, [], imglist, data_name, label_name, **ends)
        self.auglist = list(CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list)
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The most objects of an image, and the numbers of an object."""
        self.reset()
        # all labels are read once, because every batch must have room for the most objects of an image
        most, width = 0, 5
        while True:
            try:
                label = self._parse_label(self.next_sample()[0])
            except StopIteration:
                break
            except BAD_SAMPLE:  # counted when its batch is loaded
                if not self.skipped.are_wanted:
                    raise
            else:
                most, width = max(most, len(label)), label.shape[1]
        self.reset()
        return most, width

    def _parse_label(self, label: Label) -> np.ndarray:
        """The objects (n, numbers of an object) of an image that have a width and a height."""
        numbers = np.ravel(label.asnumpy() if isinstance(label, Array) else label)
        try:
            _, objects = split_label(numbers)
        except FormatError as error:
            raise self._placed(error) from None
        if not len(objects):
            todo = "boxes are left, top, right, bottom"
            raise self._placed(FormatError("Encounter sample with no valid label.", f"{numbers.tolist()}", todo))
        return objects

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None) -> None:
        """Change the shapes of images and labels in later batches. The augmenters keep the shapes that they were made with.

        Parameters
        ----------
        data_shape
            Shape (3, h, w) of an image.
        label_shape
            The most objects and the numbers of one; not smaller than they are.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = tuple(label_shape)  # type: ignore[assignment]

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise an error if labels of this shape cannot hold the images' objects."""
        if len(label_shape) != 2:
            raise InvalidValue("label_shape should have length 2", f"{tuple(label_shape)}", "pass (objects, numbers of each)")
        if label_shape[0] < self.label_shape[0]:
            given = f"from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            raise InvalidValue("Attempts to reduce label count", given, "pass as many objects or more")
        if label_shape[1] != self.label_shape[1]:
            given = f"{self.label_shape[1]} vs {label_shape[1]}."
            raise InvalidValue("label_shape object width inconsistent", given, f"pass (objects, {self.label_shape[1]})")

    def augmentation_transform(self, data: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:  # type: ignore[override]
        """The image and its objects after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _empty_batch(self) -> tuple[NDArray, NDArray]:
        return nd.zeros((self.batch_size, *self.data_shape)), nd.full(self.provide_label[0][1], NO_OBJECT)

    def _write(self, batch_data: NDArray, batch_label: NDArray, row: int, image: NDArray, label: Label) -> None:
        # a copy, because augmenters write into labels, and this one may be a view of the list's
        image, objects = self.augmentation_transform(image, self._parse_label(label).copy())
        if objects.shape[1] != self.label_shape[1]:
            given = f"{objects.shape[1]} numbers, and label_shape={self.label_shape}"
            raise self._placed(
                FormatError("an object has another number of values than those of other images", given, "give all objects as many numbers")
            )
        batch_data[row] = self.postprocess_data(image)
        batch_label[row, : len(objects)] = nd.array(objects)
        batch_label[row, len(objects) :] = NO_OBJECT

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this iterator and another labels of the larger shape of both.

        Parameters
        ----------
        it
            The other one.
        verbose
            Whether to print the changes.

        Returns
        -------
        The other one.
        """
        if not isinstance(it, ImageDetIter):
            raise ParameterError("Synchronize with invalid iterator.", type(it).__name__, "pass an ImageDetIter")
        if self.label_shape[1] != it.label_shape[1]:
            given = f"{self.label_shape[1]} and {it.label_shape[1]}"
            raise InvalidValue("object width mismatch", given, "make labels with as many numbers for each object in both")
        shape = max(self.label_shape[0], it.label_shape[0]), self.label_shape[1]
        for one in (self, it):
            if one.label_shape != shape:
                if verbose:
                    print(f"Resized label_shape to ({shape[0]}, {shape[1]}).")
                one.reshape(label_shape=shape)
        return it

    def draw_next(
        self,
        color: Sequence[int] | None = None,
        thickness: int = 2,
        mean: Sequence[float] | np.ndarray | float | None = None,
        std: Sequence[float] | np.ndarray | float | None = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Mapping[int, object] | Sequence[object] | None = None,
    ) -> Iterator[np.ndarray]:
        """The changed images with the boxes of their objects drawn into them, one after another to the end of the data.

        Parameters
        ----------
        color
            Of the boxes; a random one for each if None.
        thickness
            Of the lines, in pixels.
        mean, std
            What the augmenters subtracted and divided by, to be undone; True for those of ImageNet.
        clip
            Whether to limit the colors to 0 to 255.
        waitKey
            Milliseconds to show each image in a window, which needs OpenCV; None for no window.
        window_name
            The title of the window.
        id2labels
            The name of each class, as a dictionary or list, to be written into the boxes.

        Yields
        ------
        numpy.ndarray
            An image (h, w, 3), uint8.
        """
        mean, std = (known if given is True else given for given, known in ((mean, MEAN), (std, DEVIATION)))
        self.reset()
        while True:
            try:
                label, compressed = self.next_sample()
                image, objects = self.augmentation_transform(self.imdecode(compressed), self._parse_label(label).copy())
            except StopIteration:
                return
            except BAD_SAMPLE:
                if self.skipped.are_wanted:
                    continue
                raise
            # undone in the reverse order of `color_normalize`
            pixels = image.asnumpy().astype("float64")
            pixels = pixels if std is None else pixels * np.asarray(std)
            pixels = pixels if mean is None else pixels + np.asarray(mean)
            drawn = (np.clip(pixels, 0, 255) if clip else pixels).astype("uint8")
            for row in objects:
                shade = [random.randint(0, 255) for _ in range(3)] if color is None else list(color)
                left, top = _draw_box(drawn, row[1:5], shade, thickness)
                if id2labels is not None:
                    drawn = _with_text(drawn, (left + thickness, top + thickness), str(id2labels[int(row[0])]), shade)
            if waitKey is not None:
                _show(window_name, drawn, waitKey)
            yield drawn


def _draw_box(image: np.ndarray, box: np.ndarray, color: Sequence[int], thickness: int) -> tuple[int, int]:
    """Draw a box; return its upper left corner."""
    h, w = image.shape[:2]
    left, top, right, bottom = (int(share * size) for share, size in zip(box, (w, h, w, h), strict=True))
    inner, outer = thickness // 2, (thickness + 1) // 2
    for row in (top, bottom):
        # not below 0: a negative bound would count from the opposite edge
        image[max(row - inner, 0) : max(row + outer, 0), max(left - inner, 0) : right + outer] = color
    for column in (left, right):
        image[max(top - inner, 0) : bottom + outer, max(column - inner, 0) : max(column + outer, 0)] = color
    return left, top


def _with_text(image: np.ndarray, corner: tuple[int, int], text: str, color: Sequence[int]) -> np.ndarray:
    record = draw_text(ArrayRecord("uint8", image.shape, image.tobytes()), corner, text, color)
    return np.frombuffer(bytearray(record.data), np.uint8).reshape(image.shape)


def _show(title: str, image: np.ndarray, milliseconds: int) -> None:
    try:
        opencv = import_module("cv2")
    except ImportError as error:
        raise MissingDependency.of("cv2", "showing images in a window", "opencv-python") from error
    opencv.imshow(title, image[..., ::-1])
    opencv.waitKey(milliseconds)
