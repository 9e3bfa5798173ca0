"""Every shipped recipe can be followed, and the manual names every key."""

import re
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pytest

from jumok.config import (
    CorpusConfig,
    MaskedConfig,
    MaskingConfig,
    RecurrentConfig,
    Section,
    TextClassifierConfig,
    TransformerConfig,
    TranslationConfig,
    load_config,
)
from jumok.config.captioner import (
    CaptionCorpusConfig,
    CaptionDataConfig,
    CaptionerConfig,
    CaptionValidationConfig,
    CnnConfig,
    ReaderConfig,
    RnnDecoderConfig,
    ScenesConfig,
)
from jumok.config.causal import CausalConfig
from jumok.config.data import CleanConfig, NoiseConfig
from jumok.config.eye import EyeConfig
from jumok.config.families import LanguageModelConfig
from jumok.config.stack import WriterConfig
from jumok.config.texts import (
    LabelledCorpusConfig,
    TextCorpusConfig,
    TextDataConfig,
    TextsConfig,
    TextTokenizerConfig,
)
from jumok.data.tokenizer import Tokenizer
from smallworld.corpus import pairs

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
MANUAL = next(recipe for recipe in RECIPES if recipe.name == "multi30k-en-de.toml")
MODELS = {"multi30k-rnn.toml": RecurrentConfig}  # recipes that explain a [model] section of theirs
VARIABLES = {"JUMOK_DATA": "/data", "JUMOK_RUNS": "/runs"}


def keys_of(section: Any, path: str = "") -> set[str]:
    """Every dotted key that a section knows; the items of a list share one name."""
    keys: set[str] = set()
    for name, field in section.model_fields.items():
        inner = (field.annotation, *get_args(field.annotation))
        sections = [part for part in inner if isinstance(part, type) and issubclass(part, Section)]
        keys |= keys_of(sections[0], f"{path}{name}.") if sections else {f"{path}{name}"}
    return keys


def explained_keys(manual: str) -> dict[str, str]:
    """Each key of the manual, whether it is used or stands as #key, with the text above it."""
    explained: dict[str, str] = {}
    section, text = "", ""
    for line in manual.splitlines():
        if heading := re.fullmatch(r"#?\[+([\w.]+)\]+", line):
            section, text = f"{heading[1]}.", ""
        elif line.startswith("# "):
            text += line.removeprefix("#")
        elif key := re.match(r"#?(\w+) = ", line):
            if section + key[1] not in explained:
                explained[section + key[1]] = text
            text = ""
        elif not line:
            text = ""
    return explained


def test_the_manual_and_the_config_know_the_same_keys():
    # A validation corpus has the keys of a training corpus; the manual explains them once.
    known = {key for key in keys_of(TranslationConfig) if not key.startswith("data.validation.")}
    explained = set(explained_keys(MANUAL.read_text("utf-8")))
    explained -= {"data.validation.source", "data.validation.target"}
    assert explained == known


def test_the_manual_gives_every_default():
    texts = explained_keys(MANUAL.read_text("utf-8"))
    for key, text in texts.items():
        if not key.startswith("data.validation."):
            assert re.search(r"[Dd]efault", text), key


def test_the_defaults_in_the_manual_are_the_real_ones():
    texts = explained_keys(MANUAL.read_text("utf-8"))
    checked = 0
    for path, section in (
        ("", TranslationConfig),
        ("data.", TranslationConfig.model_fields["data"].annotation),
        ("data.train.", CorpusConfig),
        ("data.clean.", CleanConfig),
        ("data.noise.", NoiseConfig),
        ("tokenizer.", TranslationConfig.model_fields["tokenizer"].annotation),
        ("model.", TransformerConfig),
        ("training.", TranslationConfig.model_fields["training"].annotation),
        ("validation.", TranslationConfig.model_fields["validation"].annotation),
    ):
        for name, field in section.model_fields.items():
            said = re.search(r"Default ([^:]+?)[.:]( |$)", texts.get(path + name, ""))
            if said is not None:
                value = tomllib.loads(f"value = {said[1]}")["value"]
                default = list(field.default) if isinstance(field.default, tuple) else field.default
                assert value == default, path + name
                checked += 1
    assert checked > 40


@pytest.mark.parametrize(("recipe", "section"), MODELS.items())
def test_a_kind_of_model_has_its_own_manual(recipe, section):
    texts = explained_keys((MANUAL.parent / recipe).read_text("utf-8"))
    for name, field in section.model_fields.items():
        if name != "kind":
            said = re.search(r"Default ([^:]+?)[.:]?( |$)", texts[f"model.{name}"])
            assert tomllib.loads(f"value = {said[1]}")["value"] == field.default, name


@pytest.mark.parametrize(
    ("recipe", "sections"),
    [
        ("nsmc-mlm", (TextsConfig, TextCorpusConfig, MaskedConfig, MaskingConfig)),
        ("nsmc", (LabelledCorpusConfig, TextClassifierConfig)),
    ],
)
def test_a_recipe_of_texts_names_the_keys_that_are_its_own(recipe, sections):
    text = (MANUAL.parent / f"{recipe}.toml").read_text("utf-8")
    for section in sections:
        own = set(section.model_fields) - set(WriterConfig.model_fields) - {"train", "validation"}
        if recipe == "nsmc":
            own -= set(MaskedConfig.model_fields) | set(TextCorpusConfig.model_fields)
        for key in own:
            assert re.search(rf"(?m)^#?{key} = ", text), key


