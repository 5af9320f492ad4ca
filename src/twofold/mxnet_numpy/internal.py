"""``mxnet.ndarray.numpy._internal``: operators by the names of MXNet's files (``_npi_add`` as ``add``), on arrays of the dialect.

They take arrays in order and parameters by keyword, as in ``mx.nd``, and add nothing as the functions of ``mx.np`` do.
"""

import sys
from collections.abc import Callable
from typing import Any

from ..opdef import NAMES
from ..opdef.frontend import function_of
from ..suggestions import missing_name as _missing_name
from .array_functions import CALLS

_PREFIX = "_npi_"


def __getattr__(name: str) -> Callable[..., Any]:
    op = NAMES.get(_PREFIX + name)
    if op is None:
        raise _missing_name(__name__, name, __dir__())
    found = function_of(op, name, CALLS.call, __name__, extra=() if op.arrays else ("ctx",), fast=CALLS.fast)
    vars(sys.modules[__name__])[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *(n.removeprefix(_PREFIX) for n in NAMES if n.startswith(_PREFIX))})
