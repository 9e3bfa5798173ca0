"""PO: what msgfmt checks by the flags of an entry, keys of menus, and character sets."""

import pytest

from jumok.documents.catalog import translate_document
from jumok.documents.po import Message
from jumok.documents.segment import Translated
from tests.documents.helpers import same

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\n'


def translated(flags: str, source: str, text: str, links: list[tuple[int, int]]) -> str:
    """The msgstr of an entry for this translation of it."""
    catalog = HEADER.format("UTF-8") + f'#, {flags}\nmsgid "{source}"\nmsgstr ""\n'
    written = translate_document(catalog.encode(), lambda _: [Translated(text, links)], "po")
    return written.decode().rpartition('msgstr "')[2].removesuffix('"\n')


SWAPPED = [(0, 2), (1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("flags", "source", "text", "msgstr"),
    [
        ("c-format", "%d of %s", "%s의 중 %d", "%2$s의 중 %1$d"),
        ("c-format", "%1$d of %2$s", "%2$s의 중 %1$d", "%2$s의 중 %1$d"),
        ("c-format", "%.*f of %s", "%s의 중 %.*f", ""),
        ("c-format", "%s of it", "50% 그것 %s", "50%% 그것 %s"),
        ("c-format", "%s of it", "그것 %s %s", ""),
        ("no-c-format", "%s of it", "50% 그것 %s", "50% 그것 %s"),
        ("python-format", "%d of %s", "%s의 중 %d", ""),
        ("python-format", "%(n)d of %(x)s", "%(x)s의 중 %(n)d", "%(x)s의 중 %(n)d"),
        ("python-brace-format", "{n} of {x}", "{x}의 중 {n}", "{x}의 중 {n}"),
        ("python-brace-format", "{n} of it", "{n} {그것}", ""),
        ("fuzzy, c-format", "%d of %s", "%s의 중 %d", "%2$s의 중 %1$d"),
    ],
)
def test_no_translation_that_msgfmt_refuses(
    flags: str, source: str, text: str, msgstr: str
) -> None:
    assert translated(flags, source, text, SWAPPED) == msgstr


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *(("&File", "&F"), ("E&xit", "&x"), ("_Open", "_O"), ("Save _as", "_a"), ("E~xit", "~x")),
        *(("~5 minutes", ""), ("_id", ""), ("The _id of it", ""), ("R&D", ""), ("~/notes", "")),
        *(("Cut & paste", ""), ("&quot;x&quot;", ""), ("snake_case", ""), ("__init__", "")),
    ],
)
def test_the_key_of_a_menu(text: str, key: str) -> None:
    assert Message.of(text).accelerator == key


def test_columns_of_a_message_stay_apart() -> None:
    message = Message.of("  -v, --verbose    say more\n\tand more")
    assert [segment.text for segment in message.segments] == ["say more", "and more"]


@pytest.mark.parametrize("charset", ["EUC-KR", "ISO-8859-1", "KOI8-R"])
def test_the_character_set_of_the_header_is_read_and_written(charset: str) -> None:
    words = {"EUC-KR": "고양이 cat", "ISO-8859-1": "café", "KOI8-R": "кошка"}[charset]
    catalog = f'# {words}\n{HEADER.format(charset)}msgid "{words}"\nmsgstr ""\n'
    written = same(catalog.encode(charset), "po").decode(charset)
    assert written == catalog.replace('\nmsgid "' + words, '\n#, fuzzy\nmsgid "' + words).replace(
        'msgstr ""\n', f'msgstr "{words}"\n'
    )
