"""Held-out pairs, and what a run says about its data."""

import pytest

from jumok.data.corpora import Corpus, read_pairs
from jumok.errors import DataError
from jumok.training import pairs
from jumok.training.pairs import HeldOut, spread


def corpus(folder, pairs):
    (folder / "a.en").write_text("".join(f"{source}\n" for source, _ in pairs), "utf-8")
    (folder / "a.fr").write_text("".join(f"{target}\n" for _, target in pairs), "utf-8")
    return Corpus(folder / "a.en", folder / "a.fr")


def test_a_sentence_with_many_translations_falls_on_one_side(tmp_path):
    pairs = [(f"sentence {number % 97}", f"phrase {number}") for number in range(970)]
    one = corpus(tmp_path, pairs)
    held = HeldOut.choose([one], 13)
    training = {pair.source for pair in held.training(read_pairs(one))}
    validation = {pair.source for pair in held.kept_out(read_pairs(one))}
    assert len(validation) == 13
    assert len(training) == 97 - 13
    assert not training & validation
    assert sum(1 for _ in held.kept_out(read_pairs(one))) == 130


def test_the_choice_depends_on_the_sentences_alone(tmp_path):
    pairs = [(f"sentence {number}", "x") for number in range(300)]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    first = HeldOut.choose([corpus(tmp_path / "1", pairs)], 7)
    second = HeldOut.choose([corpus(tmp_path / "2", list(reversed(pairs)))], 7)
    assert first == second


def test_a_small_corpus_gives_a_tenth_and_at_least_one(tmp_path):
    assert len(HeldOut.choose([corpus(tmp_path, [(f"{n}", "x") for n in range(53)])], 500)) == 5
    assert len(HeldOut.choose([corpus(tmp_path, [("a", "x"), ("b", "y")])], 500)) == 1


def test_one_sentence_cannot_be_split(tmp_path):
    with pytest.raises(DataError, match="too little to hold some out") as caught:
        HeldOut.choose([corpus(tmp_path, [("a", "x"), ("a", "y")])], 5)
    assert "two different source sentences" in str(caught.value)


def test_an_even_choice_reaches_both_ends():
    assert spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert spread(list(range(3)), 5) == [0, 1, 2]
    assert spread([], 5) == []


def test_dropped_pairs_are_said_with_their_reason(tmp_path, make_config):
    config = make_config("data.max_tokens=5")
    said: list[str] = []
    prepared = pairs.prepare(config, tmp_path, tmp_path / "cache", said.append)
    text = "\n".join(said)
    assert "dropped, longer than 5 tokens" in text
    assert 0 < len(prepared.train[0]) < 151


def test_a_given_tokenizer_is_taken_and_kept_with_the_run(tmp_path, make_config):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = pairs.prepare(make_config(), tmp_path / "first", tmp_path / "cache", print)
    config = make_config(f'tokenizer.path="{tmp_path / "first" / "tokenizer.model"}"')
    second = pairs.prepare(config, tmp_path / "second", tmp_path / "cache", print)
    assert second.tokenizer.hash == first.tokenizer.hash
    assert (tmp_path / "second" / "tokenizer.model").exists()


def test_smallworld_is_written_into_the_run_and_splits_share_nothing(tmp_path):
    from jumok.config import parse_config

    config = parse_config(
        {
            "name": "world",
            "data": {"smallworld": {"pairs": 211, "validation_pairs": 17, "test_pairs": 13}},
            "tokenizer": {"kind": "char", "size": 900, "byte_fallback": False},
            "validation": {"decode_pairs": 5},
        }
    )
    prepared = pairs.prepare(config, tmp_path, tmp_path / "cache", print)
    assert len(prepared.train[0]) == 211
    assert len(prepared.validation) == 17
    assert len(prepared.sources) == 5
    lines = {
        split: set((tmp_path / "smallworld" / f"{split}.en").read_text("utf-8").splitlines())
        for split in ("train", "validation", "test")
    }
    assert len(lines["test"]) == 13
    assert not lines["train"] & lines["validation"]
    assert not lines["train"] & lines["test"]


def test_micro_batches_hold_little_padding(tmp_path, make_config):
    prepared = pairs.prepare(make_config(), tmp_path, tmp_path / "cache", print)
    stream = pairs.update_stream(make_config(), prepared.train, prepared.tokenizer)
    before = stream.cursor
    assert 0.0 <= pairs.padding_share(stream) < 0.2
    assert stream.cursor == before
