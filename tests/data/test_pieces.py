"""What SentencePiece's own reader finds in a model, found without it."""

import io

import pytest
import sentencepiece

from jumok.data.pieces import read_pieces
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from tests.conftest import TINY_TEXT


def trained(**settings: object) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TINY_TEXT), model_writer=model, minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, **settings,
    )  # fmt: skip
    return model.getvalue()


@pytest.mark.parametrize(("kind", "size"), [("unigram", 300), ("bpe", 350), ("char", 330)])
def test_pieces_scores_and_kinds_are_those_of_sentencepiece(kind, size):
    model = Tokenizer.train(TINY_TEXT, kind, size).model
    table = read_pieces(model)
    known = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = range(known.get_piece_size())
    assert list(table.subwords) == [known.id_to_piece(id) for id in ids]
    assert list(table.scores) == [known.get_score(id) for id in ids]
    assert [each == 6 for each in table.types] == [known.is_byte(id) for id in ids]
    assert [each == 3 for each in table.types] == [known.is_control(id) for id in ids]
    assert table.segmentation == kind
    assert table.byte_fallback
    assert table.charsmap == b""
    assert table.lacks_in_page is None


def test_settings_of_the_normaliser_are_read():
    table = read_pieces(
        trained(
            model_type="unigram",
            vocab_size=60,
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            unk_surface="?",
            user_defined_symbols=["cat"],
        )
    )
    assert (table.dummy_prefix, table.remove_extra, table.unknown) == (False, False, "?")
    assert len(table.charsmap) > 1000, "nmt_nfkc"
    assert table.types[table.subwords.index("cat")] == 4
    assert not table.byte_fallback


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model_type": "word", "vocab_size": 20}, "a tokenizer of whole words"),
        (
            {"model_type": "bpe", "vocab_size": 60, "treat_whitespace_as_suffix": True},
            "a tokenizer whose subwords do not begin with the space",
        ),
    ],
)
def test_what_the_page_does_not_have_is_named(settings, told):
    assert read_pieces(trained(**settings)).lacks_in_page == told


@pytest.mark.parametrize("cut", [3, 50, 400])
def test_a_cut_model_is_refused(cut):
    model = Tokenizer.train(TINY_TEXT, "bpe", 350).model
    with pytest.raises(DataError, match="not a SentencePiece model"):
        read_pieces(model[:cut])


@pytest.mark.parametrize(
    "more",
    [
        b"\x08\x01",  # a number where subwords are
        b"\x38\x01",  # a number in a field that is not known
        b"\x0a\x05\x0a\x01a\x18\x07",  # a subword of a seventh type
        b"\x0a\x0d\x18" + b"\xff" * 11 + b"\x01",  # a number of more than 64 bits
    ],
)
def test_a_model_with_other_fields_is_refused(more):
    with pytest.raises(DataError, match="not a SentencePiece model"):
        read_pieces(more)
