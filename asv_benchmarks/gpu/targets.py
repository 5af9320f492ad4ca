"""The targets of the GPU comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from asv_benchmarks.gpu.items import CHAINS, ROWS, Sizes, items, nbytes
from asv_benchmarks.gpu.table import OWN, WITH_CUDNN, WITHOUT_GRAPHS
from asv_benchmarks.peers.targets import Medians, Target, Verdict, judged

#: The pseudo-variant with the time that copying an item's bytes would take.
COPY = "copy of as much"


def targets() -> list[Target]:
    """List all targets, in the order of the project's list."""
    return [*_bandwidth(), *_networks(), *_overhead(), *_launches()]


def _bandwidth() -> Iterator[Target]:
    for work in (*CHAINS, *ROWS):
        least = 0.85 if work in CHAINS else 0.7
        yield Target(f"{work.replace('_', ' ')}, of a copy's rate", work, f"{OWN} nd", (COPY,), least)


def _networks() -> Iterator[Target]:
    for name in (OWN, WITH_CUDNN):
        yield Target("LeNet, captured step", "lenet", f"{name} hybridized", (), 120e-6, "s")
        yield Target("LeNet, captured step", "lenet", f"{name} hybridized", ("torch eager",), 3.0)
    for dtype in ("float16", "bfloat16"):
        yield Target(f"ResNet-50, {dtype}", f"resnet50_{dtype}", f"{WITH_CUDNN} hybridized", ("torch compile",), 0.7)


def _overhead() -> Iterator[Target]:
    for way in ("nd", "nd, each issued alone"):
        yield Target("the host's time for an operation", "add", f"{OWN} {way}", (), 6e-6, "s")


def _launches() -> Iterator[Target]:
    for work in CHAINS:
        yield Target(f"{work.replace('_', ' ')}, kernels", f"launches of {work}", f"{OWN} nd", (), 1, "launches")
    for name, most in ((WITHOUT_GRAPHS, 12), (OWN, 1)):
        yield Target("MNIST perceptron, a step", "launches of mlp", f"{name} hybridized", (), most, "launches")


def bandwidth(medians: Medians, sizes: Sizes) -> float | None:
    """Bytes per second, read and written, of the fastest copy other than Twofold's; None if none was measured."""
    moved = next(nbytes(item) for item in items(sizes) if item.work == "copy")
    times = [seconds for name, seconds in medians.get("copy", {}).items() if not name.startswith(OWN)]
    return moved / min(times) if times else None


def with_copies(medians: Medians, sizes: Sizes) -> Medians:
    """Add to memory-bound items the time that copying their bytes would take."""
    rate = bandwidth(medians, sizes)
    if rate is None:
        return medians
    moved = {item.key: nbytes(item) for item in items(sizes)}
    return {name: {**times, COPY: moved[name] / rate} if moved[name] else times for name, times in medians.items()}


def verdicts(medians: Medians, absent: Mapping[str, str], sizes: Sizes) -> list[Verdict]:
    """Judge every target.

    Parameters
    ----------
    medians
        Seconds or launches by ``library way``, for each item's key.
    absent
        The reason why a library, or a variant of it, is missing.
    """
    known = with_copies(medians, sizes)
    reasons = {COPY: "no copy was measured", **absent}
    return [judged(target, known, reasons) for target in targets()]
