"""Creates the environment of the other libraries: ``python environment.py FOLDER [LIBRARY…]``; failed installations are recorded.

Imports only the standard library, since it runs in any Python.
"""

import json
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

LIBRARIES = ("jax", "numba", "numexpr", "torch")
#: Those that have builds for CPUs and for CUDA.
OF_TORCH = ("torch", "torchvision")
#: File with the reasons why libraries are missing.
NOTES = "absent.json"
#: Free bytes required for the build of torch that depends on CUDA.
SPACE_FOR_CUDA = 20 << 30


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def _pip(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python_of(folder)), "-m", "pip", *arguments, "--disable-pip-version-check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cpu_version(listing: str) -> str | None:
    """The newest CPU-only version in the output of ``pip index versions``; None if there is none."""
    found = re.search(r"\b\d[\w.]*\+cpu\b", listing)
    return found.group() if found else None


def torch_requirement(folder: Path, library: str, system: str, free: int) -> str | None:
    """The requirement for pip: a CPU-only build if the index has one, otherwise the default one if there is enough disk space.

    The default build for Linux on x86 depends on several gigabytes of CUDA libraries, without which it cannot be imported. That of
    torchvision does not work with a CPU-only torch, which pip replaces then.
    """
    version = cpu_version(_pip(folder, "index", "versions", library).stdout)
    if version is not None:
        return f"{library}=={version}"
    return library if system != "Linux-x86_64" or free >= SPACE_FOR_CUDA else None


def reason_of(errors: str) -> str:
    """The relevant line of pip's error output."""
    lines = [line for line in errors.splitlines() if line.startswith("ERROR")] or errors.splitlines() or ["pip failed"]
    return lines[-1].removeprefix("ERROR: ")


def install(folder: Path, libraries: Iterable[str]) -> dict[str, str]:
    """Install the libraries one by one; return the reasons for those that failed."""
    absent = {}
    for library in libraries:
        requirement: str | None = library
        if library in OF_TORCH:
            system = f"{platform.system()}-{platform.machine()}"
            requirement = torch_requirement(folder, library, system, shutil.disk_usage(folder).free)
        if requirement is None:
            absent[library] = f"no build for CPUs, and less than {SPACE_FOR_CUDA >> 30} GB free for the default one"
            continue
        result = _pip(folder, "install", "--quiet", requirement)
        if result.returncode != 0:
            absent[library] = reason_of(result.stderr)
    return absent


def main(folder: Path, libraries: Iterable[str]) -> None:
    """Create the environment, or complete it."""
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    absent = install(folder, libraries)
    (folder / NOTES).write_text(json.dumps(absent, indent=2) + "\n")
    for library, reason in absent.items():
        print(f"not installed: {library}: {reason}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or LIBRARIES)
