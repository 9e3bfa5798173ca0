"""What a corpus is prepared from, and the folder in which that happens.

    FOLDER/manifest.json, shard-..., ...        the result (jumok.data.files.manifest)
    FOLDER/cleaning.json, test.tsv             what was left out; pairs for a test
    FOLDER/work/plan.json                      what all of it is made from
    FOLDER/work/logs/STAGE/completions/        an empty file for each task that has ended
    FOLDER/work/blocks/, found/, ...           what stages hand on, removed at the end

Nothing depends on the number of tasks: the pairs are divided into blocks of the same size, one for
each shard, and their keys into KEY_PARTS parts.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jumok.config import TranslationConfig
from jumok.config.data import CleanConfig
from jumok.data.files.atomic import write_durably
from jumok.data.files.manifest import MANIFEST
from jumok.data.pairs.cleaning.survey import FILTERS_VERSION
from jumok.data.pairs.corpus import Corpus
from jumok.data.store import digest
from jumok.errors import ConfigError, DataError, Location
from jumok.json_types import JsonObject
from jumok.training.preparing.pairs import corpus_of_pairs

WORK, PLAN = "work", "plan.json"
KEY_PARTS = 64
"""The keys of all pairs are divided by their first six bits; a task compares some parts."""


@dataclass(frozen=True)
class WorkBlock:
    """Some pairs of one corpus, in their order: a shard is made of them.

    Attributes:
        number: of the block among all, and of its shard.
        corpus, part: the index of the corpus, and the number of the block in it.
        start: how many pairs come before it, in all corpora.
    """

    number: int
    corpus: int
    part: int
    start: int
    pairs: int

    @property
    def name(self) -> str:
        return name_of_block(self.corpus, self.part)


def name_of_block(corpus: int, part: int) -> str:
    """The name of the files of a block."""
    return f"{corpus:04}-{part:06}"


@dataclass(frozen=True)
class CorpusPlan:
    """A corpus to be prepared.

    Attributes:
        folder: where to.
        tasks: into how many each stage is divided.
        shard_pairs: the pairs of each shard, before any are left out.
        clean, notes: the filters that are applied, and why others cannot be.
    """

    config: TranslationConfig
    folder: Path
    tasks: int
    shard_pairs: int
    clean: CleanConfig | None
    notes: tuple[str, ...] = ()

    @property
    def work(self) -> Path:
        return self.folder / WORK

    @property
    def corpora(self) -> list[Corpus]:
        skip = self.config.data.skip_damaged
        return [corpus_of_pairs(one, skip) for one in self.config.data.train]

    @cached_property
    def identity(self) -> JsonObject:
        """What the shards depend on, with a digest of every file."""
        data = self.config.data.model_dump(mode="json")
        clean = self.clean.model_dump() if self.clean else None
        return {
            "filters": FILTERS_VERSION,
            "data": {**data, "clean": clean},
            "files": {str(file): digest(file) for one in self.corpora for file in one.files},
            "tokenizer": self.config.tokenizer.model_dump(mode="json"),
            "seed": self.config.seed,
            "shard_pairs": self.shard_pairs,
        }

    @property
    def digest(self) -> str:
        content = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def blocks(self) -> Iterator[WorkBlock]:
        """All blocks; the corpora must have been read."""
        number = start = 0
        for index in range(len(self.config.data.train)):
            read = json.loads((self.work / "read" / f"{index:04}.json").read_text("utf-8"))
            for part, pairs in enumerate(read["blocks"]):
                yield WorkBlock(number, index, part, start, pairs)
                number, start = number + 1, start + pairs


def begin(plan: CorpusPlan) -> bool:
    """Makes the folder, or continues in it.

    Returns:
        Whether anything is left to do.

    Raises:
        ConfigError: the folder holds something else, another recipe's corpus, or one that was begun
            with another number of tasks.
        DataError: a file of the corpus is missing, or the folder cannot be written.
    """
    for corpus in plan.corpora:
        for file in corpus.files:
            if not file.is_file():
                raise DataError("there is no such file.", place=Location(file))
    file = plan.work / PLAN
    if file.is_file():
        _refuse_other(plan, file)
        return not (plan.folder / MANIFEST).is_file()
    if plan.folder.exists():
        inside = sorted(path.name for path in plan.folder.iterdir()) if plan.folder.is_dir() else []
        if inside or not plan.folder.is_dir():
            raise ConfigError(
                "the output is not an empty folder, nor one in which jumok prepare began.",
                got=", ".join(inside[:3]) + (", ..." if inside[3:] else "") or "a file",
                do="choose another --output",
                place=Location(plan.folder),
            )
    content = {"digest": plan.digest, "tasks": plan.tasks, **plan.identity}
    try:
        plan.work.mkdir(parents=True, exist_ok=True)
        write_durably(file, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    except OSError as error:
        raise DataError(
            "the output folder cannot be written.", got=error.strerror, place=Location(plan.folder)
        ) from error
    return True


def _refuse_other(plan: CorpusPlan, file: Path) -> None:
    try:
        before = json.loads(file.read_text("utf-8"))
        tasks, known = before.pop("tasks"), before.pop("digest")
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise ConfigError(
            "the plan of this folder is damaged.",
            got=str(error),
            do="remove the folder, or choose another --output",
            place=Location(file),
        ) from None
    if known != plan.digest:
        now = plan.identity
        changed = [key for key in now if before.get(key) != now[key]]
        raise ConfigError(
            "this folder was begun from another recipe, or from other data.",
            expected="the same corpora, filters, tokenizer and seed",
            got=f"a difference in {', '.join(changed)}",
            do="undo the change, choose another --output, or remove the folder",
            place=Location(plan.folder),
        )
    if tasks != plan.tasks and not (plan.folder / MANIFEST).is_file():
        raise ConfigError(
            "this folder was begun with another number of tasks.",
            got=f"--tasks {plan.tasks}",
            do=f"continue with --tasks {tasks}",
            place=Location(plan.folder),
        )
