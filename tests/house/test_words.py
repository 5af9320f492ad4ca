"""No file contains forbidden words, and no file has a meaningless name."""

from __future__ import annotations

import pytest

from tests.house.sources import Source, text_files, tracked_paths
from tests.house.verdict import expect_none
from tests.house.words import EXEMPT, FORBIDDEN, forbidden_words, silent_names

# Each forbidden word contains a bar, which is removed before the check, so that this file passes its own check.
BAD = [
    ("machine path", "cd /wo|rk/main"),
    ("machine path", "DATA = '/ho|me/ann/data'"),
    ("machine path", "see /o|pt"),
    ("registry host", "https://py|pi.org/simple"),
    ("registry host", "pip install --index-|url x"),
    ("development tool", "written with Clau|de"),
    ("development tool", "as the A|I said"),
    ("way of working", "the agen|t that wrote this"),
    ("way of working", "left for the next sess|ion"),
    ("unfinished merge", "<<<<|<<< HEAD"),
    ("unfinished merge", ">>>>|>>> strides"),
    ("unfinished mark", "x = 1  # TO|DO: negative axes"),
    ("unfinished mark", "# FIX|ME"),
    ("unfinished mark", "    raise NotImplemented|Error()"),
    ("unfinished mark", "    raise NotImplemented|Error"),
]
GOOD = [
    "../shared/data beside the network/home of a/work tree",
    "#!/usr/bin/env bash",
    "row program -> LLVM IR; AIR; said",
    "a User-Agent header",
    '@pytest.fixture(scope="session")',
    "method, todos, XXXL",
    "with pytest.raises(NotImplementedError):",
]


@pytest.mark.parametrize(("kind", "marked"), BAD)
def test_a_forbidden_word_is_found_with_its_line(kind: str, marked: str):
    found = list(forbidden_words(Source("a.py", "fine\n" + marked.replace("|", ""))))
    assert len(found) == 1
    assert found[0].startswith(f"a.py:2: {kind}: ")


@pytest.mark.parametrize("text", GOOD)
def test_a_word_that_only_looks_alike_is_not_found(text: str):
    assert not list(forbidden_words(Source("a.py", text)))


def test_a_name_that_says_nothing_is_found():
    assert silent_names(["src/twofold/opdef/utils.py", "src/twofold/opdef/params.py"]) == [
        "src/twofold/opdef/utils.py: name it for what it holds"
    ]


@pytest.mark.ci
def test_no_file_says_what_none_may_say():
    expect_none(line for source in text_files() for line in forbidden_words(source))


def test_every_exemption_names_a_file_and_a_kind_that_exist():
    assert {path for path, _ in EXEMPT} <= set(tracked_paths())
    assert {kind for _, kind in EXEMPT} <= set(FORBIDDEN)


def test_every_file_has_a_name_that_says_something():
    expect_none(silent_names(tracked_paths()))
