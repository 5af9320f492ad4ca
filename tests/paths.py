"""How often each way of running an operation was taken in a random search, which counts for nothing if one was hardly ever taken."""

from collections.abc import Callable

from twofold.imperative.counters import COUNTERS

#: Every path must have this share of the occasions for it.
LEAST = 0.02


def shares() -> dict[str, float]:
    """Each path as a share of the occasions for it, since the counters were reset."""
    counts = COUNTERS.as_dict()
    operations = counts["inline"] + counts["deferred"] + counts["recorded"]
    writes = counts["in_place"] + counts["copied"] + counts["rebound"]
    return {
        "inline": counts["inline"] / operations,
        "deferred": counts["deferred"] / operations,
        "recorded": counts["recorded"] / operations,
        "fused": counts["fused"] / counts["deferred"],
        "donated": counts["donated"] / counts["windows"],
        "copied": counts["copied"] / writes,
        "in place": counts["in_place"] / writes,
        "rebound": counts["rebound"] / writes,
    }


def check_paths(record_property: Callable[[str, object], None]) -> None:
    """Have the shares printed at the end of the run, and fail if one is too small."""
    taken = shares()
    record_property("told", "random programs, paths taken: " + ", ".join(f"{k} {s:.1%}" for k, s in taken.items()))
    assert min(taken.values()) >= LEAST, taken


def check_device_paths(record_property: Callable[[str, object], None], *names: str) -> None:
    """The same for what counters of these names count in windows of GPUs."""
    taken = {name: getattr(COUNTERS, name) / COUNTERS.windows for name in names}
    record_property("told", "on fake GPUs, for each window: " + ", ".join(f"{k} {s:.1%}" for k, s in taken.items()))
    assert min(taken.values()) >= LEAST, taken
