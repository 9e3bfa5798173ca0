"""GGUF files: read again as the same model, and continued by llama.cpp with the same tokens."""

import math
import re
from pathlib import Path

import pytest
import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.cli.verbs.ship.export import write_export
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import ByteTokenizer, train_text_tokenizer
from jumok.errors import BundleError, ConfigError
from jumok.export.comparing import GreedyWriter, compare_written
from jumok.export.format import ExportOptions
from jumok.export.gguf import writing
from jumok.export.gguf.comparing import LlamaEngine
from jumok.export.gguf.writing import GGUF, obstacle, rows_there
from jumok.export.run import export_model
from jumok.interop.checking import TEXTS
from jumok.interop.importing import read_model, write_imported
from jumok.models.causal import CausalLanguageModel
from jumok.systems.language_model import LanguageModel
from tests.interop.folders_llama import write_llama
from tests.interop.test_tokenizers import lines
from tests.parity.torch_weights import roughen

gguf = pytest.importorskip("gguf", reason="writes with the package gguf")
LLAMA = {
    "dim": 64, "heads": 4, "kv_heads": 2, "layers": 3, "feedforward": 96, "activation": "silu",
    "feedforward_kind": "gated", "norm_kind": "rms", "bias": False, "max_length": 96,
}  # fmt: skip


def of_ours(folder: Path, kind: str = "byte", **changes):
    """A model that nobody trained; a bundle."""
    text = [" ".join(TEXTS), *TEXTS]
    tokenizer = ByteTokenizer() if kind == "byte" else train_text_tokenizer(text, kind, 370)
    section = CausalConfig.model_validate(LLAMA | changes)
    torch.manual_seed(3)
    model = roughen(CausalLanguageModel(section, tokenizer.size))
    config = BundleConfig(
        task="language-model", model=section.model_dump(mode="json"), documents="file",
        vocabulary_size=tokenizer.size, max_tokens=section.max_length,
    )  # fmt: skip
    return read_bundle(
        write_bundle(folder, model.state_dict(), config, tokenizer, Card(name="ours"))
    )


def imported(folder: Path, kind: str, **changes):
    theirs = write_llama(folder / "theirs", kind, **changes)
    return read_bundle(write_imported(read_model(theirs), folder / "bundle"))


def exported(bundle, file: Path, precision: str = "fp32"):
    return write_export(bundle, "gguf", file, precision=precision)


@pytest.mark.parametrize("characters", [False, True])
@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3"])
def test_in_and_out_and_in_again_is_the_same_model(tmp_path, kind, characters):
    changes = {"tie_word_embeddings": characters, "characters": characters}
    changes |= {"sliding_window": 40} if kind == "mistral" else {}
    first = imported(tmp_path, kind, **changes)
    file, _ = exported(first, tmp_path / "a.gguf")
    second = read_bundle(write_imported(read_model(file), tmp_path / "second"))
    before, after = load_model(first).state_dict(), load_model(second).state_dict()
    assert before.keys() == after.keys()
    assert all(before[name].equal(after[name]) for name in before)
    again, _ = exported(second, tmp_path / "b.gguf")
    assert content(again) == content(file)


def content(file: Path) -> bytes:
    """All but the model's name."""
    fields, tensors = gguf.GGUFReader(file).fields, gguf.GGUFReader(file).tensors
    values = {
        name: [bytes(part) for part in each.parts]
        for name, each in fields.items()
        if name != "general.name"
    }
    return repr(values).encode() + b"".join(bytes(each.data) for each in tensors)


@pytest.mark.parametrize("kind", ["byte", "bpe"])
@pytest.mark.parametrize("tied", [False, True])
@torch.no_grad()
def test_a_model_of_ours_has_its_embedding_scale_in_the_table(tmp_path, kind, tied):
    bundle = of_ours(tmp_path / "m", kind, tied=tied, process_heads=("qk-norm",))
    file, _ = exported(bundle, tmp_path / "m.gguf")
    other, mine = read_model(file), LanguageModel.load(bundle)
    assert other.section.embedding_scale is False
    there = [id for id in range(mine.tokenizer.size) if kind == "bpe" or id != 1]
    for text in TEXTS:
        ids = mine.tokenizer.encode(text)[:90]
        expected = mine.model.decoder.logits(mine.model.hidden(torch.tensor([[2, *ids]])))
        here = {row: id for id, row in enumerate(other.vocabulary.order)}
        given = [here[there.index(id)] for id in (2, *ids)]
        found = other.model.decoder.logits(other.model.hidden(torch.tensor([given])))
        rows = [here[row] for row in range(len(there))]
        torch.testing.assert_close(found[..., rows], expected[..., there], atol=1e-5, rtol=0)


