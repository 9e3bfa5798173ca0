"""From a recipe's data section to token ids on disk and a stream of batches."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from jumok import smallworld
from jumok.config import CorpusConfig, TranslationConfig
from jumok.config.data import SmallworldConfig
from jumok.data.batches import Resampling, UpdateStream, padding
from jumok.data.corpora import Corpus, Pair, read_pairs
from jumok.data.flat import digest
from jumok.data.report import Report
from jumok.data.sampler import PairSampler
from jumok.data.store import Filters, PairStore, prepare_pairs
from jumok.data.store import prepare as prepare_corpus
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from jumok.training.task import Say
from jumok.training.vocabulary import learn_tokenizer

FORMATS = {"auto": None, "text": "lines"}
HELD_OUT_SHARE = 0.1  # of the distinct sources at most, however many pairs the recipe asks for

Item = TypeVar("Item")


@dataclass(frozen=True)
class Prepared:
    """What a run trains and validates on.

    Attributes:
        validation: pairs for the validation loss.
        sources, references: texts for real decoding, a selection of the same pairs.
        held_out: whether the validation pairs were taken from the training corpora.
    """

    tokenizer: Tokenizer
    train: tuple[PairStore, ...]
    validation: PairStore
    sources: list[str]
    references: list[str]
    held_out: bool


def corpora(config: TranslationConfig, folder: Path, say: Say) -> tuple[list[Corpus], list[Corpus]]:
    """What to train and what to validate on; smallworld is written into the run's folder first."""
    world = config.data.smallworld
    if world is None:
        return [_corpus(one) for one in config.data.train], [
            _corpus(one) for one in config.data.validation
        ]
    home = write_world(world, config.seed, folder, say)
    train, validation = (
        [Corpus(home / f"{split}.en", home / f"{split}.ko", name=f"smallworld {split}")]
        for split in ("train", "validation")
    )
    return train, validation


def write_world(world: SmallworldConfig, seed: int, folder: Path, say: Say) -> Path:
    """The folder of the embedded corpus, written into the run's folder if it is not there yet."""
    home = folder / "smallworld"
    if not home.exists():
        sizes = {
            "train": world.pairs,
            "validation": world.validation_pairs,
            "test": world.test_pairs,
        }
        partial = folder / "smallworld.partial"
        smallworld.write(partial, sizes, seed, world.minimum_words, world.maximum_words)
        partial.rename(home)
        say(f"smallworld: {world.pairs:,} pairs written to {home}")
    return home


def _corpus(config: CorpusConfig) -> Corpus:
    """A recipe's corpus in the data package's words."""
    return Corpus(
        source=config.source,
        target=config.target,
        file=config.file,
        source_column=config.source_column,
        target_column=config.target_column,
        format=FORMATS.get(config.format, config.format),
        weight=config.weight,
    )


def prepare(config: TranslationConfig, folder: Path, cache: Path, say: Say) -> Prepared:
    """Trains or loads the tokenizer, writes token ids, and says what was dropped and why.

    Args:
        folder: the run's; the tokenizer is kept there, and taken from there when it exists.
        cache: where token ids are kept; runs on the same content share them.

    Raises:
        DataError: a corpus that cannot be read, or of which nothing is left.
        ConfigError: a vocabulary that the text does not allow.
    """
    train, check = corpora(config, folder, say)
    held = HeldOut.none()
    if not check:
        held = HeldOut.choose(train, config.data.validation_pairs)
        say(f"no validation data given: {len(held)} source sentences are kept out of training")
    lines = chain.from_iterable((pair.source, pair.target) for pair in _read_all(train))
    tokenizer = learn_tokenizer(
        config.tokenizer, lines, folder / "tokenizer.model", config.seed, say
    )
    filters = Filters(config.data.max_tokens, config.data.max_ratio)
    stores = []
    resampled = config.tokenizer.sampling_alpha > 0.0
    for one in train:
        stores.append(_store(one, held, tokenizer, cache, filters, resampled))
        say(str(stores[-1].report))
    pairs = _read_all(check) if check else held.kept_out(_read_all(train))
    texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    report = Report("validation")
    identity = ["validation", [[pair.source, pair.target] for pair in texts]]
    validation = prepare_pairs(texts, identity, tokenizer, tokenizer, cache, filters, report=report)
    say(str(validation.report))
    chosen = spread(texts, config.validation.decode_pairs)
    return Prepared(
        tokenizer,
        tuple(stores),
        validation,
        [pair.source for pair in chosen],
        [pair.target for pair in chosen],
        held_out=not check,
    )


