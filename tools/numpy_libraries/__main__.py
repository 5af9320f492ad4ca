"""Run the tests of libraries built on NumPy with folding arrays, beside NumPy: ``make test-numpy-libraries``.

    python -m tools.numpy_libraries                           everything; hours
    python -m tools.numpy_libraries --only pandas,numba --share 0.1
    python -m tools.numpy_libraries --only pandas --seed 3    other tests
    python -m tools.numpy_libraries --write                   also write the table in the docs

Of each library's own tests a sample, drawn with a seed, runs three times in processes of its own: on NumPy; with the arrays that the tests
make folding, so that the library gets what leaves the tests; and with the library's own Python code folding, too. All arrays fold, from one
element up. A test counts if it passes on NumPy. The exit status is 1 if one of these fails in another way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tomllib
import venv
from datetime import date
from pathlib import Path
from typing import Any

from tools.libraries.suites import read

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("libraries.toml")
PAGE = ROOT / "docs" / "reference" / "numpy-libraries.md"
FOLDER = ROOT / ".venv-numpy-libraries"
RESULTS = ROOT / "build" / "numpy_libraries"
CHOSEN = RESULTS / "chosen.txt"
KEPT = Path(__file__).with_name("results.json")
PYTHON = FOLDER / "bin" / "python"
SEED = 20
#: Of one test, and of one way of running a sample.
SECONDS, LIMIT = 120, 3600
#: Tests of a sample that one process runs, so that one that dies loses no more.
AT_ONCE = 250
WAYS = ("numpy", "tests", "package")

HEAD = """# Libraries built on NumPy

The own tests of libraries, with arrays that [fold](../inside/folding-arrays.md) from one element up. `make test-numpy-libraries` makes this
page (`tools/numpy_libraries` says how). Tried on {date}, with Python {python} and NumPy {numpy}.

* **Sample**: tests drawn from the library's own that pass with NumPy.
* **Tests fold**: how many pass if the arrays that the tests make fold. The library gets NumPy's own arrays from them.
* **Library folds**: how many pass if the library's own Python code folds, too (`--packages`); its compiled code gets what leaves that.

| library | sample | tests fold | library folds |
|---|---|---|---|
"""


def install(rows: list[dict[str, Any]]) -> None:
    """Make the environment, and add what these libraries need."""
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True)
    wanted = [*table()["environment"]["packages"], *(name for row in rows for name in [row["name"], *row.get("installs", ())])]
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", ROOT, *wanted], check=True)


def table() -> dict[str, Any]:
    """The table of libraries, read."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def pytest(row: dict[str, Any], way: str, words: list[str], log: Path, variables: dict[str, str] | None = None) -> str:
    """Run pytest on NumPy, or with what folds this way; its output."""
    package = row.get("package", row["name"])
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={site_packages()}", "-W", "ignore", f"--timeout={SECONDS}"]
    folding = [] if way == "numpy" else ["-m", "twofold", "run", "--numpy", "--packages", package if way == "package" else row["tests"]]
    environment = os.environ | {"TWOFOLD_FOLD_ELEMENTS": "1", "PYTHONPATH": str(ROOT)} | (variables or {})
    command = [PYTHON, *folding, "-m", "pytest", *options, "-p", "tools.numpy_libraries.chosen", *words]
    with log.open("w", encoding="utf-8") as file:
        subprocess.run(command, cwd=RESULTS, env=environment, stdout=file, stderr=file, timeout=LIMIT, check=False)
    return log.read_text(encoding="utf-8")


def site_packages() -> Path:
    """Where the libraries are."""
    return next((FOLDER / "lib").glob("python*/site-packages"))


def sample(row: dict[str, Any], share: float, seed: int) -> list[str]:
    """Some of a library's tests, by pytest's names."""
    said = pytest(row, "numpy", ["--collect-only", "--pyargs", *row.get("collected", [row["tests"]])], RESULTS / f"{row['name']}.collected")
    found = [line for line in said.splitlines() if "::" in line and not line.startswith(("ERROR", "FAILED"))]
    drawn = random.Random(seed).sample(found, min(len(found), round(row["count"] * share)))
    return sorted(drawn)


