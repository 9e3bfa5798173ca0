"""Texts that imported models write are those of transformers, on torch and on the engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import jumok
from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.engine.language import NativeCausal
from jumok.interop.importing import Imported, read_model_folder, write_imported
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.systems.native.models import native_copy, weights_of
from tests.decoding.searches import beam_search, greedy
from tests.interop.folders import write_gpt2, write_marian

MOST, SENTENCES = 13, 100
LENGTHS = torch.arange(SENTENCES) % 11 + 1
REAL = torch.arange(11) < LENGTHS[:, None]


@pytest.fixture(scope="module")
def marian(tmp_path_factory) -> tuple[Imported, Any]:
    folder = write_marian(tmp_path_factory.mktemp("marian") / "theirs")
    return read_model_folder(folder), transformers.MarianMTModel.from_pretrained(folder).eval()


def sources(imported: Imported, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Our ids and theirs, END last."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.tensor(imported.vocabulary.order)
    ids = torch.randint(4, len(order), (SENTENCES, 11), generator=generator)
    ids = ids.scatter(1, LENGTHS[:, None] - 1, END).masked_fill(~REAL, PAD)
    return ids, order[ids]


def generated(imported: Imported, theirs: Any, ids: torch.Tensor, **options: Any) -> Any:
    pad = theirs.config.pad_token_id
    return theirs.generate(
        ids, attention_mask=REAL.long(), max_length=MOST + 2, bad_words_ids=[[pad]],
        do_sample=False, output_scores=True, return_dict_in_generate=True, **options,
    )  # fmt: skip


def written(imported: Imported, sequences: torch.Tensor) -> Iterator[tuple[int, ...]]:
    """Theirs by our ids, without START, END and what follows."""
    here = imported.vocabulary.predicted()
    for row in sequences.tolist():
        ids = [here[id] for id in row[1:]]
        yield tuple(ids[: ids.index(END) if END in ids else MOST])


@pytest.mark.parametrize("seed", [1, 2, 3])
@torch.no_grad()
def test_greedy_translations_are_marians(marian, seed):
    imported, theirs = marian
    ids, other = sources(imported, seed)
    expected = list(written(imported, generated(imported, theirs, other, num_beams=1).sequences))
    model = imported.model
    assert isinstance(model, Transformer)
    found = greedy(model.decoder, model.encode(ids, REAL), Limits(maximum_length=MOST))
    assert [each.tokens for each in found] == expected
    assert len(set(expected)) > SENTENCES // 8
    assert any(each.finished for each in found)


@torch.no_grad()
def test_beams_are_marians_and_so_are_their_scores(marian):
    imported, theirs = marian
    ids, other = sources(imported, 4)
    options = {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 1.0}
    output = generated(imported, theirs, other, early_stopping=True, **options)
    expected, scores = list(written(imported, output.sequences)), output.sequences_scores.tolist()
    model = imported.model
    assert isinstance(model, Transformer)
    memory, ranker = model.encode(ids, REAL), Ranker(power_length_penalty(1.0))
    found = beam_search(model.decoder, memory, 4, Limits(maximum_length=MOST), ranker, nbest=4)
    compared = 0
    for row, hypotheses in enumerate(found):
        rows = slice(4 * row, 4 * row + 4)
        ended = (output.sequences[rows] == theirs.config.eos_token_id).any(1).all()
        # Hugging Face ranks what is cut together with the rest.
        if ended and all(each.finished for each in hypotheses):
            assert [each.tokens for each in hypotheses] == expected[rows]
            assert [each.score for each in hypotheses] == pytest.approx(scores[rows], abs=1e-4)
            compared += 1
    assert compared > SENTENCES // 8


@torch.no_grad()
def test_the_engine_translates_as_torch(marian, tmp_path):
    imported, _ = marian
    folder = write_imported(imported, tmp_path / "bundle")
    lines = ["the cat sat on the mat", "the dog saw the cat again", "again", "cat the"]
    options = DecodingOptions(beam=4, maximum_length=MOST)
    found = [
        jumok.load(folder, engine=engine, kind=jumok.Translator).translate(lines, options)
        for engine in ("native", "torch")
    ]
    assert [each.text for each in found[0]] == [each.text for each in found[1]]
    for one, other in zip(*found, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
    assert weights_of(imported.model).keys() == imported.model.state_dict().keys()
    assert native_copy(imported.section, weights_of(imported.model), "int8")


@torch.no_grad()
def test_greedy_continuations_are_gpt2s(tmp_path: Path) -> None:
    folder = write_gpt2(tmp_path / "theirs")
    imported = read_model_folder(folder)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    model, order = imported.model, imported.vocabulary.order
    assert isinstance(model, CausalLanguageModel)
    here = imported.vocabulary.predicted()
    options = DecodingOptions(beam=1, maximum_length=40)
    engine = NativeCausal(
        CausalConfig.model_validate(imported.section.model_dump()), weights_of(model), 113
    )
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)
        prompt = torch.randint(4, len(order), (1 + seed % 7,), generator=generator).tolist()
        read = torch.tensor([[order[id] for id in (START, *prompt)]])
        output = theirs.generate(read, max_length=41, do_sample=False, pad_token_id=0)[0].tolist()
        expected = [here[id] for id in output[1:]]
        found = decode(model.decoder, model.nothing(), options, [prompt])[0][0].tokens
        assert list(found) == expected[: expected.index(END) if END in expected else None]
        (scored,) = engine.score([[START, *found]])
        logits = model.decoder.logits(model.hidden(torch.tensor([[START, *found[:-1]]])))
        values = logits.log_softmax(2)[0].gather(1, torch.tensor(found)[:, None])[:, 0]
        torch.testing.assert_close(torch.from_numpy(scored), values, atol=1e-4, rtol=0)
