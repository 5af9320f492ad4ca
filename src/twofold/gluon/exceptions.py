"""Errors of Gluon that are also the built-in exceptions that MXNet raises there."""

from ..errors import MXNetError

__all__ = ["Undefined"]


class Undefined(MXNetError, NotImplementedError):
    """A subclass does not define a method that it must define."""
