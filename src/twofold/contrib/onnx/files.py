"""Reads ONNX files to checked protocol buffers. Arrays in other files are read from the model's folder only; nothing is executed."""

import math
import os
import re
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from ...errors import FormatError
from ...formats.files import file_exists, join_path, open_file, read_file
from ...formats.urls import is_url
from .package import onnx_package

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto

#: Arrays in external files have NumPy's bytes per element; types of less than a byte are packed.
_PACKED = 2
#: The size of an array in a damaged file must be bounded: at most the file's bytes, plus this.
_SLACK = 1 << 20
#: Arrays may share parts of external files, but not take more memory than this many times the files, plus the slack.
_SHARED = 3
#: Bits of an element, of types whose names do not start with that number; those of fewer than 8 are packed.
_BITS = {"FLOAT": 32, "DOUBLE": 64, "BOOL": 8, "FLOAT6E2M3": 8, "FLOAT6E3M2": 8}
#: Axes of NumPy's arrays.
_MOST_AXES = 64


def load_model(model_file: str | PathLike[str]) -> "ModelProto":
    """The model in a file, with the arrays in other files of its folder.

    Raises
    ------
    MissingFileError, FileAccessError
        If it cannot be read.
    FormatError
        If it is not an ONNX model, or refers to files outside its folder.
    """
    path = fspath(model_file)
    data = read_file(path)
    model = parsed_model(data, path)
    external = _ExternalData(path)
    for graph in _graphs(model.graph):
        for tensor in graph.initializer:
            external.put_into(tensor)
    return model


def parsed_model(data: bytes, place: str) -> "ModelProto":
    """The model in bytes.

    Raises
    ------
    FormatError
        If they are not an ONNX model.
    """
    onnx = onnx_package("reading ONNX files")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # the class depends on which implementation of protocol buffers is installed
        raise FormatError(f"{place}: not an ONNX model: {str(error)[:200]}", None, "the file is damaged, or of another format") from None
    if not model.graph.node and not model.graph.output:
        raise FormatError(f"{place}: not an ONNX model", f"{len(data)} bytes without a graph", "the file is damaged, or of another format")
    for graph in _graphs(model.graph):
        _check_names(graph, place)
    return model


def _check_names(graph: "GraphProto", place: str) -> None:
    """Check that names are text; the package gives bytes for those that are not.

    Raises
    ------
    FormatError
        If one is not.
    """
    names = [value.name for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output, *[a.name for a in node.attribute]]
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise FormatError(f"{place}: a name is not text", repr(wrong)[:60], "the file is damaged")


def _graphs(graph: "GraphProto", depth: int = 0) -> list["GraphProto"]:
    """A graph and the bodies of its control flow.

    Raises
    ------
    FormatError
        If they are nested too deeply.
    """
    if depth > 32:
        raise FormatError("onnx: graphs within graphs are nested too deeply", "more than 32 levels")
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                found += _graphs(inner, depth + 1)
    return found


class _ExternalData:
    """The arrays of a model that are in other files.

    Parameters
    ----------
    model_file
        The path of the model.
    """

    def __init__(self, model_file: str) -> None:
        self.model_file = model_file
        self._sizes: dict[str, int] = {}  # of the files
        self._read = 0

    def put_into(self, tensor: "TensorProto") -> None:
        """Put the bytes of an array from another file into the array.

        Raises
        ------
        FormatError
            If the file is outside the folder of the model, the array's part of it does not match its shape, or arrays share parts of
            files so often that they take far more memory than the files.
        """
        onnx = onnx_package("reading ONNX files")
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return
        given = {entry.key: entry.value for entry in tensor.external_data}
        place = f"onnx: the array {tensor.name!r}"
        location = given.get("location", "")
        path = _beside(self.model_file, location)
        if path is None or not file_exists(path):
            todo = "put the file beside the model, and name it by a relative path"
            raise FormatError(f"{place} is in a file that is not in the model's folder", repr(location), todo)
        expected = _stored_bytes(tensor, place)
        offset, length = (_number(given, key, place) for key in ("offset", "length"))
        with open_file(path, "rb") as file:
            size = self._sizes[path] = file.seek(0, os.SEEK_END)
            length = size - offset if length < 0 else length
            if offset < 0 or offset + length > size:
                raise FormatError(
                    f"{place} reaches beyond its file", f"{offset} + {length} of {size} bytes of {location}", "the file is cut"
                )
            if length != expected:
                raise FormatError(
                    f"{place} has another size in its file", f"{length} bytes for the shape {list(tensor.dims)}", "the file is damaged"
                )
            self._read += length
            if self._read > _SHARED * sum(self._sizes.values()) + _SLACK:
                raise FormatError(f"{place} shares its part of a file with too many others", location, "store each array once")
            file.seek(offset)
            # from now on the array is like one in the model file itself
            tensor.raw_data = file.read(length)
        del tensor.external_data[:]
        tensor.data_location = onnx.TensorProto.DEFAULT


