"""The operators behind `mx.image.imdecode` and `imread`, under the names by which scripts call them in ``_internal`` modules."""

from collections.abc import Sequence

from ..image.functions import imdecode as _cvimdecode
from ..image.functions import imread as _cvimread
from ..image.functions import method_of
from ..imperative.array import Array
from ..ndarray import NDArray

__all__ = ["_cvimdecode", "_cvimread", "cvimdecode", "cvimread"]


def cvimdecode(buf: bytes | NDArray, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imdecode` with a result of ``mx.np``."""
    return _cvimdecode(buf, flag, to_rgb).as_np_ndarray()


def cvimread(filename: str, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imread` with a result of ``mx.np``."""
    return _cvimread(filename, flag, to_rgb).as_np_ndarray()


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """The interpolation from 0 to 4 that a number means for (old height, old width, new height, new width). Scripts call it."""
    return method_of(interp, sizes)
