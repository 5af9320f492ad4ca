"""Errors of Gluon that are also the built-in exceptions that MXNet raises there."""

from ..errors import MXNetError, ParameterError, ShapeError

__all__ = ["InvalidValue", "Undefined", "WrongShape"]


class InvalidValue(ParameterError, AssertionError):
    """An invalid value, for which MXNet raises AssertionError."""


class WrongShape(ShapeError, AssertionError):
    """A shape that contradicts the known one, for which MXNet raises AssertionError."""


class Undefined(MXNetError, NotImplementedError):
    """A subclass does not define a method that it must define."""
