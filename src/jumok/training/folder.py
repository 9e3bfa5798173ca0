"""A run's folder: its files, and the decisions of the run's start.

config.json             the recipe with every key, and the decisions below
recipe.toml             the recipe with all overrides, to train from again
tokenizer.model         SentencePiece
log.jsonl               every record
checkpoint.json         the last checkpoint, and checkpoint.previous.json
checkpoint-*.safetensors  their slices, one for each process
model/                  the bundle of the best validation
steps/000500/           the bundle of each validation, if the recipe keeps all
validation.tsv, test.tsv  pairs that were held out of the training data
cleaning.json           what the filters found in pairs of sentences
smallworld/, scenes/    the built-in corpus, if it is used
start.json, earlier/    the model that is trained further, and the data of its earlier training
further.json            its scores before and after
.lock, .lock.json       the process that is training here (lock.py)
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from jumok.bundle.reading import previous_folder
from jumok.config import Config
from jumok.config.writing import recipe_text
from jumok.data.files.atomic import sweep, write_durably
from jumok.data.files.run_log import LOG
from jumok.errors import BundleError, ConfigError, Location
from jumok.training import checkpoint

CONFIG, TOKENIZER, MODEL = "config.json", "tokenizer.model", "model"
RECIPE = "recipe.toml"
VALIDATED = "steps"
CLEANING = "cleaning.json"
SMALLWORLD, SCENES = "smallworld", "scenes"  # generated training data
EYE = "eye.safetensors"  # the weights of a pretrained encoder
VALIDATION, TEST = "validation.tsv", "test.tsv"
START, EARLIER = "start.json", "earlier"  # the model that is trained further, and its data
FURTHER = "further.json"
# What a resumed run may change: its length, its log and its speed, but not its steps.
FREE_TO_CHANGE = frozenset(
    {
        "training.steps",
        "training.minutes",
        "training.threads",
        "training.cuda_graphs",
        "training.recompute",
        "training.log_every",
        "training.checkpoint_every",
        "training.tensorboard",
        "validation.patience",
        "validation.keep",
    }
)
LATER_KEYS: dict[str, object] = {
    "start": None,
    "plugins": [],
    "cuda_graphs": True,
    "window": None,
    "window_layers.0": "window",
    "batches": "auto",
    "sharding": "slices",
}
"""Keys that recipes did not always have, with the value that stands for what was done before."""


@dataclass(frozen=True)
class Decisions:
    """The values of "auto" on the machine that started the run; a resumed run keeps them.

    Attributes:
        batches: of exact lengths, or of one shape (training.batches).
    """

    precision: Literal["bf16", "fp32"]
    shares: int
    batches: Literal["exact", "packed"] = "exact"


def run_of(bundle: Path) -> Path | None:
    """The folder of the run that a bundle belongs to, such as runs/NAME of runs/NAME/model and of
    runs/NAME/steps/N; a recipe beside a bundle is not enough, for it may be of another model.
    """
    place = bundle.resolve()
    homes = (place.parent, place.parent.parent)
    return next(
        (each for each in homes if all((each / name).is_file() for name in (CONFIG, RECIPE))), None
    )


def start(folder: Path) -> None:
    """Removes the files of a run without a checkpoint.

    Raises:
        ConfigError: a run of this name has a checkpoint or a model, the folder holds something
            else than a run, or it cannot be cleared.
    """
    refuse_taken(folder)
    _refuse_others(folder)
    try:
        for generated in (SMALLWORLD, SCENES, VALIDATED, EARLIER):
            shutil.rmtree(folder / generated, ignore_errors=True)
        # The file by which a run is known goes last.
        for name in (RECIPE, LOG, TOKENIZER, EYE, VALIDATION, TEST, START, FURTHER, CONFIG):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_be_made(folder, error) from error


def refuse_taken(folder: Path) -> None:
    """Raises a ConfigError if the folder has a checkpoint or a model already."""
    if checkpoint.exists(folder) or (folder / MODEL).exists():
        raise ConfigError(
            "a run of this name exists already.",
            do="continue it: --resume; start another run: --name OTHER; "
            f"or remove it: rm -r {folder}",
            place=Location(folder),
        )


def _refuse_others(folder: Path) -> None:
    files = sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))
    try:
        is_run = "decisions" in json.loads((folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        is_run = False
    if files and not is_run:
        raise ConfigError(
            "this folder exists and is not a run, so nothing is trained in it.",
            got=", ".join(files[:3]) + (", ..." if files[3:] else ""),
            do="start another run: --name OTHER; or choose another folder of runs: --runs FOLDER",
            place=Location(folder),
        )


def make(folder: Path) -> None:
    """Creates the folder, or raises a ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_be_made(folder, error) from error


