"""Image datasets in local files."""

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .... import ndarray as nd
from ....dtype import NUMPY
from ....errors import DTypeError, FileAccessError, FormatError, MissingFileError, Undefined
from ....formats.archives import read_tarred
from ....formats.datasets import load_idx
from ....formats.files import file_exists, folder_entries, folder_exists, join_path, read_file
from ....formats.image_lists import listed_images, read_image_list
from ....image.functions import imdecode, imread
from ....origin import warn
from ....recordio.labeled import unpack
from ..dataset import Dataset, RecordFileDataset
from .published import SUMS, check_published

Transform = Callable[[Any, Any], Any]
Folder = str | os.PathLike[str]

#: The folder in which MXNet keeps datasets.
DATA = "~/.mxnet/datasets/"
#: How many images a file of CIFAR's archives may have. The whole sets have as many.
MOST_IMAGES = 60_000


def no_file(title: str, names: str, folder: Folder, todo: str, source: str) -> FileAccessError:
    """The error for a dataset whose files are not there."""
    name = str(folder).removeprefix(DATA)
    other = f", or into the folder {name} of $TWOFOLD_DATA" if name != str(folder) else ", or pass their folder as root"
    return MissingFileError(f"{title}: no file {names}", f"folder {folder}", f"get it from {source}, and {todo}{other}")


