"""Prepared corpora as the data of a run."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from jumok.config import TranslationConfig
from jumok.data.files.manifest import MANIFEST
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.prepared import ShardedPairs
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, Location
from jumok.training.preparing.languages import languages_of
from jumok.training.preparing.pairs import PreparedPairs, corpus_of_pairs, with_validation
from jumok.training.task import Reporter


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
    (pair,) = config.data.pairs
    named = languages_of(config.data, tokenizer, folder)
    its = named.tokenizer(tokenizer, pair)
    pairs = ((pair, each) for each in chain.from_iterable(read_pairs(one) for one in check))
    every = tokenizer, named, {pair: its}
    return with_validation(config, every, stores, pairs, cache, say, held_out=False)


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
