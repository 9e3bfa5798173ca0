"""From a recipe's data section to token ids on disk and a stream of batches."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from jumok.config import CorpusConfig, TranslationConfig
from jumok.config.data import DataConfig, SmallworldConfig
from jumok.data.files.atomic import atomic_folder, write_durably
from jumok.data.files.manifest import MANIFEST
from jumok.data.pairs.batches import Batch, Updates, UpdateStream, Variation
from jumok.data.pairs.cleaning.findings import CleaningReport
from jumok.data.pairs.cleaning.survey import survey_corpora
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.noise import cases_seen
from jumok.data.pairs.packing import PackedShape, PackedUpdates, plan_packed
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.prepared import ShardedPairs
from jumok.data.pairs.rows import spread
from jumok.data.pairs.sampler import PairSampler
from jumok.data.pairs.store import Filters, PairCorpus, PairStore, digest_of_left, prepare_pairs
from jumok.data.pairs.store import prepare as prepare_corpus
from jumok.data.report import CorpusReport
from jumok.data.store import digest
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, Location
from jumok.training.folder import CLEANING, SMALLWORLD, TEST, VALIDATION
from jumok.training.preparing.held_out import HeldOut
from jumok.training.preparing.leaks import say_leaks
from jumok.training.preparing.vocabulary import learn_tokenizer
from jumok.training.task import Reporter


@dataclass(frozen=True)
class PreparedPairs:
    """The training and validation data of a run.

    Attributes:
        validation: pairs for the validation loss.
        sources, references: texts for decoding, a selection of the same pairs.
        held_out: whether the validation pairs were taken from the training corpora.
    """

    tokenizer: Tokenizer
    train: tuple[PairCorpus, ...]
    validation: PairStore
    sources: list[str]
    references: list[str]
    held_out: bool


def corpora(
    config: TranslationConfig, folder: Path, say: Reporter
) -> tuple[list[Corpus], list[Corpus]]:
    """The training and validation corpora; smallworld is generated in the run's folder first."""
    world = config.data.smallworld
    if world is None:
        skip = config.data.skip_damaged
        return (
            [corpus_of_pairs(one, skip) for one in config.data.train],
            [corpus_of_pairs(one, skip) for one in config.data.validation],
        )
    home = write_world(world, config.seed, folder, say)
    train, validation = (
        [Corpus(home / f"{split}.en", home / f"{split}.ko", name=f"smallworld {split}")]
        for split in ("train", "validation")
    )
    return train, validation


def write_world(world: SmallworldConfig, seed: int, folder: Path, say: Reporter) -> Path:
    """The folder of the embedded corpus, generated in the run's folder if it is not there."""
    home = folder / SMALLWORLD
    if not home.exists():
        sizes = {
            "train": world.pairs,
            "validation": world.validation_pairs,
            "test": world.test_pairs,
        }
        with atomic_folder(home) as partial:
            from smallworld import write

            write(partial, sizes, seed, world.minimum_words, world.maximum_words)
        say(f"smallworld: {world.pairs:,} pairs written to {home}")
    return home


def corpus_of_pairs(config: CorpusConfig, skip_damaged: bool) -> Corpus:
    """A recipe's corpus as the data package's class."""
    return Corpus(
        source=config.source,
        target=config.target,
        file=config.file,
        source_column=config.source_column,
        target_column=config.target_column,
        format=None if config.format == "auto" else config.format,
        weight=config.weight,
        skip_damaged=skip_damaged,
        encoding=config.encoding,
        delimiter=config.delimiter,
    )


