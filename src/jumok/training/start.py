"""Recipes that train a trained model further: the keys that are left out are filled in.

Sizes, tokenizer and languages are those of the bundle, and a recipe that contradicts them is
refused. The other settings are those of the recipe that the model was trained with, if it is known,
with a lower learning rate. `jumok.training.further` trains such a recipe.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from safetensors import safe_open

from jumok.bundle.card import BundleConfig, Provenance
from jumok.bundle.fingerprint import Origin
from jumok.bundle.reading import WEIGHTS, Bundle, read_bundle
from jumok.config import Config, StartConfig, load_config, parse_config
from jumok.config.families import families
from jumok.config.recipe import load_plugins, overridden, read_recipe
from jumok.config.section import RecipeContext
from jumok.data import special_tokens
from jumok.data.files.atomic import write_durably
from jumok.engine.packing import OUTPUT_BIAS
from jumok.environment import recipe_variables
from jumok.errors import BundleError, ConfigError, Location
from jumok.interop.vocabulary import COPIED_BIAS
from jumok.plugins import file_of
from jumok.shipped import find_recipe
from jumok.training.folder import RECIPE, START, flatten, run_of
from jumok.training.task import Scores

RATE = 0.2
"""The highest learning rate, as a share of that with which the model was trained."""
VALIDATION_PATIENCE = 3

ON_THIS_MACHINE = (
    *("threads", "device", "precision", "cuda_graphs", "recompute", "sharding", "tensorboard"),
)
OF_THIS_LENGTH = ("steps", "minutes", "log_every", "checkpoint_every", "learning_rate")
"""The keys of [training] that are not taken over from the earlier recipe."""
AUGMENTATION = ("augmentation", "flip", "shift", "captions_per_picture", "max_ratio", "noise")
"""The keys of [data] that are."""

LANGUAGES = {
    "translation": {"source_language": "source_language", "target_language": "target_language"},
    "captioning": {"language": "target_language"},
    "language-model": {"language": "source_language"},
}
"""For each task the languages in [data], and where they are in the bundle's config."""
LIMITS = {
    "translation": ("max_tokens",),
    "captioning": ("max_tokens",),
    "masked-lm": ("max_tokens",),
    "text-classification": ("max_tokens",),
    "language-model": ("documents",),
}
"""For each task the keys of [data] whose default is the bundle's."""

RecipeValues = dict[str, object]


