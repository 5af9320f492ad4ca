"""``mxnet.base``: the errors, Python helpers and types of C that MXNet's modules shared, and scripts import.

There is no C library: handles are numbers (see `handles`), and of the library's functions there are those in `c_functions`; others raise.
What only prepares arguments of C works, on ``ctypes``.
"""

import ctypes
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import errors
from ..errors import MXNetError, NotImplementedForSymbol
from ..opdef.frontend import NULL
from ..suggestions import WHAT_RUNS

T = TypeVar("T", bound=type)

string_types = (str,)
basestring = str
long = int
numeric_types = (float, int, np.generic)
integer_types = (int, np.integer)
mx_real_t = np.float32

#: The default of parameters of generated functions, which scripts test for and pass on.
_Null, _NullType = NULL, type(NULL)

# numbers of C

mx_uint = ctypes.c_uint
mx_int = ctypes.c_int
mx_int64 = ctypes.c_int64
mx_float = ctypes.c_float
mx_float_p = ctypes.POINTER(mx_float)


class _Handle(ctypes.c_void_p):
    """Stands for an object where MXNet's programs pass pointers. The number of an empty one is None."""

    #: The object, which lives as long as its handle.
    owner: object


_POINTED_AT = {
    "NDArrayHandle": "an array",
    "SymbolHandle": "a symbol",
    "ExecutorHandle": "an executor",
    "CachedOpHandle": "a compiled graph",
    "FunctionHandle": "a function on arrays",
    "OpHandle": "an operator",
    "DataIterHandle": "a data iterator",
    "DataIterCreatorHandle": "a kind of data iterators",
    "KVStoreHandle": "a key-value store",
    "RecordIOHandle": "a record file",
    "RtcHandle": "a kernel that was compiled at run time",
    "CudaModuleHandle": "a CUDA module",
    "CudaKernelHandle": "a CUDA kernel",
    "ProfileHandle": "a profiler's object",
    "DLPackHandle": "a DLPack tensor",
}
#: The classes of handles by name, which are names of this module too.
_HANDLES: dict[str, type[_Handle]] = {
    name: type(name, (_Handle,), {"__doc__": f"Handle of {thing}.", "__module__": __name__}) for name, thing in _POINTED_AT.items()
}
globals().update(_HANDLES)


class _Library:
    """Stands for MXNet's C library: it has some of its functions."""

    def __getattr__(self, name: str) -> Any:
        if (found := import_module("..c_functions", __name__).FUNCTIONS.get(name)) is not None:
            return found
        raise MXNetError(f"mxnet.base._LIB.{name}: Twofold has no C library", None, f"use the Python interface; {WHAT_RUNS}")


_LIB: Any = _Library()


def check_call(ret: int) -> None:
    """Raise an MXNetError if the status that a function of C returned is not 0."""
    if ret != 0:
        text = import_module("..c_functions", __name__).last_error()
        raise MXNetError(text or "a call of the C library failed", f"status {ret}", "use the Python interface")


def c_str(string: str) -> ctypes.c_char_p:
    """A string for C."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> Any:
    """An array of strings for C."""
    return c_array(ctypes.c_char_p, [s.encode("utf-8") for s in strings])


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """An array of C with the given elements.

    Examples
    --------
    >>> list(c_array(mx_uint, [1, 2]))
    [1, 2]
    """
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """An array of C that shares the memory of an ``array.array``."""
    return (ctype * len(buf)).from_buffer(buf)


def c_handle_array(objs: Sequence[Any]) -> Any:
    """An array of the objects' handles."""
    return (ctypes.c_void_p * len(objs))(*[obj.handle for obj in objs])


def ctypes2buffer(cptr: object, length: int) -> bytearray:
    """A copy of ``length`` bytes at a pointer to characters.

    Raises
    ------
    DTypeError
        If it is no such pointer.
    """
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise errors.DTypeError("ctypes2buffer: expected char pointer", type(cptr).__name__, "cast it with ctypes.cast")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: object, shape: tuple[int, ...]) -> np.ndarray:
    """A NumPy array of shape ``shape`` on the memory at a pointer to floats.

    Raises
    ------
    DTypeError
        If it is no such pointer.
    """
    if not isinstance(cptr, mx_float_p):
        raise errors.DTypeError("ctypes2numpy_shared: expected float pointer", type(cptr).__name__, "cast it with ctypes.cast")
    return np.ctypeslib.as_array(cptr, shape=shape)


class MXCallbackList(ctypes.Structure):
    """A list of functions of C, and what each is called with."""

    _fields_: ClassVar = [
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    ]


# names of operators

_OP_NAME_PREFIX_LIST = ["_contrib_", "_linalg_", "_sparse_", "_image_", "_random_"]
_NP_OP_PREFIX, _NP_EXT_OP_PREFIX, _NP_INTERNAL_OP_PREFIX = "_np_", "_npx_", "_npi_"
_NP_OP_SUBMODULE_LIST, _NP_EXT_OP_SUBMODULE_LIST = ["_random_", "_linalg_"], ["_image_", "_random_"]
_NP_OUTPUT_IS_LIST_OPERATORS = {f"{_NP_INTERNAL_OP_PREFIX}{kind}split" for kind in ("", "h")}


def _get_op_name_prefix(op_name: str) -> str:
    """The prefix of an operator's name that names its module; empty if it has none."""
    return next((prefix for prefix in _OP_NAME_PREFIX_LIST if op_name.startswith(prefix)), "")


def _get_op_submodule_name(op_name: str, op_name_prefix: str, submodule_name_list: Iterable[str]) -> str:
    """What names the module after a prefix; empty if there is no such name."""
    assert op_name.startswith(op_name_prefix), f"{op_name} does not begin with {op_name_prefix}"
    rest = op_name[len(op_name_prefix) :]
    return next((name for name in submodule_name_list if rest.startswith(name)), "")


