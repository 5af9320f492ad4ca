"""Real handwritten digits: MNIST if its four files are present, else scikit-learn's 1,797 images of 8 x 8 pixels."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..compat.python_names import data_dir
from ..dtype import NUMPY
from ..errors import FormatError, MissingDependency, MissingFileError
from ..formats.datasets import load_idx
from ..formats.files import read_file

__all__ = ["Digits", "digits", "mnist", "mnist_folder"]

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
HELD_OUT = 360  # of scikit-learn's 1,797 images, selected at random with a fixed seed


@dataclass(frozen=True)
class Digits:
    """Images and labels, for training and held out for testing.

    Attributes
    ----------
    source
        Description of the source.
    images, held_out_images
        Shape (n, height, width), float32 from 0 (paper) to 1 (ink).
    labels, held_out_labels
        Shape (n,), float32 with integral values.
    """

    source: str
    images: np.ndarray
    labels: np.ndarray
    held_out_images: np.ndarray
    held_out_labels: np.ndarray


def digits(folder: str | None = None) -> Digits:
    """MNIST's digits if its files are found, else scikit-learn's.

    Parameters
    ----------
    folder
        The folder of MNIST's files; if None, ``$TWOFOLD_DATA/mnist`` and ``~/.mxnet/datasets/mnist`` are searched.

    Raises
    ------
    MissingFileError
        If the files are not in the given folder.
    MissingDependency
        If neither MNIST nor scikit-learn is available.
    """
    found = mnist_folder(folder)
    return mnist(found) if found is not None else _of_scikit_learn()


def mnist_folder(folder: str | None = None) -> Path | None:
    """The folder of MNIST's four files, see `digits`; None if there is none."""
    for candidate in [Path(folder)] if folder is not None else _default_folders():
        if all(_file(candidate, name) is not None for name in FILES):
            return candidate
    if folder is not None:
        raise MissingFileError("MNIST: files are missing from the folder", folder, f"it needs {', '.join(FILES)}, each plain or as .gz")
    return None


def _default_folders() -> Iterator[Path]:
    if os.environ.get("TWOFOLD_DATA"):
        yield Path(os.environ["TWOFOLD_DATA"], "mnist")
    yield Path(data_dir(), "datasets", "mnist")


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def mnist(folder: Path) -> Digits:
    """Read MNIST's 60,000 training images and 10,000 test images from a folder with its four files.

    Raises
    ------
    FormatError
        If the numbers of images and labels differ.
    """
    images, labels, held_out_images, held_out_labels = (_array(_file(folder, name) or folder / name) for name in FILES)
    for some, their_labels in ((images, labels), (held_out_images, held_out_labels)):
        if some.ndim != 3 or their_labels.shape != some.shape[:1]:
            raise FormatError(
                "MNIST: images and labels do not match", f"shapes {some.shape} and {their_labels.shape}", "download the files again"
            )
    scaled = (x.astype(np.float32) / 255 for x in (images, held_out_images))
    images, held_out_images = scaled
    return Digits(f"MNIST, {folder}", images, labels.astype(np.float32), held_out_images, held_out_labels.astype(np.float32))


def _array(path: Path) -> np.ndarray:
    record = load_idx(read_file(str(path)))
    return np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.shape or ())


def _of_scikit_learn() -> Digits:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingDependency.of("sklearn", "the demo (without MNIST's files)", "twofold[demo]") from error
    loaded: Any = load_digits(return_X_y=True)  # typed as a choice of NumPy's and pandas' classes
    images, labels = loaded
    # a generator of its own, so that the split is the same whatever the program has drawn before
    order = np.random.RandomState(0).permutation(len(labels))
    images, labels = images[order].reshape(-1, 8, 8).astype(np.float32) / 16, labels[order].astype(np.float32)
    cut = len(images) - HELD_OUT
    return Digits("scikit-learn's digits", images[:cut], labels[:cut], images[cut:], labels[cut:])
