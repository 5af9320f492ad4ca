"""The package ``onnx``, imported when a model is first read or written."""

from importlib import import_module
from types import ModuleType

from ...errors import MissingDependency, ParameterError

#: The default version of ONNX's operators in written files: the version that MXNet 1.9.1 writes. Every runtime reads it.
DEFAULT_OPSET = 13
#: The oldest version that is written, and read in full. Nodes that older versions write differently are read if they are unambiguous.
OLDEST_OPSET = 13


def onnx_package(purpose: str) -> ModuleType:
    """The package.

    Raises
    ------
    MissingDependency
        If it is not installed.
    """
    try:
        return import_module("onnx")
    except ImportError as error:
        raise MissingDependency.of("onnx", purpose, "twofold[onnx]") from error


def newest_opset() -> int:
    """The newest version of the operators that the installed package describes."""
    return onnx_package("reading and writing ONNX files").defs.onnx_opset_version()


def checked_opset(version: int | None) -> int:
    """The version of the operators to write.

    Raises
    ------
    ParameterError
        If models cannot be written in that version.
    """
    found, newest = DEFAULT_OPSET if version is None else version, newest_opset()
    if not OLDEST_OPSET <= found <= newest:
        todo = f"pass a version from {OLDEST_OPSET} to {newest}"
        raise ParameterError("export_model: this version of ONNX's operators cannot be written", f"opset_version={version}", todo)
    return found
