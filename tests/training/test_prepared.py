"""A prepared corpus trains what the texts would that it was prepared from."""

from pathlib import Path

import pytest
import torch

from jumok.config import Config
from jumok.data.pairs import sampler
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.shards import write_manifest, write_shard
from jumok.data.pairs.store import Filters
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError
from jumok.training import checkpoint
from jumok.training.run import train
from tests.training.conftest import WORDS, MakeConfig, Recorder, write_corpus

SHARDS = 4
QUICK = ("training.steps=4", "validation.every=9", 'training.schedule.kind="constant"')


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([" ".join(WORDS)] * 9, "bpe", 48, byte_fallback=False)


@pytest.fixture(scope="module")
def corpus(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus in four shards; it must not be changed."""
    folder = tmp_path_factory.mktemp("prepared")
    pairs = list(read_pairs(Corpus(*write_corpus(folder))))
    for number in range(SHARDS):
        rows = pairs[number * 38 : (number + 1) * 38]
        write_shard(folder, number, rows, tokenizer, Filters(128, 9.0), report=CorpusReport("rows"))
    held = [Pair("one two", "two one", 1), Pair("nine ten", "ten nine", 2)]
    write_manifest(folder, tokenizer, name="rows", validation=held)
    return folder


@pytest.fixture
def of_shards(make_config: MakeConfig, corpus: Path):
    return lambda *changes: make_config(f'data.train=[{{prepared="{corpus}"}}]', *QUICK, *changes)


def state(config: Config, runs: Path, **options: bool) -> dict[str, torch.Tensor]:
    train(config, runs, Recorder(), **options)
    return dict(checkpoint.load(runs / config.name)[0].tensors)


def test_shards_train_the_bits_that_their_texts_train(
    make_config: MakeConfig, of_shards, corpus: Path, tokenizer: Tokenizer, tmp_path: Path
):
    tokenizer.save(tmp_path / "own.model")
    (tmp_path / "held.tsv").write_text("one two\ttwo one\nnine ten\tten nine\n")
    texts = make_config(
        f'data.validation=[{{file="{tmp_path / "held.tsv"}"}}]',
        f'tokenizer.path="{tmp_path / "own.model"}"',
        *QUICK,
    )
    one, other = state(texts, tmp_path / "texts"), state(of_shards(), tmp_path / "shards")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_stops_within_a_block_goes_on_with_the_same_bits(
    of_shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    order = sampler.CorpusOrder
    monkeypatch.setattr(sampler, "CorpusOrder", lambda *given: order(*given[:-1], block_pairs=50))
    straight = state(of_shards(), tmp_path / "straight")
    state(of_shards("training.steps=2"), tmp_path / "stopped")
    saved = checkpoint.load(tmp_path / "stopped" / "tiny")[0].run["cursor"]["corpora"][0]
    assert (saved["block"], saved["micro"]) != (0, 0)
    resumed = state(of_shards(), tmp_path / "stopped", resume=True)
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


def test_another_tokenizer_than_the_corpus_was_prepared_with_is_refused(
    of_shards, corpus: Path, tokenizer: Tokenizer, tmp_path: Path
):
    other = Tokenizer.train([" ".join(WORDS)] * 9, "bpe", 44, byte_fallback=False)
    other.save(tmp_path / "other.model")
    with pytest.raises(DataError) as caught:
        train(of_shards(f'tokenizer.path="{tmp_path / "other.model"}"'), tmp_path, Recorder())
    assert str(caught.value) == (
        f"{corpus}: the prepared corpus has another tokenizer than {tmp_path / 'other.model'}.\n"
        f"  expected: SHA-256 {other.hash}, 44 subwords\n"
        f"  got:      SHA-256 {tokenizer.hash}, 48 subwords\n"
        "  do:       prepare all corpora with one tokenizer, leave tokenizer.path out, and start a "
        "new run for another corpus"
    )


def test_longer_pairs_than_the_recipe_allows_are_refused(of_shards, corpus: Path, tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        train(of_shards("data.max_tokens=7"), tmp_path, Recorder())
    tokenizer = Tokenizer.load(corpus / "tokenizer.model")
    pairs = read_pairs(Corpus(corpus / "rows.en", corpus / "rows.back"))
    longest = max(len(tokenizer.encode(pair.source)) for pair in pairs)
    assert str(caught.value) == (
        f"{corpus}: the prepared corpus has longer pairs than the recipe allows.\n"
        "  expected: at most data.max_tokens = 7 tokens on each side\n"
        f"  got:      {longest} tokens, according to manifest.json\n"
        f"  do:       --set data.max_tokens={longest}, or prepare it again with a lower limit"
    )


@pytest.mark.parametrize("change", ["tokenizer.sampling_alpha=0.1", "data.noise=true"])
def test_sentences_that_vary_need_texts(of_shards, corpus: Path, tmp_path: Path, change: str):
    with pytest.raises(DataError) as caught:
        train(of_shards(change), tmp_path, Recorder())
    assert f"{corpus}: the prepared corpus contains no texts" in str(caught.value)
    assert "--set tokenizer.sampling_alpha=0 --set data.noise=false" in str(caught.value)


def test_a_corpus_without_validation_pairs_needs_some(
    make_config: MakeConfig, tokenizer: Tokenizer, tmp_path: Path
):
    rows = [Pair("one two", "two one", 1)]
    write_shard(tmp_path / "c", 0, rows, tokenizer, Filters(), report=CorpusReport("c"))
    write_manifest(tmp_path / "c", tokenizer, name="c")
    with pytest.raises(ConfigError) as caught:
        train(make_config(f'data.train=[{{prepared="{tmp_path / "c"}"}}]'), tmp_path, Recorder())
    assert "there are no pairs to validate on: the prepared corpora have none." in str(caught.value)
    assert "do:       add a [[data.validation]] corpus to the recipe" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (['data.train=[{prepared="a", file="b.tsv"}]'], "or `file`, or `prepared`"),
        (['data.train=[{prepared="a"}, {file="b.tsv"}]'], "corpora that are all `prepared`, or"),
        (['data.train=[{prepared="a"}]', "data.test_pairs=3"], "cannot hold out `test_pairs`"),
        (['data.validation=[{prepared="a"}]'], "takes [[data.validation]] pairs from files"),
        (['data.train=[{prepared="s3://a/$$b"}]'], "write %24 for a $ in an address"),
    ],
)
def test_recipes_that_cannot_be_followed_are_refused(
    make_config: MakeConfig, changes: list[str], text: str
):
    with pytest.raises(ConfigError) as caught:
        make_config(*changes)
    assert text in str(caught.value)


def test_an_address_stays_as_it_is_and_a_folder_is_located(make_config: MakeConfig, tmp_path: Path):
    address = make_config('data.train=[{prepared="s3://bucket/en-de"}]').data.train[0].prepared
    assert address == "s3://bucket/en-de"
    folder = make_config('data.train=[{prepared="en-de"}]').data.train[0].prepared
    assert folder == Path.cwd() / "en-de"
