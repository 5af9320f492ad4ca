"""``nd.save`` and ``nd.load``: arrays in files, as MXNet writes them, or as safetensors by the file name's ending."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..backend.loader import backend_for
from ..device import CPU, KIND_OF_CODE, Device
from ..dtype import NUMPY
from ..errors import DeviceError, DTypeError, FormatError, ParameterError
from ..formats.files import read_file, write_file
from ..formats.params import ParameterFile, load_params, params_chunks
from ..formats.records import ArrayRecord
from ..formats.safetensors import load_safetensors, safetensors_chunks
from ..imperative.array import Array, from_host
from ..imperative.invoke import host_of
from .array import NDArray

ENDING = ".safetensors"
Loaded = list[Any] | dict[str, Any]


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write arrays into a file, all or nothing.

    Parameters
    ----------
    fname
        A path, or an address such as ``"s3://bucket/key"``, which fsspec opens. If it ends in ``.safetensors`` the file is one of
        those, else MXNet's.
    data
        An array, a list of arrays, or a dictionary of arrays by name.

    Raises
    ------
    ParameterError, DTypeError
        If the data is something else.
    FileAccessError
        If the file cannot be written.
    """
    save_arrays(fname, data, numpy_shape=False)


def save_arrays(fname: str | os.PathLike[str], data: Any, *, numpy_shape: bool) -> None:
    """As `save`, of any array class; with ``numpy_shape`` an MXNet file may hold arrays without axes and of size 0."""
    arrays, names = _named(data)
    records = tuple(record_of(a) for a in arrays)
    if not _name(fname).endswith(ENDING):
        write_file(fname, params_chunks(ParameterFile(records, names, numpy_shape)))
    elif len(names) < len(records):
        raise ParameterError("save: a safetensors file holds arrays by name", "arrays without names", "give a dictionary")
    else:
        write_file(fname, safetensors_chunks(dict(zip(names, records, strict=True))))


def load(fname: str | os.PathLike[str]) -> Loaded:
    """Read the arrays of a file that `save`, MXNet or safetensors wrote.

    Parameters
    ----------
    fname
        A path, or an address such as ``"s3://bucket/key"``, which fsspec opens.

    Returns
    -------
    list or dict
        The arrays in order, or by name if they have names; on the GPU that they were saved from if there is such a one, else on
        the CPU.

    Raises
    ------
    FormatError
        If it is not such a file.
    FileAccessError
        If it cannot be read.
    """
    return load_arrays(fname, NDArray)


def load_arrays(fname: str | os.PathLike[str], cls: type) -> Loaded:
    """As `load`, into arrays of a class."""
    name = _name(fname)
    data = read_file(fname)
    try:
        return _from_safetensors(data, cls) if name.endswith(ENDING) else _from_params(data, cls)
    except FormatError as error:
        raise error.at_path(name) from None


def load_frombuffer(buf: bytes | str) -> Loaded:
    """As `load`, of a file's content in MXNet's format.

    Raises
    ------
    DTypeError
        If it is no bytes.
    FormatError
        If it is not such a file's content.
    """
    if isinstance(buf, str):
        buf = buf.encode("latin-1")
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise DTypeError("load_frombuffer: buf required to be a string or bytes", type(buf).__name__, "give a file's content")
    return _from_params(bytes(buf), NDArray)


def _name(fname: Any) -> str:
    if not isinstance(fname, (str, os.PathLike)):
        raise DTypeError("fname required to be a string", type(fname).__name__, "give a path or an address")
    return str(os.fspath(fname))


def _named(data: Any) -> tuple[Sequence[Array], tuple[str, ...]]:
    """The arrays, and their names if they have any."""
    if isinstance(data, Array):
        return [data], ()
    if not isinstance(data, (Mapping, list)):
        what = "data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays"
        raise ParameterError(f"save: {what}", type(data).__name__, "give one of these")
    names = tuple(data) if isinstance(data, Mapping) else ()
    arrays = list(data.values()) if isinstance(data, Mapping) else data
    if not all(isinstance(a, Array) for a in arrays) or not all(isinstance(n, str) for n in names):
        given = ", ".join(sorted({type(v).__name__ for v in [*arrays, *names]}))
        raise DTypeError("save only accept dict str->NDArray or list of NDArray", f"types {given}", "make arrays with mx.nd.array")
    return arrays, names


def record_of(array: Array) -> ArrayRecord:
    """An array as a file's record; the bytes are not copied where the device's memory is the host's."""
    elements: Any = np.ascontiguousarray(host_of(array)).reshape(-1).view(np.uint8)
    device = array.context
    return ArrayRecord(array._dtype, array.shape, memoryview(elements), device=(device.device_typeid, device.device_id))


def array_of(record: ArrayRecord, cls: type = NDArray) -> Any:
    """A record as a new array.

    Raises
    ------
    FormatError
        If it is sparse.
    """
    if record.stype != "default":
        raise FormatError("load: arrays of this storage are not read here", record.stype, "convert them with MXNet's tostype('default')")
    shape = (0,) if record.shape is None else record.shape
    host = np.frombuffer(record.data, NUMPY[record.dtype]).reshape(shape)
    return from_host(cls, host, _device(*record.device))


def _device(code: int, number: int) -> Device:
    """The device of a record: a GPU where there is one of that number, else the CPU."""
    if KIND_OF_CODE.get(code) != "gpu":
        return CPU
    try:
        device = Device("gpu", number)
        backend_for(device)
    except DeviceError:
        return CPU
    return device


def _from_params(data: bytes, cls: type) -> Loaded:
    file = load_params(data)
    arrays = [array_of(r, cls) for r in file.arrays]
    return dict(zip(file.names, arrays, strict=True)) if file.names else arrays


def _from_safetensors(data: bytes, cls: type) -> Loaded:
    return {name: array_of(r, cls) for name, r in load_safetensors(data)[0].items()}
