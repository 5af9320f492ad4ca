"""Drawings as text, Mermaid for Markdown viewers and SVG for browsers and notebooks, and by the package graphviz, if it is installed."""

import importlib
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ..formats.files import join_path, write_file
from ..formats.urls import is_url

#: The name of a file or folder, for the methods of graphviz, which choose one for None.
Place = str | PathLike[str] | None


class _Text(str):
    """A drawing as text."""

    __slots__ = ()
    _suffix = ""

    @property
    def source(self) -> str:
        """The text."""
        return str(self)

    def render(self, filename: str = "plot") -> str:
        """Write the text to a file of that name with the format's suffix; return the file's name."""
        path = f"{filename}{self._suffix}"
        write_file(path, [self.encode()])
        return path


class Mermaid(_Text):
    """A drawing as Mermaid text, for Markdown viewers. Rendered to ``<filename>.mmd``."""

    __slots__ = ()
    _suffix = ".mmd"


class Svg(_Text):
    """A drawing as SVG, for browsers and notebooks. Rendered to ``<filename>.svg``."""

    __slots__ = ()
    _suffix = ".svg"

    @classmethod
    def of(cls, width: float, height: float, elements: Iterable[str], scales: bool = False) -> "Svg":
        """A drawing of a size in pixels with small text, made of SVG's elements; whether all of it scales with its width on a page."""
        box = f' viewBox="0 0 {width:.0f} {height:.0f}"' if scales else ""
        size = f'width="{width:.0f}" height="{height:.0f}"{box}'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
        return cls("\n".join([head, *elements, "</svg>"]) + "\n")

    def _repr_svg_(self) -> str:
        return str(self)


def digraph(title: str, save_format: str) -> Any:
    """An empty ``graphviz.Digraph``, whose files may be at URLs; None if the package graphviz is not installed.

    Parameters
    ----------
    title, save_format
        Its name, and the format in which graphviz renders it.
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
            """As ``graphviz.Digraph.render``. A file for a URL is written to a temporary folder first, and sent from there."""
            return self._sent(super().render, filename, directory, view=view, **options)

        def _sent(self, write: Callable[..., str], filename: Place, directory: Place, **options: object) -> str:
            whole = join_path(directory, str(filename or self.filename)) if directory else str(filename or "")
            if not is_url(whole):
                return write(filename, directory=directory, **options)
            import tempfile  # here, as it takes long to load

            folder, _, name = whole.rpartition("/")
            with tempfile.TemporaryDirectory() as local:
                found = write(name, directory=local, **options)
                for path in Path(local).iterdir():
                    write_file(join_path(folder, path.name), [path.read_bytes()])
            return join_path(folder, Path(found).name)

    return Digraph(name=title, format=save_format)
