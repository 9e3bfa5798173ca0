"""Texts that imported models write are those of transformers, on torch and on the engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import jumok
from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.engine.language import NativeCausal
from jumok.interop.importing import Imported, read_model, write_imported
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.systems.native.models import native_copy, weights_of
from tests.decoding.searches import beam_search, greedy
from tests.interop.folders import WEIGHTS, WRITTEN
from tests.interop.folders_encdec import mask_of

MOST, SENTENCES = 13, 100
LENGTHS = torch.arange(SENTENCES) % 11 + 1
REAL = torch.arange(11) < LENGTHS[:, None]


@pytest.fixture(
    scope="module",
    params=[
        *("marian", "marian of two", "bart", "mbart", "mbart 50", "nllb", "pegasus"),
        *("t5", "t5 buckets"),
    ],
)
def both(request, tmp_path_factory) -> tuple[Imported, Any]:
    folder = WRITTEN[request.param](tmp_path_factory.mktemp("folder") / "theirs")
    return read_model(folder), transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def sources(imported: Imported, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Our ids and theirs, END last."""
    generator = torch.Generator().manual_seed(seed)
    read = imported.vocabulary.read
    order = torch.tensor(read.order)
    own = torch.tensor([id for id in range(4, len(order)) if id not in read.copied])
    ids = own[torch.randint(len(own), (SENTENCES, 11), generator=generator)]
    ids = ids.scatter(1, LENGTHS[:, None] - 1, END).masked_fill(~REAL, PAD)
    return ids, order[ids]


