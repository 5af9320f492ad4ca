"""Builds what is released into ``dist``: an sdist, a wheel, a bill of materials, checksums; each is tried where nothing else is installed.

Run by `make release`. Every Python that is found installs the wheel, and the first the sdist too, into a new environment in a
temporary folder, and runs `tests/release/smoke.py` there, without the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SMOKE = ROOT / "tests/release/smoke.py"
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14", "python3.13t", "python3.14t")
#: Where pyenv and uv keep interpreters, from the home folder.
KEPT = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")


def run(*words: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """The output of a command, which ends everything if it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def module(name: str, *words: str | Path, **variables: str) -> str:
    """The output of a module of this environment that runs as a program."""
    return run(sys.executable, "-m", name, *words, **variables)


def found_pythons() -> Iterator[str]:
    """The interpreters that Twofold supports and this machine has."""
    for name in PYTHONS:
        kept = (str(path / name) for folder in KEPT for path in sorted(Path.home().glob(folder), reverse=True) if (path / name).exists())
        # pyenv puts a name on the path also of a version that it does not run
        yield from [path for path in filter(None, [shutil.which(name), *kept]) if starts(path)][:1]


def starts(python: str) -> bool:
    """Whether an interpreter runs."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def build() -> list[Path]:
    """Build the sdist, and the wheel from it; the times in both are those of the commit, so that a second build gives the same bytes."""
    shutil.rmtree(DIST, ignore_errors=True)
    module("build", "--no-isolation", "--outdir", DIST, ROOT, SOURCE_DATE_EPOCH=run("git", "log", "-1", "--format=%ct").strip())
    files = sorted(DIST.iterdir())
    module("twine", "check", "--strict", *files)
    return files


def environment(python: str, package: Path, folder: Path) -> Path:
    """The interpreter of a new environment with nothing but a package and what it requires."""
    run(python, "-m", "venv", folder)
    own = folder / "bin/python"
    # binaries, since the newest NumPy has none for some versions of Python
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary", package)
    return own


def try_package(python: str, package: Path) -> str:
    """Install a package by a Python, and run the smoke tests in an empty folder; the line that they print."""
    with tempfile.TemporaryDirectory() as folder:
        own = environment(python, package, Path(folder) / "env")
        # -I: neither the current folder nor the user's packages can be imported
        return run(own, "-I", SMOKE, folder=Path(folder)).strip()


def write_materials(wheel: Path, python: str) -> Path:
    """Write the bill of materials (CycloneDX) of an environment with the wheel: what it requires, in the versions tried."""
    to = wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")
    with tempfile.TemporaryDirectory() as folder:
        own = environment(python, wheel, Path(folder) / "env")
        module("cyclonedx_py", "environment", own, "--pyproject", ROOT / "pyproject.toml", "--output-file", to)
    return to


def write_checksums(files: Iterable[Path]) -> None:
    """Write ``SHA256SUMS``, as ``sha256sum --check`` reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (DIST / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Build, check and try all of a release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pythons", metavar="NAMES", help="interpreters to try, with commas between (default: those that are found)")
    given = parser.parse_args()
    pythons = given.pythons.split(",") if given.pythons else list(found_pythons())
    if not pythons:
        sys.exit(f"make release: no Python was found: given {', '.join(PYTHONS)}; name one: ARGS='--pythons python3'")
    if run("git", "status", "--porcelain").strip():
        sys.exit("make release: the working tree differs from its commit; commit or stash what has changed")
    files = build()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    wheel, sdist = (next(file for file in files if file.name.endswith(ending)) for ending in (".whl", ".tar.gz"))
    print(f"Twofold {version}: {wheel.name} {wheel.stat().st_size:,} bytes, {sdist.name} {sdist.stat().st_size:,} bytes", flush=True)
    print(f"sdist  {try_package(pythons[0], sdist)}", flush=True)
    for python in pythons:
        print(f"wheel  {try_package(python, wheel)}", flush=True)
    write_checksums([*files, write_materials(wheel, pythons[0])])
    print(f"in {DIST.relative_to(ROOT)}: {', '.join(sorted(file.name for file in DIST.iterdir()))}")


if __name__ == "__main__":
    main()
