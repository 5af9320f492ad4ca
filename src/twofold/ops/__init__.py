"""Operators: one file per family; importing this package registers them all."""

from . import (  # noqa: F401  (imported for what they register)
    activation,
    batch_norm,
    custom,
    convolution,
    dropout,
    fully_connected,
    normalization,
    optimizer_adaptive,
    optimizer_sgd,
    output_heads,
    pooling,
    primitive_arithmetic,
    primitive_gather,
    primitive_math,
    primitive_reduce,
    primitive_shape,
    random_sampling,
    softmax,
)
