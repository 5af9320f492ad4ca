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

extensions = [
    "myst_parser",
    "printed",
    "api_pages",
    "names_of_users",
    "linked_names",
    "linked_sources",
    "benchmark_pages",
    "descriptions",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sources",
    "sphinx.ext.viewcode",
]
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are text: as fields their words, such as "shape", would be links to members of that name
napoleon_use_ivar = True
# pages show no types, and one that has a member's name, such as `type`, would link to that member
napoleon_attr_annotations = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_templates"]

html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": project},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["release", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    # only the branch of the page: the whole tree, of 1,900 pages, would be 190 KB in each of them
    "collapse_navigation": True,
}
# the theme's script complains of a page without one
html_context = {"default_mode": "auto"}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"
html_sidebars = {"index": [], "install": [], "changelog": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
