"""Tests on hosts of namespaces are skipped where none can be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.namespaces import missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    own = [item for item in items if Path(__file__).parent in item.path.parents]
    reason = missing() if own else ""
    for item in own if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))
