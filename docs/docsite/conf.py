"""What Sphinx reads: Markdown by MyST, the theme Furo, nothing from the network."""

from __future__ import annotations

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
