"""The token ids of texts on disk, and the numbers of their labels."""

from pathlib import Path

import pytest

from jumok.data.report import CorpusReport
from jumok.data.texts.corpus import Example, TextCorpus, read_examples
from jumok.data.texts.examples import ExampleStore, label_names, prepare_examples
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from tests.data.sentences import ENGLISH


@pytest.mark.parametrize(
    ("given", "expected"),
    [(["10", "9", "2"], ("2", "9", "10")), (["b", "a", "10"], ("10", "a", "b"))],
)
def test_labels_stand_in_order(given: list[str], expected: tuple[str, ...]) -> None:
    assert label_names(Example("x", label, Path("a"), 1) for label in given * 2) == expected


def test_one_label_cannot_be_told_apart() -> None:
    with pytest.raises(
        DataError, match="a classifier needs at least two different labels"
    ) as caught:
        label_names([Example("x", "1", Path("a"), 1)])
    assert "label_column" in str(caught.value)


def prepared(
    tmp_path: Path, tokenizer: Tokenizer, rows: list[tuple[str, str]], labels: tuple[str, ...]
) -> ExampleStore:
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    corpus = TextCorpus(file, 0, 1 if labels else None)
    report = CorpusReport("a", unit="texts")
    return prepare_examples(
        read_examples(corpus, report),
        [corpus],
        tokenizer,
        tmp_path / "cache",
        7,
        labels=labels,
        report=report,
    )


def test_a_store_holds_ids_and_labels_and_is_made_once(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(text[:9], "yes" if index % 3 else "no") for index, text in enumerate(ENGLISH)]
    store = prepared(tmp_path, tokenizer, [*rows, ("", "no")], ("no", "yes"))
    assert store.labels is not None
    for index, (text, label) in enumerate(rows):
        assert store.texts[index].tolist() == tokenizer.encode(text)[:7]
        assert ("no", "yes")[store.labels[index]] == label
    assert store.report.dropped["empty"].first == [21]
    assert not store.texts.values.flags.owndata
    assert "texts read" in str(store.report)
    monkeypatch.setattr("jumok.data.texts.examples._tokenized", None)
    again = prepared(tmp_path, tokenizer, [*rows, ("", "no")], ("no", "yes"))
    assert again.key == store.key


def test_a_long_text_is_cut_into_parts_and_a_labelled_one_loses_its_end(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    ids = tokenizer.encode(ENGLISH[0])
    assert 7 < len(ids) <= 14 or len(ids) > 14
    plain = prepared(tmp_path, tokenizer, [(ENGLISH[0], "x")], ())
    assert [id for row in range(len(plain)) for id in plain.texts[row].tolist()] == ids
    assert plain.labels is None
    labelled = prepared(tmp_path, tokenizer, [(ENGLISH[0], "x")], ("x", "y"))
    assert [labelled.texts[0].tolist(), len(labelled)] == [ids[:7], 1]
    assert "longer than 7 tokens, cut: 1 (line 1)" in str(labelled.report)


def test_a_label_that_training_never_saw_is_named_with_its_row(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    with pytest.raises(DataError) as caught:
        prepared(tmp_path, tokenizer, [("good", "yes"), ("so so", "perhaps")], ("no", "yes"))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'a.tsv'}, line 2: the model does not know this label.")
    assert "expected: one of no, yes" in message
    assert "got:      'perhaps'" in message