def prepare_translation(
    config: TranslationConfig, folder: Path, cache: Path, say: Reporter
) -> PreparedPairs:
    """Trains or loads the tokenizer, writes token ids, and reports what was dropped and why.

    Pairs that are held out are written to validation.tsv and test.tsv in the run's folder, and what
    the filters found in the training corpora to cleaning.json.
    """
    train, check = corpora(config, folder, say)
    if config.data.smallworld is None:
        train = cleaned(config.data, train, folder, cache, say)
    held, tested = _held_out(config.data, train, bool(check), say)
    if tested:
        test = (pair for pair in _read_all(train) if pair.source in tested)
        write_pairs(folder / TEST, test)
    pairs = [pair for pair in _read_all(check or train) if check or pair.source in held]
    if not check:
        write_pairs(folder / VALIDATION, pairs)
    unseen = HeldOut(held.hashes | tested.hashes)

    def seen() -> Iterator[Pair]:
        return (pair for pair in _read_all(train) if pair.source not in unseen)

    say_leaks(
        cache,
        [[[str(one), *map(digest, one.files)] for one in train], sorted(unseen.hashes)],
        [pair.source for pair in pairs],
        lambda: (pair.source for pair in seen()),
        say,
    )
    both = chain.from_iterable((pair.source, pair.target) for pair in seen())
    lines = cases_seen(both, config.data.noise, config.seed)
    tokenizer = learn_tokenizer(
        config.tokenizer, lines, folder / "tokenizer.model", config.seed, say
    )
    filters = Filters(config.data.max_tokens, config.data.max_ratio)
    stores = []
    for one in train:
        stores.append(_store(one, unseen, tokenizer, cache, filters, config.varies))
        say(str(stores[-1].report))
    return with_validation(config, tokenizer, stores, pairs, cache, say, held_out=not check)


def with_validation(
    config: TranslationConfig,
    tokenizer: Tokenizer,
    stores: Sequence[PairCorpus],
    pairs: Iterable[Pair],
    cache: Path,
    say: Reporter,
    *,
    held_out: bool,
) -> PreparedPairs:
    """The data of a run: its training corpora, and these pairs to validate on."""
    texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    report = CorpusReport("validation")
    identity = ["validation", [[pair.source, pair.target] for pair in texts]]
    filters = Filters(config.data.max_tokens, config.data.max_ratio)
    validation = prepare_pairs(
        texts, identity, tokenizer, tokenizer.target, cache, filters, report=report
    )
    say(str(validation.report))
    chosen = spread(texts, config.validation.decode_pairs)
    return PreparedPairs(
        tokenizer,
        tuple(stores),
        validation,
        [pair.source for pair in chosen],
        [pair.target for pair in chosen],
        held_out=held_out,
    )


def cleaned(
    data: DataConfig, train: Sequence[Corpus], folder: Path, cache: Path, say: Reporter
) -> list[Corpus]:
    """The training corpora without the pairs that `data.clean` leaves out.

    Without it, what would be worth leaving out is said. The numbers and examples are written to
    cleaning.json in the run's folder.
    """
    languages = data.source_language, data.target_language
    left, reports = survey_corpora(train, data.clean, languages, cache)
    for report in reports:
        for line in report.lines():
            say(line)
    write_report(folder / CLEANING, reports)
    return left


