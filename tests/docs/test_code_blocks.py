"""Every code block of README, CONTRIBUTING and docs runs, and prints what the page says; console blocks name what exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.cases import later_in_ci
from tests.docs.pages import Block, blocks, run_block, same_text
from tests.house.sources import ROOT, text_files
from tests.house.verdict import expect_none

PAGES = {s.path: s.text for s in text_files() if s.path.endswith(".md") and s.path.startswith(("README", "CONTRIBUTING", "docs/"))}
WITH_PYTHON = [path for path, text in PAGES.items() if any(b.language == "python" for b in blocks(text))]
#: `make test` runs the first ones: each page is a process, and tutorials train networks.
FIRST = ["README.md", "docs/tutorial/arrays.md", "docs/guide/from-numpy.md"]
#: Languages of blocks that are not run: output and settings. Directives are in braces, so they are not blocks here.
SHOWN = {"bibtex", "console", "text", "toml"}


@pytest.mark.parametrize("path", later_in_ci([*FIRST, *sorted({*WITH_PYTHON} - {*FIRST})], len(FIRST)))
def test_the_page_runs_and_prints_what_it_says(path, tmp_path):
    if "sklearn" in PAGES[path]:
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("", "src", "backends")),
        "PYTHONWARNINGS": "error",
    }
    command = [sys.executable, "-m", "tests.docs.pages", str(ROOT / path)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_blocks_are_found_with_their_lines():
    assert list(blocks("a\n\n```python\nx = 1\n```\n")) == [Block("python", "x = 1\n", 4)]


def test_directives_are_not_blocks():
    assert [b.text for b in blocks("```{table}\n```\n\n```python\nx = 1\n```\n")] == ["x = 1\n"]


def test_a_block_that_prints_something_else_fails():
    assert list(run_block(Block("python", "x = 1\nprint(x)  # 2\n", 4), "page", {})) == ["page:5: printed '1', the page says '2'"]


def test_a_block_that_prints_what_it_says_passes():
    assert not list(run_block(Block("python", "def f():\n    return 1\nprint(f())  # 1\n", 1), "page", {}))


def test_texts_are_compared_without_white_space_and_with_ellipses():
    assert same_text("[[1.  2.]\n [3.  4.]]\n", "[[1. 2.] [3. 4.]]")
    assert same_text("a long text", "a … text")
    assert not same_text("a long text", "a … texts")


def test_every_block_has_a_language_that_is_run_or_shown():
    found = ((path, b) for path, text in PAGES.items() for b in blocks(text))
    expect_none(f"{path}:{b.line}: a block of {b.language!r}" for path, b in found if b.language not in {"python", *SHOWN})


def test_console_blocks_name_targets_and_files_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wrong = []
    for path, text in PAGES.items():
        for block in (b for b in blocks(text) if b.language == "console"):
            for words in (line[2:].partition("#")[0].split() for line in block.text.splitlines() if line.startswith("$ ")):
                if words[0] == "make":
                    wrong += [
                        f"{path}:{block.line}: make {w}" for w in words[1:] if "=" not in w and re.match(r"[a-z]", w) and w not in targets
                    ]
                else:
                    wrong += [f"{path}:{block.line}: {w}" for w in words if w.startswith(("tests/", ".ci/")) and not (ROOT / w).exists()]
    expect_none(wrong)
