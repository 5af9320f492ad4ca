"""``nd.save`` and ``nd.load``: arrays in files of MXNet's format or, by the file name's suffix, in safetensors files."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..backend.loader import backend_for
from ..backend.sparse import repeats, repeats_in_rows
from ..device import CPU, KIND_OF_CODE, Device, interned
from ..dtype import NUMPY
from ..errors import DeviceError, DTypeError, FormatError, ParameterError
from ..formats.files import open_file, read_file, write_file
from ..formats.params import ParameterFile, load_params, load_some_params, params_chunks
from ..formats.reader import FileReader
from ..formats.records import ArrayRecord, Buffer
from ..formats.safetensors import load_safetensors, load_some_safetensors, safetensors_chunks
from ..formats.shards import INDEX, shards_of
from ..imperative.array import Array, from_host
from ..imperative.invoke import host_of
from ..imperative.storage import sparse_array
from ..opdef import Sparse
from .array import NDArray
from .sparse_array import BaseSparseNDArray

A = TypeVar("A", bound=Array)
SUFFIX = ".safetensors"
Saved: TypeAlias = Array | list[Array] | Mapping[str, Array]
Loaded: TypeAlias = list[Any] | dict[str, Any]


def save(fname: str | os.PathLike[str], data: Saved) -> None:
    """Write arrays to a file atomically.

    Parameters
    ----------
    fname
        A path, or a URL such as ``"s3://bucket/key"``, which fsspec opens. The suffix ``.safetensors`` selects that format;
        otherwise the file is in MXNet's.
    data
        An array, a list of arrays, or a dict from names to arrays.

    Raises
    ------
    ParameterError, DTypeError
        If the data is anything else.
    FileAccessError
        If the file cannot be written.
    """
    save_arrays(fname, data, numpy_shape=False)


def save_arrays(fname: str | os.PathLike[str], data: Saved, *, numpy_shape: bool) -> None:
    """`save` for any array class. With ``numpy_shape`` an MXNet file may hold 0-d and empty arrays."""
    write_file(fname, file_chunks(_name(fname), data, numpy_shape=numpy_shape))


def file_chunks(name: str, data: Saved, *, numpy_shape: bool = False) -> Iterable[Buffer]:
    """The content of the file that `save` writes, piece by piece."""
    arrays, names = _arrays_and_names(data)
    records = tuple(record_of(a) for a in arrays)
    if not name.endswith(SUFFIX):
        # MXNet has arrays of `mx.nd` without axes only under `np_shape`, and then writes all arrays of the file so
        numpy_shape = numpy_shape or any(record.shape == () for record in records)
        return params_chunks(ParameterFile(records, names, numpy_shape))
    if len(names) < len(records):
        raise ParameterError("save: safetensors files need names", "arrays without names", "pass a dict from names to arrays")
    return safetensors_chunks(dict(zip(names, records, strict=True)))


def load(fname: str | os.PathLike[str], names: Collection[str] | None = None) -> Loaded:
    """Read the arrays of a file written by `save`, MXNet or safetensors.

    Parameters
    ----------
    fname
        A path, or a URL such as ``"s3://bucket/key"``, which fsspec opens. Also the index of a model in several safetensors files,
        ``model.safetensors.index.json``, or the folder of such a model.
    names
        The arrays to read; all of them if None. The content of the others is not read or fetched, only the headers that locate it.

    Returns
    -------
    list or dict
        The arrays in order, or by name if they have names. They are placed on the GPU they were saved from if it exists, else on the
        CPU.

    Raises
    ------
    FormatError
        If it is not a file of these formats.
    FileAccessError
        If it cannot be read.
    ParameterError
        If it lacks one of the names.

    Examples
    --------
    >>> import twofold as mx
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "weights.params")
    ...     mx.nd.save(file, {"w": mx.nd.ones((2, 2))})
    ...     arrays = mx.nd.load(file)
    >>> arrays["w"].asnumpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if _name(fname).endswith(SUFFIX + INDEX) or os.path.isdir(fname):
        return _load_shards(fname, names)
    return load_arrays(fname, NDArray) if names is None else _load_some(fname, names)


