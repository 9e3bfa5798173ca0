"""`jumok train --from MODEL` without a recipe, and its gains and losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from jumok.bundle.card import BundleConfig, Score
from jumok.bundle.reading import read_bundle
from jumok.cli.columns import column_of, named_columns, two_columns
from jumok.config import Config
from jumok.config.writing import recipe_text
from jumok.data.files.formats import kind_of_name
from jumok.errors import ConfigError, Location
from jumok.training import folder
from jumok.training.run import Result
from jumok.training.start import PretrainedModel, parse
from jumok.training.task import EARLIER

BY_LANGUAGE = ("tmx", "po", "xliff")
"""The formats whose columns are languages."""


@dataclass(frozen=True)
class Files:
    """What is trained on instead of a recipe.

    Attributes:
        path: the argument: a file of text or a folder of images.
        texts, documents: the values of --text and --documents.
        columns: the value of --columns.
        language, to: the values of --from and --to for the columns of `data`.
    """

    path: Path | None
    source: Path | None
    target: Path | None
    data: Path | None
    texts: tuple[Path, ...]
    documents: str | None
    columns: str | None
    language: str | None
    to: str | None


def further_config(
    files: Files, model: Path, name: str | None, runs: Path, overrides: list[str], resume: bool
) -> Config:
    """The config of a run on files, without a recipe; a new run prints its recipe.

    Raises:
        ConfigError: this kind of model is not trained on such files; or see `start.parse`.
        BundleError: the model is missing or damaged.
    """
    sources = (files.path, files.source, files.data, *files.texts)
    named = next(each for each in sources if each is not None)
    name = name or named.resolve().name.split(".")[0]
    if resume and (runs / name / folder.START).is_file():
        about = PretrainedModel.stored(runs / name).config
    else:
        about = read_bundle(model).config
    values: dict[str, object] = {"name": name, "data": data_of(files, about, model)}
    config = parse(values, overrides, runs=runs if resume else None)
    if not resume:
        folder.refuse_taken(runs / name)
        typer.echo(recipe_text(config), err=True)
    return config


def data_of(files: Files, about: BundleConfig, model: Path) -> dict[str, object]:
    """The section [data] for these files.

    Raises:
        ConfigError: a model of this kind is not trained on such files.
    """
    if files.texts and about.task in ("language-model", "masked-lm"):
        return _texts(files, about)
    if about.task == "translation" and files.path is None and not files.texts:
        return _pairs(files, about)
    if files.source is not None or files.texts:
        raise _unfit(about, model)
    named_columns(files.data, files.columns, files.language, files.to)
    file = files.data or files.path
    if about.task in ("language-model", "masked-lm") and file is not None and not file.is_dir():
        column = {"column": column_of(files.columns)} if files.columns else {}
        return {"train": [{"file": _path(file), **column}]}
    if about.task == "text-classification" and file is not None and not file.is_dir():
        sides = "the text's and the label's"
        text, label = two_columns(files.columns or "0,1", sides, "text,label")
        return {"train": [{"file": _path(file), "text_column": text, "label_column": label}]}
    images = about.task == "image-classification" and files.data is None
    if images and file is not None and (file.is_dir() or file.suffix == ".zip"):
        return {"train": [{"folder": _path(file)}]}
    raise _unfit(about, model)


def _texts(files: Files, about: BundleConfig) -> dict[str, object]:
    """The files of --text; each is a document, or as --documents says."""
    named_columns(None, files.columns, files.language, files.to)
    rule = {"documents": files.documents} if files.documents else {}
    if rule and about.task != "language-model":
        raise ConfigError(
            "--documents has no effect for this kind of model.", got=about.task, do="leave it out"
        )
    return {"train": [{"file": _path(file)} for file in files.texts], **rule}


def _pairs(files: Files, about: BundleConfig) -> dict[str, object]:
    """Two files, or two columns of one, by default those of the languages."""
    if (files.source is None) != (files.target is None) or (files.source is None) == (
        files.data is None
    ):
        raise ConfigError(
            "a text and its translation are needed.",
            do="--source FILE --target FILE, or --data FILE.tmx",
        )
    languages: Mapping[str, str] = {}
    if files.language and files.to:
        languages = {"source_language": files.language, "target_language": files.to}
    if files.data is None:
        named_columns(None, files.columns, files.language, files.to)
        sides = {"source": files.source, "target": files.target}
        return {"train": [{side: _path(file) for side, file in sides.items() if file}]}
    both = bool(languages)
    named = named_columns(files.data, None if both else files.columns, files.language, files.to)
    own = about.source_language and about.target_language
    if not named and own and kind_of_name(files.data) in BY_LANGUAGE:
        named = f"{about.source_language},{about.target_language}"
    first, second = two_columns(
        files.columns or named or "0,1", "the text's and its translation's", "en,ko"
    )
    corpus = {"file": _path(files.data), "source_column": first, "target_column": second}
    return {"train": [corpus], **languages}


def _path(path: Path) -> str:
    """The absolute path, its $ doubled so that it stays a $."""
    return str(path.absolute()).replace("$", "$$")


FILES = {
    "translation": "--source FILE --target FILE, or --data FILE",
    "language-model": "a text: --text FILE",
    "masked-lm": "a text: --text FILE, or a table: --data FILE",
    "text-classification": "a table of texts and labels: --data FILE.tsv",
    "image-classification": "a folder of images with one subfolder per label",
    "captioning": "a recipe that names a table of captions and its images",
}


def _unfit(about: BundleConfig, model: Path) -> ConfigError:
    """A model that is not trained on such files."""
    return ConfigError(
        f"a model of the task {about.task} is not trained on such files.",
        expected=FILES.get(about.task, "a recipe"),
        do="give these, or a recipe: jumok train --from MODEL recipe.toml",
        place=Location(model),
    )


@dataclass(frozen=True)
class Gain:
    """A score before and after further training.

    Attributes:
        data: "new data" or "earlier data".
        on: the text that was scored, in words.
    """

    data: str
    score: str
    before: float
    after: float
    on: str


def gains_of(result: Result) -> list[Gain]:
    """The scores of the start model and of the best model; () of a model trained from scratch."""
    if result.start is None or result.start.scores is None or result.model is None:
        return []
    before = result.start.scores
    after = read_bundle(result.model).card.scores
    new = [score for score in after if not score.on.startswith(EARLIER)]
    old = [score for score in after if score.on.startswith(EARLIER)]
    first = before.earlier.figures if before.earlier else ()
    return [*_gains("new data", before.figures, new), *_gains(EARLIER, first, old)]


def _gains(data: str, before: Sequence[Score], after: Sequence[Score]) -> list[Gain]:
    """Those of the scores that both have, by name."""
    known = {score.name: score.value for score in before}
    return [
        Gain(data, score.name, known[score.name], score.value, score.on)
        for score in after
        if score.name in known
    ]


def gain_lines(gains: Sequence[Gain]) -> list[str]:
    """ "new data: BLEU 12.00 -> 31.50, chrF2 30.10 -> 52.00", and the earlier data in the next."""
    scores_of: dict[str, list[str]] = {}
    for gain in gains:
        scores_of.setdefault(gain.data, []).append(
            f"{gain.score} {gain.before:.2f} -> {gain.after:.2f}"
        )
    return [f"{data}: {', '.join(scores)}" for data, scores in scores_of.items()]
