"""The public API changes only where `tests/house/public_api.txt` changes too, which a reviewer sees: see `docs/reference/stability.md`."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from tools.public_api import KEPT, ROOT


@pytest.fixture(scope="module")
def now() -> list[str]:
    """The lines of the public API in a process of its own: other tests register operators."""
    done = subprocess.run([sys.executable, "-m", "tools.public_api"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def kept() -> list[str]:
    """The lines that are kept."""
    return KEPT.read_text(encoding="utf-8").splitlines()


def is_numpys(line: str) -> bool:
    """Whether a line depends on the version of NumPy: those of ``mx.np``."""
    return line.startswith("np.")


@pytest.mark.ci
def test_the_public_api_is_the_one_that_is_kept(now):
    before = kept()
    gone = [line for line in before if not is_numpys(line) and line not in now]
    new = [line for line in now if not is_numpys(line) and line not in before]
    assert not gone + new, (
        "the public API has changed: if you mean it, `make public-api` keeps it so; the policy is in docs/reference/stability.md"
    )


def test_no_function_of_numpy_is_lost(now):
    names, wanted = ({re.split(r"[(:]", line, maxsplit=1)[0] for line in found if is_numpys(line)} for found in (now, kept()))
    assert not {name for name in wanted - names if exists_in_numpy(name)}


def exists_in_numpy(dotted: str) -> bool:
    """Whether this version of NumPy has a name that ``mx.np`` had with another."""
    found: object = np
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None
