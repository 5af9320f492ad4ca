"""Drawings as text: Mermaid, for Markdown viewers, and SVG, for browsers and notebooks."""

from ..formats.files import write_file

__all__ = ["Mermaid", "Svg"]


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

    def _repr_svg_(self) -> str:
        return str(self)
