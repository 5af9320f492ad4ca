"""A store in memory, as fsspec has one, for tests of files at URLs; what is fetched from it is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def counted_fetches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is fetched from now on from stores in memory, a list that grows."""
    from fsspec.implementations.memory import MemoryFileSystem

    sizes: list[int] = []
    fetch, open_file = MemoryFileSystem.cat_file, MemoryFileSystem._open

    def cat_file(self: MemoryFileSystem, path: str, start: int | None = None, end: int | None = None) -> bytes:
        found = fetch(self, path, start, end)
        sizes.append(len(found))
        return found

    def _open(self: MemoryFileSystem, path: str, mode: str = "rb", **options: Any) -> Any:
        assert mode != "rb", f"{path} was opened, and what is read then is not counted"
        return open_file(self, path, mode, **options)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    monkeypatch.setattr(MemoryFileSystem, "_open", _open)
    return sizes