def generated(imported: Imported, theirs: Any, ids: torch.Tensor, **options: Any) -> Any:
    pad, start = theirs.config.pad_token_id, imported.vocabulary.order[START]
    never = {imported.vocabulary.order[PAD]} - {theirs.config.eos_token_id}
    return theirs.generate(
        ids, attention_mask=mask_of(imported, REAL), max_length=MOST + 2,
        bad_words_ids=[[id] for id in never], decoder_start_token_id=start, pad_token_id=pad,
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
def test_greedy_translations_are_theirs(both, seed):
    imported, theirs = both
    ids, other = sources(imported, seed)
    expected = list(written(imported, generated(imported, theirs, other, num_beams=1).sequences))
    model = imported.model
    assert isinstance(model, Transformer)
    found = greedy(model.decoder, model.encode(ids, REAL), Limits(maximum_length=MOST))
    assert [each.tokens for each in found] == expected
    assert len(set(expected)) > 1
    assert any(len(each) > 2 for each in expected)


def compared_beams(imported: Imported, theirs: Any, *forced: int) -> int:
    """How many sentences have hypotheses that all end, in both, and equal ones.

    Args:
        forced: the token that all targets open with.
    """
    ids, other = sources(imported, 4)
    options = {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 1.0}
    if forced:
        options["forced_bos_token_id"] = imported.vocabulary.order[forced[0]]
    output = generated(imported, theirs, other, early_stopping=True, **options)
    expected, scores = list(written(imported, output.sequences)), output.sequences_scores.tolist()
    model = imported.model
    assert isinstance(model, Transformer)
    memory, ranker = model.encode(ids, REAL), Ranker(power_length_penalty(1.0), given=len(forced))
    found = beam_search(
        model.decoder, memory, 4, Limits(maximum_length=MOST), ranker, nbest=4,
        prefixes=[forced] * SENTENCES,
    )  # fmt: skip
    compared = 0
    for row, hypotheses in enumerate(found):
        rows = slice(4 * row, 4 * row + 4)
        ended = (output.sequences[rows] == theirs.config.eos_token_id).any(1).all()
        # Hugging Face ranks what is cut together with the rest.
        short = max(map(len, expected[rows])) < MOST
        if ended and short and all(each.finished for each in hypotheses):
            assert [each.tokens for each in hypotheses] == expected[rows]
            assert [each.score for each in hypotheses] == pytest.approx(scores[rows], abs=1e-4)
            compared += 1
    return compared


@torch.no_grad()
def test_beams_are_theirs_and_so_are_their_scores(both):
    if not compared_beams(*both):
        pytest.skip("this random model hardly ever ends")


@pytest.mark.parametrize(
    ("family", "pair"),
    [
        ("nllb", ("eng_Latn", "kor_Hang")),
        ("m2m100", ("en", "ko")),
        ("mbart 50", ("en_XX", "ko_KR")),
    ],
)
@torch.no_grad()
def test_beams_whose_language_is_forced_are_theirs(tmp_path, family, pair):
    """Its token has no probability of its own, but counts in the length."""
    folder = WRITTEN[family](tmp_path / "theirs")
    if family == "mbart 50":
        tensors = load_file(folder / WEIGHTS)
        tensors["final_logits_bias"][0, 2] += 3.0  # so that it ends
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    imported = read_model(folder)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    bundle = write_imported(imported, tmp_path / "bundle")
    for engine in ("torch", "native"):
        ours = jumok.load(bundle, engine=engine, kind=jumok.Translator).between(*pair)
        (forced,) = ours.tokenizer.target.opening
        options = DecodingOptions(beam=4, maximum_length=MOST)
        (found,) = ours.translate(["the cat sat"], options, keep=False)
        assert found.tokens[0] == imported.tokenizer.target.pieces([forced])[0]
        assert found.token_log_probabilities[0] == 0.0
        (scored,) = ours.score(["the cat sat"], ["the cat"], keep=False)
        assert scored.token_log_probabilities[0] == 0.0 > scored.token_log_probabilities[1]
    assert compared_beams(imported, theirs, forced) > 20


def translator(folder: Path, engine: Any) -> jumok.Translator:
    """Of several languages the last pair."""
    loaded = jumok.load(folder, engine=engine, kind=jumok.Translator)
    return loaded.between(*loaded.pairs[-1])


@pytest.mark.parametrize("family", ["nllb", "m2m100", "bart"])
@torch.no_grad()
def test_texts_open_with_their_tokens(tmp_path, family):
    """A source with its language, a target with its own; BART's with <s>."""
    folder = WRITTEN[family](tmp_path / "theirs")
    imported = read_model(folder)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    bundle = write_imported(imported, tmp_path / "bundle")
    loaded = jumok.load(bundle, engine="native", kind=jumok.Translator)
    pair = {"nllb": ("eng_Latn", "kor_Hang"), "m2m100": ("en", "ko"), "bart": ("", "")}[family]
    ours = loaded.between(*pair)
    rows, order = imported.vocabulary.rows, imported.vocabulary.order
    # of NLLB's rows the last ones: eng_Latn, kor_Hang, <mask>
    first, opens = {"nllb": (rows - 3, rows - 2), "bart": (0, 0)}.get(family, (0, 0))
    if family == "m2m100":
        names = transformers.AutoTokenizer.from_pretrained(folder)
        first, opens = names.get_lang_id("en"), names.get_lang_id("ko")
    read = [[first, *(order[id] for id in imported.tokenizer.encode("the cat sat")), 2]]
    output = theirs.generate(
        torch.tensor(read), forced_bos_token_id=opens, num_beams=1, max_length=MOST + 3,
        bad_words_ids=[[1]], forced_eos_token_id=None,
    )  # fmt: skip
    (expected,) = written(imported, output)
    options = DecodingOptions(beam=1, maximum_length=MOST + 1)
    (found,) = ours.translate(["the cat sat"], options, keep=False)
    pieces = imported.tokenizer.target.pieces(expected)
    assert found.tokens[: len(pieces)] == tuple(pieces)[: len(found.tokens)]
    assert found.tokens


@torch.no_grad()
def test_the_engine_translates_as_torch(both, tmp_path):
    imported, _ = both
    folder = write_imported(imported, tmp_path / "bundle")
    lines = ["the cat sat on the mat", "the dog saw the cat again", "again", "cat the"]
    options = DecodingOptions(beam=4, maximum_length=MOST)
    found = [translator(folder, engine).translate(lines, options) for engine in ("native", "torch")]
    assert [each.text for each in found[0]] == [each.text for each in found[1]]
    for one, other in zip(*found, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
    assert weights_of(imported.model).keys() == imported.model.state_dict().keys()
    assert native_copy(imported.section, weights_of(imported.model), "int8")


@pytest.mark.parametrize("family", ["gpt2", "llama 3", "mistral", "neox", "qwen2", "qwen3"])
@torch.no_grad()
def test_greedy_continuations_are_theirs(tmp_path: Path, family: str) -> None:
    folder = WRITTEN[family](tmp_path / "theirs")
    imported = read_model(folder)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    model, order = imported.model, imported.vocabulary.order
    assert isinstance(model, CausalLanguageModel)
    here = imported.vocabulary.predicted()
    never = [[row] for row in {order[PAD], order[START]} - {order[END]}]
    options = DecodingOptions(beam=1, maximum_length=40)
    engine = NativeCausal(
        CausalConfig.model_validate(imported.section.model_dump()), weights_of(model), 113
    )
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        prompt = torch.randint(4, len(order), (1 + seed % 7,), generator=generator).tolist()
        read = torch.tensor([[order[id] for id in (START, *prompt)]])
        output = theirs.generate(
            read, attention_mask=torch.ones_like(read), max_length=41, do_sample=False,
            pad_token_id=0, eos_token_id=order[END], bad_words_ids=never or None,
        )  # fmt: skip
        expected = [here[id] for id in output[0, 1:].tolist()]
        found = decode(model.decoder, model.nothing(), options, [prompt])[0][0].tokens
        assert list(found) == expected[: expected.index(END) if END in expected else None]
        (scored,) = engine.score([[START, *found]])
        logits = model.decoder.logits(model.hidden(torch.tensor([[START, *found[:-1]]])))
        values = logits.log_softmax(2)[0].gather(1, torch.tensor(found)[:, None])[:, 0]
        torch.testing.assert_close(torch.from_numpy(scored), values, atol=1e-4, rtol=0)
