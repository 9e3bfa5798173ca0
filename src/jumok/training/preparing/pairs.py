"""From a recipe's data section to token ids on disk and a stream of batches."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from jumok.bundle.card import Pair as LanguagePair
from jumok.config import CorpusConfig, TranslationConfig
from jumok.config.data import DataConfig, SmallworldConfig
from jumok.data.files.atomic import atomic_folder, write_durably
from jumok.data.pairs.batches import Batch, Updates, UpdateStream, Variation
from jumok.data.pairs.cleaning.findings import CleaningReport
from jumok.data.pairs.cleaning.survey import survey_corpora
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.noise import cases_seen
from jumok.data.pairs.packing import PackedShape, PackedUpdates, plan_packed
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.rows import spread
from jumok.data.pairs.sampler import PairSampler
from jumok.data.pairs.store import Filters, PairCorpus, PairStore, digest_of_left, prepare_pairs
from jumok.data.pairs.store import prepare as prepare_corpus
from jumok.data.report import CorpusReport
from jumok.data.store import digest
from jumok.data.tokenizer import Tokenizer
from jumok.training.folder import CLEANING, SMALLWORLD, TEST, VALIDATION
from jumok.training.preparing.held_out import HeldOut
from jumok.training.preparing.languages import ModelLanguages, languages_of
from jumok.training.preparing.leaks import say_leaks
from jumok.training.preparing.vocabulary import learn_tokenizer
from jumok.training.task import Reporter


@dataclass(frozen=True)
class PreparedPairs:
    """The training and validation data of a run.

    Attributes:
        languages: those of a model of several pairs.
        tokenizers: of each of these pairs, or of the one pair.
        validation: pairs for the validation loss, of each pair of languages.
        sources, references: texts for decoding, a selection of the same pairs.
        pairs: the languages of each of these texts.
        held_out: whether the validation pairs were taken from the training corpora.
    """

    tokenizer: Tokenizer
    languages: ModelLanguages
    tokenizers: dict[LanguagePair, Tokenizer]
    train: tuple[PairCorpus, ...]
    validation: tuple[PairStore, ...]
    sources: list[str]
    references: list[str]
    pairs: list[LanguagePair]
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
    of_corpora = [*map(config.data.pair_of, config.data.validation if check else config.data.train)]
    pairs = [
        (languages, pair)
        for languages, one in zip(of_corpora or config.data.pairs, check or train, strict=True)
        for pair in read_pairs(one)
        if check or pair.source in held
    ]
    if not check:
        write_pairs(folder / VALIDATION, (pair for _, pair in pairs))
    unseen = HeldOut(held.hashes | tested.hashes)

    def seen() -> Iterator[Pair]:
        return (pair for pair in _read_all(train) if pair.source not in unseen)

    say_leaks(
        cache,
        [[[str(one), *map(digest, one.files)] for one in train], sorted(unseen.hashes)],
        [pair.source for _, pair in pairs],
        lambda: (pair.source for pair in seen()),
        say,
    )
    both = chain.from_iterable((pair.source, pair.target) for pair in seen())
    lines = cases_seen(both, config.data.noise, config.seed)
    several = config.data.pairs if len(config.data.pairs) > 1 else ()
    file, targets = folder / "tokenizer.model", dict.fromkeys(target for _, target in several)
    tokenizer = learn_tokenizer(config.tokenizer, lines, file, config.seed, say, [*targets])
    named = languages_of(config.data, tokenizer, folder)
    tokenizers = {pair: named.tokenizer(tokenizer, pair) for pair in config.data.pairs}
    own = [tokenizers[config.data.pair_of(one)] for one in config.data.train]
    filters = Filters(config.data.max_tokens, config.data.max_ratio)
    stores = []
    for one, its in zip(train, own or [tokenizer], strict=True):
        stores.append(_store(one, unseen, its, cache, filters, config.varies))
        say(str(stores[-1].report))
    every = tokenizer, named, tokenizers
    return with_validation(config, every, stores, pairs, cache, say, held_out=not check)


def with_validation(
    config: TranslationConfig,
    every: tuple[Tokenizer, ModelLanguages, dict[LanguagePair, Tokenizer]],
    stores: Sequence[PairCorpus],
    pairs: Iterable[tuple[LanguagePair, Pair]],
    cache: Path,
    say: Reporter,
    *,
    held_out: bool,
) -> PreparedPairs:
    """The data of a run: its training corpora, and these pairs to validate on.

    Args:
        every: the tokenizer, the languages, and the tokenizers of their pairs.
    """
    tokenizer, languages_of_model, tokenizers = every
    filters = Filters(config.data.max_tokens, config.data.max_ratio)
    texts: dict[LanguagePair, list[Pair]] = {}
    for languages, pair in pairs:
        if pair.source.strip() and pair.target.strip():
            texts.setdefault(languages, []).append(pair)
    validation, chosen = [], list[tuple[LanguagePair, Pair]]()
    for languages, its in texts.items():
        own = tokenizers[languages]
        identity = ["validation", [[pair.source, pair.target] for pair in its]]
        report = CorpusReport("validation")
        stored = prepare_pairs(its, identity, own, own.target, cache, filters, report=report)
        say(str(stored.report))
        validation.append(stored)
        count = max(config.validation.decode_pairs // len(texts), 1)
        chosen += [(languages, pair) for pair in spread(its, count)]
    return PreparedPairs(
        tokenizer,
        languages_of_model,
        tokenizers,
        tuple(stores),
        tuple(validation),
        [pair.source for _, pair in chosen],
        [pair.target for _, pair in chosen],
        [languages for languages, _ in chosen],
        held_out=held_out,
    )


def cleaned(
    data: DataConfig, train: Sequence[Corpus], folder: Path, cache: Path, say: Reporter
) -> list[Corpus]:
    """The training corpora without the pairs that `data.clean` leaves out.

    Without it, what would be worth leaving out is said. The numbers and examples are written to
    cleaning.json in the run's folder.
    """
    left, reports = list(train), list[CleaningReport]()
    for pair in data.pairs:  # a source of two pairs is no duplicate
        places = [place for place, one in enumerate(data.train) if data.pair_of(one) == pair]
        kept, of_pair = survey_corpora([train[place] for place in places], data.clean, pair, cache)
        reports += of_pair
        for place, one in zip(places, kept, strict=True):
            left[place] = one
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
    config: TranslationConfig,
    stores: Sequence[PairCorpus],
    tokenizers: Mapping[LanguagePair, Tokenizer],
) -> Updates[Batch]:
    """The batches of every optimizer step, from the first one on.

    Args:
        tokenizers: of the pairs of languages.
    """
    weights = [one.weight for one in config.data.train if one.weight is not None]
    if (temperature := config.data.sampling_temperature) is not None:
        weights = [len(store) ** (1.0 / temperature) for store in stores]
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
    pairs = [*map(config.data.pair_of, config.data.train)] or config.data.pairs
    variations = [
        Variation(tokenizers[pair], alpha, config.data.noise, most, config.seed) for pair in pairs
    ]
    return UpdateStream(stores, sampler, variations if config.varies else None)


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
        tokenizer.target,
        cache,
        filters,
        report=report,
        keep_texts=keep_texts,
    )
