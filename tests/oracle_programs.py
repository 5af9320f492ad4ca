"""Programs that run on the real MXNet and on Twofold alike: their list, their results as JSON, and the file of MXNet's results."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

Programs = Mapping[str, Callable[[Any], Any]]


def programs_of(modules: Iterable[ModuleType]) -> dict[str, Callable[[Any], Any]]:
    """The public functions of modules, by module and name."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": function
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }


def plain(value: Any) -> Any:
    """A value as JSON: arrays by shape, dtype and content; numbers that JSON lacks as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return {"shape": list(value.shape), "dtype": np.dtype(value.dtype).name, "values": plain(value.asnumpy())}


def rounded(value: Any) -> Any:
    """A value as by `plain`, with numbers rounded to the digits of single precision, to keep the file readable."""
    found = plain(value)
    if isinstance(found, dict):
        return {key: rounded(item) for key, item in found.items()}
    if isinstance(found, list):
        return [rounded(item) for item in found]
    return float(f"{found:.8g}") if isinstance(found, float) else found


def files_in(folder: str) -> list[str]:
    """The names of the files in a folder, without the checksums that only checkpoints of Twofold write."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".sha256"))


def fails(action: Callable[[], Any]) -> bool:
    """Whether something raises an exception."""
    try:
        action()
    except Exception:
        return True
    return False


def difference(found: Any, expected: Any, tolerance: float, place: str = "") -> str | None:
    """Where two values first differ, with numbers compared up to a tolerance; None if they do not differ."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        pairs = [(f"{place}.{key}", found[key], expected[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        pairs = [(f"{place}[{k}]", f, e) for k, (f, e) in enumerate(zip(found, expected, strict=True))]
    elif isinstance(expected, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        return None if math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance / 10) else f"{place}: {found} for {expected}"
    else:
        return None if found == expected else f"{place}: {found!r} for {expected!r}"
    return next((text for where, f, e in pairs if (text := difference(f, e, tolerance, where))), None)


def write_values(script: str, programs: Programs, package: Any, written: Callable[[Any], Any] = plain) -> None:
    """Write the programs' results to `values.json` next to a script, one per line, and print their number."""
    lines = [f"{json.dumps(name)}: {json.dumps(written(program(package)), allow_nan=False)}" for name, program in programs.items()]
    text = ",\n".join(lines)
    (Path(script).parent / "values.json").write_text(f"{{\n{text}\n}}\n")
    print(f"{len(lines)} programs")
