"""Operators: one file per family; importing this package registers them all."""

from . import (  # noqa: F401  (imported for what they register)
    activation,
    custom,
    convolution,
    dropout,
    fully_connected,
    output_heads,
    primitive_arithmetic,
    primitive_gather,
    primitive_math,
    primitive_reduce,
    primitive_shape,
    softmax,
)
