"""Sphinx configuration: Markdown pages, one per question a user asks."""

import segvote

project = "segvote"
author = "The segvote authors"
copyright = "The segvote authors"
version = release = segvote.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "segvote"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
autodoc_typehints = "none"
suppress_warnings = ["myst.header"]
