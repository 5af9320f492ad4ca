"""Image data sets in local files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .... import ndarray as nd
from ....dtype import NUMPY
from ....errors import FormatError, MissingFileError
from ....formats.datasets import load_idx
from ....formats.files import read_file
from ..dataset import Dataset

__all__ = ["MNIST", "FashionMNIST"]

#: Where MXNet keeps data sets.
DATA = Path("~", ".mxnet", "datasets")


class MNIST(Dataset):
    """Handwritten digits: 60000 images for training and 10000 for tests, from the four idx files, compressed with gzip or not.

    Parameters
    ----------
    root
        The folder of the files; nothing is downloaded.
    train
        Whether to take the images for training.
    transform
        A function of image and label, whose result is the sample; None for the two as they are.

    Raises
    ------
    MissingFileError
        If the files are not there.
    FormatError
        If they are damaged.

    Notes
    -----
    http://yann.lecun.com/exdb/mnist. A sample is an image, an NDArray of shape (28, 28, 1) and dtype uint8, and its label, an int32.
    """

    _files: ClassVar[dict[bool, tuple[str, str]]] = {
        True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    }

    def __init__(
        self, root: str | os.PathLike[str] = DATA / "mnist", train: bool = True, transform: Callable[[Any, Any], Any] | None = None
    ) -> None:
        folder = Path(root).expanduser()
        images, labels = (_array_of(folder, name) for name in self._files[train])
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise FormatError(
                f"{type(self).__name__}: images and labels do not belong together", f"shapes {images.shape} and {labels.shape}"
            )
        self._data = nd.array(images[..., None], dtype=np.uint8)
        self._label = labels.astype(np.int32)
        self._transform = transform

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: Any) -> Any:
        image, label = self._data[idx], self._label[idx]
        return (image, label) if self._transform is None else self._transform(image, label)


class FashionMNIST(MNIST):
    """Images of clothing in the form of `MNIST`; parameters as there.

    Notes
    -----
    Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747.
    """

    def __init__(
        self, root: str | os.PathLike[str] = DATA / "fashion-mnist", train: bool = True, transform: Callable[[Any, Any], Any] | None = None
    ) -> None:
        super().__init__(root, train, transform)


def _array_of(folder: Path, name: str) -> np.ndarray:
    """The content of an idx file, or of its compressed form."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            try:
                record = load_idx(read_file(path))
            except FormatError as error:
                raise error.at_path(path) from None
            return np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.shape or ())
    raise MissingFileError(f"data set: no file {name} or {name}.gz", f"folder {folder}", "download it and put it there")
