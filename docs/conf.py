"""Settings of Sphinx for `./book`, which copies the pages into one folder and builds them there."""

project = "pointillist"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pointillist"
root_doc = "index"
myst_heading_anchors = 4
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns: list[str] = []

try:  # pages of the Python package, where it is installed
    import pointillist  # noqa: F401
except ImportError:
    exclude_patterns.append("api.md")
else:
    extensions.append("sphinx.ext.autodoc")
    default_role = "code"
    autodoc_default_options = {"members": True, "imported-members": True}
