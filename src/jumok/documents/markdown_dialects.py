"""What dialects add to CommonMark: it is copied, and no prose.

Math, footnotes, task lists, directives, admonitions, shortcodes and tags of site generators,
attributes, citations, wiki links, definition lists. Patterns are linear: none can start a second
time within what one start has read.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jumok.errors import optional_import

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

FROZEN = "frozen"
COPIED = "copied"
SPAN_OPEN, SPAN_CLOSE = "span_open", "span_close"
"""The ends of words with attributes ([words]{.class}) or a link, of highlighted or added ones."""

_BRACES = r"\{[^{}]*+\}"
for _ in range(3):
    _BRACES = rf"\{{(?:[^{{}}]|{_BRACES})*+\}}"

_INLINE = re.compile(
    r"""
    (?P<frozen>
        (?<![\\$])\$\$(?:[^$\\]|\\.)++\$\$
      | (?<![\\$\w])\$(?=[^\s$])(?:`[^`$]++`|(?:[^$\\`]|\\.)*+)(?<!\s)\$(?![\d$])
      | (?<!\\)\\{1,2}\((?=[^()]*[\\^_=+{}])(?:[^\\]|\\(?!\\?[()]))*+\\{1,2}\)
      | (?<!\\)\\{1,2}\[(?=[^\[\]]*(?:[\^_=+{}]|\\[a-z]))(?:[^\\]|\\(?!\\?[\[\]]))*+\\{1,2}\]
      | \{\{[^<%{}][^{}]*+\}\}                    # a variable
      | \{[\w.$()\[\]'"]++\}                       # of MDX
    )
  | (?P<copied>
        \A\[[ xX]\](?=[ \t])                      # a box of a task list
      | (?<=\n):[ \t]++(?=\S)                      # the definition of several terms
      | (?<!\S)\^[\w-]++\Z                         # the name of a block
      | (?<=\S)(?<![\\^~])(?:~[^~\s]{1,20}~|\^[^\^\s]{1,20}\^)  # an index, an exponent
      | !\[[^\]\[]*+\]\[[^\]\[]*+\]                # an image
      | (?<!%)%%[^%]++%%                           # a comment
      | \[\^[^\]\[\s]++\]:?                        # a footnote's mark, and its definition
      | \^\[[^\]\[]*+\]                            # a footnote in the text
      | \[![A-Za-z]++\][+-]?                       # the kind of a quotation: [!NOTE]
      | \[-?@[^\]\[]++\](?![(\[])                  # citations, and no link to a person
      | !?\[\[[^\]\[]++\]\](?!\()                  # a wiki link, and no link of [1]
      | \{\{[<%][^{}]*+\}\}                        # a shortcode
      | \{%(?:[^%{]|%(?!\})|\{(?!%))*+%\}          # a tag of a template
      | \{[ ]?[:\#.][^{}]*+\}                      # attributes
      | \{/\*(?:[^*{]|\*(?!/)|\{(?!/\*))*+\*/\}  # a comment of MDX
      | (?<![\w:]):[a-z0-9_+-]++:(?![\w:])         # an emoji by its name
    )
  | (?<![\w=])(?P<marked_open>==)(?=[^\s=])[^=$\\`\[{]++(?<!\s)(?P<marked_close>==)(?!=)
  | (?<![\w+])(?P<added_open>\+\+)(?=[^\s+])[^+$\\`\[{]++(?<!\s)(?P<added_close>\+\+)(?!\+)
  | (?P<unpaired>(?<!=)==(?!=) | (?<!\+)\+\+(?!\+))  # of highlighted and inserted text
  | (?<!\])(?P<attributes_open>\[)[^\]\[]++(?P<attributes_close>\]\{[ ]?[:\#.][^{}]*+\})
  | (?<![\]!])(?P<link_open>\[)(?!\^)[^\]\[]++(?P<link_close>\]\[[^\]\[]++\])(?!\[)
  | (?P<html_inline>                               # a tag of MDX with braces
        (?=<[A-Za-z][^<>{]*+\{) <[\w.:-]++
        (?: \s++ (?: [\w:-]++ (?:="[^"]*+"|='[^']*+'|(?!=)) | (?:[\w:-]++=)?+ BRACES ) )*+
        \s*+ /?>
    )
    """.replace("BRACES", _BRACES),
    re.VERBOSE | re.DOTALL,
)

_LINE = re.compile(
    r"""
    :{3,}.*                                        # a fence of a directive
  | \{\{[^{}]*\}\} | \{%[^%]*%\} | \{[:\#.][^{}]*\}
  | \[TOC\] | \[\[_?TOC_?\]\]
  | \*\[[^\]\[]+\]:.*                             # an abbreviation
  | \([\w.:-]+\)=                                # the name of what follows
  | ;?-{2,}8<-{2,}.* | <<<[ ]?[@./].* | \{!.*!\} | @\[[\w-]+\](?:\(.*\))?  # another file
  | \\[A-Za-z]+(?:\[[^\[\]]*\])?(?:\{[^{}]*\})*   # of LaTeX
    """,
    re.VERBOSE,
)
"""A line that is copied, and ends a paragraph."""

_OPTION = re.compile(r":[\w-]+:(?=\s|\Z)")
"""The beginning of a line with an option of a directive, below its fence."""

_MODULE = re.compile(
    r"""
    import\s(?:[\w*{}\s,]+\sfrom\s)?["'][^"']*["'];?
  | import\s[\w*\s,]*\{[\w\s,]*
  | export\s(?:const|let|default|function|async|class)\b.*[=({].*
    """,
    re.VERBOSE,
)
"""The first line of what MDX imports or exports, which ends where its brackets are closed."""

_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?|===\+?)[ \t]+[\w\"'].*")
"""A line that is copied; what is indented below is text."""

_FORMULAS = (
    (re.compile(r"\$\$"), re.compile(r".*\$\$\s*")),
    (re.compile(r"\\\["), re.compile(r".*\\\]\s*")),
    (re.compile(r"\\begin\{[^{}]+\}"), re.compile(r".*\\end\{[^{}]+\}\s*")),
    (re.compile(r"%%"), re.compile(r".*%%\s*")),
    (
        re.compile(r"\{\{[<%]\s*(?:highlight|mermaid|katex)\b"),
        re.compile(r"\{\{[<%]\s*/\s*(?:highlight|mermaid|katex)\b.*"),
    ),
    (
        re.compile(r"\{%-?\s*(?:highlight|raw|code|codeblock|math)\b"),
        re.compile(r"\{%-?\s*end(?:highlight|raw|code|codeblock|math)\b.*"),
    ),
)
"""The beginning of a block that is copied whole, and its last line."""


def add_dialects(parser: "MarkdownIt") -> None:
    """Teaches the parser the constructs of this module.

    Their inline tokens are `frozen`, for what is a part of the sentence, `copied`, or ends of a
    span; blocks are `copied`.
    """
    with optional_import("reading Markdown", extra="documents"):
        from mdit_py_plugins.deflist import deflist_plugin
        from mdit_py_plugins.footnote import footnote_plugin
    parser.use(deflist_plugin).use(footnote_plugin)
    # Only definitions: a footnote's text stays in its place, and its mark is copied.
    parser.disable(["footnote_inline", "footnote_ref", "footnote_tail"])
    parser.inline.ruler.before("escape", COPIED, _inline)
    ended = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", COPIED, _block, {"alt": ended})


def _inline(state: "StateInline", silent: bool) -> bool:
    texts = state.env.setdefault(COPIED, {})
    if state.src not in texts:
        texts[state.src] = {start: (kind, end) for kind, start, end in _inline_spans(state)}
    kind, end = texts[state.src].get(state.pos, ("", 0))
    if not kind or end > state.posMax:
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content = token.markup = state.src[state.pos : end]
    state.pos = end
    return True


def _inline_spans(state: "StateInline") -> Iterator[tuple[str, int, int]]:
    """The kinds and spans of the constructs in a text."""
    with optional_import("reading Markdown", extra="documents"):
        from markdown_it.common.utils import normalizeReference
    known = state.env.get("references", {})
    for match in _INLINE.finditer(state.src):
        last = str(match.lastgroup)
        if last == "link_close" and normalizeReference(match[last][2:-1]) in known:
            continue  # the parser reads it
        if last.endswith("_close"):
            yield SPAN_OPEN, *match.span(last.replace("_close", "_open"))
            yield SPAN_CLOSE, *match.span(last)
        else:
            yield COPIED if last == "unpaired" else last, *match.span()


def _block(state: "StateBlock", first: int, end: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    line = _source_line(state, first)
    admonition = _ADMONITION.fullmatch(line)
    last = _last_line(state, line, first, end)
    if last is None and (admonition or _LINE.fullmatch(line.rstrip())):
        last = first
        while (
            line.startswith(":::")
            and last + 1 < end
            and _OPTION.match(_source_line(state, last + 1))
        ):
            last += 1
    if last is None:
        return False
    if not silent:
        state.line = last + 1
        state.push(COPIED, "", 0).map = [first, state.line]
        if admonition:
            state.blkIndent += 4
            state.md.block.tokenize(state, state.line, end)
            state.blkIndent -= 4
    return True


def _last_line(state: "StateBlock", line: str, first: int, end: int) -> int | None:
    """The last line of a block that is copied whole; None: none begins here, or none ends it."""
    if _MODULE.fullmatch(line.rstrip()):
        return _balanced(state, first, end)
    for number, (begin, close) in enumerate(_FORMULAS):
        start = begin.match(line)
        if start is None:
            continue
        if close.fullmatch(line, start.end()):
            return first
        unclosed = state.env.setdefault("unclosed", set())
        if (number, end) in unclosed:
            return None
        for other in range(first + 1, end):
            if close.fullmatch(_source_line(state, other)):
                return other
        unclosed.add((number, end))
    return None


def _balanced(state: "StateBlock", first: int, end: int) -> int:
    """The line on which all brackets are closed that are opened from here, or the first."""
    unclosed = state.env.setdefault("unclosed", set())
    if ("brackets", end) in unclosed:
        return first
    depth = 0
    for number in range(first, end):
        line = _source_line(state, number)
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0:
            return number
    unclosed.add(("brackets", end))
    return first


def _source_line(state: "StateBlock", number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
