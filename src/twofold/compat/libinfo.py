"""``mxnet.libinfo``: the version of MXNet that is imitated; there is no C library to find."""

from ..errors import MXNetError

__all__ = ["__version__", "find_conf_path", "find_include_path", "find_lib_path"]

#: The version that scripts compare: MXNet's, not Twofold's.
__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The paths of MXNet's C library.

    Raises
    ------
    MXNetError
        Always: Twofold is written in Python.
    """
    raise MXNetError(f"Cannot find the MXNet library {prefix}: Twofold has no C library", None, "use the Python interface")


def find_include_path() -> str:
    """The folder of MXNet's C headers.

    Raises
    ------
    MXNetError
        Always: Twofold is written in Python.
    """
    raise MXNetError("Cannot find the MXNet include path: Twofold has no C headers", None, "write operators with mx.operator.CustomOp")


def find_conf_path(prefix: str = "tvmop") -> str:
    """The path of the configuration of operators that were compiled with TVM.

    Raises
    ------
    MXNetError
        Always: there are none.
    """
    raise MXNetError(f"Cannot find the TVM op config {prefix}: Twofold has no such operators", None, "write them with mx.op")