def update_stream(
    config: TranslationConfig, stores: Sequence[PairStore], tokenizer: Tokenizer
) -> UpdateStream:
    """The batches of every optimizer step, from the first one on."""
    weights = [one.weight for one in config.data.train if one.weight is not None]
    sampler = PairSampler(
        [(store.source.lengths, store.target.lengths) for store in stores],
        weights or None,
        config.training.tokens_per_batch,
        config.training.tokens_per_micro_batch,
        config.seed,
        identity=" ".join(store.key for store in stores),
    )
    alpha = config.tokenizer.sampling_alpha
    resampling = Resampling(tokenizer, tokenizer, alpha, config.seed) if alpha else None
    return UpdateStream(stores, sampler, resampling)


def padding_share(stream: UpdateStream, updates: int = 20) -> float:
    """How much of the next updates is padding, 0 to 1; the stream stands where it stood."""
    cursor = stream.cursor
    share = padding(list(chain.from_iterable(islice(stream, updates))))
    stream.restore(cursor)
    return share


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items, evenly from all over: corpora are often sorted by kind."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]


@dataclass(frozen=True)
class HeldOut:
    """The source sentences that are kept for validation.

    Chosen by hash, so that every pair with the same source falls on the same side: a sentence
    with five translations cannot be trained on and validated on.
    """

    hashes: frozenset[int]

    @classmethod
    def none(cls) -> "HeldOut":
        return cls(frozenset())

    @classmethod
    def choose(cls, corpora: Sequence[Corpus], count: int) -> "HeldOut":
        """The `count` sources of the smallest hashes; at most a tenth of all pairs, at least one.

        Raises:
            DataError: fewer than two different sources.
        """
        return cls.among((pair.source for pair in _read_all(corpora)), count)

    @classmethod
    def among(cls, texts: Iterable[str], count: int) -> "HeldOut":
        """As `choose`, for texts of any kind."""
        total = 0
        smallest: list[int] = []  # negated: the largest of them on top
        members: set[int] = set()
        for text in texts:
            total += 1
            key = _hash(text)
            if key in members or (len(smallest) == count and key >= -smallest[0]):
                continue
            members.add(key)
            if len(smallest) < count:
                heapq.heappush(smallest, -key)
            else:
                members.discard(-heapq.heapreplace(smallest, -key))
        if len(members) < 2:
            raise DataError(
                "no validation data is given, and there is too little to hold some out.",
                expected="two different source sentences or texts at the very least",
                do="give [[data.validation]] in the recipe, or more training data",
            )
        kept = sorted(members)[: max(1, int(total * HELD_OUT_SHARE))]
        return cls(frozenset(kept))

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, text: str) -> bool:
        return _hash(text) in self.hashes

    def training(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs to train on."""
        return (pair for pair in pairs if pair.source not in self)

    def kept_out(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs to validate on."""
        return (pair for pair in pairs if pair.source in self)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.strip().encode(), digest_size=8).digest())


def _read_all(corpora: Iterable[Corpus]) -> Iterator[Pair]:
    return chain.from_iterable(read_pairs(one) for one in corpora)


def _store(
    one: Corpus,
    held: HeldOut,
    tokenizer: Tokenizer,
    cache: Path,
    filters: Filters,
    keep_texts: bool,
) -> PairStore:
    if not held.hashes:
        return prepare_corpus(one, tokenizer, tokenizer, cache, filters, keep_texts=keep_texts)
    report = Report(one.title)
    identity = [str(one), [digest(path) for path in one.files], sorted(held.hashes)]
    pairs = held.training(read_pairs(one, report))
    return prepare_pairs(
        pairs,
        identity,
        tokenizer,
        tokenizer,
        cache,
        filters,
        report=report,
        keep_texts=keep_texts,
    )
