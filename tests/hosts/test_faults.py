"""A host that vanishes without a word: the others go on with `--ft`, and otherwise end with an error that names it."""

from __future__ import annotations

import pytest

from tests.hosts.faults import FAULTS, ROLES, Outcome, Record, outcome, table

VANISHES = next(fault for fault in FAULTS if fault.vanishes)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.title)
def test_a_host_vanishes(role):
    found = outcome(role, VANISHES, 0)
    assert found.is_as_promised, found.log
    assert found.is_trained == role.is_tolerant, found.log


@pytest.mark.slow
def test_a_job_goes_on_long_after_a_host_has_vanished():
    """Longer than Open MPI's launcher, ssh or TCP wait for an answer of that host."""
    role = next(role for role in ROLES if role.is_tolerant)
    found = outcome(role, VANISHES, 0, steps=700)
    assert found.is_as_promised, found.log
    assert found.is_trained, found.log
    assert found.seconds > 60, found.log
    assert "is lost; the processes on other machines go on" in found.log


def test_the_table_counts_what_was_as_promised():
    role, fault = ROLES[0], FAULTS[0]
    ends = Outcome(role, fault, 3, (2, 1), 20.0, 1, True, True, False, "")
    goes_on = ends._replace(is_trained=True, status=0, seconds=10.0)
    lines = table([Record.of(goes_on), Record.of(ends)])
    assert f"| {fault.title} | 1 of 2, 1 went on | " in lines[2]
    assert lines[2].endswith("| 15 | 20 |")
    assert lines[4].startswith("1 of 2 faults as promised")
    assert lines[-1] == f"* {role.title}, {fault.title}, seed 3, node2: 20 s, status 1, named"
