"""Caption scores against COCO's own programs.

The figures come from pycocoevalcap 1.2, run once on REFERENCES and OUTPUTS:

    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge

    gts = dict(enumerate(REFERENCES))
    res = {number: [each] for number, each in enumerate(OUTPUTS)}
    for scorer in (Bleu(4), Cider(), Rouge(), Meteor()):
        print(scorer.compute_score(gts, res))
"""

import importlib.util
import shutil
import sys

import numpy as np
import pytest

from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.evaluation import captions
from jumok.evaluation.captions import caption_words, cider_d, score_captions

REFERENCES = [
    ["a red circle is above two stars", "two stars are below a red circle"],
    ["a dog runs on the grass", "a brown dog is running", "the dog runs"],
    ["two boys play football in the park", "boys are playing football"],
    ["a cat sits on a red chair near the window"],
]
OUTPUTS = [
    "a red circle is below two red stars",
    "the brown dog runs on grass",
    "two boys are playing football in a park",
    "a cat is on a chair",
]
BLEU = [0.8313060532477842, 0.6474943893129824, 0.46039471656734404, 0.32645249558576617]
CIDER = [3.58571409, 2.62760169, 3.79487266, 1.86414202]
ROUGE = 0.7600843201742736
METEOR = 0.3845465507029181


def values(outputs: list[str], references: list[list[str]]) -> dict[str, float]:
    return {each.name: each.value for each in score_captions(outputs, references, resamples=0)}


def test_scores_are_those_of_cocos_programs() -> None:
    found = values(OUTPUTS, REFERENCES)
    assert [found[f"BLEU-{order}"] for order in (1, 2, 3, 4)] == pytest.approx(
        [100 * each for each in BLEU]
    )
    assert found["CIDEr-D"] == pytest.approx(100 * np.mean(CIDER))
    assert found["ROUGE-L"] == pytest.approx(100 * ROUGE)


def test_cider_d_of_every_picture_is_that_of_its_authors_program() -> None:
    words = [[each.split() for each in group] for group in REFERENCES]
    assert cider_d([each.split() for each in OUTPUTS], words) == pytest.approx(CIDER)


def test_cider_d_of_a_caption_in_its_only_references_words_is_ten() -> None:
    """Every cosine is 1 and the lengths agree: 10. A picture nobody else's words describe."""
    references = [[["a", "b", "c", "d"]], [["e", "f", "g", "h"]]]
    scores = cider_d([["a", "b", "c", "d"], ["a", "b", "c", "d"]], references)
    assert scores == pytest.approx([10, 0])


def test_cider_d_does_not_reward_repeating_a_word() -> None:
    """One unigram, weight log 2, wanted once and written twice: 1·1 / (2·1) = 1/2 of a cosine, and
    no longer n-gram is right. Lengths differ by one: exp(-1/72)."""
    scores = cider_d([["a", "a"], ["b"]], [[["a"]], [["b"]]])
    assert scores[0] == pytest.approx(10 * 0.5 / 4 * np.exp(-1 / 72))
    assert scores[1] == pytest.approx(10 / 4)


def test_captions_in_a_references_own_words_score_a_hundred() -> None:
    found = values([group[-1] for group in REFERENCES], REFERENCES)
    assert [found[f"BLEU-{order}"] for order in (1, 2, 3, 4)] == pytest.approx([100] * 4)
    assert found["ROUGE-L"] == pytest.approx(100)


def test_nothing_in_common_and_nothing_at_all_score_zero() -> None:
    references = [["a b c d"], ["e f g h"]]
    for outputs in (["x y", "z"], ["", ""]):
        assert set(values(outputs, references).values()) == {0.0}


def test_rouge_l_by_hand() -> None:
    """Of "a b c" in "a x c y": a c, so P = 2/3, R = 2/4; 2.44 · 1/3 / (1/2 + 1.44 · 2/3)."""
    found = values(["a b c"], [["a x c y"]])
    assert found["ROUGE-L"] == pytest.approx(100 * 2.44 / 3 / (0.5 + 0.96))


