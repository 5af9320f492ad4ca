"""The data sets of MXNet's tests and examples, from local files: MNIST, CIFAR-10, archives, models; each may also be downloaded."""

import bz2
import gzip
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..dtype import NUMPY
from ..errors import FormatError, MissingFileError
from ..formats.datasets import load_idx
from ..formats.downloads import data_dir, fetch, retried
from ..formats.files import file_exists, join_path, make_folder, read_file
from ..io.file_iterators import MNISTIter
from ..io.iterator import DataBatch, DataIter

#: Training images and labels, then those for testing; each may be compressed as .gz.
MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
SERVER = "http://data.mxnet.io/"


class DummyIter(DataIter):
    """An iterator that returns the first batch of another one forever, to measure a training loop without its data.

    Parameters
    ----------
    real_iter
        The other iterator.
    """

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(iter(real_iter))

    def __iter__(self) -> "DummyIter":
        return self

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch


# downloads


def download(url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5) -> str:
    """Download a file, unless it exists already. Files in local caches and of ``file://`` URLs are copied.

    Parameters
    ----------
    url
        ``http://``, ``https://``, ``file://``, or what fsspec opens, such as ``s3://``.
    fname
        The file to write; the last part of the URL if None.
    dirname
        The folder of the file, which is created; that of ``fname`` or the current one if None.
    overwrite
        Whether to download a file that exists.
    retries
        The number of attempts.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    FileAccessError
        If no attempt succeeds.
    """
    fname = url.split("/")[-1] if fname is None else fname
    folder = os.path.dirname(fname) if dirname is None else dirname
    if dirname is not None:
        fname = join_path(dirname, fname)
    if folder:
        make_folder(folder)
    if file_exists(fname) and not overwrite:
        return fname

    def say(error: Exception, left: int) -> None:
        print(f"download failed, retrying, {left} attempt{'s' if left > 1 else ''} left")

    retried(lambda: fetch(url, fname), max(retries - 1, 0), say)
    return fname


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[str | None, int]:
    """Download a model: its symbol and its parameters.

    Parameters
    ----------
    model_name
        The name.
    dst_dir
        The folder for the files, which is created.
    meta_info
        The URLs ``"symbol"`` and ``"params"`` of each model; by default, those of the server of MXNet's models.

    Returns
    -------
    prefix, epoch
        The arguments for ``load_checkpoint``; (None, 0) if ``meta_info`` lacks the model.
    """
    base = f"{SERVER}models/imagenet/{model_name.removeprefix('imagenet1k-')}/{model_name.removeprefix('imagenet1k-')}"
    known = {model_name: {"symbol": f"{base}-symbol.json", "params": f"{base}-0000.params"}} if meta_info is None else meta_info
    if model_name not in known:
        return None, 0
    make_folder(dst_dir)
    prefix = join_path(dst_dir, model_name)
    download(known[model_name]["symbol"], f"{prefix}-symbol.json")
    download(known[model_name]["params"], f"{prefix}-0000.params")
    return prefix, 0


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Download an archive into a folder as ``data_origin_name``, and extract it there."""
    path = os.path.join(data_dir, data_origin_name)
    download(url, path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Download a compressed file into a folder and decompress it there as ``data_name``, unless that exists."""
    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    path = download(url, os.path.join(data_dir, data_origin_name))
    with bz2.BZ2File(path) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)
    os.remove(path)


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The script ``im2rec.py``.

    Parameters
    ----------
    home_env
        The variable with the path of an MXNet source tree, whose script is preferred.

    Raises
    ------
    MissingFileError
        If there is none.
    """
    home = os.environ.get(home_env)
    path = Path(home or "", "tools", "im2rec.py")
    if not path.is_file():
        raise MissingFileError(
            "im2rec.py: there is no such script", f"{home_env}={home}", "set the variable to a folder that has tools/im2rec.py"
        )
    return str(path)


# MNIST and CIFAR-10


def mnist_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder of MNIST's four files, or None.

    Parameters
    ----------
    folder
        The folder; if None, ``$TWOFOLD_DATA/mnist``, ``~/.mxnet/datasets/mnist`` and ``./data`` are searched.

    Raises
    ------
    MissingFileError
        If files are missing from the given folder.
    """
    for candidate in [Path(folder)] if folder is not None else _default_folders():
        if all(_file(candidate, name) is not None for name in MNIST_FILES):
            return candidate
    if folder is not None:
        todo = f"it needs {', '.join(MNIST_FILES)}, each plain or as .gz"
        raise MissingFileError("MNIST: files are missing from the folder", str(folder), todo)
    return None


