"""Weights of convolutions in the order in which a backend's code reads them, for graphs some of whose inputs do not change."""

from collections.abc import Callable, Collection, Mapping, Sequence

from ..ops.primitive_convolve import convolve, packed_weight
from .build import G
from .ir import Application, Constant, Node, topological
from .rewrite import by_rule

#: ``(convolution) -> filters``: how many filters a panel of its weight has; 0 for one that is read as it is.
Width = Callable[[Application], int]


def with_packed_weights(outputs: Sequence[Node], fixed: Collection[Node], width: Width) -> list[Node]:
    """Have convolutions read weights in panels that are computed from inputs that do not change."""

    def packed(n: Application) -> Node:
        data, weight = n.operands
        below = [i for i in topological([weight]) if not isinstance(i, (Application, Constant))]
        panel = width(n) if below and all(i in fixed for i in below) else 0
        if not panel:
            return n
        params: Mapping[str, object] = {name: n.bound_op.params[name] for name in ("stride", "dilate", "pad", "groups")}
        panels = packed_weight(G, weight, n.bound_op.params["groups"], panel)
        return G.convolve_packed(data, panels, shape=weight.shape, **params)

    return by_rule(outputs, packed, {convolve})
