"""Drawings as text: Mermaid, which Markdown viewers show, and SVG, which browsers and notebooks show."""

from pathlib import Path

__all__ = ["Mermaid", "Svg"]


class _Text(str):
    """A drawing as text."""

    __slots__ = ()
    _ending = ""

    @property
    def source(self) -> str:
        """The text."""
        return str(self)

    def render(self, filename: str = "plot") -> str:
        """Write the text into a file of that name with the drawing's ending; returns its name."""
        path = Path(f"{filename}{self._ending}")
        path.write_text(self, encoding="utf-8")
        return str(path)


class Mermaid(_Text):
    """A drawing as Mermaid text, which Markdown viewers show; rendered into ``<filename>.mmd``."""

    __slots__ = ()
    _ending = ".mmd"


class Svg(_Text):
    """A drawing as SVG, which browsers and notebooks show; rendered into ``<filename>.svg``."""

    __slots__ = ()
    _ending = ".svg"

    def _repr_svg_(self) -> str:
        return str(self)
