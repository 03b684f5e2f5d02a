"""Sphinx: the Markdown pages here and the public docstrings."""

project = "Footprint"
author = "The Footprint developers"
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
source_suffix = {".md": "markdown"}
master_doc = "index"
autosummary_generate = False
myst_heading_anchors = 3
numpydoc_show_class_members = False
html_theme = "alabaster"
exclude_patterns = ["_build"]