def outcomes(row: dict[str, Any], way: str, names: list[str]) -> dict[str, Any]:
    """How many tests pass, and what those say that fail."""
    found: dict[str, Any] = {"passed": 0, "skipped": 0, "failed": {}, "names": []}
    for k in range(0, len(names), AT_ONCE):
        report = RESULTS / f"{row['name']}_{way}_{k}.xml"
        report.unlink(missing_ok=True)
        CHOSEN.write_text("\n".join(names[k : k + AT_ONCE]), encoding="utf-8")
        files = sorted({str(site_packages() / name.partition("::")[0]) for name in names[k : k + AT_ONCE]})
        pytest(row, way, [f"--junitxml={report}", *files], report.with_suffix(".log"), {"CHOSEN_TESTS": str(CHOSEN)})
        part = read(report) if report.exists() else {"passed": 0, "skipped": 0, "failed": {f"tests {k} …": "the process died"}}
        found["passed"] += part["passed"]
        found["skipped"] += part["skipped"]
        found["failed"] |= part["failed"]
    return found


def compared(row: dict[str, Any], share: float, seed: int) -> dict[str, Any]:
    """A library's row of the page."""
    names = sample(row, share, seed)
    plain = outcomes(row, "numpy", names)
    result: dict[str, Any] = {"sample": plain["passed"], "differ": {}}
    for way in WAYS[1:]:
        found = outcomes(row, way, names)
        failed = {name: said.replace(str(site_packages()), "…").replace(str(ROOT), "…") for name, said in found["failed"].items()}
        differ = {name: said for name, said in failed.items() if name not in plain["failed"]}
        result[way], result["differ"][way] = plain["passed"] - len(differ), differ
        print(
            f"{row['name']}: {way}: {result[way]} of {plain['passed']}", *[f"  {n}: {s}" for n, s in differ.items()], sep="\n", flush=True
        )
    return result


def write(results: dict[str, Any], stamp: dict[str, str]) -> None:
    """Write the page."""
    lines = [f"| {name} | {r['sample']:,} | {r['tests']:,} | {r['package']:,} |" for name, r in results.items()]
    lines += [
        "",
        "## What differs",
        "",
        "An array that a library gives back is NumPy's array over the same memory, not the object that it was given: some of the",
        "failing tests of pandas and SciPy compare by `is`. Where a library's own code folds, its compiled code may find a folding",
        "array in an attribute of one of its objects, or as an index, and refuse it (`expected numpy.ndarray`). A script's arrays reach",
        "it as arguments, and these are NumPy's.",
        "",
    ]
    for name, r in results.items():
        for way, title in (("tests", "tests fold"), ("package", "library folds")):
            lines += [
                f"* {name}, {title}: `{test}`: {said.replace('|', ' ')[:120] or 'no message'}" for test, said in r["differ"][way].items()
            ]
    PAGE.write_text(HEAD.format(**stamp) + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Run what the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="test-numpy-libraries", description="Run libraries' own tests with folding arrays.")
    parser.add_argument("--only", default="", metavar="NAME,…", help="some libraries")
    parser.add_argument("--share", type=float, default=1.0, help="a part of each sample, for a quick look")
    parser.add_argument("--seed", type=int, default=SEED, help="another one draws other tests")
    parser.add_argument("--write", action="store_true", help="write the page and the results, which keep those of other libraries")
    given = parser.parse_args()
    rows = [row for row in table()["library"] if not given.only or row["name"] in given.only.split(",")]
    RESULTS.mkdir(parents=True, exist_ok=True)
    install(rows)
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"libraries": {}}
    failed = False
    for row in rows:
        kept["libraries"][row["name"]] = found = compared(row, given.share, given.seed)
        failed = failed or any(found["differ"].values())
        if given.write:
            numpys = subprocess.run([PYTHON, "-c", "import numpy; print(numpy.__version__)"], capture_output=True, text=True, check=True)
            kept["stamp"] = {"date": date.today().isoformat(), "python": sys.version.split()[0], "numpy": numpys.stdout.strip()}
            KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            write(kept["libraries"], kept["stamp"])
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
