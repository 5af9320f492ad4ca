"""``mxnet.libinfo``: the version of MXNet that is imitated; there is no C library to find."""

from ..errors import MXNetError
from ..suggestions import WHAT_RUNS

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
    raise MXNetError(f"Cannot find the MXNet library {prefix}: Twofold has no C library", None, f"use the Python interface; {WHAT_RUNS}")


def find_include_path() -> str:
    """The folder of MXNet's C headers.

    Raises
    ------
    MXNetError
        Always: Twofold is written in Python.
    """
    what = "Cannot find the MXNet include path: Twofold has no C headers"
    raise MXNetError(what, None, f"write operators with mx.operator.CustomOp; {WHAT_RUNS}")


def find_conf_path(prefix: str = "tvmop") -> str:
    """The path of the configuration of operators that were compiled with TVM.

    Raises
    ------
    MXNetError
        Always: there are none.
    """
    raise MXNetError(f"Cannot find the TVM op config {prefix}: Twofold has no such operators", None, f"write them with mx.op; {WHAT_RUNS}")
