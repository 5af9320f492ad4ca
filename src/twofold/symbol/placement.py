"""Which device runs which nodes: the attribute ``ctx_group`` of nodes, and stretches of nodes that one device runs at once."""

from collections.abc import Iterable, Mapping, Sequence

from ..device import Device
from .node import SymbolNode


def device_of(node: SymbolNode, default: Device, groups: Mapping[str, Device]) -> Device:
    """The device of a node's group; the default where it has none, or one that is not placed."""
    return groups.get(node.attrs.get("__ctx_group__", ""), default)


def stretches(order: Iterable[SymbolNode], default: Device, groups: Mapping[str, Device]) -> list[tuple[Device, list[SymbolNode]]]:
    """The operators of a graph as stretches on one device, as few as a greedy choice gives; each reads only itself and earlier ones.

    Parameters
    ----------
    order
        All nodes, inputs before users.
    default, groups
        Where nodes without a group run, and where groups run.
    """
    waiting = [n for n in order if not n.is_variable]
    if not groups:
        return [(default, waiting)]
    done = {n for n in order if n.is_variable}
    found: list[tuple[Device, list[SymbolNode]]] = []
    while waiting:
        device = device_of(next(n for n in waiting if _is_ready(n, done)), default, groups)
        stretch: list[SymbolNode] = []
        for node in waiting:
            if device_of(node, default, groups) is device and _is_ready(node, done):
                stretch.append(node)
                done.add(node)
        waiting = [n for n in waiting if n not in done]
        found.append((device, stretch))
    return found


def _is_ready(node: SymbolNode, done: Sequence[SymbolNode] | set[SymbolNode]) -> bool:
    return all(h.node in done for h in node.inputs)
