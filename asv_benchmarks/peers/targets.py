"""The project's targets, and the verdict on each: met, missed, or not measured and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from asv_benchmarks.peers.items import CHAINS, CONVOLUTIONS, SMALL

#: Median seconds (or bytes) by ``library way``, for each item's key.
Medians = Mapping[str, Mapping[str, float]]
#: The reason for items that were deliberately not run.
NOT_SELECTED = "not selected"
Measure = Literal["times as fast", "s over", "s", "of the bytes", "GB/s", "launches"]


@dataclass(frozen=True)
class Target:
    """A figure to reach.

    Attributes
    ----------
    work
        Title in the table.
    item
        The key of the item.
    own
        Twofold's variant to judge.
    peers
        The variants to compare with, of which the fastest counts; empty for absolute figures.
    limit
        Lower bound of a ratio, upper bound of anything else; None if the figure is only published.
    measure
        ``times as fast`` is peer / own, ``s over`` own - peer, ``of the bytes`` own / peer, ``s`` and ``launches`` own.
    scale
        Bytes moved, for ``GB/s``.
    """

    work: str
    item: str
    own: str
    peers: tuple[str, ...] = ()
    limit: float | None = None
    measure: Measure = "times as fast"
    scale: float = 1


@dataclass(frozen=True)
class Verdict:
    """The verdict on a target.

    Attributes
    ----------
    target
        The target.
    value
        The figure; None if not measured.
    word
        ``met``, ``missed``, ``published`` or ``not measured``.
    reason
        Why it was not measured; otherwise the variant compared with.
    """

    target: Target
    value: float | None
    word: str
    reason: str = ""


@dataclass(frozen=True)
class Row:
    """A target's verdicts.

    Attributes
    ----------
    verdict
        Based on wall time, which is decisive.
    cpu
        Based on the process' CPU time, which excludes other programs but includes spinning threads.
    preset
        Based on wall time with the preset OpenBLAS kernel; None if not measured.
    """

    verdict: Verdict
    cpu: Verdict
    preset: Verdict | None


def rows(medians: Medians, cpu: Medians, absent: Mapping[str, str], kernel: str | None) -> list[Row]:
    """Judge all targets.

    Parameters
    ----------
    medians, cpu
        Seconds of wall time and of CPU time.
    absent
        Why a library, or a variant of it, is missing.
    kernel
        The preset OpenBLAS kernel, if any.
    """
    found = []
    for target in targets():
        preset = judged(target, medians, absent, kernel, kernel) if kernel else None
        if preset is not None and preset.value is None:
            preset = None
        found.append(Row(judged(target, medians, absent, fastest=kernel), judged(target, cpu, absent, fastest=kernel), preset))
    return found


def variants(name: str, kernel: str | None) -> list[str]:
    """The names under which a variant may have been measured: MXNet with both kernels, the others with the requested one."""
    library, _, way = name.partition(" jit ") if name.startswith("twofold jit") else name.partition(" ")
    library += " jit" if name.startswith("twofold jit") else ""
    other = f"{library} ({kernel}) {way}"
    if kernel is None:
        return [name]
    if library == "mxnet":
        return [name, other]
    return [other] if library in ("numpy", "twofold", "twofold jit") else [name]


def judged(target: Target, medians: Medians, absent: Mapping[str, str], kernel: str | None = None, fastest: str | None = None) -> Verdict:
    """Judge one target.

    Parameters
    ----------
    target
        The target.
    medians
        The measurements.
    absent
        Why a library, or a variant of it, is missing.
    kernel
        The OpenBLAS kernel for NumPy and Twofold; None for the default.
    fastest
        A preset kernel with which MXNet was measured too: its faster figure counts.
    """
    times = medians.get(target.item)
    if times is None:
        return Verdict(target, None, "not measured", absent.get(target.item, NOT_SELECTED))
    own = next((times[name] for name in variants(target.own, kernel) if name in times), None)
    if own is None:
        return Verdict(target, None, "not measured", why(target, target.own, absent))
    found = {name: times[name] for peer in target.peers for name in names_of(peer, kernel, fastest) if name in times}
    if target.peers and not found:
        return Verdict(target, None, "not measured", why(target, target.peers[0], absent))
    peer = min(found, key=lambda name: found[name]) if found else ""
    value = figure(target, own, found.get(peer, 0.0))
    word = "published" if target.limit is None else "met" if is_reached(target, value) else "missed"
    return Verdict(target, value, word, peer)


def names_of(peer: str, kernel: str | None, fastest: str | None) -> list[str]:
    """The names under which a variant to compare with may have been measured."""
    return variants(peer, fastest if peer.startswith("mxnet") else kernel)


def figure(target: Target, own: float, peer: float) -> float:
    """Compute a target's figure."""
    match target.measure:
        case "times as fast":
            return peer / own
        case "s over":
            return own - peer
        case "of the bytes":
            return own / peer
        case "GB/s":
            return target.scale / own / 1e9
    return own


def is_reached(target: Target, value: float) -> bool:
    """Whether a figure reaches its limit: a lower bound for speed ratios and rates, an upper bound for anything else."""
    assert target.limit is not None
    return value >= target.limit if target.measure in ("times as fast", "GB/s") else value <= target.limit


