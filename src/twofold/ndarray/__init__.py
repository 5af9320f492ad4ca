"""``mx.nd``: MXNet's imperative arrays."""

from .. import ops  # noqa: F401  (registers the operators)
from . import operators  # noqa: F401  (attaches Python's operators)
from .array import NDArray, array
from .namespace import populate

globals().update(populate(globals(), __name__))

__all__ = ["NDArray", "array"]
