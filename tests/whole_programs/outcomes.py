"""What statements give, in words, and whether two of them differ."""

import math

import numpy as np


def outcome_of(make):
    """What a function returns, and that in words; None and the classes of the error if it raises."""
    try:
        found = make()
        return found, seen(found)
    except Exception as error:
        kinds = {"MXNetError", "ValueError", "TypeError", "IndexError", "AttributeError", "AssertionError", "NotImplementedError"}
        names = [c.__name__ for c in type(error).__mro__ if c.__name__ in kinds]
        return None, "error {}".format(" ".join(names or [type(error).__name__]))


def outcome_at(answers, k):
    """A statement's outcome in a list of outcomes, which may be shorter."""
    return answers[k] if k < len(answers) else "nothing"


def seen(value):
    """What is compared of a value, in words: its type, a weighted sum of its elements, and the sum of their magnitudes."""
    if isinstance(value, (bool, int, float, str, np.generic)):
        return "value {} {}".format(type(value).__name__, value if isinstance(value, (bool, str)) else f"{value:.5g}")
    array = value.asnumpy()
    flat = array.astype("float64").ravel()
    finite = np.where(np.isfinite(flat), flat, 0)
    weights = np.arange(flat.size) % 7 + 1.0
    shape = ",".join(map(str, array.shape))
    count = flat.size - np.isfinite(flat).sum()
    return f"{array.dtype} ({shape}) {count} {(finite * weights).sum():.5g} {np.abs(finite).sum():.5g}"


def differs(want: str, got: str) -> bool:
    """Whether an outcome is another one than MXNet's: sums may differ by rounding; an error may be of further classes."""
    if want.startswith("error") or got.startswith("error"):
        return not (want.startswith("error") and got.startswith("error") and want.split()[1] in got.split())
    tolerance = 3e-2 if "float16" in want else 2e-3
    pairs = list(zip(want.split(), got.split(), strict=False))
    if not pairs or len(want.split()) != len(got.split()):
        return want != got
    scale = max([abs(_number(w)) for w, _ in pairs[2:]], default=0.0)
    # what cancels leaves the rounding of terms of about 1
    nothing = max(1e-2, 1e-2 * math.prod(map(int, filter(None, want.split()[1].strip("()").split(","))))) if "(" in want else 1e-2
    allowed = tolerance * min(max(scale, nothing), 1e4)
    return not all(w == g or math.isclose(_number(w), _number(g), rel_tol=tolerance, abs_tol=allowed) for w, g in pairs)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