@dataclass(frozen=True)
class PretrainedModel:
    """What a run stores of the model that it started from, to be resumed without it.

    Attributes:
        steps: the optimizer steps that it was trained for; 0: they are not known.
        provenance: of an imported model.
        scores: before the first step; None: not computed yet.
        unbiased: the output's bias is of zeros, as in families that have none, and stays so.
        frozen: the tokens that keep their vectors (`_frozen`).
    """

    name: str
    fingerprint: str
    config: BundleConfig
    steps: int
    scores: Scores | None = None
    provenance: Provenance | None = None
    unbiased: bool = False
    frozen: tuple[int, ...] = ()

    @classmethod
    def of(cls, bundle: Bundle) -> "PretrainedModel":
        """The model of a bundle."""
        card, origin = bundle.card, Origin(bundle)
        with safe_open(bundle.folder / WEIGHTS, "pt") as weights:
            unbiased = _unbiased(weights)
            frozen = _frozen(weights, unbiased=unbiased)
        return cls(
            card.name,
            origin.fingerprint,
            bundle.config,
            card.steps,
            provenance=card.provenance,
            unbiased=unbiased,
            frozen=frozen,
        )

    @classmethod
    def stored(cls, home: Path) -> "PretrainedModel":
        """The one that a run has stored in its folder.

        Raises:
            BundleError: the file is damaged.
        """
        file = home / START
        try:
            return TypeAdapter(cls).validate_python(json.loads(file.read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise BundleError(
                "the run's description of the model that it started from is damaged.",
                got=str(error)[:200],
                do="start a new run under another name: --name OTHER",
                place=Location(file),
            ) from error

    def store(self, home: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"
        write_durably(home / START, text.encode())

    def scored(self, scores: Scores) -> "PretrainedModel":
        return replace(self, scores=scores)

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint})"


def _unbiased(weights: Any) -> bool:
    """Whether the bias of the output is 0, but for tokens that are never predicted."""
    if OUTPUT_BIAS not in weights.keys():  # noqa: SIM118
        return False
    bias = weights.get_tensor(OUTPUT_BIAS)
    return bool(((bias == 0) | (bias == COPIED_BIAS)).all())


def _frozen(weights: Any, *, unbiased: bool) -> tuple[int, ...]:
    """START, where its vector is of zeros, as Marian begins a text; or tokens that are one in a
    family without a bias of the output, whose vector would become several.
    """
    import torch

    end = special_tokens.END
    names = {*weights.keys()} & {f"{side}.embedding.table" for side in ("encoder", "decoder")}
    special = [weights.get_slice(name)[: end + 1] for name in names]
    if any(not rows[special_tokens.START].any() for rows in special):
        return (special_tokens.START,)
    bias = weights.get_slice(OUTPUT_BIAS)[: end + 1] if unbiased else torch.zeros(end + 1)
    found = set[int]()
    for copy in torch.nonzero(bias == COPIED_BIAS).flatten().tolist():
        for id in torch.nonzero(bias == 0).flatten().tolist():
            if all(rows[copy].equal(rows[id]) for rows in special):
                found |= {copy, id}
    return tuple(sorted(found))


def load(
    recipe: Path,
    overrides: Sequence[str],
    variables: Mapping[str, str] | None = None,
    *,
    runs: Path | None = None,
) -> Config:
    """As `load_config`, and completes a recipe with a section [start].

    Args:
        runs: of a run to resume, the folder of all runs: its own recipe gives what is left out.

    Raises:
        ConfigError: see `load_config`; or the recipe contradicts the model.
        BundleError: the model is missing, damaged, or of a newer jumok.
    """
    file = find_recipe(recipe)
    return parse(read_recipe(file), overrides, file, variables, runs=runs)


def parse(
    values: RecipeValues,
    overrides: Sequence[str],
    recipe: Path | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    runs: Path | None = None,
) -> Config:
    """As `parse_config`, and completes values with a section [start]; see `load`."""
    variables = recipe_variables() if variables is None else variables
    values = overridden(values, overrides)
    context = RecipeContext(folder=recipe.parent if recipe else "", variables=variables)
    if "start" not in values:
        return parse_config(values, (), recipe, variables)
    if isinstance(values["start"], dict) and "model" not in values["start"]:
        raise ConfigError(
            "the keys of [start] need a model to train further.",
            do="give it: --from MODEL, or model = ... in [start]",
            place=Location(recipe) if recipe else None,
        )
    try:
        start = StartConfig.model_validate(values["start"], context=context)
    except ValidationError:
        return parse_config(values, (), recipe, variables)  # raises, with all other errors
    resumed = runs / str(values.get("name")) / RECIPE if runs else None
    if resumed is not None and resumed.is_file():
        return parse_config(merged(read_recipe(resumed), values), (), recipe, variables)
    load_plugins(values.get("plugins"), context, recipe)  # which the bundle may need
    bundle = read_bundle(start.model)
    run = run_of(bundle.folder)
    file = start.recipe or (run and run / RECIPE)
    section = bundle.section
    earlier = None if file is None else earlier_recipe(file, section.kind, variables)
    _refuse_other_kind(values, section.kind, bundle)
    _refuse_other_languages(values, bundle)
    _refuse_other_tokenizer(values, earlier, bundle)
    completed = merged(_defaults(bundle, earlier, file), values)
    completed["plugins"] = _plugins(completed.get("plugins"), bundle)
    config = parse_config(completed, (), recipe, variables)
    refuse_other_sizes(config, bundle)
    return config


def earlier_recipe(file: Path, kind: str, variables: Mapping[str, str] | None = None) -> Config:
    """The recipe that a model of this kind was trained with."""
    config = load_config(file, (), variables)
    if type(config) is not families()[kind]:
        raise ConfigError(
            "this is not the recipe that the model was trained with.",
            expected=f"a recipe of the kind {kind!r}",
            got=f"model.kind = {config.model.kind!r}",
            do="name it: --set start.recipe=FILE",
            place=Location(file),
        )
    return config


def merged(base: Mapping[str, object], over: Mapping[str, object]) -> RecipeValues:
    """Both, with the values of `over` where both have a key; sections are merged."""
    result = dict(base)
    for key, value in over.items():
        section = result.get(key)
        if isinstance(section, Mapping) and isinstance(value, Mapping):
            result[key] = merged(section, value)
        else:
            result[key] = value
    return result


def _defaults(bundle: Bundle, earlier: Config | None, file: Path | None) -> RecipeValues:
    about = bundle.config
    kind = type(earlier) if earlier else families()[bundle.section.kind]
    before = earlier.model_dump(exclude_unset=True, exclude_none=True) if earlier else {}
    training = {
        key: value
        for key, value in before.get("training", {}).items()
        if key not in (*ON_THIS_MACHINE, *OF_THIS_LENGTH)
    }
    schedule = dict(training.pop("schedule", {}))
    schedule.pop("warmup", None)
    training |= {"schedule": schedule} if schedule else {}
    peak = (earlier.training if earlier else kind.model_fields["training"].default).learning_rate
    training["learning_rate"] = float(f"{RATE * peak:.4g}")
    validation = {
        key: value
        for key, value in before.get("validation", {}).items()
        if key not in ("every", "patience", "keep")
    }
    languages = LANGUAGES.get(about.task, {})
    data = {key: value for key, value in before.get("data", {}).items() if key in AUGMENTATION}
    data |= {key: getattr(about, name) for key, name in languages.items()}
    data |= {key: getattr(about, key) for key in LIMITS.get(about.task, ()) if getattr(about, key)}
    defaults: RecipeValues = {
        "start": {} if file is None else {"recipe": str(file).replace("$", "$$")},
        "data": data,
        "model": bundle.section.model_dump(exclude_none=True),
        "training": training,
        "validation": {"patience": VALIDATION_PATIENCE} | validation,
    }
    kept = {key: before[key] for key in ("tokenizer", "masking") if key in before}
    if "tokenizer" in kept:
        kept["tokenizer"] = {k: v for k, v in kept["tokenizer"].items() if k != "path"}
    return defaults | kept


def _plugins(named: object, bundle: Bundle) -> object:
    if named is not None and not isinstance(named, list | tuple):
        return named  # validation reports it
    plugins = list(named or ())
    names = {Path(str(file)).name for file in plugins}
    needed = (name for name in bundle.config.plugins if name not in names)
    return [*plugins, *(str(file_of(name)).replace("$", "$$") for name in needed)]


def _refuse_other_kind(values: Mapping[str, object], kind: str, bundle: Bundle) -> None:
    model = values.get("model", {})
    given_kind = model.get("kind", kind) if isinstance(model, Mapping) else kind
    if given_kind != kind:
        raise _contradiction([f"model.kind is {given_kind!r}; the model's is {kind!r}"], bundle)
    if isinstance(model, Mapping) and "pretrained" in model:
        raise _contradiction(["model.pretrained would replace the model's encoder"], bundle)


def _refuse_other_languages(values: RecipeValues, bundle: Bundle) -> None:
    """The model's own code replaces another form of it, such as en-GB."""
    data = values.get("data")
    if not isinstance(data, dict):
        return
    faults = []
    for key, name in LANGUAGES.get(bundle.config.task, {}).items():
        language, code = getattr(bundle.config, name), data.get(key)
        if not language or not code or not isinstance(code, str):
            continue
        if _base_language(code) != _base_language(language):
            faults.append(f"data.{key} is {code!r}; the model's is {language!r}")
        data[key] = language
    if faults:
        raise _contradiction(faults, bundle)


def _base_language(code: str) -> str:
    """ "en" of "en-GB"."""
    return code.lower().replace("_", "-").partition("-")[0]


def _refuse_other_tokenizer(
    values: Mapping[str, object], earlier: Config | None, bundle: Bundle
) -> None:
    if "vectors" in values:
        raise _contradiction(["[vectors] would replace the model's embeddings"], bundle)
    settings = flatten(earlier.model_dump(mode="json").get("tokenizer", {})) if earlier else {}
    section = values.get("tokenizer", {})
    faults = []
    for key, value in section.items() if isinstance(section, Mapping) else ():
        allowed = {settings.get(key)} | (
            {bundle.config.vocabulary_size} if key == "size" else set()
        )
        if key != "sampling_alpha" and value not in allowed:
            faults.append(f"tokenizer.{key} is {value!r}; the tokenizer is the model's")
    if faults:
        raise _contradiction(faults, bundle)


def refuse_other_sizes(config: Config, bundle: Bundle) -> None:
    """Raises a ConfigError with every key of [model] that is not the model's, but for dropout."""
    own = flatten(bundle.section.model_dump(mode="json"))
    now = flatten(config.model.model_dump(mode="json"))
    faults = [
        f"model.{key} is {now.get(key)!r}; the model's is {own.get(key)!r}"
        for key in sorted(own.keys() | now.keys())
        if own.get(key) != now.get(key) and not key.endswith("dropout")
    ]
    if faults:
        raise _contradiction(faults, bundle)


def _contradiction(faults: Sequence[str], bundle: Bundle) -> ConfigError:
    lines = "\n  ".join(faults)
    return ConfigError(
        f"the recipe contradicts the model that is trained further:\n  {lines}",
        do="leave these keys out: the model's sizes, tokenizer and languages are kept; "
        "for others, train a new model without --from and [start]",
        place=Location(bundle.folder),
    )
