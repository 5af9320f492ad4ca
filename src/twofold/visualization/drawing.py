"""Drawings for browsers and notebooks: as SVG, and with the package graphviz if it is installed."""

import importlib
import math
import re
from collections.abc import Callable, Iterable
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from ..formats.files import join_path, write_file
from ..formats.urls import is_url

#: The name of a file or folder, for the methods of graphviz; they choose a name for None.
Place = str | PathLike[str] | None
#: The first line of a drawing has its size.
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
#: Sizes in pixels of a title: its margin, its height with the gap above, and the width of a bold letter.
MARGIN, TITLE, LETTER = 8, 26, 8


class Svg(str):
    """A drawing as SVG, for browsers and notebooks. Rendered to ``<filename>.svg``."""

    __slots__ = ()

    @property
    def source(self) -> str:
        """The text."""
        return str(self)

    def render(self, filename: str = "plot") -> str:
        """Write the text to a file of that name with the suffix ``.svg``; return the file's name."""
        path = f"{filename}.svg"
        write_file(path, [self.encode()])
        return path

    @classmethod
    def of(cls, width: float, height: float, elements: Iterable[str], scales: bool = False) -> "Svg":
        """A drawing with small text from SVG elements, with its size in pixels. ``scales``: it is narrowed to fit the page."""
        box = f' viewBox="0 0 {width:.0f} {height:.0f}"' if scales else ""
        size = f'width="{width:.0f}" height="{height:.0f}"{box}'
        # a white background suits the colors and black text even on a dark page; with a fixed height, a narrowed drawing would leave a gap
        style = "background:#fff;max-width:100%;height:auto" if scales else "background:#fff"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}" font-family="sans-serif" font-size="11">'
        return cls("\n".join([head, *elements, "</svg>"]) + "\n")

    def _repr_svg_(self) -> str:
        return str(self)


def size_text(nbytes: float) -> str:
    """A number of bytes as people read it: ``306 KiB``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.3g} {unit}" if nbytes < 1000 else f"{nbytes:.0f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.3g} TiB"


def round_step(least: float) -> float:
    """The distance of ticks with short labels: 1, 2 or 5 times a power of ten, the next one from ``least`` on."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next((m for m in (1, 2, 5) if m * power >= least), 10)


def stacked(drawings: Iterable[tuple[str, Svg]]) -> Svg:
    """Drawings below each other, each below its title."""
    lines, width, top = [], 0.0, 0.0
    for title, drawing in drawings:
        found = SIZE.search(drawing)
        assert found is not None
        lines.append(f'<text x="{MARGIN}" y="{top + TITLE - 6:.0f}" font-weight="bold" font-size="13">{escape(title)}</text>')
        lines.append(f'<g transform="translate(0 {top + TITLE:.0f})">{drawing}</g>')
        width, top = max(width, float(found[1]), MARGIN + LETTER * len(title)), top + TITLE + float(found[2])
    return Svg.of(width, top, lines, scales=True)


def digraph(title: str, save_format: str, drawn: Callable[[], Svg]) -> Any:
    """An empty ``graphviz.Digraph``, whose files may be at URLs; None if the package graphviz is not installed.

    Parameters
    ----------
    title, save_format
        Its name, and the format in which graphviz renders it.
    drawn
        Makes the same graph as SVG, for machines without graphviz's program ``dot``.
    """
    try:
        graphviz = importlib.import_module("graphviz")
    except ImportError:
        return None

    # made here, because its base class exists only where graphviz is installed
    class Digraph(graphviz.Digraph):
        def save(self, filename: Place = None, directory: Place = None, **options: object) -> str:
            """As ``graphviz.Digraph.save``. A file for a URL is written to a temporary folder first, and sent from there."""
            return self._sent(super().save, filename, directory, **options)

        def render(self, filename: Place = None, directory: Place = None, view: bool = False, **options: object) -> str:
            """As ``graphviz.Digraph.render``; if the program ``dot`` is missing, the file is the SVG of ``drawn``.

            A file for a URL is written to a temporary folder first, and sent from there.
            """
            try:
                return self._sent(super().render, filename, directory, view=view, **options)
            # raised when `dot` is started: the package is there, the program is not
            except graphviz.ExecutableNotFound:
                return drawn().render(self._whole(filename or self.filename, directory))

        def _repr_mimebundle_(self, *args: Any, **options: Any) -> dict[str, str]:
            try:
                return super()._repr_mimebundle_(*args, **options)
            except graphviz.ExecutableNotFound:
                return {"image/svg+xml": drawn()}

        def _whole(self, filename: Place, directory: Place) -> str:
            return join_path(directory, str(filename or self.filename)) if directory else str(filename or "")

        def _sent(self, write: Callable[..., str], filename: Place, directory: Place, **options: object) -> str:
            whole = self._whole(filename, directory)
            if not is_url(whole):
                return write(filename, directory=directory, **options)
            import tempfile  # imported here, because it takes long to load

            folder, _, name = whole.rpartition("/")
            with tempfile.TemporaryDirectory() as local:
                found = write(name, directory=local, **options)
                for path in Path(local).iterdir():
                    write_file(join_path(folder, path.name), [path.read_bytes()])
            return join_path(folder, Path(found).name)

    return Digraph(name=title, format=save_format)