def write_report(file: Path, reports: Sequence[CleaningReport]) -> None:
    """What the filters found, as JSON."""
    values = [report.to_json() for report in reports]
    write_durably(file, (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode())


def update_stream(
    config: TranslationConfig, stores: Sequence[PairCorpus], tokenizer: Tokenizer
) -> Updates[Batch]:
    """The batches of every optimizer step, from the first one on."""
    weights = [one.weight for one in config.data.train if one.weight is not None]
    lengths = [store.lengths for store in stores]
    identity = [store.key for store in stores]
    shape = None
    if config.training.batches == "packed":
        training = config.training
        micro_tokens = min(training.tokens_per_micro_batch, training.tokens_per_batch)
        shape = PackedShape.of(lengths, micro_tokens)
        identity.append(str(shape))
    sampler = PairSampler(
        lengths,
        weights or None,
        config.training.tokens_per_batch,
        config.training.tokens_per_micro_batch,
        config.seed,
        identity=" ".join(identity),
        planner=None if shape is None else partial(plan_packed, shape),
        shares=config.training.decided_shares,
    )
    if shape is not None:
        return PackedUpdates(stores, sampler, shape)
    alpha, most = config.tokenizer.sampling_alpha, config.data.max_tokens
    variation = Variation(tokenizer, alpha, config.data.noise, most, config.seed)
    return UpdateStream(stores, sampler, variation if config.varies else None)


def training_sources(prepared: PreparedPairs, count: int) -> list[str]:
    """At most `count` of the training source texts, evenly spaced over each corpus."""
    rows = max(count // max(len(prepared.train), 1), 1)
    return [
        prepared.tokenizer.decode(store.source[row].tolist())
        for store in prepared.train
        for row in store.sample(rows)
    ]


def _held_out(
    data: DataConfig, train: Sequence[Corpus], validated: bool, say: Reporter
) -> tuple[HeldOut, HeldOut]:
    """The held-out source sentences: for validation, and for the test."""
    validation = 0 if validated else data.validation_pairs
    count = validation + data.test_pairs
    if not count:
        return HeldOut(), HeldOut()
    held = HeldOut.among((pair.source for pair in _read_all(train)), count)
    parts = held.split(validation / count)
    if not validated:
        say(f"no validation data given: {len(parts[0])} source sentences are held out")
    if data.test_pairs:
        say(f"test.tsv: {len(parts[1])} more source sentences, for a test")
    return parts


def write_pairs(file: Path, pairs: Iterable[Pair]) -> None:
    """A table of two columns; a tab inside of a text becomes a space."""
    rows = ("\t".join(text.replace("\t", " ") for text in pair[:2]) for pair in pairs)
    write_durably(file, "".join(f"{row}\n" for row in rows).encode())


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
    if not held:
        return prepare_corpus(
            one, tokenizer, tokenizer.target, cache, filters, keep_texts=keep_texts
        )
    report = one.report()
    digests = [digest(path) for path in one.files]
    identity = [str(one), digests, digest_of_left(one), sorted(held.hashes)]
    pairs = (pair for pair in read_pairs(one, report) if pair.source not in held)
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


def prepare_shards(
    config: TranslationConfig, folder: Path, cache: Path, say: Reporter
) -> PreparedPairs:
    """Opens prepared corpora; their tokenizer becomes that of the run, and is stored in its
    `folder`.

    Args:
        cache: for copies of shards that are far away, and of the validation pairs' ids.
    """
    places = [str(one.prepared) for one in config.data.train]
    stores = [ShardedPairs(place, cache) for place in places]
    tokenizer = _common_tokenizer(config, folder, places, stores)
    for place, store in zip(places, stores, strict=True):
        _fits(config, place, store)
        say(f"{store.report.name}: {len(store):,} pairs in {len(store.shards):,} shards, {place}")
    say(f"tokenizer: that of {places[0]}, {tokenizer.size:,} subwords")
    tokenizer.save(folder / "tokenizer.model")
    check = [corpus_of_pairs(one, config.data.skip_damaged) for one in config.data.validation]
    check = check or [Corpus(file=store.validation) for store in stores if store.validation]
    if not check:
        raise ConfigError(
            "there are no pairs to validate on: the prepared corpora have none.",
            do="add a [[data.validation]] corpus to the recipe",
        )
    pairs = chain.from_iterable(read_pairs(one) for one in check)
    return with_validation(config, tokenizer, stores, pairs, cache, say, held_out=False)


def _common_tokenizer(
    config: TranslationConfig, folder: Path, places: Sequence[str], stores: Sequence[ShardedPairs]
) -> Tokenizer:
    """The tokenizer of all corpora, of the recipe if it names one, and of the run if it has one."""
    first = stores[0].tokenizer
    others = {place: store.tokenizer for place, store in zip(places, stores, strict=True)}
    for file in (config.tokenizer.path, folder / "tokenizer.model"):
        if file is not None and (file == config.tokenizer.path or file.exists()):
            others[str(file)] = Tokenizer.load(file)
    for place, other in others.items():
        if other.hash != first.hash:
            raise DataError(
                f"the prepared corpus has another tokenizer than {place}.",
                expected=f"SHA-256 {other.hash}, {other.size:,} subwords",
                got=f"SHA-256 {first.hash}, {first.size:,} subwords",
                do="prepare all corpora with one tokenizer, leave tokenizer.path out, and start a "
                "new run for another corpus",
                place=Location(places[0]),
            )
    return first


def _fits(config: TranslationConfig, place: str, store: ShardedPairs) -> None:
    """Raises if the corpus cannot be trained on with this recipe."""
    longest, most = store.manifest.longest, config.data.max_tokens
    if longest > most:
        raise ConfigError(
            "the prepared corpus has longer pairs than the recipe allows.",
            expected=f"at most data.max_tokens = {most} tokens on each side",
            got=f"{longest:,} tokens, according to {MANIFEST}",
            do=f"--set data.max_tokens={longest}, or prepare it again with a lower limit",
            place=Location(place),
        )
    if config.varies and not store.manifest.texts:
        raise DataError(
            "the prepared corpus contains no texts, which tokenizer.sampling_alpha and data.noise "
            "need.",
            do="--set tokenizer.sampling_alpha=0 --set data.noise=false, or prepare it again with "
            "them",
            place=Location(place),
        )
