"""Sphinx's settings of the site; build.py gives the language and the folders."""

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "jumok"
copyright = "the jumok developers"
release = version = importlib.metadata.version("jumok")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns: list[str] = []

myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer = "mathml"
myst_linkify_fuzzy_links = False
default_role = "code"
smartquotes = False  # "--" is the beginning of an option
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "exclude-members": "model_config"}
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = "jumok · 주목"
# html_static_path is build.py's, because it bundles a script.
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"}), ("figures.js", {"defer": "defer"})]
templates_path = [str(HERE / "templates")]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_show_sphinx = False
html_domain_indices = False


def literal(_app: Any, _what: str, _name: str, _it: Any, _options: Any, lines: list[str]) -> None:
    """Shows examples (indented text after an empty line) and tables of a docstring as they are."""
    if lines and lines[0].startswith("Alias for field number"):  # of a NamedTuple, by Python
        lines.clear()
    written: list[str] = []
    before = ""
    for number, line in enumerate(lines):
        table = line.startswith("|")
        opens = table and not before.startswith("|")
        if line.startswith("    ") and before and not before.startswith(" "):
            opens = not lines[number - 1].strip()
        written += ["", "::", ""] if opens else []
        written.append(f"    {line}" if table else line)
        before = line if line.strip() else before
    lines[:] = written


VALIDATED = re.compile(
    r"~?(?:\w+\.)?Annotated\[(.*?), ~?[\w.]*(?:PlainValidator|FieldInfo)\([^()]*\)\]"
)
"""A type with pydantic's record of its validation, which readers do not need."""


def signature(
    _app: Any,
    _what: str,
    _name: str,
    it: Any,
    _options: Any,
    given: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """A signature in plain Python, which Sphinx breaks into lines.

    The class of a protocol has none, because users do not call it.
    """
    if isinstance(it, type) and getattr(it, "_is_protocol", False):
        return "", None
    given, returned = (text and VALIDATED.sub(r"\1", text) for text in (given, returned))
    return given and given.replace("<factory>", "..."), returned


def other_language(
    app: Any, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """The page that the language switch leads to: the same one, or the one above it."""
    from pages import pages

    here = app.config.language
    only_here = {*pages(here)} - {*pages("en" if here == "ko" else "ko")}
    context["twin"] = page.partition("/")[0] if page in only_here else page


def formula(writer: Any, node: Any) -> None:
    """A formula as MathML, which needs no script.

    Raises:
        nodes.SkipNode: always: the formula's text is not written once more.
    """
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Adds formulas, and the search of Korean, by which English words are found, too."""
    from korean import Korean

    app.add_search_language(Korean)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("html-page-context", other_language)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", literal, priority=100)  # before napoleon