class _DownloadedDataset(Dataset):
    """Images and their labels in memory, which subclasses read in `_get_data`.

    Parameters
    ----------
    root
        The folder of their files.
    transform
        A function from image and label to a sample; None for the pair itself.
    """

    _data: Any
    _label: Any

    def __init__(self, root: Folder, transform: Transform | None) -> None:
        self._root, self._transform = self._folder_of(root), transform
        self._get_data()

    def _folder_of(self, root: Folder) -> Folder:
        """A dataset's folder: for a default one, that of the same name in ``$TWOFOLD_DATA``, if it is there."""
        own = os.environ.get("TWOFOLD_DATA")
        if own and isinstance(root, str) and root.startswith(DATA):
            path = join_path(own, root.removeprefix(DATA))
            return path if folder_exists(join_path(path, "")) else root
        return root

    def _get_data(self) -> None:
        """Set ``_data`` and ``_label``, of equal lengths."""
        raise Undefined(f"{type(self).__name__} does not define its data", None, "define _get_data(self) in it")

    def _set(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Take images (n, h, w, c) and labels (n,)."""
        self._data = nd.array(images, dtype=np.uint8)
        self._label = labels.astype(np.int32)  # on the host, as in MXNet: a label is a NumPy scalar

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: Any) -> Any:
        image, label = self._data[idx], self._label[idx]
        return (image, label) if self._transform is None else self._transform(image, label)


class MNIST(_DownloadedDataset):
    """Handwritten digits: 60000 training and 10000 test images, from the four IDX files, optionally compressed with gzip.

    Parameters
    ----------
    root
        The folder of the files; the default one is looked for in ``$TWOFOLD_DATA`` first. Nothing is downloaded.
    train
        Whether to use the training images.
    transform
        A function from image and label to a sample; None for the pair itself.

    Raises
    ------
    MissingFileError
        If a file is missing.
    FormatError
        If they are damaged, or if the setting ``strict`` is on and a compressed file is not the published one. Otherwise a warning names
        such a file, its checksum and the published one.

    Notes
    -----
    http://yann.lecun.com/exdb/mnist. A sample is an image, an NDArray of shape (28, 28, 1) and dtype uint8, and its label, an int32.
    """

    _files: ClassVar[dict[bool, tuple[str, str]]] = {
        True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    }
    _sums: ClassVar[dict[str, str]] = SUMS["MNIST"]
    _source: ClassVar[str] = "https://ossci-datasets.s3.amazonaws.com/mnist/"

    def __init__(self, root: Folder = f"{DATA}mnist", train: bool = True, transform: Transform | None = None) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        images, labels = (self._array_of(self._root, name) for name in self._files[self._train])
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise FormatError(f"{type(self).__name__}: images and labels do not match", f"shapes {images.shape} and {labels.shape}")
        self._set(images[..., None], labels)

    def _array_of(self, folder: Folder, name: str) -> np.ndarray:
        """The content of an IDX file, compressed or not."""
        title = type(self).__name__
        for file in (name, f"{name}.gz"):
            path = join_path(folder, file)
            if file_exists(path):
                content = read_file(path)
                try:
                    record = load_idx(content)
                except FormatError as error:
                    raise error.at_path(path) from None
                check_published(title, path, file, content, self._sums)
                return np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.shape or ())
        todo = f"put {name}.gz (SHA-1 {self._sums[f'{name}.gz']}) into this folder"
        raise no_file(title, f"{name} or {name}.gz", folder, todo, self._source)


class FashionMNIST(MNIST):
    """Images of clothing in the format of `MNIST`, with the same parameters.

    Notes
    -----
    Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747.
    """

    _sums = SUMS["FashionMNIST"]
    _source = "https://github.com/zalandoresearch/fashion-mnist"

    def __init__(self, root: Folder = f"{DATA}fashion-mnist", train: bool = True, transform: Transform | None = None) -> None:
        super().__init__(root, train, transform)


class CIFAR10(_DownloadedDataset):
    """Small color images in 10 classes: 50000 to train and 10000 to test, from the binary files or the archive that has them.

    Parameters
    ----------
    root
        The folder of the files ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``, of the folder in which the archive has
        them, or of ``cifar-10-binary.tar.gz`` itself. Nothing is downloaded.
    train
        Whether to use the training images.
    transform
        A function from image and label to a sample; None for the pair itself.

    Raises
    ------
    MissingFileError
        If a file is missing.
    FormatError
        If one is damaged, or if the setting ``strict`` is on and one is not the published one. Otherwise a warning names such a file, its
        checksum and the published one.

    Notes
    -----
    https://www.cs.toronto.edu/~kriz/cifar.html. A sample is an image, an NDArray of shape (32, 32, 3) and dtype uint8, and its label, an
    int32.
    """

    _archive, _folder = "cifar-10-binary.tar.gz", "cifar-10-batches-bin"
    _files: ClassVar[dict[bool, list[str]]] = {True: [f"data_batch_{k}.bin" for k in range(1, 6)], False: ["test_batch.bin"]}
    _sums: ClassVar[dict[str, str]] = SUMS["CIFAR10"]
    _source: ClassVar[str] = "https://www.cs.toronto.edu/~kriz/cifar.html"
    #: Numbers of labels before the pixels of an image, which of them to use, and of classes.
    _labels, _chosen, _classes = 1, 0, 10

    def __init__(self, root: Folder = f"{DATA}cifar10", train: bool = True, transform: Transform | None = None) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        images, labels = zip(*(self._images_of(*self._content(self._root, name), name) for name in self._files[self._train]), strict=True)
        self._set(np.concatenate(images), np.concatenate(labels))

    def _read_batch(self, filename: str) -> tuple[np.ndarray, np.ndarray]:
        """The images (n, 32, 32, 3) and labels (n,) of a binary file."""
        return self._images_of(filename, read_file(filename), "")

    def _images_of(self, path: str, data: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The images and labels of a file's content; ``name`` is that of a published file, or empty."""
        # each image has its labels and pixels in a row
        width = self._labels + 3 * 32 * 32
        if not data or len(data) % width:
            raise FormatError(f"{type(self).__name__}: not whole images of {width} bytes", f"{len(data)} bytes").at_path(path)
        rows = np.frombuffer(data, np.uint8).reshape(-1, width)
        if rows[:, self._chosen].max() >= self._classes:
            raise FormatError(f"{type(self).__name__}: a label that is no class", f"{rows[:, self._chosen].max()}").at_path(path)
        check_published(type(self).__name__, path, name, data, self._sums)
        return rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, self._chosen].astype(np.int32)

    def _content(self, folder: Folder, name: str) -> tuple[str, bytes]:
        for path in (join_path(folder, name), join_path(folder, f"{self._folder}/{name}")):
            if file_exists(path):
                return path, read_file(path)
        archive = join_path(folder, self._archive)
        if not file_exists(archive):
            todo = f"put {self._archive}, or {name} (SHA-1 {self._sums[name]}), into this folder"
            raise no_file(type(self).__name__, f"{name}, {self._folder}/{name} or {self._archive}", folder, todo, self._source)
        most = MOST_IMAGES * (self._labels + 3 * 32 * 32)
        content = read_tarred(archive, name, most, 2 * most)
        if content is None:
            raise FormatError(f"the archive has no file {name}", None).at_path(archive)
        return archive, content


