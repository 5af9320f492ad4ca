"""View operations by their parameters: a repeated view costs a look-up instead of parsing these."""

from functools import lru_cache

from ..opdef import BoundOp
from ..ops import primitive_shape


@lru_cache(4096)
def reshape_to(shape: tuple[int, ...]) -> BoundOp:
    """The elements in another shape."""
    return primitive_shape.reshape.bind(shape=shape)


@lru_cache(4096)
def permute_to(order: tuple[int, ...]) -> BoundOp:
    """The axes in another order."""
    return primitive_shape.permute_dims.bind(axes=order)


@lru_cache(4096)
def broadcast_to(shape: tuple[int, ...]) -> BoundOp:
    """An array broadcast to a shape, which may be its own one. It cannot be written through the view."""
    return primitive_shape.broadcast_to.bind(shape=shape)