def why(target: Target, name: str, absent: Mapping[str, str]) -> str:
    """Why a variant was not measured: the reason for this item, for the variant, or for its library."""
    if f"{target.item}: {name}" in absent:
        return f"{name}: {absent[f'{target.item}: {name}']}"
    keys = [key for key in absent if name == key or name.startswith(key + " ")]
    return f"{name}: {absent[max(keys, key=len)]}" if keys else f"{name}: skipped"


def targets() -> list[Target]:
    """List all targets, in the order of the project's table."""
    return [*_overhead(), *_perceptron(), *_chains(), *_scripts(), *_networks(), *_memory()]


def _overhead() -> Iterator[Target]:
    yield Target("x + x, 4 elements", "add 4", "twofold nd", ("numpy plain",), 0.4e-6, "s over")
    yield Target("x + x recorded", "add_recorded 4", "twofold nd", ("numpy plain",), 1.2e-6, "s over")


def _perceptron() -> Iterator[Target]:
    for own, limits in {"hybridized": (2.5, 1.5), "imperative": (1.6, 1.0)}.items():
        for peer, limit in zip(("torch eager", "jax jit"), limits, strict=True):
            yield Target(f"perceptron 32x64x10, {own}", "perceptron 32", f"twofold {own}", (peer,), limit)


def _chains() -> Iterator[Target]:
    for name in CHAINS:
        for own, bounds in _bounds_1e6(name).items():
            yield from (Target(f"{name}, 1e6", f"{name} 1e6", f"{own} nd", (peer,), limit) for peer, limit in bounds.items())
    for name in CHAINS[:4]:
        for own, bounds in _bounds_1e7(name).items():
            yield from (Target(f"{name}, 1e7", f"{name} 1e7", f"{own} nd", (peer,), limit) for peer, limit in bounds.items())
    for own in ("twofold", "twofold jit"):
        yield Target("adam, 1e7", "adam 1e7", f"{own} nd", (), None, "GB/s", scale=7 * 4 * 1e7)
    for own, limit in {"twofold": 1e-3, "twofold jit": 40e-3}.items():
        yield Target("a new chain", "new_chain 1e5", f"{own} nd", (f"{own} nd, seen before",), limit, "s over")


def _bounds_1e6(name: str) -> dict[str, dict[str, float]]:
    least = 1.6 if name in ("black_scholes", "gelu") else 1.1
    return {"twofold": {"numpy plain": least, "torch eager": 1.0}, "twofold jit": {"numpy plain": 3.0, "jax jit": 1.0}}


def _bounds_1e7(name: str) -> dict[str, dict[str, float]]:
    adam = name == "adam"
    peer = 1.0 if adam else 2.0
    jit = {"numpy plain": 7.0, "jax jit": peer, "torch compile": peer}
    return {"twofold": {"numpy plain": 2.5 if adam else 4.0}, "twofold jit": jit}


def _scripts() -> Iterator[Target]:
    limits = {**{str(size): None for size in SMALL}, "1e4": 0.9, "1e6": 1.5, "1e7": 1.5}
    for name in CHAINS[:3]:
        for size, limit in limits.items():
            yield Target(f"script: {name}, {size}", f"{name} {size}", "twofold np", ("numpy plain",), limit)


def _networks() -> Iterator[Target]:
    mlp = "perceptron 784-128-64-10"
    yield Target(f"{mlp}, hybridized", "mlp 64", "twofold hybridized", ("torch eager",), 1.5)
    yield Target(f"{mlp}, hybridized", "mlp 64", "twofold hybridized", ("mxnet module",), 2.0)
    yield Target(f"{mlp}, imperative", "mlp 64", "twofold imperative", ("twofold hybridized",), 0.9)
    yield Target("LeNet", "lenet 64", "twofold hybridized", ("torch eager",), 1.1)
    yield Target("LeNet", "lenet 64", "twofold hybridized", ("mxnet module", "mxnet hybridized"), 1.0)
    for channels in CONVOLUTIONS:
        yield Target(f"3x3 convolution, {channels}", f"convolution {channels}", "twofold hybridized", ("torch eager",), 0.9)
    yield Target("LSTM", "lstm 32", "twofold hybridized", ("numpy by hand",), 1.0)
    yield Target("LSTM", "lstm 32", "twofold hybridized", ("mxnet hybridized",), 1.3)
    yield Target("LSTM", "lstm 32", "twofold jit hybridized", ("torch eager",), 1.0)


def _memory() -> Iterator[Target]:
    yield Target("memory, 30 layers", "deep 30", "twofold hybridized", ("mxnet hybridized",), 1.0, "of the bytes")
    yield Target("memory, 30 layers, recomputed", "deep 30", "twofold recomputed", ("mxnet hybridized",), 0.4, "of the bytes")
    yield Target("textbook arithmetic", "textbook", "twofold executor")


#: Items that are not measured here, with the reason.
ELSEWHERE = {"textbook": "320, 240 and 160 bytes are counted by tests, not timed"}
