"""The elements of a Word document, by what becomes of them in a translation."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
TEXT_PARTS = ("document", "header", "footer", "footnotes", "endnotes")
# Wrappers that contain runs, and stay around them.
WRAPPERS = {f"{W}hyperlink", f"{W}ins", f"{W}moveTo", f"{W}smartTag", f"{W}sdt"}
# Parts of a run that do not end the sentence: each stays next to its word.
POINTS = {f"{W}footnoteReference", f"{W}endnoteReference", f"{W}drawing", f"{W}pict", f"{W}object"}
POINTS |= {f"{W}commentReference", f"{W}footnoteRef", f"{W}endnoteRef", f"{W}sym", f"{W}ruby"}
POINTS |= {"{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"}
# Children of a paragraph that do so: a formula, what was deleted, and the ends of what is marked.
BESIDE = {
    f"{W}del",
    f"{W}moveFrom",
    "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath",
}
STARTS = {f"{W}bookmarkStart": "bookmark", f"{W}commentRangeStart": "comment"}
ENDS = {f"{W}bookmarkEnd": "bookmark", f"{W}commentRangeEnd": "comment"}
MARKS = {*BESIDE, *STARTS, *ENDS}
# Elements with runs that are not part of the sentence around them.
INSIDE = {*WRAPPERS, f"{W}fldSimple"}
MOST_PROPERTIES = 1000
LETTERS = {f"{W}t", f"{W}noBreakHyphen"}
HYPHEN = "\u2011"
SILENT = {f"{W}rPr", f"{W}lastRenderedPageBreak", f"{W}softHyphen"}


def is_text(name: str) -> bool:
    """Whether a member of the archive is a part of the document with text."""
    folder, _, file = name.rpartition("/")
    return folder == "word" and file.endswith(".xml") and file.startswith(TEXT_PARTS)
