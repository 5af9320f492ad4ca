"""NumPy's own tests with folding arrays in the place of its arrays, from one element up: how many of those that pass on NumPy pass.

    python tools/numpy_suite.py                                  every file of `FILES`; an hour
    python tools/numpy_suite.py --resume                         what an interrupted run has left
    python tools/numpy_suite.py --smoke                          files that take seconds
    python tools/numpy_suite.py numpy.linalg.tests.test_linalg   some
    python tools/numpy_suite.py --failures …                     with the last line of each failure
    python tools/numpy_suite.py --debug "numpy.lib.tests.test_utils -k info"    pytest itself on folding arrays, with its tracebacks

Each file runs twice, in processes of its own: on NumPy, and with its imports of numpy replaced. The tests are those of the installed NumPy.
`EXCEPTIONS` lists the tests that may fail, with the reasons. A failure that it does not list is an error (the exit status is 1); an entry
of which every test passes is named, since it may have to go.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Which tests fail, and why.
EXCEPTIONS = ROOT / "tests" / "numpy_folding" / "suite_exceptions.toml"
#: What has become of each test, by way and file, from which a run resumes; what NumPy gives is kept for the next run too.
RESULTS = ROOT / "build" / "numpy_suite"
NAMES = {
    "numpy._core": """
        abc argparse array_coercion array_interface arrayprint casting_floatingpoint_errors conversion_utils datetime defchararray
        deprecations dlpack einsum errstate function_base getlimits half indexerrors indexing item_selection longdouble mem_overlap
        memmap multiarray multithreading nditer nep50_promotions numeric numerictypes overrides print protocols records regression
        scalar_ctors scalar_methods scalarbuffer scalarinherit scalarmath scalarprint shape_base stringdtype strings ufunc umath
        umath_accuracy umath_complex unicode
    """,
    "numpy.lib": """
        array_utils arraypad arraysetops arrayterator format function_base histograms index_tricks io loadtxt mixins nanfunctions
        packbits polynomial recfunctions regression shape_base stride_tricks twodim_base type_check ufunclike utils
    """,
    "numpy.linalg": "deprecations linalg regression",
    "numpy.fft": "helper pocketfft",
}
FILES = [f"{package}.tests.test_{name}" for package, names in NAMES.items() for name in names.split()]
SMOKE = ["numpy._core.tests.test_item_selection", *(f"numpy.lib.tests.test_{name}" for name in ("mixins", "shape_base", "stride_tricks"))]
#: After which a file is given up.
SECONDS = 1800
#: How often a file goes on after a test in which the process died.
MOST_DEATHS = 20


class Outcomes:
    """A plugin for pytest: what has become of each test, and the last line of what was wrong, written down as it happens."""

    def __init__(self, path: Path, file: str, numpy: Any) -> None:
        self.known = read(path)
        self.prefix, self.numpy = file, numpy
        self.file = path.open("a", encoding="utf-8")

    def note(self, node: str, outcome: str, line: str = "") -> None:
        """Add a line."""
        self.file.write(json.dumps([self.name(node), outcome, line]) + "\n")
        self.file.flush()

    def name(self, node: str) -> str:
        """A test's name: the file's as a module, and what pytest puts after it."""
        return self.prefix + "".join(node.partition("::")[1:])

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what is known already. The tests must see the face, or they test nothing."""
        for item in items:
            if getattr(item.module, "np", self.numpy) is not self.numpy:
                raise RuntimeError(f"{item.module.__name__} has imported another numpy")
        items[:] = [item for item in items if self.name(item.nodeid) not in self.known]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Until its end is noted, the process has died in it."""
        self.note(nodeid, "died")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test's worst phase."""
        if report.when == "call" or report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            line = (
                f"{Path(crash.path).name}:{crash.lineno}: {crash.message.partition(chr(10))[0][:160]}"
                if crash
                else str(report.longrepr)[-200:]
            )
            self.note(report.nodeid, report.outcome, line if report.outcome == "failed" else "")

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be read fails as a whole."""
        if report.failed:
            self.note(report.nodeid, "failed", str(report.longrepr)[-200:])


def read(path: Path) -> dict[str, tuple[str, str]]:
    """The outcomes that a file of results holds: for each test the last, but for a failure in an earlier phase."""
    found: dict[str, tuple[str, str]] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, outcome, line = json.loads(text)
        if found.get(name, ("", ""))[0] != "failed":
            found[name] = outcome, line
    return found


def run_here(file: str, folds: bool, results: str, options: list[str]) -> None:
    """Run a file in this process; its outcomes go to a file of results, where one is given."""
    import pytest

    seen: Any = import_module("numpy")
    if folds:
        import twofold.numpy_folding.face as module
        from twofold.numpy_folding import importing, sites

        sites.HOT, seen = 0, module.numpy
        spec = find_spec(file)
        assert spec is not None
        folder = str(Path(str(spec.origin)).resolve().parent)
        package = file.rpartition(".")[0]  # pytest imports some of them without their package
        importing.install(importing.Importers(folder, (package,)), lambda: seen)
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-c", os.devnull, "--timeout=300", "--pyargs", file]
    plain += ["-m", "not slow", "--tb=short", "-W", "ignore::pytest.PytestUnknownMarkWarning", *options]
    pytest.main(plain, [Outcomes(Path(results), file, seen)] if results else [])


def start(file: str, folds: bool, results: str, elements: int, options: list[str], **run: Any) -> int:
    """Run a file in a process of its own; its exit status."""
    environment = os.environ | {"TWOFOLD_FOLD_ELEMENTS": str(elements), "TWOFOLD_DEFER_ELEMENTS": str(elements), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--here", results, *(["--folds"] if folds else []), file, "--", *options]
    return subprocess.run(command, env=environment, check=False, **run).returncode


def outcomes_of(file: str, folds: bool, elements: int, folder: Path, seconds: float) -> dict[str, tuple[str, str]]:
    """What has become of each test of a file; a process that dies in one is followed by another for the rest."""
    path = folder / f"{file}.{f'folding{elements}' if folds else 'plain'}.jsonl"
    done = path.with_suffix(".done")
    if done.exists():
        return read(path)
    for _ in range(MOST_DEATHS):
        known = len(read(path))
        with path.with_suffix(".log").open("a", encoding="utf-8") as log:
            try:
                start(file, folds, str(path), elements, [], cwd=folder, stdout=log, stderr=log, timeout=seconds)
            except subprocess.TimeoutExpired:
                print(f"{file}: took more than {seconds:.0f} s", flush=True)
                break
        found = read(path)
        if len(found) == known or list(found.values())[-1][0] != "died":
            break
    done.touch()
    return read(path)


def exceptions() -> dict[str, str]:
    """The reason for each test that may fail, by its name; a name without brackets stands for all parameters of a test."""
    entries = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["exceptions"]
    return {name: entry["reason"] for entry in entries for name in entry["tests"]}


def entry_of(name: str, listed: dict[str, str]) -> str | None:
    """The entry that allows a test to fail."""
    return next((found for found in (name, name.partition("[")[0]) if found in listed), None)


class Count:
    """What passes, what fails, and what of it is listed."""

    def __init__(self) -> None:
        self.listed = exceptions()
        self.passed = self.expected = self.allowed = 0
        self.unlisted: list[str] = []
        self.failing: set[str] = set()
        self.seen: set[str] = set()

    def add(self, file: str, plain: dict[str, tuple[str, str]], folding: dict[str, tuple[str, str]], shows: bool) -> None:
        """Print a file's line, and its failures."""
        names = [name for name, (outcome, _) in plain.items() if outcome == "passed"]
        failed = [name for name in names if folding.get(name, ("", ""))[0] != "passed"]
        self.passed, self.expected = self.passed + len(names) - len(failed), self.expected + len(names)
        self.seen.update(entry for name in names if (entry := entry_of(name, self.listed)) is not None)
        entries = {name: entry_of(name, self.listed) for name in failed}
        unlisted = [name for name, entry in entries.items() if entry is None]
        self.unlisted += unlisted
        self.failing.update(entry for entry in entries.values() if entry is not None)
        allowed = len(failed) - len(unlisted)
        self.allowed += allowed
        more = f", {allowed} listed" * bool(allowed) + f", {len(unlisted)} NOT LISTED" * bool(unlisted)
        print(f"{file}: {len(names) - len(failed)} of {len(names)}{more}", flush=True)
        for name in failed if shows else unlisted:
            outcome, line = folding.get(name, ("did not run", ""))
            mark = " " if entries[name] else "!"
            print("  ", mark, name.removeprefix(file + "::"), outcome, line, flush=True)

    def verdict(self, elements: int) -> int:
        """Print the sum; 1 if something fails that is not listed."""
        share = f"{self.passed} of {self.expected} tests that pass on NumPy, {self.passed / max(self.expected, 1):.2%}"
        print(f"with folding arrays from {elements} element(s) up, {share} pass; {self.allowed} failures are listed with a reason")
        passing = sorted(self.seen - self.failing)
        for name in passing:
            print(f"passes here, though it is listed: {name}")
        return bool(self.unlisted)


