"""What a document is made of: kept or translated, as the table in docs/documents.md says."""

import pytest

from tests.documents.constructs import HEADS, Construct, constructs, document, with_table
from tests.documents.helpers import same, upper

EVERY = constructs()


@pytest.mark.parametrize("one", EVERY, ids=[f"{one.format}: {one.en}" for one in EVERY])
def test_a_construct_is_kept_or_translated(one: Construct) -> None:
    assert upper(one.source, one.format) == one.capitals
    if one.format not in ("xliff", "po"):  # which say that a translation is to be reviewed
        assert same(one.source, one.format).decode() == one.source


@pytest.mark.parametrize("language", HEADS)
def test_the_table_of_the_page_is_of_these(language: str) -> None:
    page = document(language).read_text("utf-8")
    assert HEADS[language] in page
    assert page == with_table(page, language), "run python -m tests.documents.constructs"
