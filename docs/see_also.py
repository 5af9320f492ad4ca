"""Links from a page of the API reference to others: layers and their operators, functions that NumPy names beside one, guides that show it.

They end with the rows of the differences from MXNet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from numpy_docstrings import fields, of_numpy, sections

#: Layers by the operator that they apply.
LAYERS = {
    "Activation": ("gluon.nn.Activation",),
    "BatchNorm": ("gluon.nn.BatchNorm", "gluon.nn.BatchNormReLU"),
    "Convolution": ("gluon.nn.Conv1D", "gluon.nn.Conv2D", "gluon.nn.Conv3D"),
    "CTCLoss": ("gluon.loss.CTCLoss",),
    "Deconvolution": ("gluon.nn.Conv1DTranspose", "gluon.nn.Conv2DTranspose", "gluon.nn.Conv3DTranspose"),
    "Dropout": ("gluon.nn.Dropout",),
    "Embedding": ("gluon.nn.Embedding",),
    "Flatten": ("gluon.nn.Flatten",),
    "FullyConnected": ("gluon.nn.Dense",),
    "GroupNorm": ("gluon.nn.GroupNorm",),
    "InstanceNorm": ("gluon.nn.InstanceNorm",),
    "LayerNorm": ("gluon.nn.LayerNorm",),
    "LeakyReLU": ("gluon.nn.LeakyReLU", "gluon.nn.PReLU", "gluon.nn.ELU", "gluon.nn.SELU", "gluon.nn.GELU"),
    "Pad": ("gluon.nn.ReflectionPad2D",),
    "Pooling": (
        *(f"gluon.nn.{kind}Pool{axes}D" for kind in ("Max", "Avg") for axes in (1, 2, 3)),
        *(f"gluon.nn.Global{kind}Pool{axes}D" for kind in ("Max", "Avg") for axes in (1, 2, 3)),
    ),
    "RNN": ("gluon.rnn.RNN", "gluon.rnn.LSTM", "gluon.rnn.GRU"),
    "contrib.DeformableConvolution": ("gluon.contrib.cnn.DeformableConvolution",),
    "contrib.ModulatedDeformableConvolution": ("gluon.contrib.cnn.ModulatedDeformableConvolution",),
    "contrib.SyncBatchNorm": ("gluon.contrib.nn.SyncBatchNorm",),
}
OPERATORS = {layer: operator for operator, layers in LAYERS.items() for layer in layers}

DIFFERENCES = Path(__file__).parent / "reference" / "compatibility.md"
#: The folders whose pages teach by code, and how many of these a page links to at most.
TEACHING, MOST_SHOWN = ("tutorial", "guide", "how-to"), 3


class Row(NamedTuple):
    """A row of the differences from MXNet: its title, the section that it is in, and the names in its column about MXNet."""

    title: str
    section: str
    names: frozenset[str]

    @property
    def is_about_operators(self) -> bool:
        """Whether the names are those of operators."""
        return self.section.startswith("Operators ")

    @property
    def link(self) -> str:
        """A link to its section."""
        anchor = re.sub(r"[^\w\- ]", "", self.section.lower()).replace(" ", "-")
        return f"`{self.title.replace('`', '')} <../reference/compatibility.html#{anchor}>`__"


@cache
def rows() -> list[Row]:
    """The rows of all tables of the page of differences."""
    found, section = [], ""
    for line in DIFFERENCES.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif row := re.match(r"\| \*\*(.+?)\*\* \| (.*?) \| ", line):
            names = (re.match(r"[A-Za-z_][\w.]*", code) for code in re.findall(r"`([^`]+)`", row[2]))
            found.append(Row(row[1], section, frozenset(name.group() for name in names if name)))
    return found


def differences_of_name(namespace: str, name: str) -> list[Row]:
    """The rows that mention a class or function."""
    last = namespace.rpartition(".")[2]
    known = {f"{namespace}.{name}", f"mx.{namespace}.{name}", f"{last}.{name}"}
    # a plain word, such as ``create`` or ``pad``, may be that of another namespace; rows speak of NDArray as an operand
    alone = {name} if re.search(r"[A-Z_]", name) and name != "NDArray" else set[str]()
    return [row for row in rows() if row.names & (known if row.is_about_operators else known | alone)]


def differences_of_operator(names: list[str]) -> list[Row]:
    """The rows that mention an operator, which has several names below ``mx.nd``."""
    known = {f"{front}.{name}" for front in ("nd", "sym", "mx.nd", "mx.sym") for name in names}
    return [row for row in rows() if row.names & (known | {*names} if row.is_about_operators else known)]


class Teaching(NamedTuple):
    """A page that teaches: its name for Sphinx, its title, and how often it mentions each dotted name."""

    page: str
    title: str
    names: Counter[str]


@cache
def teaching() -> list[Teaching]:
    """The pages of the tutorials and guides."""
    found = []
    for folder in TEACHING:
        for path in sorted((DIFFERENCES.parents[1] / folder).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            dotted = re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", text)
            # `gluon.Trainer.step` mentions `gluon.Trainer`
            names = Counter(name[: end.start()] for name in dotted for end in re.finditer(r"\.|$", name))
            if path.stem != "index":
                found.append(Teaching(f"/{folder}/{path.stem}", re.search(r"^# (.+)", text, re.MULTILINE)[1].replace("`", ""), names))
    return found


def shown_in(known: Iterable[str]) -> str:
    """Links to the pages that mention one of these names: tutorials first, and of these the ones that do so most often."""
    counted = [(TEACHING.index(page.page.split("/")[1]), -sum(page.names[name] for name in known), page) for page in teaching()]
    first = sorted(found for found in counted if found[1])[:MOST_SHOWN]
    return "Shown in: " + ", ".join(f":doc:`{page.title} <{page.page}>`" for _, _, page in first) if first else ""


def beside_in_numpy(namespace: str, name: str, pages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The pages of the functions that NumPy's docstring of a function names beside it, with the texts of the links."""
    found = sections(getattr(of_numpy(f"{namespace}.{name}"), "__doc__", None) or "").get("See Also", "")
    for other in (other.removeprefix("numpy.") for field in fields(found) for other in field.names):
        page = next((p for p in (f"{namespace}.{other}", f"np.{other}") if p in pages and other != name), None)
        if page is not None:
            yield page, f"mx.{page}"


