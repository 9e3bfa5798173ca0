"""Imported tokenizers beside the library: the same ids, and the same text back."""

import random
from pathlib import Path

import pytest
import tokenizers

from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.errors import ConfigError, DataError
from jumok.interop.importing import read_model
from tests.interop import folders_encdec
from tests.interop.folders import write_bert, write_gpt2
from tests.interop.folders_llama import write_llama

SCRIPTS = [
    (0x41, 0x7A), (0xC0, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A),
    (0x905, 0x939), (0xE01, 0xE2E), (0x4E00, 0x4FFF), (0xAC00, 0xACFF), (0x1F600, 0x1F64F),
]  # fmt: skip
BETWEEN = [" ", "  ", "\t", "\n", "\n\n", "\x00", "\x07", "\x85", "\u00a0", "\u200b", "\ufeff"]
WORDS = ["the", "cats", "sat", "downly", "dog", "again", "<|endoftext|>x", "a.b", "don't", "!?"]


def of_characters(folder: Path) -> Path:
    return write_llama(folder, characters=True)


def lines(count: int) -> list[str]:
    """Words of ten scripts, with controls between them."""
    dice = random.Random(4)

    def word() -> str:
        first, last = dice.choice(SCRIPTS)
        letters = (chr(dice.randint(first, last)) for _ in range(dice.randint(1, 6)))
        return dice.choice([dice.choice(WORDS), "".join(letters)])

    return [
        "".join(word() + dice.choice(BETWEEN) for _ in range(dice.randint(0, 9)))
        for _ in range(count)
    ]


OF_SUBWORDS = [folders_encdec.WRITTEN[name] for name in ("t5 json", "nllb json")]


@pytest.mark.parametrize(
    "write", [write_bert, write_gpt2, write_llama, of_characters, *OF_SUBWORDS]
)
def test_ids_and_texts_are_the_librarys(tmp_path, write):
    folder = write(tmp_path)
    vocabulary = read_model(folder).vocabulary
    (tmp_path / "tokenizer.model").write_bytes(vocabulary.tokenizer)
    ours = Tokenizer.load(tmp_path / "tokenizer.model")
    assert isinstance(ours, JsonTokenizer)
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    texts = [text.replace("<|endoftext|>", "") for text in lines(10_000)]
    found = ours.encode_batch(texts)
    for text, ids in zip(texts, found, strict=True):
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert [vocabulary.order[id] for id in ids] == expected, ascii(text)
        if write in (write_gpt2, write_llama):
            assert ours.decode([START, *ids, END]) == text
    flat, lengths = ours.encode_flat(texts[:100])
    assert flat.tolist() == [id for ids in found[:100] for id in ids]
    assert lengths.tolist() == list(map(len, found[:100]))


def test_text_never_spells_a_special_token(tmp_path):
    bert, gpt2 = (
        read_model(write(tmp_path / name)).tokenizer
        for name, write in (("bert", write_bert), ("gpt2", write_gpt2))
    )
    for text in ("[CLS] [SEP] [PAD] [MASK]", "<|endoftext|>", "<|pad|> <|start|>"):
        assert not {0, 2, 3} & set(bert.encode(text))
        assert not {0, 1, 2, 3} & set(gpt2.encode(text))
        assert gpt2.decode(gpt2.encode(text)) == text


def test_unigram_and_bpe_of_subwords(tmp_path):
    """Special tokens have their names, and no text spells them, though each has a score."""
    for number, write in enumerate(OF_SUBWORDS):
        tokenizer = read_model(write(tmp_path / str(number))).tokenizer
        assert tokenizer.pieces(range(4)) == ["<pad>", "<unk>", "<s>", "</s>"]
        spelled = tokenizer.encode("</s> <pad> <extra_id_0> eng_Latn <mask>")
        names = set(tokenizer.pieces(spelled)) - {"<unk>"}
        assert not any(name.startswith("<") or name == "eng_Latn" for name in names)
        assert tokenizer.decode(tokenizer.encode("the cat sat")) == "the cat sat"


def test_subwords_have_the_names_of_jumoks(tmp_path):
    tokenizer = read_model(write_bert(tmp_path / "bert")).tokenizer
    ids = tokenizer.encode("the cats sat downly")
    assert tokenizer.pieces(ids) == ["▁the", "▁cat", "s", "▁sat", "▁down", "ly"]
    assert tokenizer.words(ids) == [0, 1, 1, 2, 3, 3]
    assert tokenizer.split("the cats sat downly") == ["the", "cats", "sat", "downly"]
    assert tokenizer.ids(["▁cat", "nothing"]) == [ids[1], 1]
    tokenizer = read_model(write_gpt2(tmp_path / "gpt2")).tokenizer
    ids = tokenizer.encode("the cat\nsat 😀")
    assert tokenizer.decode(ids) == "the cat\nsat 😀"
    pieces = tokenizer.pieces(ids)
    assert pieces[:4] == ["the", "▁cat", "<newline>", "s"]
    assert pieces[-1].startswith("<0x")
    assert tokenizer.split("the cat") == ["the", "cat"]


def test_what_is_not_a_tokenizer_and_what_cannot_be_sampled(tmp_path):
    with pytest.raises(DataError, match=r"this is not a tokenizer\.json"):
        JsonTokenizer(b'{"model": {"type": "BPE"}}')
    with pytest.raises(DataError, match=r"this is not a tokenizer\.json"):
        JsonTokenizer(b"{\xff")
    tokenizer = read_model(write_bert(tmp_path / "bert")).tokenizer
    with pytest.raises(ConfigError, match="cannot be sampled"):
        tokenizer.encode_sampled("the cat", 0.1, random.Random(1))
