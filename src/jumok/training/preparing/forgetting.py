"""What a model gained and forgot when it was trained further: its scores before and after."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jumok.bundle.card import Score
from jumok.config import Config, StartConfig
from jumok.config.data import CorpusConfig
from jumok.config.families import (
    ImageClassificationConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassificationConfig,
    TranslationConfig,
)
from jumok.config.pictures import PicturesConfig
from jumok.config.section import Section
from jumok.config.texts import LabelledCorpusConfig, TextCorpusConfig
from jumok.data.files.atomic import write_durably
from jumok.data.files.formats import FORMATS_BY_LANGUAGE, kind_of_name
from jumok.errors import ConfigError
from jumok.training.folder import FURTHER
from jumok.training.task import EARLIER, Scores, scores_on_card

NEW = "new data"


@dataclass(frozen=True)
class Gain:
    """A score before and after further training on "new data" or "earlier data"."""

    data: str
    score: str
    before: float
    after: float
    difference: float
    on: str

    def __str__(self) -> str:
        return f"{self.data}: {self.score} {self.before:.2f} -> {self.after:.2f}"


def gains(before: Scores, after: Sequence[Score]) -> list[Gain]:
    """The scores that are known of both models.

    Args:
        after: those of the trained model's card.
    """
    known = {(one.on, one.name): one.value for one in scores_on_card(before)}
    return [
        Gain(
            EARLIER if one.on.startswith(EARLIER) else NEW,
            one.name,
            known[one.on, one.name],
            one.value,
            one.value - known[one.on, one.name],
            one.on.removeprefix(f"{EARLIER}: "),
        )
        for one in after
        if (one.on, one.name) in known
    ]


def store(found: Sequence[Gain], start: str, home: Path) -> None:
    """Writes them into the run's folder."""
    told = {"started_from": start, "gains": [asdict(each) for each in found]}
    write_durably(home / FURTHER, (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode())


def checked_config(config: Config, start: StartConfig) -> Config:
    """The recipe with the texts of `start.check` as its validation data.

    Raises:
        ConfigError: the kind of model has no such texts, or their number is wrong.
    """
    data = getattr(config, "data", None)
    assert isinstance(data, Section)
    if isinstance(getattr(data, "smallworld", None), Section):
        raise ConfigError(
            "start.check needs data from files, which data.smallworld is not.",
            got="data.smallworld" + " of the earlier data, with start.mix" * bool(start.mix),
            do="leave out --check, or what names data.smallworld",
        )
    checked = data.model_copy(update={"validation": _corpora(config, start.check)})
    return config.model_copy(update={"data": checked})


def _corpora(config: Config, files: tuple[Path, ...]) -> tuple[Section, ...]:
    if isinstance(config, TranslationConfig):
        if len(files) > 2:
            raise ConfigError(
                "start.check of a translator is a table, or a text and its translation.",
                expected="--check FILE, or --check SOURCE --check TARGET",
                got=", ".join(map(str, files)),
            )
        if len(files) == 2:
            return (CorpusConfig(source=files[0], target=files[1]),)
        data = config.data
        if kind_of_name(files[0]) not in FORMATS_BY_LANGUAGE:
            return (CorpusConfig(file=files[0]),)
        source, target = data.source_language, data.target_language
        return (CorpusConfig(file=files[0], source_column=source, target_column=target),)
    if isinstance(config, LanguageModelConfig | MaskedLanguageModelConfig):
        return tuple(TextCorpusConfig(file=file) for file in files)
    if isinstance(config, TextClassificationConfig):
        return tuple(LabelledCorpusConfig(file=file) for file in files)
    if isinstance(config, ImageClassificationConfig):
        return tuple(PicturesConfig(folder=file) for file in files)
    raise ConfigError(
        "this kind of model has no start.check.",
        got=config.model.kind,
        do="name the recipe of the earlier data: --set start.recipe=FILE",
    )
