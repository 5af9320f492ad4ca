"""`Layer`: a block with one result, whose type checkers know from its arguments."""

from typing import Literal

from .hybrid_block import HybridBlock


class Layer(HybridBlock):
    """Base class of layers and losses that make one array of arrays, or one symbol of symbols: the result has the first argument's type.

    Calls of other blocks have the type that their `forward` declares; that of `Sequential` declares none, as its last block may return
    several arrays.
    """

    # declared, so that type checkers find it by the protocol of `Block.__call__`; nothing reads it
    _one_result: Literal[True] = True
