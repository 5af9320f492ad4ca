"""Writes special_values.json next to it: values of special functions by mpmath with 50 digits, each at a few dozen random points.

Run: python tests/backend/make_special_values.py (needs mpmath). Numbers are hexadecimal doubles: [argument, nearest value].
"""

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mpmath as mp

mp.mp.dps = 50
PER_RANGE = 40

#: Function, then (name of a range, a random argument in it).
Range = tuple[str, Callable[[random.Random], float]]
POSITIVE: tuple[Range, ...] = (
    ("tiny", lambda r: 10 ** r.uniform(-300, -1)),
    ("small", lambda r: r.uniform(0, 4)),
    ("middle", lambda r: r.uniform(3, 30)),
    ("large", lambda r: 10 ** r.uniform(1, 15)),
)
WHOLE: tuple[Range, ...] = (*POSITIVE, ("negative", lambda r: -r.uniform(0, 12)))
FUNCTIONS: dict[str, tuple[Callable[[mp.mpf], mp.mpf], tuple[Range, ...]]] = {
    "erf": (mp.erf, (("tiny", lambda r: 10 ** r.uniform(-300, -1)), ("whole", lambda r: r.uniform(-6.5, 6.5)))),
    "erfinv": (
        mp.erfinv,
        (
            ("tiny", lambda r: 10 ** r.uniform(-300, -1)),
            ("whole", lambda r: r.uniform(-1, 1)),
            ("near 1", lambda r: 1 - 10 ** r.uniform(-15.9, -0.5)),
        ),
    ),
    "gammaln": (
        lambda x: mp.re(mp.loggamma(x)),
        (*WHOLE, ("near 1", lambda r: 1 + 10 ** r.uniform(-15, -1)), ("near 2", lambda r: 2 - 10 ** r.uniform(-15, -1))),
    ),
    "digamma": (mp.digamma, (*WHOLE, ("near its zero", lambda r: 1.4616321449683622 + 10 ** r.uniform(-15, -1)))),
    **{f"polygamma {n}": (partial(mp.polygamma, n), WHOLE[1:]) for n in (1, 2, 3, 5, 10)},
}


def values(name: str) -> dict[str, list[tuple[str, str]]]:
    """The arguments and values for each range of a function."""
    function, ranges = FUNCTIONS[name]
    out = {}
    for label, draw in ranges:
        source = random.Random(f"{name} {label}")
        places = [draw(source) for _ in range(PER_RANGE)]
        out[label] = [(x.hex(), float(function(mp.mpf(x))).hex()) for x in places]
    return out


if __name__ == "__main__":
    text = (
        json.dumps({name: values(name) for name in FUNCTIONS}, indent=0, separators=(",", ":"))
        .replace(",\n", ", ")
        .replace("[\n", "[")
        .replace("\n]", "]")
    )
    Path(__file__).with_name("special_values.json").write_text(text + "\n", encoding="utf-8")
