"""Every format: unchanged texts leave the file to the byte, and capitals change texts alone."""

import pytest

from jumok.documents.catalog import FORMATS, document_format, translate_document
from jumok.documents.document import Languages
from jumok.documents.segment import Translated
from jumok.errors import ConfigError, DataError
from tests.documents.helpers import by_words, same, texts, upper

EN_KO = Languages("en", "ko")

HTML = """<!DOCTYPE html>
<html lang="en"><head><title>Cats &amp; dogs</title>
<meta name="description" content="A page"><meta name="viewport" content="width=1">
<style>p { color: red }</style><script>if (a < b) "x</p>"</script></head>
<body class=x><h1>The  cat</h1>
<p>I saw a <b>black dog</b>, and
   <i>un<b>believ</b>able</i> <a href="x?a=1&amp;b=2" title="A link">things</a>.
   <img src=a.png alt="a picture"> Run <code>jumok train</code> now &nbsp;ok.<br>Next line.
</p><pre>keep me</pre><p translate="no">No</p><div class="notranslate"><p>Nor this</p></div>
<ul><li>one<li>two <!-- c --> three</ul><p>42</p>a < b text</body></html>
"""

MARKDOWN = """---
title: x
---

# The *cat* and `code` ##

I saw a **black dog** and
a [link text](http://a.b/(c) "title") with ![img](x.png) and <b>html</b>.\\
Hard break \\* star &amp; amp.

> quoted text
> goes on [label] here

- item one
- item two
  continued

1. 1 is one

| head | a \\| b |
|---|---|
| cell | two words |

```python
code = 1
```

    indented = code

<p align="center">Centred <b>text</b></p>

[label]: http://x.y

Setext
------
<http://auto.link> is a link_with_underscores.
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello there,</i>
my dear friend.

2
00:00:03,000 --> 00:00:04,000
- Who is it?
- It is me.

3
00:00:05,000 --> 00:00:06,000
{\\an8}Up here
"""

VTT = """WEBVTT

NOTE a comment

intro
00:01.000 --> 00:02.000 align:start
<v Bob>Hello there</v>
"""

PLAIN = """A paragraph that is
wrapped over lines.

- an item that is
  wrapped
- another

42

The last one"""

PO = """# comment
msgid ""
msgstr ""
"Language: ko\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

#: a.c:1
#, c-format
msgid "You have %d <b>new</b> message in {name}\\n"
msgid_plural "You have %d <b>new</b> messages in {name}\\n"
msgstr[0] ""

msgctxt "menu"
msgid "Done"
msgstr "done"

#, fuzzy
msgid "Old"
msgstr "x"

#~ msgid "Obsolete"
#~ msgstr ""
"""

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" original="a"><body>
<trans-unit id="1">
  <source>Press <g id="1">the button</g> now<x id="2"/>.</source>
</trans-unit>
<trans-unit id="2"><source>a &amp; b</source><target state="new">a</target>
<alt-trans><source>zzz</source><target>y</target></alt-trans></trans-unit>
<trans-unit id="3"><source>done</source><target>d</target></trans-unit>
<trans-unit id="4" translate="no"><source>never</source></trans-unit>
</body></file></xliff>
"""

TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu>
  <tuv xml:lang="en-US"><seg>Press <bpt i="1">&lt;b></bpt>Save<ept i="1">&lt;/b></ept></seg></tuv>
  <tuv xml:lang="fr"><seg>x</seg></tuv>
</tu>
<tu><tuv xml:lang="en"><seg>done</seg></tuv><tuv xml:lang="ko"><seg>d</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>fill</seg></tuv><tuv xml:lang="ko"><seg/></tuv></tu>
</body></tmx>
"""


