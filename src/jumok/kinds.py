"""The table of kinds: one record with the properties of each kind of model.

A record names the recipe, the training task, the system and its traces, and the functions of
`jumok evaluate` and `jumok heads`. Each is a string, "module:name", imported when it is first used.
So the table imports no other package, and the command line reads it without importing torch.

A new kind of model is a record here and the files that it names. `register` adds a kind of your
own, before its recipe or its bundle is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from jumok.errors import ConfigError
from jumok.places import import_string

Writes = Literal["text", "continuation", "gaps", "label"]


@dataclass(frozen=True)
class Kind:
    """The properties of one kind of model.

    Attributes:
        verb: the command that uses it.
        reads: its input: a text, or an image file.
        attention: the key and value that add attention to a recipe of a model without it.
        writes: its output: a text, written from left to right; the continuation of its input; the
            gaps of its input; or a label. It selects the views and texts of the page.
        texts: texts of the page that differ for this kind, by language ("en", "ko") and name in
            `web/words.js`: {"en": {"output": "Summary"}, "ko": {"output": "요약"}}.
        system: the class of a loaded bundle, a `jumok.systems.base.System`.
        trace: its `jumok.tracing.forced.Tracer`, for `jumok look` and `jumok.record`. None: it has
            no traces.
        recipe: the class of its recipe, a `jumok.config.families.Config`, for these values of
            `model.kind`. None: jumok does not train this kind.
        build: (section [model], DataSizes) -> nn.Module: builds the model. None: the builder is in
            `jumok/models/catalog.py`.
        training: (config, home, cache, reporter) -> Task: prepares the training.
        evaluate: (Evaluation) -> Judged. None: jumok does not evaluate this kind.
        options: the options of `jumok evaluate` that apply to this kind but not to all kinds;
            "decoding" stands for the `DecodingOptions`.
        metrics: the values of --metrics.
        columns: the default of --columns.
        corpus: (CorpusArgs) -> HeadCorpus: the corpus of `jumok heads`. None: it has no head cards.
        classify: (system, lists of items, batch size) -> predictions, for `jumok classify`.
        quality: (QualityCheck) -> ComparedModels: the measurement of `jumok quantize`. None: it has
            none.
    """

    verb: str
    reads: Literal["text", "picture"]
    system: str
    trace: str | None = None
    writes: Writes = "text"
    attention: str | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    recipe: str | None = None
    build: str | None = None
    training: str | None = None
    evaluate: str | None = None
    options: frozenset[str] = frozenset()
    metrics: frozenset[str] = frozenset()
    columns: str = "0,1"
    corpus: str | None = None
    classify: str | None = None
    quality: str | None = None

    def entry(self, name: str) -> Any:
        """The imported object of the field `name`.

        Raises:
            ConfigError: the place in this field does not exist.
        """
        place = getattr(self, name)
        if place is None:
            raise ConfigError(
                f"the record of this kind of model has no entry {name!r}.",
                do="add it where the kind is registered (jumok.Kind)",
            )
        return import_string(place)


_WRITER = frozenset({"columns", "output", "decoding", "tokenize", "metrics"})

KINDS: dict[str, Kind] = {
    "translation": Kind(
        verb="translate",
        reads="text",
        system="jumok.systems.translation.translator:Translator",
        trace="jumok.tracing.translation:TRANSLATION",
        recipe="jumok.config.families:TranslationConfig",
        attention="model.attention=additive",
        training="jumok.training.tasks.translation:TranslationTask.prepare",
        evaluate="jumok.cli.evaluation.translation:evaluate_translation",
        options=_WRITER | {"from_", "to", "by", "lowercase", "split", "keep", "no_keep", "train"},
        metrics=frozenset({"text", "spelling"}),
        corpus="jumok.cli.head_cards.corpora:PairsCorpus",
        quality="jumok.cli.quality:measure_translation",
    ),
    "captioning": Kind(
        verb="caption",
        reads="picture",
        system="jumok.systems.captioner:Captioner",
        trace="jumok.tracing.captions:CAPTION",
        recipe="jumok.config.families:CaptionConfig",
        training="jumok.training.tasks.captions:CaptioningTask.prepare",
        evaluate="jumok.cli.evaluation.images:evaluate_captions",
        options=_WRITER | {"images"},
        metrics=frozenset({"text", "meteor"}),
        columns="0,2",
        corpus="jumok.cli.head_cards.corpora:CaptionsCorpus",
    ),
    "image-classification": Kind(
        verb="classify",
        reads="picture",
        writes="label",
        system="jumok.systems.image_classifier:ImageClassification",
        trace="jumok.tracing.texts:PICTURE_CLASS",
        recipe="jumok.config.families:ImageClassificationConfig",
        attention="model.attention_after=[2]",
        training="jumok.training.tasks.image_classification:ImageClassificationTask.prepare",
        evaluate="jumok.cli.evaluation.images:evaluate_images",
        options=frozenset({"output", "skip_damaged"}),
        corpus="jumok.cli.head_cards.corpora:LabelsCorpus",
        quality="jumok.cli.quality:measure_labels",
        classify="jumok.cli.verbs.classify:predict_images",
    ),
    "language-model": Kind(
        verb="generate",
        reads="text",
        writes="continuation",
        system="jumok.systems.language_model:LanguageModel",
        trace="jumok.tracing.language_model:LANGUAGE_MODEL",
        recipe="jumok.config.families:LanguageModelConfig",
        training="jumok.training.tasks.language_model:LanguageModelTask.prepare",
        evaluate="jumok.cli.evaluation.texts:evaluate_language_model",
        options=frozenset({"columns", "output", "train"}),
        corpus="jumok.cli.head_cards.corpora:TextsCorpus",
        quality="jumok.cli.quality:measure_language_model",
    ),
    "text-classification": Kind(
        verb="classify",
        reads="text",
        writes="label",
        system="jumok.systems.text_classifier:TextClassification",
        trace="jumok.tracing.texts:TEXT_CLASS",
        recipe="jumok.config.families:TextClassificationConfig",
        training="jumok.training.tasks.text_classification:TextClassificationTask.prepare",
        evaluate="jumok.cli.evaluation.texts:evaluate_labels",
        options=frozenset({"columns", "output", "train"}),
        corpus="jumok.cli.head_cards.corpora:TextsCorpus",
        classify="jumok.cli.verbs.classify:predict_texts",
        quality="jumok.cli.quality:measure_labels",
    ),
    "masked-lm": Kind(
        verb="fill",
        reads="text",
        writes="gaps",
        system="jumok.systems.masked_model:MaskedModel",
        trace="jumok.tracing.texts:GAPS",
        recipe="jumok.config.families:MaskedLanguageModelConfig",
        training="jumok.training.tasks.masked:MaskedLanguageModelTask.prepare",
        evaluate="jumok.cli.evaluation.texts:evaluate_guesses",
        options=frozenset({"columns", "train"}),
        corpus="jumok.cli.head_cards.corpora:TextsCorpus",
    ),
}
"""The kinds by the task of their bundles."""


def page_facts(task: str, *, pictures: bool) -> dict[str, Any]:
    """The properties of a kind for the page, as plain JSON.

    Args:
        pictures: whether the trace has an image. The kind of a trace may be unknown, if its plugin
            is not loaded; its output then has no views.
    """
    kind = KINDS.get(task)
    if kind is None:
        return {"reads": "picture" if pictures else "text", "writes": None, "texts": {}}
    texts = {language: dict(named) for language, named in kind.texts.items()}
    return {"reads": kind.reads, "writes": kind.writes, "texts": texts}


def register_kind(task: str, kind: Kind) -> None:
    """Adds a kind of model.

    Raises:
        ConfigError: another kind has this name.
    """
    if KINDS.get(task, kind) != kind:
        raise ConfigError(
            f"there is another kind of model called {task!r}.",
            do="choose another name; taken are: " + ", ".join(KINDS),
        )
    KINDS[task] = kind
