"""`jumok export --to onnx`: what ONNX Runtime computes from the graphs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.data.special_tokens import END, PAD, START
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.decoding import DecodingOptions, decode
from jumok.errors import BundleError, ConfigError
from jumok.export.format import ExportOptions
from jumok.export.onnx.checking import Expected
from jumok.export.onnx.folder import ONNX
from jumok.models.catalog import DataSizes, build
from tests.parity.torch_weights import roughen
from tests.systems.pictures import GATED, GIVEN, write_captioner
from tests.systems.test_ordinary_module import recurrent, transformer
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

pytest.importorskip("onnxscript", reason="pip install 'jumok[onnx]'")
pytest.importorskip("onnxruntime", reason="pip install 'jumok[onnx]'")
from jumok.export.onnx.running import Session, SessionPair, padded

PLAIN = {"decoder_layers": 1}
MODERN = {
    **PLAIN,
    "positions": "rotary",
    "norm_kind": "rms",
    "feedforward_kind": "gated",
    "activation": "silu",
    "process_heads": ("qk-norm",),
    "kv_heads": 1,
    "bias": False,
    "window": 4,
}
PECULIAR = {
    **PLAIN,
    "experts": 3,
    "positions": "learned",
    "sinks": True,
    "norm": "post",
    "max_length": 80,
}
RECURRENT = [
    (recurrent, {"attention": "dot", "order": "luong", "input_feeding": True, "cell": "rnn"}),
    (recurrent, {"attention": "additive", "coverage": True, "encoder_layers": 2}),
    (recurrent, {"attention": "none", "context": "every-step", "cell": "lstm"}),
]
VIT = {"kind": "vit", "size": 12, "patch": 4, "dim": 12, "heads": 3, "layers": 1, "feedforward": 20}
LENGTHS = 1, 2, 61
SCRIPT = Path(__file__).with_name("onnx_in_node.cjs")


def _node():
    """Node, where it has onnxruntime-node (NODE_PATH names the folder of its packages)."""
    node = shutil.which("node")
    if node is None:
        return None
    words = [node, "-e", "require('onnxruntime-node')"]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    return None if done.returncode else node


NODE = _node()


def exported(folder, bundle, precision="fp32", **options):
    told = read_bundle(bundle)
    jaxtyping.config.update("jaxtyping_disable", True)  # traced sizes are no integers
    try:
        compared = ONNX.write(told, folder, ExportOptions(precision, "tiny", **options))
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    return told, folder / "onnx", compared


@pytest.fixture(scope="module")
def translators(tmp_path_factory):
    """By their keys of [model]: an exported translator, once for all tests."""
    made = {}

    def translator(kind, **changes):
        known = repr((kind, changes))
        if known not in made:
            room = tmp_path_factory.mktemp("translator")
            made[known] = exported(room / "onnx-model", kind(room / "model", **changes))
        return made[known]

    return translator


def language_model(folder, largest=1, **changes):
    config = CausalConfig(dim=24, heads=3, layers=2, feedforward=29, max_length=90, **changes)
    torch.manual_seed(1)
    model = roughen(build(config, DataSizes(vocabulary=ByteTokenizer.size)))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight[0] *= largest
    told = BundleConfig("language-model", config.model_dump(), ByteTokenizer.size, max_tokens=90)
    return write_bundle(folder, model.state_dict(), told, ByteTokenizer(), Card("lm"))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [(transformer, PLAIN), (transformer, MODERN), (transformer, PECULIAR), *RECURRENT],
    ids=["plain", "modern", "peculiar", "feeding", "coverage", "one vector"],
)
def test_a_translator_writes_the_same_in_batches_of_any_lengths(translators, kind, changes):
    bundle, graphs, compared = translators(kind, **changes)
    assert "tokens as here" in compared
    model, pair = load_model(bundle), SessionPair(graphs)
    drawn = np.random.default_rng(3)
    for batch in (1, 3, 7):
        lengths = [LENGTHS[number % 3] for number in range(batch)]
        rows = [[*drawn.integers(4, 300, length - 1).tolist(), END] for length in lengths]
        written = pair.written(rows, [START], 9)
        options = DecodingOptions(beam=1, maximum_length=9)
        ids, real = map(torch.from_numpy, padded(rows))
        with torch.inference_mode():
            memory = model.encode(ids, real != 0)
            expected = [list(one.tokens) for (one,) in decode(model.decoder, memory, options)]
            prefix = torch.tensor([[START, *drawn.integers(4, 300, 5)]] * batch)
            logits = model.decoder(memory, prefix).numpy()
        assert written == expected
        given, past = pair.begin(rows)
        np.testing.assert_allclose(given["encoder_hidden_states"], memory.states, atol=1e-4)
        np.testing.assert_allclose(along(pair, prefix.numpy(), past, given), logits, atol=1e-4)


@pytest.mark.skipif(NODE is None, reason="npm install --ignore-scripts onnxruntime-node; NODE_PATH")
@pytest.mark.parametrize(("kind", "changes"), [(transformer, PLAIN), RECURRENT[1]])
def test_node_writes_the_same(translators, kind, changes):
    _, graphs, _ = translators(kind, **changes)
    drawn = np.random.default_rng(3)
    for lengths in (LENGTHS[:1], LENGTHS, (*LENGTHS, *LENGTHS, 5)):
        rows = [[*drawn.integers(4, 300, length - 1).tolist(), END] for length in lengths]
        words = [NODE, SCRIPT, graphs.parent, json.dumps(rows), "9"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        assert json.loads(done.stdout) == SessionPair(graphs).written(rows, [START], 9)


def along(pair, tokens, past, given):
    """The logits after each of the tokens; all weights of attention are of real positions."""
    columns = tokens.T[:, :, None] if pair.decoder.steps else [tokens]
    logits = []
    for read in columns:
        made = pair.decoder(input_ids=read, **past, **given)
        past = pair.decoder.later(made)
        logits.append(made["logits"])
        if "cross_attentions.0" in made:
            weights, real = made["cross_attentions.0"], given["encoder_attention_mask"]
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
            assert (weights * (real == 0)[:, None, None] == 0).all()
    return np.concatenate(logits, 1)


@pytest.mark.parametrize(
    "changes",
    [{"encoder": VIT}, {"decoder": GATED}, {"encoder": GIVEN, "decoder": GATED, "memory": "one"}],
    ids=["vision transformer", "rnn", "features, one vector, rnn"],
)
def test_a_captioner_writes_the_same(tmp_path, changes):
    _, graphs, compared = exported(tmp_path / "out", write_captioner(tmp_path / "model", **changes))
    assert "tokens as here" in compared
    assert "numbers up to" in compared
    pair = SessionPair(graphs)
    assert pair.encoder.inputs == ["features" if "memory" in changes else "pixels"]
    looks = "cross_attentions.0" in pair.decoder.outputs
    assert looks == ("memory" not in changes)


@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "attention_kind": "linear"}])
def test_a_language_model_continues_texts_that_are_padded_on_the_left(tmp_path, changes):
    _, graphs, compared = exported(tmp_path / "out", language_model(tmp_path / "lm", **changes))
    assert "tokens as here" in compared
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["num_hidden_layers"] == 2
    decoder = Session(graphs / "model.onnx")
    rows = [[START, *range(10, 10 + length)] for length in (0, 1, 60)]
    alone = [decoder.continued([row], 8)[0] for row in rows]
    assert decoder.continued(rows, 8) == alone


def test_the_program_of_the_documentation_translates(translators, monkeypatch, capsys):
    bundle, graphs, _ = translators(transformer, **PLAIN)
    monkeypatch.chdir(graphs.parents[1])
    pages = [Path(__file__).parents[2] / "docs" / name for name in ("export.md", "export.ko.md")]
    texts = [page.read_text("utf-8") for page in pages]
    program, korean = (text.split("```python\n")[1].split("```")[0] for text in texts)
    assert program == korean
    exec(compile(program, "docs/export.md", "exec"), {})
    model = load_model(bundle)
    with torch.inference_mode():
        memory = model.encode(torch.tensor([[17, 42, 99, END]]))
        ((expected,),) = decode(model.decoder, memory, DecodingOptions(beam=1, maximum_length=40))
    assert capsys.readouterr().out == f"{list(expected.tokens)}\n"


def test_one_that_keeps_a_state_reads_a_token_a_step(tmp_path):
    bundle = transformer(tmp_path / "model", decoder_layers=1, decoder_attention_kind="ssru")
    _, graphs, compared = exported(tmp_path / "out", bundle)
    assert "tokens as here" in compared
    assert (
        "past_key_values.0.decoder.value"
        not in Session(graphs / "decoder_model_merged.onnx").inputs
    )


@pytest.mark.parametrize("made", [write_masked, write_text_classifier, write_classifier])
def test_models_that_only_read(tmp_path, made):
    _, graphs, compared = exported(tmp_path / "out", made(tmp_path / "model"))
    assert compared.startswith("10 inputs in ONNX Runtime: numbers up to")
    assert Session(graphs / "model.onnx").outputs == ["logits"]


def test_int8_is_measured_and_smaller(tmp_path):
    bundle = language_model(tmp_path / "lm")
    held_out = (("the cat sat", ""), ("the dog", ""))
    _, graphs, compared = exported(tmp_path / "out", bundle, "int8", held_out=held_out)
    assert re.search(r"perplexity [\d.]+ in int8, [\d.]+ in fp32, on 18 tokens held out", compared)
    assert [file.name for file in graphs.iterdir()] == ["model_quantized.onnx"]


def test_a_model_that_loses_too_much_is_refused(tmp_path):
    """One channel is so large that 8 bits hold nothing of the others."""
    bundle = language_model(tmp_path / "lm", largest=300)
    with pytest.raises(ConfigError, match="the model loses too much in int8"):
        exported(tmp_path / "out", bundle, "int8", held_out=(("the cat sat", ""),))


def test_int8_of_kinds_that_are_not_measured_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="loss is measured"):
        exported(tmp_path / "out", write_masked(tmp_path / "model"), "int8")
    assert not (tmp_path / "out").exists()


def test_other_numbers_are_refused(tmp_path):
    expected = Expected([[START]], [[4]], [np.ones((2, 5), np.float32)])
    with pytest.raises(BundleError, match="compute other numbers"):
        expected.compare_numbers(0, np.full((2, 5), 1.001, np.float32), tmp_path)
    expected.compare_numbers(0, np.full((2, 5), 1.00001, np.float32), tmp_path)
    assert "differ by 1.0e-05 at most" in expected.words()


def test_padding_is_where_it_is_asked_for():
    ids, real = padded([[5], [6, 7]], left=True)
    assert ids.tolist() == [[PAD, 5], [6, 7]]
    assert real.tolist() == [[0, 1], [1, 1]]