CAPTIONERS = [
    ("scenes.toml", "data", CaptionDataConfig, {"train", "validation", "scenes", "views"}),
    ("scenes.toml", "data.scenes", ScenesConfig, set()),
    ("scenes.toml", "model", CaptionerConfig, {"kind", "encoder", "reader", "decoder"}),
    ("scenes.toml", "model.reader", ReaderConfig, set()),
    ("scenes.toml", "model.encoder", CnnConfig, {"kind"}),
    ("scenes.toml", "validation", CaptionValidationConfig, {"every", "patience", "keep"}),
    ("flickr8k.toml", "data.train", CaptionCorpusConfig, {"captions", "images"}),
    ("flickr8k-pretrained.toml", "model.encoder", EyeConfig, {"kind", "weights"}),
    ("flickr8k.toml", "model.decoder", RnnDecoderConfig, {"kind"}),
]


@pytest.mark.parametrize(("recipe", "path", "section", "others"), CAPTIONERS)
def test_the_captioners_manuals_name_every_key_and_its_default(recipe, path, section, others):
    texts = explained_keys((MANUAL.parent / recipe).read_text("utf-8"))
    for name, field in section.model_fields.items():
        if name not in others:
            said = re.search(r"Default (.+?)\.?$", texts[f"{path}.{name}"])
            default = list(field.default) if isinstance(field.default, tuple) else field.default
            assert tomllib.loads(f"value = {said[1]}")["value"] == default, name


def test_the_recipe_of_a_language_model_explains_what_the_manual_does_not():
    recipe = MANUAL.with_name("shakespeare.toml").read_text("utf-8")
    section, texts = "", {}
    for line in recipe.splitlines():
        if heading := re.fullmatch(r"\[+([\w.]+)\]+", line):
            section = f"{heading[1]}."
        elif key := re.match(r"#?(\w+) = [^#]+ # (.*)", line):
            texts[section + key[1]] = key[2]
    own = keys_of(LanguageModelConfig) - keys_of(TranslationConfig)
    own |= {
        f"model.{name}" for name in CausalConfig.model_fields.keys() - WriterConfig.model_fields
    }
    own = {key for key in own if not key.startswith("data.validation.")}
    assert own <= texts.keys()
    for path, fields in (
        ("data.", TextDataConfig.model_fields),
        ("data.train.", TextCorpusConfig.model_fields),
        ("tokenizer.", TextTokenizerConfig.model_fields),
        ("model.", CausalConfig.model_fields),
    ):
        for name, field in fields.items():
            if said := re.search(r"Default (.+)$", texts.get(path + name, "")):
                assert tomllib.loads(f"value = {said[1]}")["value"] == field.default, path + name


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_a_shipped_recipe_can_be_followed(recipe):
    assert load_config(recipe, variables=VARIABLES).name == recipe.stem


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe != MANUAL], ids=lambda recipe: recipe.stem
)
def test_every_line_of_a_short_recipe_is_commented(recipe):
    for line in recipe.read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            assert re.search(r" # \w", line), line


def test_these_recipes_are_shipped():
    """One name a line: who adds a recipe adds a line."""
    names = [
        "chatbot",
        "chatbot-rnn",
        "cifar10",
        "cifar10-attention",
        "enko",
        "enko-ko-lm",
        "flickr8k",
        "flickr8k-pretrained",
        "mnist",
        "mnist-attention",
        "multi30k-en-de",
        "multi30k-en-de-fr",
        "multi30k-modern",
        "multi30k-rnn",
        "nsmc",
        "nsmc-mlm",
        "nsmc-pretrained",
        "scenes",
        "scenes-ko",
        "scenes-one-vector",
        "scenes-rnn",
        "shakespeare",
        "shakespeare-bpe",
        "shakespeare-llama",
        "shakespeare-modern",
        "smallworld-en-ko",
        "smallworld-mlm",
        "tatoeba-en-fr",
        "translit",
        "translit-one-vector",
        "translit-rnn",
    ]
    assert sorted(recipe.stem for recipe in RECIPES) == names


def test_the_first_recipe_shows_whole_words() -> None:
    """A newcomer looks at the demo's sentences first, and "cat" is no subword noise there."""
    recipe = next(recipe for recipe in RECIPES if recipe.stem == "smallworld-en-ko")
    config = load_config(recipe, variables=VARIABLES)
    train = list(islice(pairs("train", maximum_words=16), 30_000))
    lines = [line for pair in train for line in (pair.source, pair.target)]
    tokenizer = Tokenizer.train(lines, config.tokenizer.kind, config.tokenizer.size)
    unseen = " ".join(pair.source for pair in islice(pairs("test", maximum_words=16), 1_000))
    words = re.findall(r"[^\W\d_]+", unseen)
    assert sum(len(tokenizer.encode(word)) == 1 for word in words) / len(words) > 0.97
    for sentence in ("The cat saw a dog.", "The teacher read a book.", "I am a student."):
        count = len(sentence.split()) + 1  # the full stop is a token
        assert len(tokenizer.encode(sentence)) == count, sentence
