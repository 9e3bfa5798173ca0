"""Word documents with what people put into them, by python-docx."""

import io
import random
from collections.abc import Callable

import docx
from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt, RGBColor

Say = Callable[[], str]
"""Returns a new sentence."""


def letter(draw: random.Random, say: Say) -> bytes:
    """A document with headings, formats, lists, tables, links, fields, changes and notes."""
    document = docx.Document()
    document.add_heading(say(), 0)
    for _ in range(draw.randint(6, 14)):
        draw.choice(_KINDS)(document, say)
    section = document.sections[0]
    section.header.paragraphs[0].text = say()
    section.footer.paragraphs[0].add_run(say()).italic = True
    document.core_properties.title = "Kept"
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _run(text: str, inner: str = "", properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr>{inner}<w:t xml:space="preserve">{text}</w:t></w:r>'


def _formats(document: Document, say: Say) -> None:
    paragraph = document.add_paragraph(f"{say()} ")
    paragraph.add_run(f"{say()} ").bold = True
    last = paragraph.add_run(say())
    last.font.color.rgb, last.font.size = RGBColor(0x42, 0x24, 0xE9), Pt(14)
    raised = paragraph.add_run("2")
    raised.font.superscript = True
    paragraph.add_run(f" {say()}").italic = True


def _split(document: Document, say: Say) -> None:
    """Runs that end within words, as spelling checkers leave them, with tabs and breaks."""
    paragraph = document.add_paragraph()
    text = say()
    for at in range(0, len(text), 5):
        paragraph.add_run(text[at : at + 5])
    paragraph.add_run(f"\t{say()}\n{say()}")


def _list(document: Document, say: Say) -> None:
    for style in ("List Bullet", "List Number", "Quote", "Heading 2"):
        document.add_paragraph(say(), style=style)


def _table(document: Document, say: Say) -> None:
    table = document.add_table(rows=2, cols=3, style="Table Grid")
    table.cell(0, 0).merge(table.cell(0, 1)).text = say()
    table.cell(1, 0).text, table.cell(1, 1).text = say(), "1,234.5"
    inner = table.cell(1, 2).add_table(1, 1)
    inner.cell(0, 0).text = say()


def _wrapped(document: Document, say: Say) -> None:
    """A link, a tracked insertion and deletion, a smart tag, a content control."""
    paragraph = document.add_paragraph(f"{say()} ")
    deleted = '<w:r><w:delText xml:space="preserve">gone </w:delText></w:r>'
    for xml in (
        f'<w:hyperlink {nsdecls("w")} w:anchor="x">{_run(say())}</w:hyperlink>',
        f'<w:ins {nsdecls("w")} w:id="1" w:author="a">{_run(" " + say())}</w:ins>',
        f'<w:del {nsdecls("w")} w:id="2" w:author="a">{deleted}</w:del>',
        f'<w:smartTag {nsdecls("w")} w:element="x">{_run(" " + say())}</w:smartTag>',
        f"<w:sdt {nsdecls('w')}><w:sdtPr/><w:sdtContent>{_run(' ' + say())}</w:sdtContent></w:sdt>",
        f'<w:moveFrom {nsdecls("w")} w:id="3" w:author="a">{_run(" moved")}</w:moveFrom>',
        f'<w:moveTo {nsdecls("w")} w:id="4" w:author="a">{_run(" moved")}</w:moveTo>',
    ):
        paragraph._p.append(parse_xml(xml))
    paragraph.add_run(f" {say()}")


def _field(document: Document, say: Say) -> None:
    """A page number, a cross reference, and a link that is a field."""
    paragraph = document.add_paragraph(f"{say()} ")
    for code, shown in (("PAGE", "3"), ("REF _Ref1 \\h", "Figure 1"), ('HYPERLINK "x"', say())):
        for xml in (
            '<w:fldChar w:fldCharType="begin"/>',
            f'<w:instrText xml:space="preserve"> {code} </w:instrText>',
            '<w:fldChar w:fldCharType="separate"/>',
            f'<w:t xml:space="preserve">{shown}</w:t>',
            '<w:fldChar w:fldCharType="end"/>',
        ):
            paragraph._p.append(parse_xml(f"<w:r {nsdecls('w')}>{xml}</w:r>"))
    simple = f'<w:fldSimple {nsdecls("w")} w:instr="DATE">{_run("1 May")}</w:fldSimple>'
    paragraph._p.append(parse_xml(simple))
    paragraph.add_run(f" {say()}")


def _marks(document: Document, say: Say) -> None:
    """Bookmarks, the range of a comment, a note's mark, a drawing's text box, an equation."""
    paragraph = document.add_paragraph()
    box = (
        f'<w:r {nsdecls("w")} xmlns:v="urn:schemas-microsoft-com:vml"><w:pict><v:shape id="s">'
        f"<v:textbox><w:txbxContent><w:p>{_run(say())}</w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>"
    )
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    for xml in (
        f'<w:bookmarkStart {nsdecls("w")} w:id="7" w:name="b"/>',
        f'<w:commentRangeStart {nsdecls("w")} w:id="0"/>',
        f'<w:r {nsdecls("w")}><w:t xml:space="preserve">{say()} </w:t></w:r>',
        f'<w:commentRangeEnd {nsdecls("w")} w:id="0"/>',
        f'<w:bookmarkEnd {nsdecls("w")} w:id="7"/>',
        box,
        f"<w:r {nsdecls('w')}><w:t>{say()}</w:t><w:noBreakHyphen/><w:t>{say()}</w:t></w:r>",
        f'<m:oMath xmlns:m="{math}"><m:r><m:t>x=1</m:t></m:r></m:oMath>',
        f'<w:r {nsdecls("w")}><w:sym w:font="Wingdings" w:char="F0E0"/><w:t>{say()}</w:t></w:r>',
        f'<w:proofErr {nsdecls("w")} w:type="spellStart"/>',
    ):
        paragraph._p.append(parse_xml(xml))


def _comment(document: Document, say: Say) -> None:
    paragraph = document.add_paragraph(say())
    document.add_comment(paragraph.runs, text=say(), author="a")


_KINDS = (_formats, _split, _list, _table, _wrapped, _field, _marks, _comment)
