"""Typical calls enter no more Python functions, and return to no more files, than they did: the walks of tools/walks.py."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.house.sources import ROOT
from tools.walks import Counts, Walk, counts_of, entered, lowered, row


def inner() -> int:
    return 1


def test_functions_are_counted_in_the_order_of_their_calls():
    assert [code.co_name for code in entered(lambda: (inner(), os.fspath("a"), inner()))] == ["<lambda>", "inner", "inner"]


def test_a_file_that_was_left_and_is_entered_again_is_a_return():
    own, other = inner.__code__, subprocess.run.__code__
    assert counts_of([own, own, other, own, other]) == Counts(frames=5, files=2, returns=2)


def test_a_row_says_what_its_ceiling_should_be():
    walk = Walk("a + b", 1, inner)
    assert row(walk, Counts(3, 2, 1), [3, 1]).split() == ["a", "+", "b", "3", "2", "1", "3", "/", "1", "1"]
    assert row(walk, Counts(3, 2, 1), [2, 1]).endswith("over its ceiling")
    assert row(walk, Counts(3, 2, 1), [4, 1]).endswith("the ceiling can be lowered")


def test_ceilings_are_lowered_and_never_raised():
    assert lowered('[walks]\n"a" = [5, 1]\n"ab" = [5, 1]\n', "a", Counts(3, 2, 2)) == '[walks]\n"a" = [3, 1]\n"ab" = [5, 1]\n'


@pytest.mark.ci
def test_every_walk_keeps_its_ceilings():
    run = subprocess.run([sys.executable, "tools/walks.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
