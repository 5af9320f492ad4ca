"""The public API changes only where `tests/house/public_api.txt` changes too, which a reviewer sees: see `docs/reference/stability.md`."""

from __future__ import annotations

import re

import numpy as np

from tools.public_api import KEPT, lines


def is_numpys(line: str) -> bool:
    """Whether a line depends on the version of NumPy: those of ``mx.np``."""
    return line.startswith("np.")


def test_the_public_api_is_the_one_that_is_kept():
    kept, now = KEPT.read_text(encoding="utf-8").splitlines(), list(lines())
    gone = [line for line in kept if not is_numpys(line) and line not in now]
    new = [line for line in now if not is_numpys(line) and line not in kept]
    assert not gone + new, (
        "the public API has changed: if you mean it, `make public-api` keeps it so; the policy is in docs/reference/stability.md"
    )


def test_no_function_of_numpy_is_lost():
    names = {re.split(r"[(:]", line, maxsplit=1)[0] for line in lines() if is_numpys(line)}
    wanted = {re.split(r"[(:]", line, maxsplit=1)[0] for line in KEPT.read_text(encoding="utf-8").splitlines() if is_numpys(line)}
    assert not {name for name in wanted - names if exists_in_numpy(name)}


def exists_in_numpy(dotted: str) -> bool:
    """Whether this version of NumPy has a name that ``mx.np`` had with another."""
    found: object = np
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None
