"""`run_part`: a part of a block's computation, for blocks that compute step by step, as in the decoding of sequences."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..collector import RESTING
from ..errors import DeferredInitializationError
from ..ndarray.array import NDArray
from .hybrid_block import HybridBlock
from .signatures import Given
from .structure import ARRAY, unflatten
from .tracing import trace


def run_part(block: HybridBlock, part: Callable[..., Any], *args: NDArray) -> Any:
    """The results of a method for arrays: it runs as a compiled graph of its own if its block is hybridized.

    Parameters
    ----------
    block
        Whose layers and parameters the part uses.
    part
        A method ``part(F, *args)``, with the functions as `HybridBlock.hybrid_forward` gets them.
    *args
        Its inputs. What differs from step to step is an array, not a number: numbers would be constants of the graph.
    """
    if not block._is_hybridized:
        return part(Given.nd, *args)
    traced = block._parts.get(part.__name__)
    if traced is None:
        with RESTING:
            compose = partial(part, Given.sym)
            options = block._mirror, block._is_static
            traced = block._parts[part.__name__] = trace(block.name, block.collect_params(), compose, args, *options)
    try:
        outputs = traced.graph(args, args[0].context)
    except DeferredInitializationError:
        return part(Given.nd, *args)  # the layers infer their shapes
    return outputs[0] if traced.outputs == ARRAY else unflatten(outputs, traced.outputs)
