"""The mutation gate: each rule of ownership and order is removed once from a copy of the tree, and some test must fail.

``python -m tests.mutants [--quick] [--jobs N] [words of names …]``. A rule that can be removed unnoticed lacks a directed test.
Rules that only save time or memory are included if a test counts these. The test that noticed is
kept in ``mutant_killers.json`` and runs first the next time: a rule whose test still notices takes seconds, another the whole suite.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.edits import NoMatch
from tests.mutant_rules import MUTANTS, Mutant
from tests.mutant_rules_gpu import GPU_MUTANTS
from tests.mutant_rules_jit import MACHINE_CODE_MUTANTS
from tests.mutant_rules_kernels import KERNEL_MUTANTS

ROOT = Path(__file__).parents[1]
COPIED = (
    *("src", "backends", "pyproject.toml", "asv_benchmarks"),
    *(
        "tests/backend",
        "tests/core",
        "tests/cupy",
        "tests/fakes",
        "tests/scheduler",
        "tests/cases.py",
        "tests/conftest.py",
        "tests/devices.py",
        "tests/forked.py",
        "tests/machine_code.py",
        "tests/paths.py",
        "tests/probe.py",
        "tests/sanitizer.py",
        "tests/statements.py",
        "tests/suite_seconds.py",
        "tests/house/budgets.toml",
    ),
)
SECONDS = 1800  # a run that hangs and that pytest cannot end has failed
KILLERS = Path(__file__).with_name("mutant_killers.json")
ALL = (*MUTANTS, *KERNEL_MUTANTS, *MACHINE_CODE_MUTANTS, *GPU_MUTANTS)
FAILED = 1  # pytest's exit status if tests ran and some failed


class Copy:
    """A copy of what the core's tests need, in which a file is changed and restored."""

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
        # no bytecode: a file and its mutant may have one size and be written in the same second
        bytecode = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        environment = os.environ | {"FUZZ_CASES": "25"} | bytecode
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=self.folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FAILED, "it hung"
        said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "+++"))]
        return done.returncode, said[0] if said else done.stdout.strip()[-300:] or done.stderr.strip()[-300:]

    def test_without(self, mutant: Mutant, quick: bool, killer: str | None) -> tuple[int, str]:
        """Like `test`, with one rule removed; the test that noticed the last time runs first."""
        path = self.folder / mutant.file
        text = path.read_text(encoding="utf-8")
        try:
            path.write_text(mutant.applied_to(text), encoding="utf-8")
        except NoMatch as why:
            return -1, f"{mutant.place}: {why}: bring the table up to date"
        try:
            if killer is not None and (found := self.test(False, [killer]))[0] == FAILED:
                return found
            return self.test(quick, mutant.tests)
        finally:
            path.write_text(text, encoding="utf-8")


def killer_of(said: str) -> str | None:
    """The test that pytest's summary line says has failed; None if it is none of one test."""
    kind, _, rest = said.partition(" ")
    name = rest.partition(" - ")[0]
    return name if kind in {"FAILED", "ERROR"} and "::" in name else None


def keep(killers: dict[str, str]) -> None:
    """Write which test noticed the absence of each rule."""
    names = {m.name for m in ALL}
    kept = {name: killer for name, killer in sorted(killers.items()) if name in names}
    KILLERS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def verdict(status: int) -> str:
    """What an exit status means for a mutant."""
    return {FAILED: "caught", 0: "SURVIVED"}.get(status, "BROKEN")


def main(arguments: list[str] | None = None) -> int:
    """Run the gate; 0 if every mutant was caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the random searches out")
    parser.add_argument("--jobs", type=int, default=2, help="copies that are tested at a time")
    parser.add_argument("words", nargs="*", help="take only mutants whose names hold all of these")
    options = parser.parse_args(arguments)
    chosen = [m for m in ALL if all(w in m.name for w in options.words)]
    every = sorted({path for m in chosen for path in m.tests})
    killers: dict[str, str] = json.loads(KILLERS.read_text(encoding="utf-8")) if KILLERS.exists() else {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for k in range(options.jobs):
            copies.put(Copy(Path(folder) / str(k)))

        def run(mutant: Mutant | None) -> tuple[int, str]:
            copy = copies.get()
            try:
                if mutant is None:
                    return copy.test(options.quick, every)
                return copy.test_without(mutant, options.quick, killers.get(mutant.name))
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
            if (killer := killer_of(said)) and killers.get(mutant.name) != killer:
                keep(killers | {mutant.name: killer})
                killers[mutant.name] = killer
    print(f"{len(chosen) - len(left)} of {len(chosen)} caught" + "".join(f"\n  not: {name}" for name in left))
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
