"""Example inputs for a model: its validation data, or the built-in corpus."""

from collections.abc import Iterable, Iterator
from itertools import islice
from math import log
from pathlib import Path

from jumok.bundle.card import BundleConfig
from jumok.bundle.reading import Bundle
from jumok.config import CorpusConfig, load_config
from jumok.config.texts import LabelledCorpusConfig, TextCorpusConfig
from jumok.data.pairs.corpus import read_pairs
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.errors import JumokError
from jumok.systems.loading import opened
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator
from jumok.training.folder import RECIPE, SMALLWORLD, run_of
from jumok.training.preparing.pairs import corpus_of_pairs
from jumok.training.preparing.texts import corpus_of
from smallworld.corpus import pairs

MOST_EXAMPLES = 5
"""The most examples."""
LINES_READ = 2_000
"""Lines of a corpus among which examples are looked for."""
FEWEST_WORDS, MOST_WORDS, PROMPT = 3, 10, 4
GAP = "[MASK]"


CANDIDATES = 40
"""Sentences among which that for a page to open with is looked for."""
SURE = 0.8
"""The geometric mean of the probabilities of its tokens; less is no good first impression."""


def opening_first(bundle: Bundle) -> list[str]:
    """The examples of a page; of a translator first the sentence whose words move farthest.

    It is one of `CANDIDATES` sentences whose translation is sure (`SURE`), if there is such a one.
    """
    if bundle.config.task != "translation":
        return examples_for(bundle)
    candidates = examples_for(bundle, CANDIDATES)
    translated = Translator.load(bundle.folder, device="cpu").translate(candidates)
    sure = [
        (words_moved(each), text)
        for text, each in zip(candidates, translated, strict=True)
        if each.token_log_probabilities
        and each.log_probability / len(each.token_log_probabilities) >= log(SURE)
    ]
    first = max(sure, key=lambda each: each[0])[1:] if sure else ()
    return list(dict.fromkeys([*first, *candidates]))[:MOST_EXAMPLES]


def words_moved(translation: Translation) -> int:
    """How far words are from their places: the sum over the links of the differences of ranks.

    Spearman's footrule of the alignment, whose links are ranked by their words on either side.
    """
    links = translation.alignment or ()
    by_source, by_target = sorted(links), sorted(links, key=lambda link: (link[1], link[0]))
    ranks = {link: rank for rank, link in enumerate(by_target)}
    return sum(abs(rank - ranks[link]) for rank, link in enumerate(by_source))


def examples_for(model: Bundle | Path, most: int = MOST_EXAMPLES) -> list[str]:
    """A few inputs for a model that reads text.

    They are from the validation or training data of its run; without these from the embedded
    corpus, if it has the model's language.
    """
    try:
        bundle = opened(model)
        config = bundle.config
    except JumokError:  # a folder in Hugging Face's format, whose data is not known
        return []
    own = list(_run_texts(bundle.folder, config.source_language))
    texts = (
        _chosen_examples(own, most)
        or _chosen_examples(own, most, fewest=1)
        or _chosen_examples(map(_first_words, own), most, fewest=1)
    )
    texts = texts or _chosen_examples(_built_in(config), most)
    return [_as_input(text, config.task) for text in texts]


def _run_texts(model: Path, language: str) -> Iterator[str]:
    """The texts of the run that the bundle belongs to: runs/NAME/model, or runs/NAME/steps/N."""
    run = run_of(model)
    if run is None:
        return
    world = run / SMALLWORLD / f"validation.{language}"
    try:
        if world.is_file():
            yield from _corpus_texts(TextCorpus(world))
            return
        data = getattr(load_config(run / RECIPE), "data", None)
        for corpus in (*getattr(data, "validation", ()), *getattr(data, "train", ())):
            if isinstance(corpus, CorpusConfig):
                if corpus.prepared is not None:
                    continue  # token ids, and perhaps far away
                sides = read_pairs(corpus_of_pairs(corpus, skip_damaged=False))
                yield from (pair.source for pair in islice(sides, LINES_READ))
            elif isinstance(corpus, TextCorpusConfig | LabelledCorpusConfig):
                yield from _corpus_texts(corpus_of(corpus))
    except JumokError:  # the data has been moved, or needs a package that is not installed
        return


def _corpus_texts(corpus: TextCorpus) -> Iterator[str]:
    return (example.text for example in islice(read_examples(corpus), LINES_READ))


def _built_in(config: BundleConfig) -> Iterator[str]:
    """Sentences of the embedded corpus in the model's language; none for other languages."""
    if config.source_language not in ("en", "ko"):
        return iter(())
    english = config.source_language == "en"
    examples = pairs("test", maximum_words=MOST_WORDS)
    return (pair.source if english else pair.target for pair in examples)


def _first_words(text: str) -> str:
    return " ".join(text.split()[:MOST_WORDS])


def _chosen_examples(texts: Iterable[str], most: int, fewest: int = FEWEST_WORDS) -> list[str]:
    fits = (text.strip() for text in texts if fewest <= len(text.split()) <= MOST_WORDS)
    chosen: dict[str, None] = {}
    for text in fits:
        chosen[text] = None
        if len(chosen) == most:
            break
    return list(chosen)


def _as_input(text: str, task: str) -> str:
    """The text as an input: for a language model its beginning; with a gap for a masked one."""
    words = text.split()
    if task == "language-model":
        return " ".join(words[:PROMPT])
    if task == "masked-lm":
        longest = max(range(len(words)), key=lambda place: len(words[place]))
        words[longest] = GAP
        return " ".join(words)
    return text
