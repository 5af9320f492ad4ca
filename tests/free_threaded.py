"""``make test-free-threaded``: the tests of threads on a Python without a global interpreter lock, where one can be found.

It looks for an interpreter of that name, then for `python3.14t` and `python3.13t` on the path and among those of pyenv and uv, and makes an
environment of its own for it. Where there is none it says so, and nothing has failed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-free"
NAMES = ("python3.14t", "python3.13t")
#: Where pyenv and uv keep interpreters, from the home folder.
KEPT = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")
#: What the core and its tests need, without the extras.
NEEDED = ("pytest>=9.2", "pytest-timeout>=2.3", "pytest-xdist>=3.6", "hypothesis>=6.100")
#: Tests of threads: by name in the core, and all of the scheduler's.
TESTS = ("tests/core", "tests/scheduler")
WORDS = "thread or lane or engine"
LACKING = "import sys; sys.exit(bool(getattr(sys, '_is_gil_enabled', lambda: True)()))"


def candidates(given: str | None, home: Path) -> Iterator[str]:
    """Interpreters that may do, the one that was asked for first."""
    if given:
        yield given
    for name in NAMES:
        yield from filter(None, [shutil.which(name)])
        for folder in KEPT:
            yield from (str(path / name) for path in sorted(home.glob(folder), reverse=True) if (path / name).exists())


def is_free_threaded(python: str) -> bool:
    """Whether an interpreter starts, and runs without the lock."""
    try:
        return subprocess.run([python, "-c", LACKING], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def found(given: str | None = None, home: Path | None = None) -> str | None:
    """The first interpreter without the lock; None if there is none."""
    return next((python for python in candidates(given, home or Path.home()) if is_free_threaded(python)), None)


def main(given: str | None = None) -> int:
    """Run the tests; 0 where there is no such interpreter."""
    python = found(given)
    if python is None:
        print(f"no Python without a global lock here: install one ({' or '.join(NAMES)}), or name it: make test-free-threaded FREE=…")
        return 1 if given else 0
    own = ENVIRONMENT / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", str(ENVIRONMENT)], check=True)
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
    subprocess.run([*pip, "--editable", ".", *NEEDED], cwd=ROOT, check=True)
    tests = [name for name in TESTS if (ROOT / name).exists()]
    return subprocess.run([own, "-X", "gil=0", "-m", "pytest", "-q", *tests, "-k", WORDS], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