def arguments() -> tuple[argparse.Namespace, list[str]]:
    """The options, and what stands after ``--``."""
    own, _, rest = " ".join(map(shlex.quote, sys.argv[1:])).partition(" -- ")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", default=FILES, help="modules such as numpy.linalg.tests.test_linalg")
    parser.add_argument("--elements", type=int, default=1, help="the number of elements from which arrays fold")
    parser.add_argument("--failures", action="store_true", help="print listed failures too")
    parser.add_argument("--smoke", action="store_true", help="only the files that take seconds")
    parser.add_argument("--resume", action="store_true", help="keep the outcomes of an earlier run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of outcomes")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="after which a file is given up")
    parser.add_argument("--debug", metavar="ARGUMENTS", help="a file and options of pytest, which runs it on folding arrays")
    parser.add_argument("--here", metavar="RESULTS", help=argparse.SUPPRESS)
    parser.add_argument("--folds", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(shlex.split(own.removesuffix(" --"))), shlex.split(rest)


def main() -> int:
    """Print a line for each file, what fails unexpectedly, and the sum."""
    given, rest = arguments()
    if given.here is not None:
        run_here(given.files[0], given.folds, given.here, rest)
        return 0
    if given.debug:
        file, *options = shlex.split(given.debug)
        return start(file, True, "", given.elements, options)
    folder = given.results / f"numpy-{version('numpy')}-python-{platform.python_version()}"
    folder.mkdir(parents=True, exist_ok=True)
    count = Count()
    for file in SMOKE if given.smoke else given.files:
        if not given.resume:
            for path in folder.glob(f"{file}.folding{given.elements}.*"):
                path.unlink()
        plain, folding = (outcomes_of(file, folds, given.elements, folder, given.seconds) for folds in (False, True))
        count.add(file, plain, folding, given.failures)
    return count.verdict(given.elements)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "backends")]
    sys.exit(main())
