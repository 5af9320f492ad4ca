"""How Sphinx builds the documentation: Markdown pages in the PyData theme, every warning an error."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

sys.path.insert(0, str(Path(__file__).parent))  # for `printed`

project = "Twofold"
author = "The Twofold maintainers"
project_copyright = author
version = release = _project["version"]

extensions = ["myst_parser", "printed"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
