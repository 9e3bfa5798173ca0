"""What is said of a translation: sources that the model cannot know, and outputs that are none."""

import json
from collections import Counter
from itertools import islice

import pytest

from jumok.bundle.confidence import Calibration
from jumok.bundle.profile import SEEN, Profile, stripped
from jumok.decoding import DecodingOptions
from jumok.decoding.options import FOR_TRANSLATION
from jumok.engine.structures import library
from jumok.errors import BundleError
from jumok.systems.translation.judging import Judge
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator
from smallworld import pairs
from tests.systems.test_ordinary_module import transformer

SENTENCES = [pair.source for pair in islice(pairs("train", 1), 4100)]
TRAINED, HELD = SENTENCES[:4000], SENTENCES[4000:]


@pytest.fixture(scope="module")
def profile() -> Profile:
    return Profile.of(TRAINED, HELD, ratio=2.0)


@pytest.mark.parametrize(
    ("languages", "text", "notes"),
    [
        (("en", "ko"), "The cat saw a dog.", ()),
        (("en", "ko"), "Café für naïve Söhne", ()),
        (("en", "ko"), "고양이가 개를 봤어요.", ("target-language",)),
        (("en", "ko"), "The word 고양이 means cat here.", ()),
        (("en", "ko"), "Я вижу собаку.", ("unknown-script",)),
        (("en", "ko"), "猫が犬を見た。", ("unknown-script",)),
        (("ko", "en"), "고양이가 개를 봤어요.", ()),
        (("ko", "en"), "The cat saw a dog.", ("target-language",)),
        (("ko", "en"), "USB 3.0", ()),
        (("ko", "en"), "猫が犬を見た。", ("unknown-script",)),
        (("ja", "zh"), "猫が犬を見た。", ()),
        (("", ""), "Я вижу собаку.", ()),
        (("en", "ko"), "12:30 → 14:00", ()),
    ],
)
def test_scripts_of_sources(languages, text, notes):
    assert Judge(languages).odd_source(text, 0.0) == notes


def test_texts_of_another_language_are_mostly_unknown(profile):
    judge = Judge(("en", "de"), profile)
    texts = [*HELD, "Der Hund bellt im Garten.", "Xqzv wpfk jhgr"]
    notes = [judge.odd_source(text, *judge.unknown([text])) for text in texts]
    named = [bool(judge.unknown_words(text)) for text in HELD]
    assert sum(map(bool, notes[:-2])) <= 1 + sum(named) < 0.1 * len(HELD)
    assert notes[-2:] == [("unknown-words",), ("unknown-words",)]
    known = "a a a a a a a"  # one word, which is too short for an n-gram of its own
    assert not judge.unknown_words(known)
    assert judge.odd_source(known, *judge.unknown([known])) == ("unknown-words",)
    typing_error = profile.unknown(
        ["The cat saw a dog.", "The cta saw a dog.", "THE CAT SAW A DOG."]
    )
    assert typing_error[0] == typing_error[2] < typing_error[1]
    assert list(profile.unknown(["", "a"])) == [0.0, 0.0]


def test_words_that_the_training_data_did_not_have_are_named(profile):
    judge = Judge(("en", "ko"), profile)
    assert judge.unknown_words("Hello! My name is “Mina”.") == {0: "Hello", 2: "name"}
    assert judge.unknown_words("The weather is nice, (perhaps) 12:30.") == {
        1: "weather",
        3: "nice",
        4: "perhaps",
    }
    held = [judge.unknown_words(text) for text in HELD]
    counts = Counter(stripped(word.casefold()) for text in TRAINED for word in text.split())
    named = {word.casefold() for words in held for word in words.values()}
    assert named
    assert all(counts[word] < SEEN for word in named)
    assert Judge(("zh", "ko"), profile).unknown_words("Hello!") == {}
    assert Judge(("en", "ko")).unknown_words("Hello!") == {}
    assert judge.unknown_words("...") == {}
    assert judge.unknown_words("") == {}  # a line that is copied has no word to judge
    found = judge.judged(Translation("안녕", token_log_probabilities=(-1.0,)), "Hello!", 0.6)
    assert (found.unknown_words, found.notes) == (("Hello",), ("unknown-words",))


