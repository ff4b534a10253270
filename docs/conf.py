"""Settings of Sphinx for `./book`, which copies the pages into one folder and builds them there."""

import re

project = "pointillist"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_show_copyright = False
html_title = "pointillist"
html_static_path = ["_static"]
html_css_files = ["book.css"]
root_doc = "index"
myst_heading_anchors = 4
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]
default_role = "code"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "groupwise"

#: The page with the numbered equations: every one becomes a block with an address (`#eq-7`), to which its number in the text leads.
EQUATIONS = "docs/derivation"
NUMBER = re.compile(r"\((\d+)\) ")


def equations(text):
    """The page with a target before every equation, and links to them."""
    known = set(re.findall(r"^\((\d+)\) ", text, re.MULTILINE))
    pieces = re.split(r"^```\n(.*?)^```\n", text, flags=re.MULTILINE | re.DOTALL)
    link = re.compile(r"(?<![\w`\])])\((\d+)\)(?![`\w])")

    def linked(prose):
        # Not inside of `code`.
        parts = prose.split("`")
        parts[::2] = [link.sub(lambda found: f"[{found[0]}](#eq-{found[1]})" if found[1] in known else found[0], part) for part in parts[::2]]
        return "`".join(parts)

    def block(lines):
        found = NUMBER.match(lines[0])
        target = f"\n(eq-{found[1]})=\n" if found else "\n"
        return f"{target}```{{code-block}} text\n:class: equation\n\n{''.join(lines)}```\n"

    def split(code):
        blocks = []
        for line in code.splitlines(keepends=True):
            if not blocks or NUMBER.match(line):
                blocks.append([])
            blocks[-1].append(line)
        return "".join(block(lines) for lines in blocks) + "\n"

    return "".join(split(piece) if i % 2 else linked(piece) for i, piece in enumerate(pieces))


def read(app, name, source):
    if name == EQUATIONS:
        source[0] = equations(source[0])


def setup(app):
    app.connect("source-read", read)
