"""Image datasets in local files."""

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

#: The folder in which MXNet keeps datasets.
DATA = Path("~", ".mxnet", "datasets")


class MNIST(Dataset):
    """Handwritten digits: 60000 training and 10000 test images, from the four IDX files, optionally compressed with gzip.

    Parameters
    ----------
    root
        The folder of the files. Nothing is downloaded.
    train
        Whether to use the training images.
    transform
        A function from image and label to a sample; None for the pair itself.

    Raises
    ------
    MissingFileError
        If a file is missing.
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
            raise FormatError(f"{type(self).__name__}: images and labels do not match", f"shapes {images.shape} and {labels.shape}")
        self._data = nd.array(images[..., None], dtype=np.uint8)
        self._label = labels.astype(np.int32)  # on the host, as in MXNet: a label is a NumPy scalar
        self._transform = transform

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: Any) -> Any:
        image, label = self._data[idx], self._label[idx]
        return (image, label) if self._transform is None else self._transform(image, label)


class FashionMNIST(MNIST):
    """Images of clothing in the format of `MNIST`, with the same parameters.

    Notes
    -----
    Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747.
    """

    def __init__(
        self, root: str | os.PathLike[str] = DATA / "fashion-mnist", train: bool = True, transform: Callable[[Any, Any], Any] | None = None
    ) -> None:
        super().__init__(root, train, transform)


def _array_of(folder: Path, name: str) -> np.ndarray:
    """The content of an IDX file, compressed or not."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            try:
                record = load_idx(read_file(path))
            except FormatError as error:
                raise error.at_path(path) from None
            return np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.shape or ())
    raise MissingFileError(f"dataset: no file {name} or {name}.gz", f"folder {folder}", "download it to that folder")