def _is_np_op(op_name: str) -> bool:
    """Whether an operator is one of MXNet's dialect of NumPy."""
    return op_name.startswith((_NP_OP_PREFIX, _NP_EXT_OP_PREFIX, _NP_INTERNAL_OP_PREFIX))


def _output_is_list(op_name: str) -> bool:
    """Whether an operator gives a list even of one output."""
    return op_name in _NP_OUTPUT_IS_LIST_OPERATORS


# Python helpers


def c2pyerror(err_msg: str) -> tuple[str, str | None]:
    r"""An error message of C as Python shows errors, and the kind of error that it begins with, if any.

    Examples
    --------
    >>> c2pyerror("ValueError: wrong\nStack trace:\n  inner\n  outer")
    ('Traceback (most recent call last):\n  outer\n  inner\nValueError: wrong', 'ValueError')
    """
    message, _, trace = err_msg.partition("\nStack trace:\n")
    kind = re.match(r"([\w.]+):", message)
    # C lists the innermost frame first, Python last
    if trace:
        frames = "\n".join(reversed(trace.rstrip("\n").split("\n")))
        message = f"Traceback (most recent call last):\n{frames}\n{message}"
    return message, kind[1] if kind else None


def py_str(x: bytes) -> str:
    """Decode UTF-8 bytes."""
    return x.decode("utf-8")


def data_dir_default() -> str:
    """The folder of datasets if ``MXNET_HOME`` is not set: ``~/.mxnet``, on Windows ``mxnet`` in the folder of applications' data."""
    import os

    system = platform.system()
    return os.path.join(os.environ["APPDATA"], "mxnet") if system == "Windows" else os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """The folder of datasets and models: ``$MXNET_HOME``, or `data_dir_default`."""
    import os

    return os.environ.get("MXNET_HOME", data_dir_default())


def _as_list(obj: Any) -> Any:
    """The list or tuple itself, or a list with a single element."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def build_param_doc(arg_names: Iterable[str], arg_types: Iterable[str], arg_descs: Iterable[str], remove_dup: bool = True) -> str:
    """The section "Parameters" of a docstring.

    Parameters
    ----------
    arg_names, arg_types, arg_descs
        Name, type and description of each parameter.
    remove_dup
        Whether to leave out parameters whose name has occurred.
    """
    rows: list[tuple[str, str, str]] = []
    for row in zip(arg_names, arg_types, arg_descs, strict=False):
        if not remove_dup or row[0] not in [name for name, _, _ in rows]:
            rows.append(row)
    lines = [f"{name} : {kind}" + (f"\n    {text}" if text else "") for name, kind, text in rows]
    return "Parameters\n----------\n{}\n".format("\n".join(lines))


class _MXClassPropertyDescriptor:
    """A property of a class itself."""

    def __init__(self, fget: Any, fset: Any = None) -> None:
        self.fget, self.fset = fget, fset

    def __get__(self, obj: Any, clas: Any = None) -> Any:
        return self.fget.__get__(obj, type(obj) if clas is None else clas)()

    def __set__(self, obj: Any, value: Any) -> None:
        if self.fset is None:
            raise AttributeError("cannot set the property")
        self.fset.__get__(obj, obj if isinstance(obj, type) else type(obj))(value)

    def setter(self, func: Any) -> "_MXClassPropertyDescriptor":
        """The decorator of the function that sets it."""
        self.fset = func if isinstance(func, (classmethod, staticmethod)) else classmethod(func)
        return self


class _MXClassPropertyMetaClass(type):
    """The type of classes whose class properties can be set."""

    def __setattr__(cls, key: str, value: object) -> None:
        found = cls.__dict__.get(key)
        if isinstance(found, _MXClassPropertyDescriptor) and not isinstance(value, _MXClassPropertyDescriptor):
            found.__set__(cls, value)
        else:
            super().__setattr__(key, value)


def classproperty(func: Any) -> _MXClassPropertyDescriptor:
    """The decorator of a function of the class that computes a property of the class itself."""
    return _MXClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


def with_metaclass(meta: type, *bases: type) -> type:
    """A base class whose subclasses have a metaclass and the given bases."""

    class temporary(type):  # makes the subclass without an intermediate base
        def __new__(cls, name: str, this_bases: tuple[type, ...], d: dict[str, Any]) -> Any:
            return meta(name, bases, d)

    return type.__new__(temporary, "temporary_class", (), {})


# errors by name


error_types: dict[str, type] = {
    "NotImplementedForSymbol": NotImplementedForSymbol,
    "InternalError": errors.InternalError,
    "ValueError": ValueError,
    "TypeError": TypeError,
    "AttributeError": AttributeError,
    "IndexError": IndexError,
    "NotImplementedError": NotImplementedError,
}


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Enter a class of errors in `error_types` under a name, by default its own; also as a decorator, with or without the name."""
    if isinstance(func_name, type):
        func_name, cls = func_name.__name__, func_name

    def register(klass: T) -> T:
        error_types[func_name or klass.__name__] = klass
        return klass

    return register if cls is None else register(cls)


register: Callable[..., Any] = register_error


def _valid_error_name(name: str) -> bool:
    """Whether a name consists of letters, digits, underlines and dots."""
    return all(c.isalnum() or c in "_." for c in name)


def _find_error_type(line: str) -> str | None:
    """The name of the error that a line of text begins with; None without one."""
    name, colon, _ = line.partition(":")
    return name if colon and _valid_error_name(name) else None


__all__ = [name for name, value in vars().items() if not name.startswith("_") and name not in ("Any", "Callable", "T", "WHAT_RUNS")]
