"""Real handwritten digits: MNIST if its four files are present, else scikit-learn's 1,797 images of 8 x 8 pixels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError, MissingDependency
from ..testing.datasets import MNIST_FILES, idx_array, mnist_folder

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
        The folder of MNIST's files; if None, see `twofold.testing.datasets.mnist_folder`.

    Raises
    ------
    MissingFileError
        If the files are not in the given folder.
    MissingDependency
        If neither MNIST nor scikit-learn is available.
    """
    found = mnist_folder(folder)
    return mnist(found) if found is not None else _of_scikit_learn()


def mnist(folder: Path) -> Digits:
    """Read MNIST's 60,000 training images and 10,000 test images from a folder with its four files.

    Raises
    ------
    FormatError
        If the numbers of images and labels differ.
    """
    images, labels, held_out_images, held_out_labels = (idx_array(folder, name) for name in MNIST_FILES)
    for some, their_labels in ((images, labels), (held_out_images, held_out_labels)):
        if some.ndim != 3 or their_labels.shape != some.shape[:1]:
            given = f"shapes {some.shape} and {their_labels.shape}"
            raise FormatError("MNIST: images and labels do not match", given, "download the files again")
    scaled = (x.astype(np.float32) / 255 for x in (images, held_out_images))
    images, held_out_images = scaled
    return Digits(f"MNIST, {folder}", images, labels.astype(np.float32), held_out_images, held_out_labels.astype(np.float32))


def _of_scikit_learn() -> Digits:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingDependency.of("sklearn", "the demo (without MNIST's files)", "twofold[demo]") from error
    loaded: Any = load_digits(return_X_y=True)  # typed as a choice of NumPy's and pandas' classes
    images, labels = loaded
    # a separate generator: the split does not depend on what the program has drawn before
    order = np.random.RandomState(0).permutation(len(labels))
    # scikit-learn's pixels are from 0 to 16
    images, labels = images[order].reshape(-1, 8, 8).astype(np.float32) / 16, labels[order].astype(np.float32)
    cut = len(images) - HELD_OUT
    return Digits("scikit-learn's digits", images[:cut], labels[:cut], images[cut:], labels[cut:])
