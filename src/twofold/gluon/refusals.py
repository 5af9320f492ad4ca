"""Errors of gluon that are also what MXNet raises there: assertions and missing methods."""

from ..errors import MXNetError, ParameterError, ShapeError

__all__ = ["Refused", "Undefined", "WrongShape"]


class Refused(ParameterError, AssertionError):
    """A value that does not fit; MXNet says so by an AssertionError."""


class WrongShape(ShapeError, AssertionError):
    """A shape that contradicts what is known; MXNet says so by an AssertionError."""


class Undefined(MXNetError, NotImplementedError):
    """A subclass was to define a method and does not."""
