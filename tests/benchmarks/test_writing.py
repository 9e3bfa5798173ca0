"""Both ways of writing texts write the same number of tokens, and a stream is read to its end."""

import asyncio
from dataclasses import replace

import pytest

from benchmarks import writing
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.systems.language_model import LanguageModel
from tests.serving.http.process import serving
from tests.systems.lm import write_lm

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_lm(tmp_path_factory.mktemp("lm") / "letters", context=96)


def test_texts_in_turns_and_together_are_the_same(folder):
    system = LanguageModel.load(folder, engine="native")
    assert system.engine is not None
    prompt, options = system.tokenizer.encode(writing.PROMPT), DecodingOptions(beam=1, sample=True)
    options, tokens_of = replace(options, maximum_length=200), {}
    for way, write in writing.WAYS.items():
        writers = [
            writing.native_writer(system.engine, prompt, replace(options, seed=number), None)
            for number in range(3)
        ]
        write(writers, 20, system)
        tokens_of[way] = [each._text.tokens for each in writers]
        assert writing.engine_rate(system, way, 3, 20, options) > 0
    assert tokens_of["in turns"] == tokens_of["together"]
    assert len({tuple(each) for each in tokens_of["together"]}) == 3


def test_streams_are_read_to_their_ends(folder, tmp_path):
    system = LanguageModel.load(folder, engine="native")
    with serving(tmp_path, f"m={folder}", "--grace", "0") as server:
        texts = asyncio.run(writing.load(server.url, 3, 20, 1.0))
        row = writing.served(server.url, server.process.pid, 3, 60, 1.0)
    assert len(texts) == writing.TEXTS
    options = DecodingOptions(beam=1, sample=True)
    lengths = [
        len(list(system.generate_tokens(writing.PROMPT, replace(options, seed=n), max_tokens=20)))
        for n in range(writing.TEXTS)
    ]
    assert sorted(each.tokens for each in texts) == sorted(lengths)
    assert all(len(each.parts) <= each.tokens for each in texts)
    assert max(len(each.parts) for each in texts) > 10
    assert row.startswith("3 | ")
