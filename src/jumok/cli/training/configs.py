"""The config of `jumok train`: of a recipe, of files without one, or of a model and files."""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.columns import as_column, named_columns, pairs_of, two_columns
from jumok.cli.training.files import TrainingFiles, recipe_path
from jumok.errors import ConfigError, Location
from jumok.options import option
from jumok.shipped import recipe_names

if TYPE_CHECKING:
    from jumok.bundle.card import BundleConfig
    from jumok.config import Config

LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")

WINDOW = 1024
"""Tokens of a training window where a pretrained language model reads more."""

FILES_OF_TASK = {
    "translation": "--source FILE --target FILE, or --data FILE",
    "language-model": "a text: --text FILE",
    "masked-lm": "a text: --text FILE, or a table: --data FILE",
    "text-classification": "a table of texts and labels: --data FILE.tsv",
    "image-classification": "a folder of images with one subfolder per label",
    "captioning": "a recipe that names a table of captions and its images",
}


@dataclass(frozen=True)
class RunArgs:
    """The run."""

    name: str | None = option(None, "Name of the run (default: the name of the recipe).")
    changes: list[str] | None = option(
        None, "Change a key of the recipe, such as training.steps=2000. Repeatable.", "--set"
    )
    resume: bool = option(False, "Resume from the last checkpoint.")
    threads: int = option(
        0,
        "CPU threads per process; 0 = training.threads, or all cores.",
        minimum=0,
        maximum=1024,
    )

    @property
    def overrides(self) -> list[str]:
        """The options as changes of keys."""
        threads = [f"training.threads={self.threads}"] if self.threads else []
        return [*(self.changes or []), *([f'name="{self.name}"'] if self.name else []), *threads]


@dataclass(frozen=True)
class _Run:
    """A run whose config is made here."""

    name: str | None
    runs: Path
    overrides: list[str]
    resume: bool

    def announce(self, config: "Config", recipe: str) -> "Config":
        """Prints the recipe of a new run; ConfigError if there is one of this name."""
        from jumok.training.folder import refuse_taken

        if not self.resume:
            refuse_taken(self.runs / config.name)
            typer.echo(recipe, err=True)
        return config

    def config(self, recipe: str) -> "Config":
        """The config of a recipe that was made here."""
        from jumok.config import parse_config

        return self.announce(parse_config(tomllib.loads(recipe), self.overrides), recipe)


def config_of(recipe: Path | None, files: TrainingFiles, asked: RunArgs, runs: Path) -> "Config":
    """The config of a run; a recipe that is made for a new run is printed.

    Raises:
        ConfigError: options or keys are wrong or contradict, or a run of this name exists.
        DataError: a file cannot be read.
        BundleError: the model to train further is missing or damaged.
    """
    model, language = model_and_language(files.from_ or (), files.data is not None)
    overrides = asked.overrides
    overrides += ["data.skip_damaged=true"] if files.skip_damaged else []
    if model is not None:
        place = json.dumps(recipe_path(model.expanduser()), ensure_ascii=False)
        overrides.append(f"start.model={place}")  # a JSON string is one of TOML
    overrides += [] if files.mix is None else [f"start.mix={files.mix}"]
    checked = [recipe_path(file.expanduser()) for file in files.check_ or ()]
    overrides += [f"start.check={json.dumps(checked, ensure_ascii=False)}"] if checked else []
    overrides += [f"start.freeze={json.dumps(files.freeze)}"] if files.freeze else []
    overrides += [] if files.lora is None else [f"start.lora={files.lora}"]
    overrides += [] if (grow := files.grow_vocabulary) is None else [f"start.grow={grow}"]
    files.check(recipe)
    run = _Run(asked.name, runs, overrides, asked.resume)
    if model is not None and (recipe is None or _is_folder(recipe) or _is_text_file(recipe)):
        return _further_config(recipe, files, language, model, run)
    if files.text:
        return _text_config(files, language, run)
    if recipe is not None:
        named_columns(None, files.columns, language, files.to)  # a recipe names its columns itself
        return _image_config(recipe, run) if _is_folder(recipe) else _recipe_config(recipe, run)
    # With --columns, --from and --to only name the languages.
    columns = None if language and files.to else files.columns
    named = named_columns(files.data, columns, language, files.to)
    corpus = pairs_of(files.source, files.target, files.data, files.columns or named or "0,1")
    corpus = replace(
        corpus,
        skip_damaged=files.skip_damaged,
        encoding=files.encoding,
        delimiter=files.delimiter,
    )
    from jumok.training.defaults.pairs import recipe_for

    name = asked.name or corpus.files[0].name.split(".")[0]
    return run.config(recipe_for(corpus, name, (language, files.to)))


