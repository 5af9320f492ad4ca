"""NumPy's own tests with folding arrays in the place of its arrays, from one element up: how many of those that pass on NumPy pass.

    python tools/numpy_suite.py                                  every file of `FILES`; minutes to an hour
    python tools/numpy_suite.py numpy.linalg.tests.test_linalg   some
    python tools/numpy_suite.py --failures …                     with the last line of each failure

Each file runs twice, in processes of its own: on NumPy, and with its imports of numpy replaced. The tests are those of the installed NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
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
#: After which a file is given up.
SECONDS = 1800
#: How often a file is tried again without a test in which the process died.
MOST_DEATHS = 5


class Outcomes:
    """A plugin for pytest: what has become of each test, and the last line of what was wrong, written down as it happens."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115

    def note(self, name: str, outcome: str, line: str = "") -> None:
        """Add a line."""
        self.file.write(json.dumps([name, outcome, line]) + "\n")
        self.file.flush()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Until its end is noted, the process has died in it."""
        self.note(nodeid, "died")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test's worst phase."""
        if report.when == "call" or report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            line = (
                f"{Path(crash.path).name}:{crash.lineno}: {crash.message.partition(chr(10))[0]}" if crash else str(report.longrepr)[-200:]
            )
            self.note(report.nodeid, report.outcome, line if report.outcome == "failed" else "")

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be read fails as a whole."""
        if report.failed:
            self.note(report.nodeid, "failed", str(report.longrepr)[-200:])


def run_here(file: str, folds: bool, results: str, left_out: list[str]) -> None:
    """Run a file in this process."""
    import pytest

    if folds:
        from twofold.numpy_folding import importing, sites

        sites.HOT = 0
        spec = find_spec(file)
        assert spec is not None
        importing.install(importing.Importers(str(Path(str(spec.origin)).parent)))  # pytest imports some of them without their package
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-c", os.devnull, "--timeout=300", "--pyargs", file]
    options += [f"--deselect={name}" for name in left_out]
    pytest.main([*options, "-m", "not slow", "--tb=short", "-W", "ignore::pytest.PytestUnknownMarkWarning"], [Outcomes(results)])
    own = sys.modules.get(file) or sys.modules.get(file.rpartition(".")[2])
    assert not folds or getattr(own, "np", None) in (None, importing.load_face()), "the tests must import the face"


def outcomes_of(file: str, folds: bool, elements: int) -> dict[str, tuple[str, str]]:
    """What has become of each test of a file, in a process of its own; in another one without a test in which it dies."""
    environment = os.environ | {"TWOFOLD_FOLD_ELEMENTS": str(elements), "TWOFOLD_DEFER_ELEMENTS": str(elements), "OMP_NUM_THREADS": "1"}
    died: list[str] = []
    while True:
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results"
            command = [sys.executable, __file__, "--here", str(results), *(["--folds"] if folds else []), file, *died]
            try:
                subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                print(f"{file}: took more than {SECONDS} s", flush=True)
            lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
        found = {name: (outcome, line) for name, outcome, line in lines}
        found |= dict.fromkeys(died, ("died", ""))
        new = [name for name, (outcome, _) in found.items() if outcome == "died" and name not in died]
        if not new or len(died) >= MOST_DEATHS:
            return found
        died += new


def main() -> int:
    """Print a line for each file, the failures if asked for, and the sum."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", default=FILES, help="modules such as numpy.linalg.tests.test_linalg")
    parser.add_argument("--elements", type=int, default=1, help="the number of elements from which arrays fold")
    parser.add_argument("--failures", action="store_true", help="print what fails with folding arrays only")
    parser.add_argument("--here", metavar="RESULTS", help=argparse.SUPPRESS)
    parser.add_argument("--folds", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        run_here(given.files[0], given.folds, given.here, given.files[1:])
        return 0
    passed = expected = 0
    for file in given.files or FILES:
        plain, folding = (outcomes_of(file, folds, given.elements) for folds in (False, True))
        names = [name for name, (outcome, _) in plain.items() if outcome == "passed"]
        failed = [name for name in names if folding.get(name, ("", ""))[0] != "passed"]
        passed, expected = passed + len(names) - len(failed), expected + len(names)
        print(f"{file}: {len(names) - len(failed)} of {len(names)}", flush=True)
        for name in failed if given.failures else ():
            outcome, line = folding.get(name, ("did not run", ""))
            print("   ", "::".join(name.split("::")[1:]), outcome, line, flush=True)
    share = f"{passed} of {expected} tests that pass on NumPy, {passed / max(expected, 1):.2%}"
    print(f"with folding arrays from {given.elements} element(s) up, {share} pass")
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "backends")]
    sys.exit(main())
