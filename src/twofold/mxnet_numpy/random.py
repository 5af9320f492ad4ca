"""``mx.np.random``: samples from MXNet's streams, which ``mx.random.seed`` starts; float32 by default."""

from typing import Any

from ..errors import OperatorError
from .array_functions import FUNCTIONS
from .sampling import Random

__all__ = ["FACE"]

FACE = Random(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(FACE, name):
        raise OperatorError(f"module 'mxnet.numpy.random' has no attribute {name!r}", None, "see dir() of it; seed with mx.random.seed")
    found = globals()[name] = getattr(FACE, name)
    return found


def __dir__() -> list[str]:
    return sorted(n for n in dir(FACE) if not n.startswith("_"))