@pytest.mark.parametrize(
    ("content", "format"),
    [(HTML, "html"), (MARKDOWN, "markdown"), (SRT, "srt"), (VTT, "vtt"), (PLAIN, "paragraphs")],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_not_changed_stays_to_the_byte(content: str, format: str, newline: str) -> None:
    written = content.replace("\n", newline).encode()
    assert same(written, format) == written


def test_html_gives_blocks_as_sentences_and_what_a_person_reads_of_attributes() -> None:
    assert texts(HTML, "html") == [
        *("A page", "A link", "a picture", "Cats & dogs", "The cat"),
        "I saw a black dog, and unbelievable things. Run jumok train now \xa0ok.",
        *("Next line.", "one", "two three", "a < b text"),
    ]


def test_html_in_capitals_is_the_page_with_other_words() -> None:
    assert upper(HTML, "html", EN_KO) == (
        """<!DOCTYPE html>
<html lang="ko"><head><title>CATS &amp; DOGS</title>
<meta name="description" content="A PAGE"><meta name="viewport" content="width=1">
<style>p { color: red }</style><script>if (a < b) "x</p>"</script></head>
<body class=x><h1>THE CAT</h1>
<p>I SAW A <b>BLACK DOG</b>, AND <i>UN<b>BELIEV</b>ABLE</i> """
        """<a href="x?a=1&amp;b=2" title="A LINK">THINGS</a>. """
        """<img src=a.png alt="A PICTURE"> RUN <code>jumok train</code> NOW \xa0OK.<br>NEXT LINE.
</p><pre>keep me</pre><p translate="no">No</p><div class="notranslate"><p>Nor this</p></div>
<ul><li>ONE<li>TWO <!-- c --> THREE</ul><p>42</p>A &lt; B TEXT</body></html>
"""
    )


def test_html_moves_its_tags_with_the_words() -> None:
    table = {"I saw a black dog.": Translated("검은 개를 봤다.", [(1, 2), (3, 0), (4, 1)])}
    page = "<p>I saw a <b>black dog</b>.</p>"
    written = translate_document(page.encode(), by_words(table), "html")
    assert written.decode() == "<p><b>검은 개를</b> 봤다.</p>"


def test_html_keeps_its_character_set() -> None:
    page = '<meta charset="euc-kr"><p>물 &amp; fire</p>'.encode("euc-kr")
    written = translate_document(page, lambda _: ["불 & \U0001f525"], "html")
    assert written == '<meta charset="euc-kr"><p>불 &amp; &#128293;</p>'.encode("euc-kr")


def test_markdown_in_capitals_is_the_page_with_other_words() -> None:
    assert (
        upper(MARKDOWN, "markdown")
        == """---
title: x
---

# THE *CAT* AND `code` ##

I SAW A **BLACK DOG** AND A [LINK TEXT](http://a.b/(c) "title") WITH ![img](x.png) AND \
<b>HTML</b>.\\
HARD BREAK \\* STAR & AMP.

> QUOTED TEXT GOES ON [LABEL][label] HERE

- ITEM ONE
- ITEM TWO CONTINUED

1. 1 IS ONE

| HEAD | A \\| B |
|---|---|
| CELL | TWO WORDS |

```python
code = 1
```

    indented = code

<p align="center">CENTRED <b>TEXT</b></p>

[label]: http://x.y

SETEXT
------
<http://auto.link> IS A LINK_WITH_UNDERSCORES.
"""
    )


def test_markdown_says_nothing_that_the_translation_did_not() -> None:
    written = translate_document(b"one\n", lambda _: ["1. a *b* [c] | # d"], "markdown")
    assert written == b"1\\. a \\*b\\* \\[c\\] | # d\n"


@pytest.mark.parametrize(
    ("content", "format", "expected"),
    [
        (SRT, "srt", SRT.replace("Hello there,", "HELLO THERE,")
            .replace("my dear friend", "MY DEAR FRIEND").replace("Who is it", "WHO IS IT")
            .replace("It is me", "IT IS ME").replace("Up here", "UP HERE")),
        (VTT, "vtt", VTT.replace("Hello there", "HELLO THERE")),
        (PLAIN, "paragraphs", PLAIN.upper()),
    ],
)  # fmt: skip
def test_lines_in_capitals_stand_where_they_stood(content: str, format: str, expected: str) -> None:
    assert upper(content, format) == expected


def test_a_cue_is_one_sentence_and_two_speakers_are_two() -> None:
    assert texts(SRT, "srt") == [
        *("Hello there, my dear friend.", "Who is it?", "It is me.", "Up here"),
    ]


def test_po_fills_what_is_empty_or_fuzzy_and_says_that_nobody_looked() -> None:
    assert texts(PO, "po") == [
        "You have %d new message in {name}",
        "You have %d new messages in {name}",
        "Old",
    ]
    filled = (
        PO.replace("#, c-format", "#, c-format, fuzzy")
        .replace('msgstr[0] ""', 'msgstr[0] "YOU HAVE %d <b>NEW</b> MESSAGES IN {name}\\n"')
        .replace('msgstr "x"', 'msgstr "OLD"')
    )
    assert upper(PO, "po") == filled


def test_po_has_as_many_plural_forms_as_its_header_says() -> None:
    three = PO.replace("nplurals=1; plural=0", "nplurals=3; plural=n%3").replace(
        'msgstr[0] ""', 'msgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""'
    )
    written = upper(three, "po")
    assert written.count("MESSAGE IN") == 1
    assert written.count("MESSAGES IN") == 2


def test_xliff_gets_targets_beside_its_sources() -> None:
    needs = 'target state="needs-review-translation"'
    assert upper(XLIFF, "xliff", EN_KO) == (
        XLIFF.replace('original="a"', 'original="a" target-language="ko"')
        .replace(
            "</source>\n</trans-unit>",
            f'</source>\n  <{needs}>PRESS <g id="1">THE BUTTON</g> NOW<x id="2"/>.</target>\n'
            "</trans-unit>",
        )
        .replace('<target state="new">a', f"<{needs}>A &amp; B")
    )


def test_tmx_gets_a_variant_in_the_language_of_the_model() -> None:
    assert upper(TMX, "tmx", EN_KO) == (
        TMX.replace(
            '<tuv xml:lang="fr"><seg>x</seg></tuv>',
            '<tuv xml:lang="fr"><seg>x</seg></tuv>\n  <tuv xml:lang="ko"><seg>PRESS '
            '<bpt i="1">&lt;b></bpt>SAVE<ept i="1">&lt;/b></ept></seg></tuv>',
        ).replace("<seg/>", "<seg>FILL</seg>")
    )


def test_tmx_needs_languages_that_it_has() -> None:
    with pytest.raises(DataError, match="target language is not known"):
        upper(TMX, "tmx", Languages("en", ""))
    with pytest.raises(DataError, match="no unit of the TMX file is in the"):
        upper(TMX, "tmx", Languages("de", "ko"))


@pytest.mark.parametrize(
    ("content", "format", "fault"),
    [
        (XLIFF.replace('original="a"', 'original="a" target-language="fr"'), "xliff", "target"),
        (XLIFF.replace('source-language="en"', 'source-language="de"'), "xliff", "source"),
        ('msgid ""\nmsgstr "Language: fr_CA\\n"\n\nmsgid "a"\nmsgstr ""\n', "po", "target"),
    ],
)
def test_a_file_for_other_languages_is_refused(content: str, format: str, fault: str) -> None:
    with pytest.raises(DataError, match=f"the {fault} language of the file is not the model's"):
        upper(content, format, EN_KO)
    same_language = (
        content.replace("fr_CA", "ko_KR").replace('"fr"', '"ko"').replace('"de"', '"EN"')
    )
    assert upper(same_language, format, EN_KO)


def test_a_model_without_a_language_code_translates_any_file() -> None:
    content = XLIFF.replace('original="a"', 'original="a" target-language="fr"')
    assert upper(content, "xliff", Languages("src", "tgt"))
    bokmal = content.replace('"fr"', '"nb"')
    assert upper(bokmal, "xliff", Languages("en", "no"))


@pytest.mark.parametrize(
    ("format", "content", "said"),
    [
        ("xliff", b"<a><b></a>", "the file is not"),
        ("tmx", b"<a><b></a>", "the file is not"),
        ("docx", b"<a><b></a>", "the file is not"),
        ("po", b'msgid "a"\nmsgstr "b\n', ", line 2: the file is not well-formed PO."),
        ("po", b'msgid "a"\nmsgid_plural "b"\nmsgstr[x] ""\n', "the file cannot be read as PO"),
    ],
)
def test_a_damaged_document_is_named(format: str, content: bytes, said: str) -> None:
    with pytest.raises(DataError) as caught:
        translate_document(content, list, format, languages=EN_KO, name="book.x")
    assert str(caught.value).startswith("book.x")
    assert said in str(caught.value)


def test_an_unknown_format_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        translate_document(b"a", list, "odt")
    assert f"expected: {', '.join(FORMATS)}" in str(caught.value)


def test_too_few_translations_are_refused() -> None:
    with pytest.raises(ConfigError, match="every text of a document needs a translation"):
        translate_document(b"a\n\nb", lambda _: ["x"], "paragraphs")


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.html", b"<p>hello", "html"),
        ("a.md", b"hello", "markdown"),
        ("a.txt", b"hello", None),
        ("book.en", b"hello", None),
        ("a.txt", b"WEBVTT\n", "vtt"),
    ],
)
def test_the_format_is_found(tmp_path, name: str, head: bytes, format: str | None) -> None:
    assert document_format(tmp_path / name, head) == format


def test_what_is_no_document_is_refused_by_name(tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        document_format(tmp_path / "a.pdf", b"%PDF-1.4")
    assert str(caught.value) == (
        f"{tmp_path}/a.pdf: this is a PDF, which cannot be translated as it is.\n"
        f"  expected: lines of text, or one of {', '.join(FORMATS)}\n"
        f"  do:       extract the text: pdftotext -layout {tmp_path}/a.pdf"
    )


def test_properties_in_ascii_stay_in_ascii_and_others_in_utf8() -> None:
    def translated(content: str) -> bytes:
        return translate_document(content.encode(), lambda _: ["안녕 {0}"], "properties")

    assert translated("# c\nhi=Hi {0}\n") == b"# c\nhi=\\uC548\\uB155 {0}\n"
    assert translated("# é\nhi=Hi {0}\n") == "# é\nhi=안녕 {0}\n".encode()
