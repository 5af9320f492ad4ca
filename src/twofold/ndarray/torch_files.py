"""``mx.load_torch``: the tensors in files that ``torch.save`` wrote, as arrays."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtype import NUMPY
from ..errors import FormatError
from ..formats.files import read_file
from ..formats.records import Buffer
from ..formats.shards import INDEX, shards_of
from ..formats.torch_files import TensorRecord, load_torch_file
from ..imperative.array import adopted
from .array import NDArray


def load_torch(fname: str | os.PathLike[str]) -> Any:
    """Read a file that ``torch.save`` has written, such as a ``state_dict``. torch is not needed, and no code in the file runs.

    Parameters
    ----------
    fname
        A path, or a URL such as ``"s3://bucket/key"``, which fsspec opens. Also the index of a model in several files,
        ``pytorch_model.bin.index.json``.

    Returns
    -------
    dict
        What was saved: arrays on the CPU in place of tensors and parameters, by name. Dicts in dicts, lists, numbers, strings and None are
        as they were saved; other objects are not. Tensors that share memory become arrays of their own.

    Raises
    ------
    FormatError
        If it is not such a file, is damaged, or contains anything else: objects of other classes (the error names them), sparse or
        quantized tensors, 8-bit floats, tensors that expand to more than about three times the file's size.
    FileAccessError
        If it cannot be read.

    Notes
    -----
    Archives (of torch since 1.6) and the older files are read. Elements are those of the file: bfloat16 stays bfloat16.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.load_torch("model.pt")  # doctest: +SKIP
    {'weight':
    [[1. 2.]]
    <NDArray 1x2 @cpu(0)>}
    """
    name = os.fspath(fname)
    if name.endswith(INDEX):
        return {key: value for file in shards_of(name, ".bin") for key, value in load_torch(file).items()}
    try:
        found, contents = load_torch_file(read_file(name))
    except FormatError as error:
        raise error.at_path(name) from None
    return _loaded(found, contents)


def _loaded(value: object, contents: Mapping[str, Buffer]) -> object:
    match value:
        case TensorRecord(storage, dtype, offset, shape, strides):
            own = NUMPY[dtype]
            steps = [step * own.itemsize for step in strides]
            # an empty storage is no buffer for NumPy
            elements = contents[storage.key] if 0 not in shape else b"\0" * own.itemsize
            view = np.ndarray(shape, own, elements, offset * own.itemsize if 0 not in shape else 0, steps)
            return adopted(NDArray, view.copy(order="C"))
        case dict():
            return {key: _loaded(item, contents) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_loaded(item, contents) for item in value)
    return value