def _default_folders() -> Iterator[Path]:
    if os.environ.get("TWOFOLD_DATA"):
        yield Path(os.environ["TWOFOLD_DATA"], "mnist")
    yield Path(data_dir(), "datasets", "mnist")
    yield Path("data")


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def idx_array(folder: Path, name: str) -> np.ndarray:
    """The array of an IDX file, which may be compressed."""
    record = load_idx(read_file(str(_file(folder, name) or folder / name)))
    return np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.shape or ())


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST's digits.

    Returns
    -------
    dict
        ``train_data`` and ``test_data``, float32 in [0, 1], shapes (60000, 1, 28, 28) and (10000, 1, 28, 28); ``train_label`` and
        ``test_label``, int8.

    Raises
    ------
    FileAccessError
        If there is neither a folder with MNIST's files (see `mnist_folder`) nor a network to download them.
    FormatError
        If the numbers of images and labels differ.
    """
    folder = _mnist()
    found = [idx_array(folder, name) for name in MNIST_FILES]
    for images, labels in (found[:2], found[2:]):
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            what = "MNIST: images and labels do not match"
            raise FormatError(what, f"shapes {images.shape} and {labels.shape}", "download the files again")
    train, train_label, test, test_label = found
    images = [x.reshape(len(x), 1, *x.shape[1:]).astype(np.float32) / 255 for x in (train, test)]
    return {
        "train_data": images[0],
        "train_label": train_label.astype(np.int8),
        "test_data": images[1],
        "test_label": test_label.astype(np.int8),
    }


def _mnist() -> Path:
    """A folder with MNIST's files, downloaded to ``./data`` if necessary."""
    found = mnist_folder()
    if found is None:
        get_zip_data("data", f"{SERVER}data/mnist.zip", "mnist.zip")
        found = mnist_folder("data")
        assert found is not None
    return found


def get_mnist_ubyte() -> None:
    """Put MNIST's four files, uncompressed, into the folder ``data`` of the current one."""
    folder, target = _mnist(), Path("data")
    target.mkdir(exist_ok=True)
    for name in MNIST_FILES:
        if not (target / name).exists():
            source = _file(folder, name)
            assert source is not None
            with gzip.open(source) if source.suffix == ".gz" else open(source, "rb") as content, open(target / name, "wb") as file:
                shutil.copyfileobj(content, file)


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0
) -> tuple[MNISTIter, MNISTIter]:
    """Iterators over MNIST's training and test digits, both shuffled, from the folder ``data`` (see `get_mnist_ubyte`).

    Parameters
    ----------
    batch_size
        The size of batches.
    input_shape
        The shape of one image: (784,) or (1, 28, 28).
    num_parts, part_index
        The number of parts of the data, and the part to read.
    """
    get_mnist_ubyte()
    flat = len(input_shape) != 3
    made = [
        MNISTIter(f"data/{images}", f"data/{labels}", batch_size, flat=flat, num_parts=num_parts, part_index=part_index)
        for images, labels in (MNIST_FILES[:2], MNIST_FILES[2:])
    ]
    return made[0], made[1]


def get_mnist_pkl() -> None:
    """Put MNIST as the pickle ``mnist.pkl.gz`` into the folder ``data`` of the current one. Nothing is unpickled."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", "mnist.pkl.gz", "data")


def get_cifar10() -> None:
    """Put CIFAR-10's record files into the folder ``data/cifar`` of the current one."""
    if not all(Path("data", "cifar", name).exists() for name in ("train.rec", "test.rec")):
        get_zip_data("data", f"{SERVER}data/cifar10.zip", "cifar10.zip")
