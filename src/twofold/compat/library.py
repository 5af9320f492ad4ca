"""``mxnet.library``: loads operators that were compiled against MXNet's C library, which Twofold does not have."""

import os

from ..errors import MXNetError

__all__ = ["load"]


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
    if not os.path.exists(path):
        raise MXNetError(f"load path {path} does NOT exist", None, "write the operator with mx.operator.CustomOp")
    raise MXNetError(
        f"Error loading library: '{path}'", "it is compiled against MXNet's C library", "write the operator with mx.operator.CustomOp"
    )
