"""Which rows of ``docs/reference/compatibility.md`` describe a name of MXNet: a row mentions it, in a section about its module."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "compatibility.md"

#: The modules of MXNet that a section is about, by how its heading begins. The parts after ``mxnet`` may be left out at the end.
MODULES = {
    "Arrays of `mx.nd`": ("ndarray",),
    "NumPy and `mx.np`": ("numpy", "numpy_extension"),
    "MXNet's own dialect": ("numpy", "numpy_extension", "ndarray.numpy", "symbol.numpy"),
    "Gradients": ("autograd", "ndarray", "numpy", "numpy_extension", "contrib.autograd"),
    "Operators on arrays": ("ndarray", "symbol", "numpy", "numpy_extension", "contrib.ndarray", "contrib.symbol"),
    "Operators of neural networks": (
        "ndarray", "symbol", "numpy", "numpy_extension", "contrib.ndarray", "contrib.symbol", "contrib.amp", "contrib.quantization",
    ),
    "Symbols and executors": ("symbol", "executor", "visualization"),
    "Training": (
        "callback", "gluon.loss", "gluon.trainer", "initializer", "io", "kvstore", "lr_scheduler", "metric", "model", "optimizer",
    ),
    "`mx.profiler`": ("profiler", "engine", "monitor"),
    "`mx.mod`": ("module", "model"),
    "`mx.gluon`": ("gluon", "image", "io", "recordio"),
    "`mx.rnn`": ("rnn",),
    "`mx.contrib`": ("contrib", "ndarray.contrib", "symbol.contrib", "gluon.contrib"),
    "`mx.test_utils`": ("test_utils", "util", "runtime", "base", "gluon.utils"),
}  # fmt: skip
#: The first part of a name as programs write it.
SHORT = {
    "ndarray": "nd", "symbol": "sym", "numpy": "np", "numpy_extension": "npx", "module": "mod", "kvstore": "kv", "initializer": "init",
    "visualization": "viz",
}  # fmt: skip


class Row(NamedTuple):
    """A row of the page: its section, its title, and the names that its column about MXNet mentions."""

    section: str
    title: str
    mentioned: frozenset[str]


def rows() -> list[Row]:
    """The rows of the page."""
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| **"):
            _, title, theirs, *_ = line.split("|")
            found.append(Row(section, re.sub(r"[*`]", "", title).strip(), frozenset(mentions(theirs))))
    return found


def mentions(text: str) -> set[str]:
    """Names of which a text has code: ``nd.array`` of ``nd.array([x, y])``, but not the ``grad_req`` of ``grad_req="add"``, or ``type``."""
    found = {m[1] for code in re.findall(r"`([^`]+)`", text) if (m := re.match(r"([A-Za-z_][\w.]*+)(?!\s*=[^=])", code))}
    return found - {"type", "float", "int", "bool", "len"}


class Differences:
    """The rows of the page by the names that they mention."""

    def __init__(self) -> None:
        self.rows = rows()
        self._by_mention: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            for name in row.mentioned:
                self._by_mention[name].append(row)

    def titles(self) -> list[str]:
        """The titles of all rows, in the order of the page."""
        return [row.title for row in self.rows]

    def of(self, path: str, thing: Any) -> set[str]:
        """The titles of the rows that describe a name of MXNet, such as ``mxnet.ndarray.array``."""
        _, *parts = path.split(".")
        exact = {".".join(parts[-2:]), f"{SHORT.get(parts[0], parts[0])}.{parts[-1]}"}
        found = [row for name in exact if len(parts) > 1 for row in self._by_mention.get(name, ())]
        if callable(thing) and "random" not in parts:
            # a mention without its module, or of a method of a variable, such as `x.dot(y)`
            loose = [row for name, rows in self._by_mention.items() if is_loosely(name, parts[-1]) for row in rows]
            found += [row for row in loose if is_about(row.section, ".".join(parts))]
        return {row.title for row in found}


def is_loosely(mention: str, name: str) -> bool:
    """Whether a mention may be that of a name: it is the name, or a method of a variable of one letter."""
    return mention == name or re.fullmatch(rf"[a-z]\.{re.escape(name)}", mention) is not None


def is_about(section: str, path: str) -> bool:
    """Whether a section is about the module of a name."""
    modules = next(modules for begin, modules in MODULES.items() if section.startswith(begin))
    return any(f"{path}.".startswith(f"{module}.") for module in modules)