def links(pages: Iterable[tuple[str, str]], known: Iterable[str], differences: list[Row]) -> list[str]:
    """The directive with links to pages, given by their names and their texts, to others that mention known names, and to differences.

    Nothing if there are none.
    """
    lines = [
        ", ".join(f":doc:`{text} <{page}>`" for page, text in dict(pages).items()),
        shown_in(known),
        "Differences from MXNet 1.9.1: " + ", ".join(row.link for row in differences) if differences else "",
    ]
    shown = [text for line in filter(None, lines) for text in (f"   {line}", "")]
    return [".. seealso::", "", *shown] if shown else []


def of_name(namespace: str, name: str, pages: Iterable[str]) -> list[str]:
    """What the page of a class or function links to; of the functions that NumPy names beside it, those that are among the pages."""
    operator, last = OPERATORS.get(f"{namespace}.{name}"), namespace.rpartition(".")[2]
    others = [(f"op.{operator}", f"mx.nd.{operator}")] if operator else [*beside_in_numpy(namespace, name, pages)]
    known = dict.fromkeys((f"mx.{namespace}.{name}", f"{namespace}.{name}", f"{last}.{name}"))
    return links(others, known, differences_of_name(namespace, name))


def of_operator(names: list[str]) -> list[str]:
    """What the page of an operator links to."""
    known = [f"{front}.{name}" for front in ("mx.nd", "nd", "mx.sym", "sym", "F") for name in names]
    return links(((layer, f"mx.{layer}") for layer in LAYERS.get(names[0], ())), known, differences_of_operator(names))
