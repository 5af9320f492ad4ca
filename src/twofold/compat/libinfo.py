"""``mxnet.libinfo`` and ``mxnet.library``: the version of MXNet that is imitated; there is no C library to find."""

import os

from ..errors import MXNetError
from ..suggestions import WHAT_RUNS

__all__ = ["__version__", "find_conf_path", "find_include_path", "find_lib_path", "load"]

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


def load(path: str, verbose: bool = True) -> None:
    """Raise an error: such operators need MXNet's C library.

    Parameters
    ----------
    path
        The file of the compiled operators.
    verbose
        Whether to print what it contains, of which nothing can be read.

    Raises
    ------
    MXNetError
        Always; libraries catch it and use the operators that they find.
    """
    found = f"Error loading library: '{path}'" if os.path.exists(path) else f"load path {path} does NOT exist"
    raise MXNetError(found, "it would be compiled against MXNet's C library", "write the operator with mx.operator.CustomOp")
