"""Imports every module of a package: ``python imports.py PACKAGE``, from the first folder of the module path that has it."""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

from answers import answer_lines, last_lines


def modules_of(package: str) -> list[str]:
    """The names of a package's modules, but for those that only run it."""
    root = next(Path(folder) for folder in sys.path if (Path(folder) / package).is_dir())
    paths = (path.relative_to(root).with_suffix("") for path in sorted((root / package).rglob("*.py")))
    return [".".join(path.parts[:-1] if path.name == "__init__" else path.parts) for path in paths if path.name != "__main__"]


def imported(package: str) -> dict[str, Any]:
    """For each module, what was wrong: an empty text for those that are imported."""
    sys.argv = sys.argv[:1]  # some modules parse it
    found = {}
    for name in modules_of(package):
        try:
            importlib.import_module(name)
            found[name] = ""
        except (Exception, SystemExit) as error:
            found[name] = last_lines(error)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answer_lines(imported)
