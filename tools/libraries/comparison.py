"""Compares what a network computes on two sides."""

from __future__ import annotations

from typing import Any

#: The largest relative differences.
CLOSE = {"outputs": 1e-3, "hybridized outputs": 1e-3, "gradients": 5e-3, "hybridized gradients": 5e-3, "step": 5e-3, "export": 1e-3}
#: A part may differ by so many times what it differs in MXNet when the inputs change by rounding: batch normalization over few values,
#: and the order of boxes with nearly the same score, depend on it.
NUDGES = 30


def distance(one: dict[str, Any], other: dict[str, Any]) -> float:
    """An estimate of the relative distance of two arrays by their digests; infinite if their shapes differ."""
    if any(one[key] != other[key] for key in ("shape", "dtype", "strange")):
        return float("inf")
    scale = max(one["norm"], other["norm"], 1e-12)
    pairs = zip([one["norm"], *one["projections"]], [other["norm"], *other["projections"]], strict=True)
    return max(abs(a - b) for a, b in pairs) / scale


def distance_of_all(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> float:
    """The largest distance of arrays that correspond; small ones are measured against the norm of all."""
    if len(ours) != len(theirs):
        return float("inf")
    floor = 1e-3 * sum(one["norm"] ** 2 for one in theirs) ** 0.5
    distances = [distance(a, b) * min(1.0, max(a["norm"], b["norm"]) / (floor or 1)) for a, b in zip(ours, theirs, strict=True)]
    return max(distances, default=0.0)


def arrays(side: dict[str, Any], part: str) -> list[dict[str, Any]] | None:
    """The digests of a part, if there are any."""
    found = side.get(part)
    if part == "step" and isinstance(found, dict):
        found = found.get("parameters")
    return found if isinstance(found, list) else None


def sensitivity(theirs: dict[str, Any], part: str) -> float:
    """How much a part changes in MXNet when the inputs change by rounding."""
    kinds = ["outputs"] if "outputs" in part or part == "export" else ["gradients", "hybridized gradients"]
    pairs = [(arrays(theirs, kind), arrays(theirs, f"nudged {kind}")) for kind in kinds]
    return max((distance_of_all(a, b) for a, b in pairs if a is not None and b is not None), default=0.0)


def nearest(ours: dict[str, Any], theirs: dict[str, Any], part: str) -> float:
    """The distance of a part, or of ours where the inputs differ by rounding: a sum near 0 may be cut off by ReLU on one side only.

    Where inputs change at random by 1e-6 and 3e-6, the gradients of resnet18_v1b_0.89 jump in MXNet by 1.3e-2 of their norm in 7 of 24
    changes (by 3e-5 at most in the others), as far as Twofold's are. One nudge does not always meet a jump.
    """
    nudged = arrays(ours, f"nudged {part}") or arrays(ours, f"nudged {part.removeprefix('hybridized ')}")
    expected = arrays(theirs, part) or []
    return min(distance_of_all(values, expected) for values in (arrays(ours, part), nudged) if values is not None)


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, str]:
    """What differs, by part; a part that MXNet cannot do is not compared."""
    if "error" in theirs:
        return {}
    if "error" in ours:
        return {"all": ours["error"]}
    found = {}
    for part, limit in CLOSE.items():
        a, b = ours.get(part), theirs.get(part)
        if b is None or (isinstance(b, dict) and "error" in b):
            continue
        if a is None or (isinstance(a, dict) and "error" in a):
            found[part] = "missing" if a is None else a["error"]
            continue
        if part == "export":
            away = a["difference"] if a["outputs"] == b["outputs"] else float("inf")
            if a["graph"]["operators"] != b["graph"]["operators"]:
                found["graph"] = f"{a['graph']['nodes']} nodes, {b['graph']['nodes']} in MXNet"
            elif a["graph"]["names"] != b["graph"]["names"]:
                found["names of nodes"] = first_difference(a["graph"]["names"], b["graph"]["names"])
        else:
            away = nearest(ours, theirs, part)
        if not away <= max(limit, NUDGES * sensitivity(theirs, part)):
            found[part] = f"{away:.1e}"
    if ours.get("names") != theirs.get("names"):
        found["names"] = first_difference(ours["names"], theirs["names"])
    return found


def first_difference(ours: list[str], theirs: list[str]) -> str:
    """The first names that differ."""
    pair = next(((a, b) for a, b in zip(ours, theirs, strict=False) if a != b), (f"{len(ours)} names", f"{len(theirs)}"))
    return f"{pair[0]}, {pair[1]} in MXNet"