def model_and_language(values: Sequence[str], with_data: bool) -> tuple[Path | None, str | None]:
    """The model and the language (or column of --data) among the values of --from.

    A folder with a bundle is a model, and so is a path, even of a missing folder.

    Raises:
        ConfigError: two of a kind, a value that may be both, or neither.
    """
    models: list[str] = []
    languages: list[str] = []
    for value in values:
        bundle = (Path(value) / "config.json").is_file()
        if bundle and with_data and LANGUAGE_CODE.fullmatch(value):
            raise ConfigError(
                f"--from {value} may be the language or the folder of a model.",
                do=f"--from ./{value} is the folder; for the language, rename the folder",
            )
        path = bundle or "/" in value or "\\" in value or value[:1] in (".", "~")
        if not path and not with_data:
            raise ConfigError(
                "--from names neither the folder of a model nor, with --data, a language.",
                got=value,
                do="--from runs/NAME/model to train a model further, "
                "or --data FILE.tmx --from en --to fr",
            )
        (models if path else languages).append(value)
    for values_of_kind, what in ((models, "models"), (languages, "languages")):
        if len(values_of_kind) > 1:
            raise ConfigError(
                f"--from names two {what}.",
                got=", ".join(values_of_kind),
                do="give one model and at most one language",
            )
    return (Path(models[0]) if models else None), (languages[0] if languages else None)


def _is_folder(recipe: Path) -> bool:
    """Whether a folder is meant; a recipe's name takes precedence."""
    return recipe.is_dir() and not (recipe.parent == Path() and recipe.name in recipe_names())


def _is_text_file(path: Path) -> bool:
    return path.is_file() and path.suffix not in (".toml", ".json")


def _recipe_config(recipe: Path, run: _Run) -> "Config":
    if _is_text_file(recipe):
        from jumok.data.files.formats import kind_of, refusal
        from jumok.data.files.reading import first_bytes, open_bytes

        with open_bytes(recipe) as stream:
            kind = kind_of(recipe, first_bytes(stream))
        if kind is not None:
            raise refusal(recipe, kind, "a recipe")
    from jumok.training.start import load

    variables = {**os.environ, "JUMOK_RUNS": str(run.runs)}
    return load(recipe, run.overrides, variables, runs=run.runs if run.resume else None)


def _image_config(folder: Path, run: _Run) -> "Config":
    from jumok.training.defaults.pictures import read_folder, recipe_for_pictures

    images = read_folder(folder)
    config = run.config(recipe_for_pictures(folder, images, run.name or folder.resolve().name))
    if images.empty:
        empty = ", ".join(images.empty)
        typer.echo(f"folders without images, whose labels are not learnt: {empty}", err=True)
    return config


def _text_config(files: TrainingFiles, language: str | None, run: _Run) -> "Config":
    named_columns(None, files.columns, language, files.to)
    if files.skip_damaged:
        raise ConfigError(
            "--skip-damaged cannot be combined with --text.",
            do="remove the damaged lines: iconv -c -t UTF-8 FILE > NEW",
        )
    from jumok.data.files.formats import bare_name
    from jumok.training.defaults.texts import recipe_for_text

    texts = files.text or []
    name = run.name or bare_name(texts[0]).split(".")[0]
    rule = files.documents or "file"
    return run.config(recipe_for_text(texts, name, rule, files.encoding))