def _cannot_be_made(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        "the run's folder cannot be created.",
        got=str(error.strerror),
        do="choose a writable folder: --runs FOLDER",
        place=Location(folder),
    )


def tidy(folder: Path) -> None:
    """Removes the partial files of killed processes; only the holder of the lock may do this."""
    for pattern in (f"{checkpoint.PARTIAL}*", checkpoint.UNNAMED):
        for partial in folder.glob(pattern):
            partial.unlink(missing_ok=True)
    checkpoint.remove_unused(folder)
    for parent in (folder, folder / VALIDATED):
        sweep(parent)
    if (folder / MODEL).exists():
        shutil.rmtree(previous_folder(folder / MODEL), ignore_errors=True)


def write(folder: Path, config: Config, decisions: Decisions) -> None:
    """Stores the whole recipe with the decisions, and the recipe with all overrides."""
    text = (
        f"# The recipe of the run {config.name} with every --set applied. To repeat it:\n"
        f"# jumok train {folder / RECIPE} --name OTHER\n\n"
    )
    values = {"recipe": config.model_dump(mode="json"), "decisions": asdict(decisions)}
    content = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    write_durably(folder / CONFIG, content.encode())
    write_durably(folder / RECIPE, (text + recipe_text(config)).encode())


def fingerprint(config: Config) -> str:
    """A digest of what a resumed run must not change in its recipe."""
    kept = {
        key: value
        for key, value in flatten(config.model_dump(mode="json")).items()
        if key not in FREE_TO_CHANGE and not _is_of_earlier_recipes(key, value)
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:32]


def _is_of_earlier_recipes(key: str, value: object) -> bool:
    return any(
        f".{key}".endswith(f".{name}") and value == before for name, before in LATER_KEYS.items()
    )


def read(folder: Path, config: Config) -> Decisions:
    """The decisions of the run to resume.

    Raises:
        ConfigError: the recipe differs from the one it was started with.
        BundleError: there is no such run, or its config.json cannot be read.
    """
    file = folder / CONFIG
    if not file.exists():
        raise BundleError(
            "there is no run to resume.", do="start one without --resume", place=Location(folder)
        )
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        before, decisions = flatten(values["recipe"]), Decisions(**values["decisions"])
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(
            "the run's config.json is damaged.",
            got=str(error),
            do="start a new run under another name: --name OTHER",
            place=Location(file),
        ) from error
    now = flatten(config.model_dump(mode="json"))
    changed = [
        f"{key} was {before.get(key)!r} and is now {now.get(key)!r}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
        and key not in FREE_TO_CHANGE
        and (key in before or not _is_of_earlier_recipes(key, now.get(key)))
    ]
    if changed:
        do = "undo the changes, or start another run: --name OTHER"
        if all(change.startswith("training.") for change in changed):
            do += f", from the weights of this one: --from {folder / MODEL} --name OTHER"
        raise ConfigError(
            "the recipe differs from the one that this run was started with:\n  "
            + "\n  ".join(changed),
            do=do,
            place=Location(folder),
        )
    return decisions


def flatten(values: Mapping[str, object] | list[object], path: str = "") -> dict[str, object]:
    """{"a": {"b": [1, 2]}} becomes {"a.b.0": 1, "a.b.1": 2}."""
    flat: dict[str, object] = {}
    pairs: Iterable[tuple[str | int, object]]
    pairs = values.items() if isinstance(values, Mapping) else enumerate(values)
    for key, value in pairs:
        if isinstance(value, (Mapping, list)) and value:
            flat |= flatten(value, f"{path}{key}.")
        else:
            flat[f"{path}{key}"] = value
    return flat
