"""The figures to reach, and the verdict on each: met, missed, or not measured and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from asv_benchmarks.peers.items import CHAINS, CONVOLUTIONS, SMALL

#: Median seconds (or bytes) by ``library way``, for each item's key.
Medians = Mapping[str, Mapping[str, float]]
#: The reason where an item was left out on purpose.
NOT_SELECTED = "not selected"
Measure = Literal["times as fast", "s over", "s", "of the bytes", "GB/s", "launches"]


@dataclass(frozen=True)
class Target:
    """One figure to reach.

    Attributes
    ----------
    work
        What the table calls it.
    item
        The key of the item.
    own
        The way of Twofold's that is judged.
    peers
        What it is compared with: the fastest of these. None, where the figure stands for itself.
    limit
        The least ratio, or the most of anything else; None where the figure is only published.
    measure
        ``times as fast`` is peer over own, ``s over`` own less peer, ``of the bytes`` own over peer, ``s`` and ``launches`` own.
    scale
        What ``GB/s`` multiplies: bytes moved.
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
    """What became of a target.

    Attributes
    ----------
    target
        The target.
    value
        The figure; None where it is not measured.
    word
        ``met``, ``missed``, ``published`` or ``not measured``.
    reason
        Why it is not measured; the peer that was compared with, where there were several.
    """

    target: Target
    value: float | None
    word: str
    reason: str = ""


@dataclass(frozen=True)
class Row:
    """A target in all lights.

    Attributes
    ----------
    verdict
        By wall time, which decides.
    cpu
        By the processes' CPU time: what other programs take is not in it, what threads wait busily for is.
    preset
        By wall time under the preset kernel of OpenBLAS; None where there is no such figure.
    """

    verdict: Verdict
    cpu: Verdict
    preset: Verdict | None


def rows(medians: Medians, cpu: Medians, absent: Mapping[str, str], kernel: str | None) -> list[Row]:
    """All targets, judged.

    Parameters
    ----------
    medians, cpu
        Seconds of wall time and of CPU time.
    absent
        Why a library, or a way of it, takes no part.
    kernel
        The preset kernel of OpenBLAS, if there is one.
    """
    found = []
    for target in targets():
        preset = judged(target, medians, absent, kernel, kernel) if kernel else None
        if preset is not None and preset.value is None:
            preset = None
        found.append(Row(judged(target, medians, absent, fastest=kernel), judged(target, cpu, absent, fastest=kernel), preset))
    return found


def variants(name: str, kernel: str | None) -> list[str]:
    """The names under which a way may have been measured: MXNet under both kernels, the others under the one that is asked for."""
    library, _, way = name.partition(" jit ") if name.startswith("twofold jit") else name.partition(" ")
    library += " jit" if name.startswith("twofold jit") else ""
    other = f"{library} ({kernel}) {way}"
    if kernel is None:
        return [name]
    if library == "mxnet":
        return [name, other]
    return [other] if library in ("numpy", "twofold", "twofold jit") else [name]


def judged(target: Target, medians: Medians, absent: Mapping[str, str], kernel: str | None = None, fastest: str | None = None) -> Verdict:
    """The verdict on one target.

    Parameters
    ----------
    target
        The target.
    medians
        What was measured.
    absent
        Why a library, or a way of it, takes no part.
    kernel
        The kernel of OpenBLAS that NumPy and Twofold are judged under; None is their own choice.
    fastest
        A preset kernel under which MXNet was measured too: its faster figure counts.
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
    """The names under which a peer may have been measured."""
    return variants(peer, fastest if peer.startswith("mxnet") else kernel)


def figure(target: Target, own: float, peer: float) -> float:
    """The figure that a target speaks of."""
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
    """Whether a figure reaches its limit: ratios of speed and rates are at least that, all else at most."""
    assert target.limit is not None
    return value >= target.limit if target.measure in ("times as fast", "GB/s") else value <= target.limit


def why(target: Target, name: str, absent: Mapping[str, str]) -> str:
    """Why a way was not measured: the reason of the way in this item, of the way, or of its library."""
    if f"{target.item}: {name}" in absent:
        return f"{name}: {absent[f'{target.item}: {name}']}"
    keys = [key for key in absent if name == key or name.startswith(key + " ")]
    return f"{name}: {absent[max(keys, key=len)]}" if keys else f"{name}: takes no part"


def targets() -> list[Target]:
    """All figures of the project's table, in its order."""
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


#: What is not measured here, and why: by item.
ELSEWHERE = {"textbook": "320, 240 and 160 bytes are counted by tests, not timed"}
