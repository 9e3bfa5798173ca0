"""Held-out pairs, and what a run says about its data."""

import pytest

from jumok.config import parse_config
from jumok.data.pairs.batches import padding
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.rows import spread
from jumok.errors import DataError
from jumok.training.preparing import pairs
from jumok.training.preparing.held_out import HeldOut
from jumok.training.preparing.texts import padding_share


def test_a_sentence_with_many_translations_falls_on_one_side():
    sources = [f"sentence {number % 97}" for number in range(970)]
    held = HeldOut.among(sources, 13)
    assert len({source for source in sources if source in held}) == 13
    assert sum(source in held for source in sources) == 130


def test_the_choice_depends_on_the_sentences_alone():
    sources = [f"sentence {number}" for number in range(300)]
    assert HeldOut.among(sources, 7) == HeldOut.among(reversed(sources), 7)


def test_a_small_corpus_gives_a_tenth_and_at_least_one():
    assert len(HeldOut.among([f"{n}" for n in range(53)], 500)) == 5
    assert len(HeldOut.among(["a", "b"], 500)) == 1
    assert len(HeldOut.among([f"{n}" for n in range(53)], 1)) == 1


def test_one_sentence_cannot_be_split():
    with pytest.raises(DataError, match="too little data to hold some out") as caught:
        HeldOut.among(["a", "a"], 5)
    assert "two different source sentences" in str(caught.value)


def test_two_parts_are_what_was_held_out():
    held = HeldOut.among([f"{n}" for n in range(300)], 10)
    first, rest = held.split(0.3)
    assert (len(first), len(rest)) == (3, 7)
    assert first.hashes | rest.hashes == held.hashes


@pytest.mark.parametrize("validated", [True, False])
def test_pairs_to_test_on_are_seen_nowhere_else(tmp_path, validated):
    (tmp_path / "pairs.tsv").write_text("".join(f"word {n}\tWort {n}\n" for n in range(200)))
    (tmp_path / "more.tsv").write_text("other\tandere\nthird\tdritte\n")
    data = {"train": [{"file": str(tmp_path / "pairs.tsv")}], "validation_pairs": 8}
    if validated:
        data["validation"] = [{"file": str(tmp_path / "more.tsv")}]
    config = parse_config(
        {
            "name": "spelling",
            "data": data | {"test_pairs": 12},
            "tokenizer": {"kind": "char", "size": 60, "byte_fallback": False},
            "validation": {"decode_pairs": 5},
        }
    )
    said: list[str] = []
    prepared = pairs.prepare_translation(config, tmp_path, tmp_path / "cache", said.append)
    test = Corpus(file=tmp_path / "test.tsv")
    tested = {(pair.source, pair.target) for pair in read_pairs(test)}
    assert len(tested) == 12
    assert "test.tsv: 12 more source sentences, for a test" in said
    assert len(prepared.train[0]) == 200 - 12 - (0 if validated else 8)
    assert sum(map(len, prepared.validation)) == (2 if validated else 8)
    assert not {source for source, _ in tested} & set(prepared.sources)


def test_an_even_choice_reaches_both_ends():
    assert spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert spread(list(range(3)), 5) == [0, 1, 2]
    assert spread([], 5) == []


def test_dropped_pairs_are_said_with_their_reason(tmp_path, make_config):
    config = make_config("data.max_tokens=5")
    said: list[str] = []
    prepared = pairs.prepare_translation(config, tmp_path, tmp_path / "cache", said.append)
    text = "\n".join(said)
    assert "dropped, longer than 5 tokens" in text
    assert 0 < len(prepared.train[0]) < 151


def test_rows_that_cannot_be_read_are_skipped_where_the_recipe_says_so(tmp_path):
    rows = [f"word {n}\tWort {n}\n" for n in range(60)]
    (tmp_path / "pairs.tsv").write_text("".join([*rows[:30], "no tab\n", *rows[30:]]))
    data = {"train": [{"file": str(tmp_path / "pairs.tsv")}], "validation_pairs": 4}
    pieces = {"kind": "char", "size": 60, "byte_fallback": False}

    def prepare(skip: bool) -> list[str]:
        recipe = {"name": "x", "data": data | {"skip_damaged": skip}, "tokenizer": pieces}
        said: list[str] = []
        pairs.prepare_translation(parse_config(recipe), tmp_path, tmp_path / "cache", said.append)
        return "\n".join(said).split("\n")

    with pytest.raises(DataError, match=r"pairs.tsv, line 31: the row has too few columns"):
        prepare(skip=False)
    said = prepare(skip=True)
    assert "pairs.tsv: 57 pairs read, 56 kept" in said
    assert "  dropped, the row has too few columns: 1 (line 31)" in said


def test_a_given_tokenizer_is_taken_and_kept_with_the_run(tmp_path, make_config):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = pairs.prepare_translation(make_config(), tmp_path / "first", tmp_path / "cache", print)
    config = make_config(f'tokenizer.path="{tmp_path / "first" / "tokenizer.model"}"')
    second = pairs.prepare_translation(config, tmp_path / "second", tmp_path / "cache", print)
    assert second.tokenizer.hash == first.tokenizer.hash
    assert (tmp_path / "second" / "tokenizer.model").exists()


def test_smallworld_is_written_into_the_run_and_splits_share_nothing(tmp_path):
    config = parse_config(
        {
            "name": "world",
            "data": {"smallworld": {"pairs": 211, "validation_pairs": 17, "test_pairs": 13}},
            "tokenizer": {"kind": "char", "size": 900, "byte_fallback": False},
            "validation": {"decode_pairs": 5},
        }
    )
    prepared = pairs.prepare_translation(config, tmp_path, tmp_path / "cache", print)
    assert len(prepared.train[0]) == 211
    assert sum(map(len, prepared.validation)) == 17
    assert len(prepared.sources) == 5
    lines = {
        split: set((tmp_path / "smallworld" / f"{split}.en").read_text("utf-8").splitlines())
        for split in ("train", "validation", "test")
    }
    assert len(lines["test"]) == 13
    assert not lines["train"] & lines["validation"]
    assert not lines["train"] & lines["test"]


def test_micro_batches_hold_little_padding(tmp_path, make_config):
    prepared = pairs.prepare_translation(make_config(), tmp_path, tmp_path / "cache", print)
    stream = pairs.update_stream(make_config(), prepared.train, prepared.tokenizers)
    before = stream.cursor
    assert 0.0 <= padding_share(stream, padding) < 0.2
    assert stream.cursor == before
