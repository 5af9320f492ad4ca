"""The operators behind `mx.image.imdecode` and `imread`, under the names by which scripts call them in ``_internal`` modules."""

from ..image.functions import imdecode as _cvimdecode
from ..image.functions import imread as _cvimread
from ..imperative.array import Array
from ..ndarray import NDArray

__all__ = ["_cvimdecode", "_cvimread", "cvimdecode", "cvimread"]


def cvimdecode(buf: bytes | NDArray, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imdecode` with a result of ``mx.np``."""
    return _cvimdecode(buf, flag, to_rgb).as_np_ndarray()


def cvimread(filename: str, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imread` with a result of ``mx.np``."""
    return _cvimread(filename, flag, to_rgb).as_np_ndarray()