def test_scores_say_how_they_were_made() -> None:
    scores = {each.name: each for each in score_captions(OUTPUTS, REFERENCES, resamples=50)}
    assert scores["BLEU-4"].signature.startswith(
        "nrefs:var|case:lc|tok:ptb|smooth:none|reflen:closest|sacrebleu:"
    )
    assert scores["CIDEr-D"].signature == (
        "nrefs:var|case:lc|tok:ptb|n:4|sigma:6|idf:references|bs:50|seed:12345"
    )
    for each in scores.values():
        assert each.low <= each.value <= each.high


def test_an_interval_is_a_point_where_all_pictures_score_alike() -> None:
    same = score_captions(["a b c d e"] * 5, [["a b c d e"]] * 5, resamples=20)[3]
    assert (same.low, same.value, same.high) == pytest.approx((100, 100, 100))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man in a T-shirt isn't riding.", "a man in a t-shirt is n't riding"),
        ("The dog 's ball, the boys' ball", "the dog 's ball the boys ball"),
        ('He said: "we cannot" (3.5 times)...', "he said we can not 3.5 times"),
        ("Two women's hats – 1,000 of them!", "two women 's hats 1,000 of them"),
        ("큰 빨간 원이, 별 두 개가 있습니다.", "큰 빨간 원이 별 두 개가 있습니다"),
    ],
)
def test_caption_words_are_those_of_the_penn_treebank(text: str, words: str) -> None:
    assert caption_words(text) == words.split()


def test_caption_words_by_another_tokenizer() -> None:
    assert caption_words("큰 별.", "char") == ["큰", "별", "."]
    with pytest.raises(ConfigError, match="no such tokenizer"):
        caption_words("a", "moses")


def test_a_tokenizer_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """MeCab's dictionary, loaded for each of some thousand captions, filled the memory."""
    made: list[str] = []

    class Counting:
        def __init__(self, tokenize: str) -> None:
            made.append(tokenize)
            self.tokenizer = str

    monkeypatch.setattr(captions, "BLEU", Counting)
    captions._cutter.cache_clear()
    assert [caption_words(text, "intl") for text in ("A b", "C")] == [["a", "b"], ["c"]]
    captions._cutter.cache_clear()
    assert made == ["intl"]


@pytest.mark.parametrize(
    ("outputs", "references", "message"),
    [
        (["a"], [["a"], ["b"]], "every caption needs its references"),
        ([], [], "nothing to score"),
        (["a", "b"], [["a"], []], "an image has no reference.*\n.*\n.*image 2"),
    ],
)
def test_what_cannot_be_scored_is_named(outputs, references, message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_captions(outputs, references)


def test_meteor_names_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocoevalcap.meteor.meteor", None)
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[meteor\]"'):
        score_captions(["a"], [["a"]], meteor=True)


def test_meteor_names_java_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stand:
        Meteor = None

    Stand.meteor = Stand
    for name in ("pycocoevalcap", "pycocoevalcap.meteor", "pycocoevalcap.meteor.meteor"):
        monkeypatch.setitem(sys.modules, name, Stand)
    monkeypatch.setattr(captions, "which", lambda name: None)
    with pytest.raises(ConfigError, match="METEOR is a Java program, and there is no Java"):
        score_captions(["a"], [["a"]], meteor=True)


def test_meteor_is_that_of_its_authors_program() -> None:
    if importlib.util.find_spec("pycocoevalcap") is None or shutil.which("java") is None:
        pytest.skip("needs the extra meteor and Java")
    found = score_captions(OUTPUTS, REFERENCES, meteor=True, resamples=0)
    assert found[-1].value == pytest.approx(100 * METEOR)
    score_captions(["", "a b"], [["a"], ["a b"]], meteor=True, resamples=0)  # ends
