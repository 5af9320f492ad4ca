"""Adds what `asv_benchmarks/results` holds to the site: comparisons with other libraries as tables, and asv's plots of its history."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from printed import ROOT, Printed
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

sys.path.insert(0, str(ROOT))

from asv_benchmarks.pages import RESULTS, comparisons, has_history

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Where asv's plots are, from the folder of the page that links to them.
HISTORY = "history/index.html"


class Comparison(Printed):
    """A directive: the tables of all comparisons."""

    content_of = staticmethod(lambda: comparisons(RESULTS))


class History(SphinxRole):
    """A role: its text, with a link to asv's plots if asv has stored figures."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The link."""
        if not has_history(RESULTS):
            return [nodes.inline("", self.text)], []
        return [nodes.reference("", self.text, refuri=HISTORY)], []


def write_history(app: Sphinx, failure: Exception | None) -> None:
    """Have asv write its plots after the pages of Sphinx; it needs the revisions that it has measured."""
    if failure is None and app.builder.format == "html" and has_history(RESULTS):
        command = [sys.executable, "-m", "asv_benchmarks.pages", "--out", str(Path(app.outdir) / "benchmarks/history")]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode:
            logging.getLogger(__name__).info("asv's history was not written: %s", run.stderr.strip().rpartition("\n")[2])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of it."""
    app.add_directive("comparison", Comparison)
    app.add_role("history", History())
    app.connect("build-finished", write_history)
    return {"parallel_read_safe": True}
