"""A plugin of pytest that runs only the tests that a file names: names on the command line do not find every parametrized test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the tests whose names stand in the file that ``CHOSEN_TESTS`` names."""
    path = os.environ.get("CHOSEN_TESTS")
    if path:
        chosen = set(Path(path).read_text(encoding="utf-8").splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
