"""The mutation gate: each rule of ownership and order is taken out of a copy of the tree, once, and some test must fail.

``python -m tests.mutants [--quick] [--jobs N] [words of names …]``. A rule that can be taken out unnoticed lacks a directed test.
Rules that only save time or memory are here where a test counts them; the others are not rules of ownership.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.gpu_mutant_rules import GPU_MUTANTS
from tests.mutant_rules import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
COPIED = (
    *("src", "backends", "pyproject.toml"),
    *(
        "tests/backend",
        "tests/core",
        "tests/cupy",
        "tests/fakes",
        "tests/scheduler",
        "tests/conftest.py",
        "tests/devices.py",
        "tests/paths.py",
        "tests/suite_seconds.py",
        "tests/house/budgets.toml",
    ),
)
SECONDS = 600  # a mutant that hangs is caught
FAILED = 1  # pytest's exit status where tests ran and some failed


class Copy:
    """A copy of what the tests of the core need, in which a file is changed and set back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)

    def test(self, quick: bool, tests: Iterable[str]) -> tuple[int, str]:
        """(exit status of some tests, the first that failed); a run that hangs has failed."""
        options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--timeout=60", *(["-m", "not fuzz"] if quick else [])]
        environment = os.environ | {"FUZZ_CASES": "25", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=self.folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FAILED, "it hung"
        said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "+++"))]
        return done.returncode, said[0] if said else done.stdout.strip()[-300:] or done.stderr.strip()[-300:]

    def test_without(self, mutant: Mutant, quick: bool) -> tuple[int, str]:
        """As `test`, with one rule taken out."""
        path = self.folder / mutant.file
        text = path.read_text(encoding="utf-8")
        if text.count(mutant.text) != 1:
            return -1, f"{mutant.file} holds the text {text.count(mutant.text)} times: bring the table up to date"
        path.write_text(text.replace(mutant.text, mutant.replacement), encoding="utf-8")
        try:
            return self.test(quick, mutant.tests)
        finally:
            path.write_text(text, encoding="utf-8")


def verdict(status: int) -> str:
    """What an exit status says of a mutant."""
    return {FAILED: "caught", 0: "SURVIVED"}.get(status, "BROKEN")


def main(arguments: list[str] | None = None) -> int:
    """Run the gate; 0 if every mutant was caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the random searches out")
    parser.add_argument("--jobs", type=int, default=2, help="copies that are tested at a time")
    parser.add_argument("words", nargs="*", help="take only mutants whose names hold all of these")
    options = parser.parse_args(arguments)
    chosen = [m for m in (*MUTANTS, *GPU_MUTANTS) if all(w in m.name for w in options.words)]
    every = sorted({path for m in chosen for path in m.tests})
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for k in range(options.jobs):
            copies.put(Copy(Path(folder) / str(k)))

        def run(mutant: Mutant | None) -> tuple[int, str]:
            copy = copies.get()
            try:
                return copy.test(options.quick, every) if mutant is None else copy.test_without(mutant, options.quick)
            finally:
                copies.put(copy)

        status, said = run(None)
        if status:
            print(f"the tests fail as they are: {said}")
            return 1
        left = []
        for mutant, (status, said) in zip(chosen, pool.map(run, chosen), strict=True):
            print(f"{verdict(status):8}  {mutant.name}\n          {said}", flush=True)
            left += [mutant.name] * (status != FAILED)
    print(f"{len(chosen) - len(left)} of {len(chosen)} caught" + "".join(f"\n  not: {name}" for name in left))
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