@pytest.mark.parametrize(("own", "notes"), [(0.66, ("uncertain",)), (0.67, ())])
def test_low_confidences_are_noted_where_they_are_calibrated(own, notes):
    written = Translation("개", token_log_probabilities=(-0.1,), confidence=own)
    as_it_is = Calibration(scale=1.0, shift=0.0)
    assert Judge(("en", "ko"), None, as_it_is).judged(written, "A dog", 0.0).notes == notes
    assert Judge(("en", "ko")).judged(written, "A dog", 0.0).notes == ()


def test_a_profile_is_the_same_for_texts_together_and_alone(profile):
    together = profile.unknown(HELD)
    assert [float(profile.unknown([text])[0]) for text in HELD] == together.tolist()


@pytest.mark.parametrize(
    "values", [{"grams": "AAAA"}, {"grams": "!"}, {"grams": ""}, {"ratio": 0.0}, {"more": 1}]
)
def test_a_damaged_profile_is_refused(values, tmp_path):
    bundle = transformer(tmp_path / "model")
    config = json.loads((bundle / "config.json").read_text("utf-8"))
    config["profile"] = {"grams": "AA==", "unseen": 0.1, "ratio": 1.0} | values
    (bundle / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match=r"config\.json"):
        Translator.load(bundle, device="cpu")


@pytest.mark.parametrize(
    ("source", "text", "notes"),
    [
        ("The cat saw a dog.", "고양이가 개를 봤어요.", ()),
        ("The cat saw a dog.", "", ("empty",)),
        ("The cat saw a dog.", "...", ("empty",)),
        ("The cat saw a dog.", "The cat saw a dog.", ("copied",)),
        ("Bo Diddley", "Bo Diddley", ()),
        ("The cat saw a dog.", "L'adadadadadadad", ("repetition",)),
        ("The cat saw it all.", "그 고양이가 그 고양이가 그 고양이가 그 고양이가", ("repetition",)),
        ("The cat saw a dog.", "고양이이이이이이이이이이", ("repetition",)),
        ("Ha ha ha ha!", "하하하하! 하하하하!", ()),
        ("It cost 1,000,000,000 won.", "1,000,000,000원 들었어요.", ()),
        ("Very, very, very good.", "아주 아주 아주 아주 좋아요.", ()),
        ("A man in a hat saw a man in a coat.", "A man in a hat, a man in a coat", ()),
        ("Yes", "네, 그 사람은 어제 저녁에 집에 갔다가 다시 왔어요.", ("too-long",)),
        ("The cat, which was very old and tired, saw a dog in the park.", "개", ("too-short",)),
    ],
)
def test_faults_of_translations(profile, source, text, notes):
    assert Judge(("en", "ko"), profile).faults(source, text) == notes


def test_a_translator_of_one_language_may_copy():
    assert Judge(("en", "en")).faults("I am a student.", "I am a student.") == ()


@pytest.mark.parametrize("engine", ["torch", "native"])
def test_what_repeats_itself_is_searched_again(engine, tmp_path_factory):
    if engine == "native" and library() is None:
        pytest.skip("needs a C compiler")
    bundle = transformer(tmp_path_factory.mktemp("loops") / "model")  # nobody trained it
    translator = Translator.load(bundle, device="cpu", engine=engine)
    texts = ["the cat sat on the mat", "the dog barked", "I am a student"]
    plain = translator.translate(texts, keep=False)
    looping = [row for row, each in enumerate(plain) if "repetition" in each.notes]
    assert looping, [each.text for each in plain]
    again = translator.translate(texts)
    mended = [row for row in looping if "searched-again" in again[row].notes]
    assert mended
    for row in mended:
        assert "repetition" not in again[row].notes
        assert again[row].text == translator.translate([texts[row]])[0].text
    for row in set(range(len(texts))) - set(looping):
        assert again[row].text == plain[row].text
    sampled = DecodingOptions(beam=1, sample=True, maximum_ratio=3.0)
    assert not any("searched-again" in one.notes for one in translator.translate(texts, sampled))
    stricter = FOR_TRANSLATION.changed({"no_repeat_ngram": 3})
    forced = translator.translate(texts, stricter)
    assert [forced[row].text for row in mended] == [again[row].text for row in mended]
    assert not any("searched-again" in each.notes for each in forced)


def test_notes_of_a_line_are_those_of_its_sentences(tiny_bundle):
    translator = Translator.load(tiny_bundle, device="cpu")
    line = "Я вижу собаку. I am a student. Она спит."
    (found,) = translator.translate([line], split="sentences")
    assert found.notes.count("unknown-script") == 1
    assert found.facts()["notes"] == found.notes
