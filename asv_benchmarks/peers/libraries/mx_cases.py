"""The table of MXNet programs by workload and variant, common to MXNet and Twofold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from asv_benchmarks.peers import chains
from asv_benchmarks.peers.libraries import mx_networks as networks
from asv_benchmarks.peers.libraries import mx_programs as programs

if TYPE_CHECKING:
    from asv_benchmarks.peers.case import Case


def cases(mx: Any) -> dict[str, dict[str, Callable[[dict[str, Any]], Case]]]:
    """The table for ``mx``, which is one or the other."""
    return {
        "add": {"nd": partial(programs.add, mx), "nd, each waited for": partial(programs.add_waited, mx)},
        "add_recorded": {"nd": partial(programs.add_recorded, mx)},
        **{name: _chain_ways(mx, function) for name, function in chains.PURE.items()},
        "adam": {
            "nd": partial(programs.adam_nd, mx),
            "hybridized": partial(programs.adam_hybridized, mx),
            "adam_update": partial(programs.adam_operator, mx),
        },
        "cross_entropy": {"nd": partial(programs.cross_entropy_nd, mx), "hybridized": partial(programs.cross_entropy_hybridized, mx)},
        "new_chain": {"nd": partial(programs.new_chain, mx, True), "nd, seen before": partial(programs.new_chain, mx, False)},
        "perceptron": {
            "imperative": partial(networks.perceptron_imperative, mx),
            "executor": partial(networks.perceptron_executor, mx),
            "hybridized": partial(networks.gluon, mx, "perceptron", True),
        },
        "mlp": _network_ways(mx, "mlp"),
        "lenet": _network_ways(mx, "lenet"),
        "lstm": {"imperative": partial(networks.lstm, mx, False), "hybridized": partial(networks.lstm, mx, True)},
        "convolution": {"nd": partial(programs.convolution_nd, mx), "hybridized": partial(programs.convolution_hybridized, mx)},
        "deep": {
            "imperative": partial(programs.deep, mx, False),
            "hybridized": partial(programs.deep, mx, True),
            "recomputed": partial(programs.deep_recomputed, mx),
        },
    }


def _chain_ways(mx: Any, function: Callable[..., Any]) -> dict[str, Callable[[dict[str, Any]], Case]]:
    return {"nd": partial(programs.chain_nd, mx, function), "hybridized": partial(programs.chain_hybridized, mx, function)}


def _network_ways(mx: Any, work: str) -> dict[str, Callable[[dict[str, Any]], Case]]:
    return {
        "imperative": partial(networks.gluon, mx, work, False),
        "hybridized": partial(networks.gluon, mx, work, True),
        "module": partial(networks.module, mx, work),
    }
