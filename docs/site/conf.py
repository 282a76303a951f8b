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
napoleon_use_ivar = True  # attributes stand once: autodoc lists the fields of dataclasses, too
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
suppress_warnings = ["myst.header"]


def _accessible(app, page, template, context, doctree):  # type: ignore[no-untyped-def]
    """Captions say which level of heading they are; code that scrolls can be reached by the keyboard."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = (
                context[part]
                .replace(
                    'class="caption" role="heading">',
                    'class="caption" role="heading" aria-level="2">',
                )
                .replace("<pre>", '<pre tabindex="0">')
            )


def setup(app):  # type: ignore[no-untyped-def]
    """Called by Sphinx."""
    app.connect("html-page-context", _accessible, priority=900)
