"""Sphinx: the pages of docs/ and the reference from the docstrings. `make docs` runs it."""

project = "schedlab"
copyright = "the schedlab authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
root_doc = "index"
html_theme = "furo"
html_title = "schedlab"
html_extra_path = ["extra"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # It would fetch the pages, which a browser forbids from files.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
suppress_warnings = ["myst.header"]
