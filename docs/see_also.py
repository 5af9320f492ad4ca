"""Links from one page of the API reference to others: layers and their operators, and rows of the differences from MXNet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

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


def links(pages: Iterator[tuple[str, str]], differences: list[Row]) -> list[str]:
    """The directive with links to pages, given by their names and the texts of the links, and to differences; nothing if there are none."""
    lines = [
        ", ".join(f":doc:`{text} <{page}>`" for page, text in pages),
        "Differences from MXNet 1.9.1: " + ", ".join(row.link for row in differences) if differences else "",
    ]
    shown = [text for line in filter(None, lines) for text in (f"   {line}", "")]
    return [".. seealso::", "", *shown] if shown else []


def of_name(namespace: str, name: str) -> list[str]:
    """What the page of a class or function links to."""
    operator = OPERATORS.get(f"{namespace}.{name}")
    return links(((f"op.{each}", f"mx.nd.{each}") for each in [operator] if each), differences_of_name(namespace, name))


def of_operator(names: list[str]) -> list[str]:
    """What the page of an operator links to."""
    return links(((layer, f"mx.{layer}") for layer in LAYERS.get(names[0], ())), differences_of_operator(names))
