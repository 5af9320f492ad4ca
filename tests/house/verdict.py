"""How a structure test fails: with one line for each offence, none cut short."""

from __future__ import annotations

from collections.abc import Iterable


def expect_none(offences: Iterable[str]) -> None:
    """Fail with the list of offences, where there is one."""
    found = list(offences)
    assert not found, "\n".join([f"{len(found)} found", *found])
