"""Adds the pages of `asv_benchmarks.pages` to the site, below ``benchmarks``: comparisons with other libraries, and asv's history."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]


def write_pages(app: Sphinx, failure: Exception | None) -> None:
    """Write them after the pages of Sphinx; without asv or the repository's history, the pages of comparisons alone."""
    if failure is None and app.builder.format == "html":
        command = [sys.executable, "-m", "asv_benchmarks.pages", "--out", str(Path(app.outdir) / "benchmarks")]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode:
            logging.getLogger(__name__).info("asv's history was not written: %s", run.stderr.strip().rpartition("\n")[2])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of it."""
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True}
