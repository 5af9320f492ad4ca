"""The pages of the API reference, written once, in a process of their own: examples register classes and set seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.house.sources import ROOT

sys.path.insert(0, str(ROOT / "docs"))
WRITE = "import json, sys, api_pages; found = dict(api_pages.pages()); json.dump(found, open(sys.argv[1], 'w'))"


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> dict[str, str]:
    """All pages by their names; every example on them has run."""
    target = tmp_path_factory.mktemp("pages") / "pages.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("docs", "src", "backends"))}
    run = subprocess.run([sys.executable, "-c", WRITE, str(target)], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(target.read_text(encoding="utf-8"))