def _load_shards(fname: str | os.PathLike[str], names: Collection[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file, own in shards_of(fname, SUFFIX, names).items():
        # a folder with a single file has no index
        found |= _load_some(file, own) if own else load(file, names)
    if names is not None:
        _check_names(names, found, _name(fname))
    return found


def _load_some(fname: str | os.PathLike[str], names: Collection[str]) -> dict[str, Any]:
    name = _name(fname)
    try:
        with open_file(fname, "rb") as file:
            read = load_some_safetensors if name.endswith(SUFFIX) else load_some_params
            records = read(FileReader(file), frozenset(names))
    except FormatError as error:
        raise error.at_path(name) from None
    _check_names(names, records, name)
    return {each: array_of(records[each], NDArray) for each in names}


def _check_names(names: Collection[str], found: Collection[str], name: str) -> None:
    missing = [each for each in names if each not in found]
    if missing:
        raise ParameterError(f"load: {name} has no arrays of these names", ", ".join(map(repr, missing)), "see the names by mx.nd.load")


def load_arrays(fname: str | os.PathLike[str], cls: type) -> Loaded:
    """`load` into arrays of a given class."""
    name = _name(fname)
    data = read_file(fname)
    try:
        return _from_safetensors(data, cls) if name.endswith(SUFFIX) else _from_params(data, cls)
    except FormatError as error:
        raise error.at_path(name) from None


def load_frombuffer(buf: bytes | str) -> Loaded:
    """`load` from the contents of a file in MXNet's format.

    Raises
    ------
    DTypeError
        If ``buf`` is not bytes.
    FormatError
        If it is not in MXNet's format.
    """
    if isinstance(buf, str):
        buf = buf.encode("latin-1")  # the encoding that maps characters 0 to 255 to bytes of the same value
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise DTypeError("load_frombuffer: buf required to be a string or bytes", type(buf).__name__, "pass the contents of a file")
    return _from_params(bytes(buf), NDArray)


def _name(fname: object) -> str:
    if not isinstance(fname, (str, os.PathLike)):
        raise DTypeError("fname required to be a string", type(fname).__name__, "pass a path or a URL")
    return str(os.fspath(fname))


def _arrays_and_names(data: object) -> tuple[Sequence[Array], tuple[str, ...]]:
    """The arrays, and their names if any."""
    if isinstance(data, Array):
        return [data], ()
    if not isinstance(data, (Mapping, list)):
        what = "data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays"
        raise ParameterError(f"save: {what}", type(data).__name__, "pass one of these")
    names = tuple(data) if isinstance(data, Mapping) else ()
    arrays = list(data.values()) if isinstance(data, Mapping) else data
    if not all(isinstance(a, Array) for a in arrays) or not all(isinstance(n, str) for n in names):
        given = ", ".join(sorted({type(v).__name__ for v in [*arrays, *names]}))
        raise DTypeError("save only accept dict str->NDArray or list of NDArray", f"types {given}", "create arrays with mx.nd.array")
    return arrays, names


def record_of(array: Array) -> ArrayRecord:
    """The file record of an array. Its bytes are not copied if they are in host memory already."""
    device = array.context
    place = device.device_typeid, device.device_id
    if isinstance(array, BaseSparseNDArray):
        hosts = array._content.hosts()
        if _repeats(hosts):
            todo = "sum the elements of each index first: nd.array(x.asnumpy()).tostype(x.stype)"
            raise ParameterError(f"save: a {array.stype} array has an index twice, and files may not", f"shape {array.shape}", todo)
        parts = [_bytes_of(p) for p in hosts]
        stored = array._content.sparse
        aux = [stored.indptr, stored.indices] if array.stype == "csr" else [stored.indices]
        records = tuple(record_of(a) for a in aux)
        return ArrayRecord(array._dtype, array.shape, parts[0], array.stype, records, place)
    return ArrayRecord(array._dtype, array.shape, _bytes_of(host_of(array)), device=place)


def _bytes_of(host: np.ndarray) -> memoryview:
    return memoryview(np.ascontiguousarray(host).reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def array_of(record: ArrayRecord, cls: type[A] = NDArray) -> A:
    """A new array with the content of a record.

    Raises
    ------
    FormatError
        If it is sparse, and the class has no sparse arrays.
    """
    if record.stype != "default":
        if not issubclass(cls, NDArray):
            raise FormatError("load: arrays of mx.np are dense", record.stype, "load it with mx.nd.load")
        return _sparse_array_of(record)
    # MXNet can also save an array without a shape; here it is empty
    shape = (0,) if record.shape is None else record.shape
    host = np.frombuffer(record.data, NUMPY[record.dtype]).reshape(shape)
    return from_host(cls, host, _device(*record.device))


def _sparse_array_of(record: ArrayRecord) -> Any:
    device = _device(*record.device)
    shape = tuple(record.shape or ())
    values = np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.stored_shape)
    # the file gives the integer type of its indices; here they are int64
    aux = [np.frombuffer(a.data, NUMPY[a.dtype]).astype(np.int64) for a in record.aux]
    if record.stype == "csr":
        indptr, indices = aux
        indptr = indptr if indptr.size else np.zeros(shape[0] + 1, np.int64)  # MXNet writes none for a matrix without elements
        used = int(indptr[-1])  # MXNet also stores unused capacity
        parts = [values[:used], indices[:used], indptr]
    else:
        parts = [values, aux[0]]
    if _repeats(parts):
        # operators would disagree on its value: some take the sum of the elements, others one of them
        raise FormatError(f"{record.stype} array: an index occurs twice", f"shape {shape}", "the file is damaged: save the array again")
    return sparse_array(Sparse(record.stype, shape, *[from_host(NDArray, p, device) for p in parts]), checked=True)


def _repeats(parts: Sequence[np.ndarray]) -> bool:
    """Whether an index occurs twice among the parts of a sparse array: values, indices and, of a csr matrix, ``indptr``."""
    return repeats_in_rows(parts[1], parts[2]) if len(parts) == 3 else repeats(parts[1])


def _device(code: int, number: int) -> Device:
    """The device of a record: the GPU of that number if it exists, else the CPU."""
    if KIND_OF_CODE.get(code) != "gpu":
        return CPU
    try:
        device = interned("gpu", number)
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
