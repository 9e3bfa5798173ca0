import pytest

from smallworld.choices import VERBS
from smallworld.english import Grades, VerbForms, article, number_name, with_s
from smallworld.lexicon import ADJECTIVES, NOUNS


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("work", "work works worked worked working"),
        ("study", "study studies studied studied studying"),
        ("play", "play plays played played playing"),
        ("dance", "dance dances danced danced dancing"),
        ("wash", "wash washes washed washed washing"),
        ("stop", "stop stops stopped stopped stopping"),
        ("open", "open opens opened opened opening"),
        ("fix", "fix fixes fixed fixed fixing"),
        ("eat/ate/eaten", "eat eats ate eaten eating"),
        ("cut/cut", "cut cuts cut cut cutting"),
        ("forget/forgot/forgotten", "forget forgets forgot forgotten forgetting"),
        ("lie/lay/lain", "lie lies lay lain lying"),
        ("have/had", "have has had had having"),
        ("go/went/gone", "go goes went gone going"),
    ],
)
def test_verb_forms_follow_english_spelling(written: str, forms: str) -> None:
    made = VerbForms.of(written)
    assert [made.base, made.third, made.past, made.participle, made.gerund] == forms.split()


def test_with_s_spells_plurals() -> None:
    words = ["dog", "box", "baby", "boy", "church", "dress"]
    assert [with_s(word) for word in words] == [
        "dogs", "boxes", "babies", "boys", "churches", "dresses"
    ]  # fmt: skip


def test_article_goes_by_sound() -> None:
    words = ["apple", "dog", "hour", "honest", "university", "old", "yellow"]
    assert [article(word) for word in words] == ["an", "a", "an", "an", "a", "an", "a"]


def test_number_name_hyphenates_above_twenty() -> None:
    assert [number_name(n) for n in (2, 12, 30, 21, 59)] == [
        "two", "twelve", "thirty", "twenty-one", "fifty-nine"
    ]  # fmt: skip


def test_grades_take_more_and_most_where_none_are_given() -> None:
    famous = Grades.of("famous")
    assert (famous.comparative, famous.superlative) == ("more famous", "most famous")


def test_the_lexicon_pairs_lemmas_one_to_one() -> None:
    nouns = [noun for kind in NOUNS.values() for noun in kind]
    for words in (
        [noun.english for noun in nouns],
        [noun.korean for noun in nouns],
        [verb.stem.plain for verb in VERBS],
        [adjective.english.positive for adjective in ADJECTIVES],
        [adjective.stem.plain for adjective in ADJECTIVES],
    ):
        assert len(words) == len(set(words))
    assert len(nouns) + len(VERBS) + len(ADJECTIVES) >= 300