class CIFAR100(CIFAR10):
    """Small color images in 100 classes, or 20 coarser ones: 50000 to train and 10000 to test; see `CIFAR10`.

    Parameters
    ----------
    root
        The folder of the files ``train.bin`` and ``test.bin``, of the folder in which the archive has them, or of
        ``cifar-100-binary.tar.gz`` itself. Nothing is downloaded.
    fine_label
        Whether labels are the 100 classes.
    train, transform
        As for `CIFAR10`.
    """

    _archive, _folder = "cifar-100-binary.tar.gz", "cifar-100-binary"
    _files: ClassVar[dict[bool, list[str]]] = {True: ["train.bin"], False: ["test.bin"]}
    _sums = SUMS["CIFAR100"]
    _labels = 2

    def __init__(
        self,
        root: Folder = f"{DATA}cifar100",
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ) -> None:
        self._chosen, self._classes = (1, 100) if fine_label else (0, 20)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """Images and labels in a file of records.

    Parameters
    ----------
    filename
        The file of records. Its index has the same name with the extension ``.idx``; where it is missing, the file is read through once.
    flag
        1 for colors, 0 for gray.
    transform
        A function from image and label to a sample; None for the pair itself.

    Notes
    -----
    A sample is an image, an NDArray of shape (h, w, 3) or (h, w, 1) and dtype uint8, and its label, a number or a NumPy array.

    ``DataLoader(…, on_bad_sample="skip")`` leaves out images that cannot be read, but a damaged file without an index has no numbered
    samples: creating its dataset raises `FormatError`. An `ImageRecordIter` with ``on_bad_sample="skip"`` reads what is left of it.
    """

    def __init__(self, filename: str | os.PathLike[str], flag: int = 1, transform: Transform | None = None) -> None:
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx: int) -> Any:
        record = super().__getitem__(idx)
        try:
            header, data = unpack(record)
            image = imdecode(data, self._flag)
        except FormatError as error:
            raise FormatError(f"record {idx}: {error.what}", error.given, error.todo).at_path(self.filename) from None
        return (image, header.label) if self._transform is None else self._transform(image, header.label)


class ImageFolderDataset(Dataset):
    """Images in a folder for each class.

    Parameters
    ----------
    root
        The folder of these folders. JPEG and PNG files in them are used.
    flag
        1 for colors, 0 for gray.
    transform
        A function from image and label to a sample; None for the pair itself.

    Attributes
    ----------
    synsets
        The names of the folders, in the order of the labels: sorted.
    items
        The path and the label of each image.

    Raises
    ------
    MissingFileError
        If there is no such folder.
    """

    def __init__(self, root: Folder, flag: int = 1, transform: Transform | None = None) -> None:
        self._root, self._flag, self._transform = join_path(root, ""), flag, transform
        if not folder_exists(self._root):
            raise MissingFileError("ImageFolderDataset: no such folder", f"{self._root}", "pass the folder of the classes' folders")
        self._exts = [".jpg", ".jpeg", ".png"]  # which derived classes set in `_list_images`
        self._list_images(root)

    def _list_images(self, root: Folder) -> None:
        """Set ``synsets`` and ``items``."""
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for name in folder_entries(join_path(root, "")):
            folder = join_path(root, name)
            if not folder_exists(folder):
                warn(f"Ignoring {folder}, which is not a directory.")
                continue
            label = len(self.synsets)
            self.synsets.append(name)
            for path in (join_path(folder, image) for image in folder_entries(folder)):
                suffix = os.path.splitext(path)[1]
                if suffix.lower() in self._exts:
                    self.items.append((path, label))
                else:
                    warn(f"Ignoring {path} of type {suffix}. Only support {', '.join(self._exts)}")

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        image = imread(path, self._flag)
        return (image, label) if self._transform is None else self._transform(image, label)


class ImageListDataset(Dataset):
    """Images in a list.

    Parameters
    ----------
    root
        The folder of the names in the list. A name in a file may not lead outside it, except that of ``"."`` and ``""``, whose files may
        have whole paths.
    imglist
        A file of lines with an index, labels and a file name, with tabs between, as ``im2rec`` writes it; or a list of
        [label, …, file name], where a label may be a list.
    flag
        1 for colors, 0 for gray.

    Notes
    -----
    A sample is an image, an NDArray of shape (h, w, 3) or (h, w, 1) and dtype uint8, and an NDArray with its labels.
    """

    def __init__(self, root: Folder = ".", imglist: str | Sequence[Any] | None = None, flag: int = 1) -> None:
        self._root, self._flag = root, flag
        if imglist is None:
            raise DTypeError("ImageListDataset: no images", "imglist=None", "pass a list, or the name of a file")
        if isinstance(imglist, (str, os.PathLike)):
            self._list = read_image_list(join_path(self._root, os.fspath(imglist)), root=self._root)
        else:
            self._list = listed_images(imglist)

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, idx: int) -> Any:
        _, labels, name = self._list[idx]
        return imread(join_path(self._root, name), self._flag), nd.array(labels)