def test_subwords_are_cut_as_ours_are(tmp_path):
    bundle = of_ours(tmp_path / "m", "bpe")
    file, _ = exported(bundle, tmp_path / "m.gguf")
    other, mine = read_model(file).tokenizer, LanguageModel.load(bundle).tokenizer
    for line in lines(2_000):
        text = mine.decode(mine.encode(line)).lstrip("▁")  # what our normalisation leaves as it is
        assert other.encode(text) == mine.encode(text), ascii(text)
    assert other.encode("a\n\n b\nc") == mine.encode("a\n\n b\nc")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"feedforward_kind": "plain"}, 'feedforward_kind = "gated"'),
        ({"norm_kind": "layer"}, 'norm_kind = "rms"'),
        ({"positions": "alibi"}, 'positions = "rotary"'),
        ({"norm": "post"}, 'norm = "pre"'),
        ({"logit_cap": 30.0}, "logit_cap"),
        ({"window": 5, "window_layers": ["window", "whole"]}, "window"),
        ({"bias": True}, "bias = false"),
        ({"head_dim": 7, "positions": "alibi"}, "head_dim = 8"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(tmp_path, changes, said):
    assert said in str(obstacle(of_ours(tmp_path / "m", **changes)))


def test_tokenizers_that_cut_otherwise_are_refused(tmp_path):
    assert "unigram" in str(obstacle(of_ours(tmp_path / "m", "unigram")))


def test_a_trained_output_bias_is_kept_by_qwen2_and_refused_elsewhere(tmp_path):
    bundle = of_ours(tmp_path / "m", output_bias=True)
    file, _ = exported(bundle, tmp_path / "m.gguf")
    other = read_model(file)
    assert other.family.kinds == ("gguf qwen2",)
    bias = load_model(bundle).state_dict()["decoder.output.bias"]
    assert other.model.state_dict()["decoder.output.bias"][[2, 3]].equal(bias[[2, 3]])
    normed = of_ours(tmp_path / "n", output_bias=True, process_heads=("qk-norm",))
    with pytest.raises(ConfigError, match="has an output bias"):
        exported(normed, tmp_path / "n.gguf")
    assert not (tmp_path / "n.gguf").exists()


@torch.no_grad()
def test_what_the_file_loses_is_measured_without_llama_cpp(tmp_path):
    bundle = of_ours(tmp_path / "m")
    _, said = exported(bundle, tmp_path / "a.gguf")
    assert re.match("the file as jumok reads it: at [0-9]+ tokens 100.0% of the most", said)
    held = tuple((text, "") for text in TEXTS)
    told = {}
    for precision in ("bf16", "int8"):
        options = ExportOptions(precision, "m", held_out=held)
        told[precision] = export_model(bundle, GGUF, tmp_path / f"{precision}.gguf", options)
    ours = LanguageModel.load(bundle)
    ids = [ours.tokenizer.encode(text)[:95] for text in TEXTS]
    losses = [
        torch.nn.functional.cross_entropy(
            ours.model.decoder.logits(ours.model.hidden(torch.tensor([[2, *row]])))[0],
            torch.tensor([*row, 3]),
            reduction="sum",
        )
        for row in ids
    ]
    perplexity = math.exp(float(sum(losses)) / sum(len(row) + 1 for row in ids))
    for precision, words in told.items():
        found = re.search(rf"perplexity (\S+) in {precision}, (\S+) in fp32, on", words)
        assert float(found[2]) == pytest.approx(perplexity, rel=0.01)
        assert float(found[1]) == pytest.approx(perplexity, rel=0.01)
    apart = [float(re.search(r"differ by (\S+) at most", each)[1]) for each in told.values()]
    assert min(apart) > 1e-3


def test_other_logits_in_the_file_leave_nothing(tmp_path, monkeypatch):
    """Its tensors are those that were written, and its settings are others."""
    header = writing._header
    monkeypatch.setattr(
        writing, "_header", lambda *given: header(*given) | {"llama.rope.freq_base": 20000.0}
    )
    with pytest.raises(BundleError, match="read as another model") as raised:
        exported(of_ours(tmp_path / "m"), tmp_path / "a.gguf")
    assert "logits that differ by" in str(raised.value)
    assert not (tmp_path / "a.gguf").exists()


def test_int8_needs_whole_blocks_and_takes_a_quarter(tmp_path):
    bundle = of_ours(tmp_path / "m")
    whole, _ = exported(bundle, tmp_path / "a.gguf")
    small, _ = exported(bundle, tmp_path / "b.gguf", "int8")
    data = [sum(each.n_bytes for each in gguf.GGUFReader(file).tensors) for file in (whole, small)]
    assert data[1] < 0.3 * data[0]
    with pytest.raises(ConfigError, match="multiples of 32"):
        exported(of_ours(tmp_path / "n", feedforward=90), tmp_path / "c.gguf", "int8")


@pytest.mark.parametrize("kind", ["byte", "bpe"])
def test_llama_cpp_writes_the_same_1000_tokens(tmp_path, kind):
    pytest.importorskip("llama_cpp", reason="compares with llama-cpp-python")
    bundle = of_ours(tmp_path / "m", kind)
    file, compared = exported(bundle, tmp_path / "m.gguf")
    assert "lines written greedily by llama.cpp" in compared
    writer = GreedyWriter(bundle)
    there = LlamaEngine(file, rows_there(bundle, writer.model.state_dict()), 96)
    rows = [writer.tokenizer.encode(text)[start:][:20] for text in TEXTS for start in range(5)]
    theirs = there.written(rows, 20)
    assert sum(map(len, theirs)) > 900
    compare_written(writer, rows, theirs, "llama.cpp", 20)
