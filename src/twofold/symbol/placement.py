"""Assigns nodes to devices by the attribute ``ctx_group``, and groups consecutive nodes on one device into parts."""

from collections.abc import Iterable, Mapping

from ..device import Device
from .node import SymbolNode


def device_of(node: SymbolNode, default: Device, groups: Mapping[str, Device]) -> Device:
    """The device of a node's group; the default if it has no group or the group has no device."""
    return groups.get(node.attrs.get("__ctx_group__", ""), default)


def stretches(order: Iterable[SymbolNode], default: Device, groups: Mapping[str, Device]) -> list[tuple[Device, list[SymbolNode]]]:
    """Split a graph's operators into stretches on one device, ordered so that each reads only from itself and earlier ones.

    A stretch ends where another device reads its results, so that this device can begin: layers on several devices form a pipeline.

    Parameters
    ----------
    order
        All nodes, inputs before users.
    default, groups
        The device of nodes without a group, and the devices of groups.
    """
    operators = [n for n in order if not n.is_variable]
    if not groups:
        return [(default, operators)]
    place = {n: device_of(n, default, groups) for n in operators}
    # numbered by how often the data has crossed devices: nodes of one level and device run together, levels in order
    given_away = {h.node for n in operators for h in n.inputs if place.get(h.node, place[n]) is not place[n]}
    level: dict[SymbolNode, int] = {}
    found: dict[tuple[int, Device], list[SymbolNode]] = {}
    for n in operators:
        inputs = [h.node for h in n.inputs if h.node in place]
        level[n] = max((level[i] + (i in given_away) for i in inputs), default=0)
        found.setdefault((level[n], place[n]), []).append(n)
    return [(device, nodes) for (_, device), nodes in sorted(found.items(), key=lambda item: item[0][0])]