def _stored_bytes(tensor: "TensorProto", place: str) -> int:
    """The size of an array in an external file, by its shape and dtype.

    Raises
    ------
    FormatError
        If it has no valid shape, or its elements are no numbers.
    """
    check_dims(tensor, place)
    kinds = onnx_package("reading ONNX files").TensorProto.DataType
    kind = kinds.Name(tensor.data_type) if tensor.data_type in kinds.values() else ""
    bits = _BITS.get(kind) or next(map(int, re.findall(r"\d+", kind)), 0)
    if not bits:
        raise FormatError(f"{place} does not hold numbers", kind or f"type {tensor.data_type}", "Twofold's arrays do")
    return -(-math.prod(tensor.dims) * bits // 8)


def check_dims(tensor: "TensorProto", place: str) -> None:
    """Check that an array has a valid shape, before its sizes are multiplied.

    Raises
    ------
    FormatError
        If it has a negative size, or more axes than arrays can have.
    """
    if len(tensor.dims) > _MOST_AXES:
        raise FormatError(f"{place} has too many axes", str(len(tensor.dims)), f"arrays have at most {_MOST_AXES}")
    if any(n < 0 for n in tensor.dims):
        raise FormatError(f"{place} has a negative size", list(tensor.dims))


def _beside(model_file: str, location: str) -> str | None:
    """The name of a file in the folder of a model, or in folders in it; None for any other place."""
    parts = PurePosixPath(location)
    if not location or "\0" in location or Path(location).is_absolute() or is_url(location):
        return None
    if is_url(model_file):
        return None if parts.is_absolute() or ".." in parts.parts else join_path(model_file.rpartition("/")[0], location)
    folder = Path(model_file).resolve().parent
    path = (folder / location).resolve()  # neither .. nor a symbolic link may lead outside
    return str(path) if path.is_relative_to(folder) else None


def _number(given: dict[str, str], key: str, place: str) -> int:
    text = given.get(key, "0" if key == "offset" else "-1")
    try:
        return int(text)
    except ValueError:
        raise FormatError(f"{place} has an invalid {key}", repr(text)[:60]) from None


def array_of(tensor: "TensorProto") -> np.ndarray:
    """The array in a protocol buffer.

    Raises
    ------
    FormatError
        If its bytes do not match its shape and type.
    """
    onnx = onnx_package("reading ONNX files")
    place = f"onnx: the array {tensor.name!r}"
    check_dims(tensor, place)
    held = tensor.ByteSize()
    # Checked before the array is made, which may ask for all this memory.
    if math.prod(tensor.dims) > _PACKED * held + _SLACK:
        raise FormatError(f"{place} is cut", f"{held} bytes for the shape {list(tensor.dims)}")
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # whatever the package runs into
        raise FormatError(f"{place} cannot be read: {str(error)[:200]}", None, "the file is damaged") from None
    if array.dtype.kind in "OUS":
        raise FormatError(f"{place} holds strings", list(tensor.dims), "Twofold's arrays hold numbers")
    # `ascontiguousarray` gives a 0-d array an axis, which the reshape removes.
    return np.ascontiguousarray(array).reshape(array.shape)
