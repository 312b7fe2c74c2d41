"""What Sphinx reads: Markdown by MyST, the theme Furo, nothing from the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

from docsite.unbroken import is_short, options_marked

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Misstep"
author = "The Misstep developers"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Misstep"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
smartquotes = False  # two hyphens are an option
pygments_style = "friendly"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
# Shortened JSON (`...`) and console output are no code of a language.
suppress_warnings = ["misc.highlighting_failure"]
html_static_path = ["static"]
html_css_files = ["site.css"]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _mark_short_code)
    app.connect("html-page-context", _mark_options)


def _mark_short_code(_: Sphinx, page: nodes.document) -> None:
    for code in page.findall(nodes.literal):
        if is_short(code.astext()):
            code["classes"].append("short")


def _mark_options(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: object) -> None:
    if "body" in context:
        context["body"] = options_marked(context["body"])
