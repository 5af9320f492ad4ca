"""``mxnet.error``: errors, and the registry of their classes by name."""

from ..errors import InternalError, MXNetError
from .base import register, register_error

__all__ = ["InternalError", "MXNetError", "register", "register_error"]
