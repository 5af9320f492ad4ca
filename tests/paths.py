"""How often each execution path was taken in a random search, which proves nothing about a path that was hardly ever taken."""

from collections.abc import Callable

from twofold.imperative.counters import COUNTERS

#: Every path must be taken in this share of its opportunities.
LEAST = 0.02


def shares() -> dict[str, float]:
    """Each path as a share of its opportunities since the counters were reset."""
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
    """Print the shares at the end of the run, and fail if one is too small."""
    taken = shares()
    record_property("told", "random programs, paths taken: " + ", ".join(f"{k} {s:.1%}" for k, s in taken.items()))
    assert min(taken.values()) >= LEAST, taken


def check_device_paths(record_property: Callable[[str, object], None], *names: str) -> None:
    """The same for the counters of these names in windows of GPUs."""
    taken = {name: getattr(COUNTERS, name) / COUNTERS.windows for name in names}
    record_property("told", "on fake GPUs, for each window: " + ", ".join(f"{k} {s:.1%}" for k, s in taken.items()))
    assert min(taken.values()) >= LEAST, taken
