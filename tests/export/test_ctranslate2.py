"""Exports on CTranslate2's own engine: its probabilities and its greedy tokens are those here."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.special_tokens import END, START
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.errors import BundleError, ConfigError
from jumok.evaluation import agreement
from jumok.export.comparing import GreedyWriter, compare_written
from jumok.export.ctranslate2 import CTRANSLATE2
from jumok.export.format import ExportOptions
from jumok.export.run import export_model
from jumok.interop.importing import read_model, write_imported
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import logits_of
from tests.interop.folders import WRITTEN
from tests.parity.torch_weights import roughen
from tests.systems.test_ordinary_module import recurrent, transformer

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra ctranslate2 is not installed")

TRANSLATORS: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm": {"norm": "post", "activation": "gelu"},
    "learned": {"positions": "learned", "max_length": 80, "tied": "inputs"},
    "llama": {
        "norm_kind": "rms",
        "feedforward_kind": "gated",
        "activation": "silu",
        "bias": False,
        "positions": "rotary",
        "norm_epsilon": 1e-3,
    },
    "rotary in part": {
        "rotary_dim": 8,
        "positions": "rotary",
        "rotary_base": 500.0,
        "rotary_scaling": {"kind": "linear", "factor": 3.0},
    },
    "T5": {"positions": "relative", "score": "dot", "embedding_scale": False, "norm_kind": "rms"},
    "T5, few buckets": {"positions": "relative", "relative_buckets": 19, "relative_distance": 11},
    "shared keys": {"kv_heads": 1, "head_dim": 20, "positions": "none"},
    "pairs of shared keys": {"heads": 4, "kv_heads": 2, "projection_bias": False},
    "mBART": {"embedding_norm": True, "output_bias": True, "tied": "none"},
    "joined": {
        "positions": "binary",
        "positions_join": "concatenate",
        "activation": "gelu_tanh",
        "logit_cap": 3.0,
    },
}
CONTINUING: dict[str, dict[str, Any]] = {
    "Llama": {"norm_kind": "rms", "feedforward_kind": "gated", "activation": "silu", "kv_heads": 3},
    "qk-norm": {"process_heads": ("qk-norm",), "kv_heads": 2, "head_dim": 10, "bias": False},
    "GPT-2": {"positions": "learned", "max_length": 80, "activation": "gelu_tanh"},
    "NeoX": {"parallel": True, "tied": False, "rotary_dim": 4, "output_bias": True},
    "parallel, rms": {"parallel": True, "norm_kind": "rms"},
    "ALiBi": {"positions": "alibi", "embedding_norm": True},
    "post-norm": {"norm": "post", "positions": "sinusoidal"},
}


def language_model(folder: Path, **changes: Any) -> Path:
    sizes = CausalConfig(
        **{"dim": 48, "heads": 6, "layers": 2, "feedforward": 31, "max_length": 300} | changes
    )
    torch.manual_seed(1)
    model = roughen(CausalLanguageModel(sizes, ByteTokenizer.size))
    told = BundleConfig(
        "language-model", sizes.model_dump(), ByteTokenizer.size, max_tokens=60, documents="line"
    )
    return write_bundle(folder, model.state_dict(), told, ByteTokenizer(), Card("bytes"))


def exported(model: Path, folder: Path, **options: Any) -> tuple[GreedyWriter, Path, str]:
    bundle = read_bundle(model)
    options = {"precision": "fp32", "title": "a model"} | options
    said = export_model(bundle, CTRANSLATE2, folder, ExportOptions(**options))
    return GreedyWriter(bundle), folder, said


def vocabulary(folder: Path) -> list[str]:
    names: list[str] = json.loads(next(folder.glob("*vocabulary.json")).read_text("utf-8"))
    return names


@torch.no_grad()
def compare_numbers(writer: GreedyWriter, folder: Path) -> None:
    """The logarithms of the probabilities of random targets, in batches with padding."""
    names, model = vocabulary(folder), writer.model
    generator = torch.Generator().manual_seed(2)
    known = [id for id in range(4, len(names)) if names[id] != f"#{id}"]
    rows, targets = (
        [
            [known[at] for at in torch.randint(len(known), (length,), generator=generator)]
            for length in (11, 3, 17)
        ]
        for _ in range(2)
    )
    if isinstance(model, CausalLanguageModel):
        engine = ctranslate2.Generator(str(folder), intra_threads=1)
        whole = [[START, *target, END] for target in targets]
        scores = engine.score_batch([[names[id] for id in row] for row in whole])
        memory = model.nothing()
    else:
        engine = ctranslate2.Translator(str(folder), intra_threads=1)
        sources, given = ([[names[id] for id in row] for row in side] for side in (rows, targets))
        scores = engine.score_batch(sources, given)
    for row, target, theirs in zip(rows, targets, scores, strict=True):
        if not isinstance(model, CausalLanguageModel):
            (batch,) = source_batches([row], sentences=1)
            memory = model.encode(batch.tokens, batch.allowed)
        logits = logits_of(model.decoder, memory, torch.tensor([[START, *target]]))[0]
        ours = logits.log_softmax(-1).gather(1, torch.tensor([*target, END])[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(theirs.log_probs), ours, atol=3e-5, rtol=1e-5)


@pytest.mark.parametrize("changes", TRANSLATORS.values(), ids=TRANSLATORS)
def test_translators_have_the_same_numbers(changes, tmp_path):
    writer, folder, said = exported(transformer(tmp_path / "model", **changes), tmp_path / "theirs")
    assert "10 lines written greedily by CTranslate2" in said
    compare_numbers(writer, folder)


@pytest.mark.parametrize("changes", CONTINUING.values(), ids=CONTINUING)
def test_language_models_have_the_same_numbers(changes, tmp_path):
    model = language_model(tmp_path / "model", **changes)
    writer, folder, said = exported(model, tmp_path / "theirs")
    assert "10 lines written greedily by CTranslate2" in said
    compare_numbers(writer, folder)


THERE = (
    *("marian", "marian of two", "bart", "mbart", "m2m100", "nllb json", "pegasus", "blenderbot"),
    *("t5", "t5 1.1", "gpt2", "llama", "qwen3", "neox", "neox one after another"),
)


@pytest.mark.parametrize("name", THERE)
def test_imported_models_go_out_again(name, tmp_path, monkeypatch, capsys):
    model = tmp_path / "model"
    write_imported(read_model(WRITTEN[name](tmp_path / "from")), model)
    writer, folder, said = exported(model, tmp_path / "theirs")
    assert "written greedily by CTranslate2" in said
    compare_numbers(writer, folder)
    run_readme(folder, monkeypatch)
    assert capsys.readouterr().out


def run_readme(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs the lines of the README in the folder, and gives them."""
    text = (folder / "README.md").read_text("utf-8")
    (lines,) = re.findall("```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(lines, {})
    return str(lines)


@pytest.mark.parametrize("made", [transformer, language_model])
def test_the_lines_of_the_readme_run(made, tmp_path, monkeypatch, capsys):
    model = made(tmp_path / "model")
    _, folder, _ = exported(model, tmp_path / "theirs", examples=("the cat sat",))
    assert "'the cat sat'" in run_readme(folder, monkeypatch)
    assert capsys.readouterr().out.strip("\n")
    told = (folder / "README.md").read_text("utf-8")
    for option in ("max_input_length", "min_decoding_length"):  # of translators only
        assert (option in told) == (made is transformer)


def test_int8_is_smaller_and_says_what_it_loses(tmp_path):
    model = transformer(tmp_path / "model")
    _, whole, _ = exported(model, tmp_path / "whole")
    _, small, said = exported(model, tmp_path / "small", precision="int8")
    assert sorted(each.name for each in small.iterdir()) == [
        *("README.md", "config.json", "model.bin", "shared_vocabulary.json", "tokenizer.model"),
    ]
    assert (small / "model.bin").stat().st_size < 0.6 * (whole / "model.bin").stat().st_size
    assert "lines in int8 as in fp32; what it loses was not measured" in said


def test_a_model_that_loses_too_much_is_refused(tmp_path, monkeypatch):
    model = transformer(tmp_path / "model")
    writer = GreedyWriter(read_bundle(model))
    random, words = Random(1), ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "barked"]
    sources = [" ".join(random.choices(words, k=7)) for _ in range(60)]
    rows = [writer.tokenizer.encode(text) for text in sources]
    pairs = [
        (text, writer.decoded(each))
        for text, each in zip(sources, writer.written(rows, 256), strict=True)
    ]
    with pytest.raises(ConfigError, match="loses too much in int8: nothing was written") as error:
        exported(model, tmp_path / "small", precision="int8", held_out=tuple(pairs))
    assert "BLEU fell by" in str(error.value)
    assert not (tmp_path / "small").exists()
    monkeypatch.setattr(agreement, "MOST_RISE", 1.0)  # random weights lose more than trained ones
    text = "a few lines of a text\nthat it would read"
    said = exported(
        language_model(tmp_path / "lm"), tmp_path / "lm8", precision="int8", held_out=((text, ""),)
    )[2]
    assert re.search(r"perplexity \d+\.\d\d in int8, \d+\.\d\d in fp32, on \d+ tokens held", said)


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"positions": "alibi"}, 'positions = "sinusoidal"'),
        ({"score_cap": 5.0, "sinks": True}, "sinks = false"),
        ({"decoder_attention_kind": "ssru"}, "no decoder_attention_kind"),
        ({"activation": "relu2"}, 'activation = "relu"'),
        ({"window": 4}, "no window"),
        ({"value_dim": 8}, "value_dim = 16"),
    ],
)
def test_what_it_does_not_compute_is_refused_with_advice(changes, advice, tmp_path):
    bundle = read_bundle(transformer(tmp_path / "model", **changes))
    lacks = str(CTRANSLATE2.obstacle(bundle))
    for key, value in changes.items():
        assert f"{key} = {value!r}" in lacks
    assert advice in lacks
    assert "kind = 'rnn'" in str(CTRANSLATE2.obstacle(read_bundle(recurrent(tmp_path / "rnn"))))


def test_another_token_is_an_error_unless_two_are_equally_probable(tmp_path):
    writer = GreedyWriter(read_bundle(transformer(tmp_path / "model")))
    rows = writer.inputs(())[:2]
    ours = writer.written(rows)
    assert "2 lines" in compare_written(writer, rows, ours, "theirs")
    other = [[*ours[0][:3], (ours[0][3] + 1) % 300 + 4, *ours[0][4:]], ours[1]]
    with pytest.raises(BundleError, match="theirs does not write what the model writes here"):
        compare_written(writer, rows, other, "theirs")
    tokens = ours[0][3], other[0][3]
    with torch.inference_mode():  # the other token's row is now the same
        table = writer.model.decoder.output.weight
        table[tokens[1]] = table[tokens[0]]
    ours = writer.written(rows)
    swapped = [[tokens[1] if id == tokens[0] else id for id in ours[0]], ours[1]]
    assert abs(writer.lead(rows[0], ours[0][:3], tokens)) < 1e-3
    if swapped != ours:
        assert "but for 1 lines" in compare_written(writer, rows, swapped, "theirs")