def _further_config(
    path: Path | None, files: TrainingFiles, language: str | None, model: Path, run: _Run
) -> "Config":
    from jumok.bundle.reading import read_bundle
    from jumok.config.writing import recipe_text
    from jumok.training.folder import START
    from jumok.training.start import PretrainedModel, parse

    sources = (path, files.source, files.data, *(files.text or ()))
    first = next(each for each in sources if each is not None)
    name = run.name or first.resolve().name.split(".")[0]
    if run.resume and (run.runs / name / START).is_file():
        bundle = PretrainedModel.stored(run.runs / name).config
    else:
        bundle = read_bundle(model).config
    data = _further_data(path, files, language, bundle)
    if data is None:
        raise ConfigError(
            f"a model of the task {bundle.task} is not trained on such files.",
            expected=FILES_OF_TASK.get(bundle.task, "a recipe"),
            do="give these, or a recipe: jumok train --from MODEL recipe.toml",
            place=Location(model),
        )
    values = {"name": name, "data": data}
    config = parse(values, run.overrides, runs=run.runs if run.resume else None)
    return run.announce(config, recipe_text(config))


def _further_data(
    path: Path | None, files: TrainingFiles, language: str | None, bundle: "BundleConfig"
) -> dict[str, object] | None:
    """The section [data] for these files; None: the model is not trained on such files."""
    of_text = bundle.task in ("language-model", "masked-lm")
    if files.text and of_text:
        named_columns(None, files.columns, language, files.to)
        rule = {"documents": files.documents} if files.documents else {}
        if rule and bundle.task != "language-model":
            raise ConfigError(
                "--documents has no effect for this kind of model.",
                got=bundle.task,
                do="leave it out",
            )
        train = [{"file": recipe_path(file), **files.read_as} for file in files.text]
        long = bundle.task == "language-model" and bundle.max_tokens > WINDOW
        return {"train": train, **rule, **({"window": WINDOW} if long else {})}
    if bundle.task == "translation" and path is None and not files.text:
        return _pair_data(files, language, bundle)
    if files.source is not None or files.text:
        return None
    named_columns(files.data, files.columns, language, files.to)
    file = files.data or path
    if file is None:
        return None
    if of_text and not file.is_dir():
        column = {"column": as_column(files.columns)} if files.columns else {}
        return {"train": [{"file": recipe_path(file), **column, **files.read_as}]}
    if bundle.task == "text-classification" and not file.is_dir():
        sides = "the text's and the label's"
        text, label = two_columns(files.columns or "0,1", sides, "text,label")
        corpus = {"file": recipe_path(file), "text_column": text, "label_column": label}
        return {"train": [{**corpus, **files.read_as}]}
    images = bundle.task == "image-classification" and files.data is None
    if images and (file.is_dir() or file.suffix == ".zip"):
        return {"train": [{"folder": recipe_path(file)}]}
    return None


def _pair_data(
    files: TrainingFiles, language: str | None, bundle: "BundleConfig"
) -> dict[str, object]:
    sides = {"source": files.source, "target": files.target}
    given = {side: recipe_path(file) for side, file in sides.items() if file is not None}
    if len(given) == 1 or bool(given) == (files.data is not None):
        raise ConfigError(
            "a text and its translation are needed.",
            do="--source FILE --target FILE, or --data FILE.tmx",
        )
    languages = {}
    if language and files.to:
        languages = {"source_language": language, "target_language": files.to}
    if files.data is None:
        named_columns(None, files.columns, language, files.to)
        return {"train": [given | files.read_as]}
    from jumok.data.files.formats import FORMATS_BY_LANGUAGE, kind_of_name

    columns = None if languages else files.columns
    named = named_columns(files.data, columns, language, files.to)
    own = bundle.source_language and bundle.target_language
    if not named and own and kind_of_name(files.data) in FORMATS_BY_LANGUAGE:
        named = f"{bundle.source_language},{bundle.target_language}"
    first, second = two_columns(
        files.columns or named or "0,1", "the text's and its translation's", "en,ko"
    )
    corpus = {"file": recipe_path(files.data), "source_column": first, "target_column": second}
    return {"train": [{**corpus, **files.read_as}], **languages}
