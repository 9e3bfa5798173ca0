"""The walk in a real browser: its numbers are recomputed from the weights with plain torch."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import jumok
from jumok.data.tokenizer import END, START
from tests.browser.by_hand import attend, block, times
from tests.browser.kinds import GATED, write_bahdanau
from tests.browser.walking import ONLY, Walk, near, number, numbers, translated_by_hand
from tests.interop.bert import bert, save
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_noise
from tests.systems.test_ordinary_module import transformer
from tests.systems.untrained import write_classifier, write_masked

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")


def check_attention(walk: Walk, facts: dict[str, torch.Tensor], head: int, row: int, after: str):
    """Query, keys, products, scores, powers, weights and the weighted sum of one row."""
    found = walk.vectors()
    near(found["query"], facts["query"][head, row])
    keys = [values for name, values in found.items() if name.startswith("key ")]
    near(keys, facts["key"][head])
    near([v for name, v in found.items() if name.startswith("value ")], facts["value"][head])
    near(found["z"], facts["z"][head, row])
    columns = walk.columns(after)
    near(columns["product"], facts["products"][head, row])
    near(columns["score"], facts["scores"][head, row])
    near(columns["power"], facts["powers"][head, row])
    near(columns["weight"], facts["weights"][head, row])
    return found


def check_rest(found: dict[str, list[float]], facts: dict[str, torch.Tensor], row: int) -> None:
    """What surrounds the attention."""
    names = {"state", "input", "mixed", "output", "sum", "norm"}
    names |= {"hidden", "fed", "fedSum", "fedNormed"} & set(facts)
    for name in names:
        near(found[name], facts[name][row])


def check_prediction(walk: Walk, logits: torch.Tensor, names: list[str]) -> None:
    """Logits and probabilities of the most probable tokens, and the sentence about the first."""
    best = logits.topk(len(names))
    shown = walk.entries()
    near([logit for _, logit, _ in shown], best.values)
    near([share for *_, share in shown], logits.softmax(dim=0)[best.indices])
    logit, total, probability, *_ = numbers(walk.says("next"))
    near([logit, total, probability], [best.values[0], logits.logsumexp(0), shown[0][2]])
    near(probability, np.exp(logit - total))


@pytest.fixture(scope="module")
def translated(tiny_bundle):
    """A translator of three layers and its trace, with every block by hand."""
    return translated_by_hand(tiny_bundle)


@pytest.mark.parametrize(("layer", "head", "row"), [(2, 1, 2), (0, 2, 0)])
def test_cross_attention_is_what_the_weights_give(opened, translated, layer, head, row):
    trace, layers, logits = translated
    walk = Walk(opened(trace), part="cross", layer=layer, head=head, query=row)
    facts = layers[layer]["cross"]
    found = check_attention(walk, facts, head, row, "mixed")
    check_rest(found, facts, row)
    near(numbers(walk.says("residual")), sum_of(facts["state"][row], facts["output"][row]))
    near(numbers(walk.says("fedSum")), sum_of(facts["sum"][row], facts["fed"][row]))
    active = int((facts["hidden"][row] > 0).sum())
    assert f"{active} of its 29 hidden units" in walk.says("hidden")
    near(numbers(walk.says("output")), [facts["output"][row].norm()])
    mean, spread = numbers(walk.says("norm"))
    near([mean, spread], [facts["sum"][row].mean(), facts["sum"][row].std(correction=0)])
    if layer == 2:
        check_prediction(walk, logits[row], [token for token, _ in trace.steps[row].best])
    else:
        assert "layer 2" in walk.says("end")


def sum_of(state: torch.Tensor, update: torch.Tensor) -> list[float]:
    """The first numbers as the sentence adds them: the sign of the second is the operation's."""
    return [float(state[0]), abs(float(update[0])), float(state[0] + update[0])]


def test_the_mask_hides_what_comes_later(opened, translated):
    trace, layers, _ = translated
    walk = Walk(opened(trace), part="decoder", layer=1, head=0, query=1)
    facts = layers[1]["self"]
    found = check_attention(walk, facts, 0, 1, "mixed")
    check_rest(found, facts, 1)
    count = len(trace.axes["target"].tokens)
    assert f"hides {count - 2} of the {count} keys" in walk.says("mask")
    walk.says("end")
    walk.page.locator("#walk-on").click()
    assert "part=cross" not in walk.page.url  # it is the part that the page begins with
    assert walk.page.get_by_label("Layer", exact=True).input_value() == "1"


def test_every_moment_adds_its_weighted_value_to_the_sum(opened, translated):
    trace, layers, _ = translated
    walk = Walk(opened(trace), part="cross", layer=2, head=0, query=0)
    weights = layers[2]["cross"]["weights"][0, 0]
    walk.says("sum")
    spent = 0.0
    for weight in weights:
        sentence = walk.page.locator("#walk-says").text_content()
        spent += float(weight)
        near(numbers(sentence)[0], weight)
        share = number(re.search(r"([\d.]+) % of the attention is spent", sentence)[1])
        assert abs(share - 100 * spent) < 0.51
        walk.page.locator("#walk-next").click()


def test_language_models_predict_from_their_last_layer(opened, tmp_path):
    system = jumok.load(write_lm(tmp_path / "lm"), device="cpu", engine="torch")
    trace = jumok.trace(system, "ab", "cd", extras=ONLY)
    decoder = system.model.decoder
    with torch.no_grad():
        state = decoder.embedding(torch.tensor([[START, *system.tokenizer.encode("abcd")]]))[0]
        facts, _, last = block(
            decoder.blocks[0], state, decoder.first_norm(state), causal=True, bent=F.gelu
        )
        logits = last @ decoder.output.weight.T
    walk = Walk(opened(trace), head=1, query=3)
    found = check_attention(walk, facts["self"], 1, 3, "mixed")
    check_rest(found, facts["self"], 3)
    check_prediction(walk, logits[3], [token for token, _ in trace.steps[3].best])


def test_masked_models_predict_at_the_gap(opened, tmp_path):
    system = jumok.load(write_masked(tmp_path / "masked"), device="cpu")
    trace = jumok.trace(system, "the [MASK] sat", extras=ONLY)
    model, (gap,) = system.model, trace.findings.gaps
    with torch.no_grad():
        ids, _ = system.encode("the [MASK] sat")
        state = model.encoder.embedding(torch.tensor([[START, *ids, END]]))[0]
        read = model.encoder.first_norm(state)
        for each in model.encoder.blocks:
            facts, state, read = block(each, state, read, bent=F.gelu)
        logits = model.head(read[gap])
    walk = Walk(opened(trace), head=0, query=gap)
    found = check_attention(walk, facts["self"], 0, gap, "mixed")
    check_rest(found, facts["self"], gap)
    check_prediction(walk, logits, [token for token, _ in trace.steps[0].best])


def test_a_pretrained_bert_normalizes_after_each_sum(opened, tmp_path):
    system = jumok.load(save(bert(), tmp_path / "bert"), device="cpu")
    trace = jumok.trace(system, "the cat sat", extras=ONLY)
    encoder = system.model.encoder
    with torch.no_grad():
        ids = [START, *system.encode("the cat sat")[0], END]
        state = read = encoder.embedding(torch.tensor([ids]))[0]
        for each in encoder.blocks:
            facts, state, read = block(each, state, read, bent=F.gelu)
    walk = Walk(opened(trace), head=1, query=2)
    found = check_attention(walk, facts["self"], 1, 2, "mixed")
    check_rest(found, facts["self"], 2)
    assert "input" not in walk.ops(), "in post-norm, x is the state"


@pytest.fixture(scope="module")
def photo(tmp_path_factory) -> str:
    return str(write_noise(tmp_path_factory.mktemp("photo") / "noise.png"))


@pytest.mark.parametrize("gated", [False, True])
def test_recurrent_decoders_ask_with_their_state(opened, tmp_path, photo, gated):
    """Bahdanau's order: v . tanh(W s + U m), the context, the cell, h, the next word."""
    if gated:
        system = jumok.load(write_captioner(tmp_path / "m", decoder=GATED), device="cpu")
        trace, model = jumok.trace(system, photo, "the cat", extras=ONLY), system.model
        memory = model.encode(system.read(Path(photo))[None])
    else:
        system = jumok.load(write_bahdanau(tmp_path / "m"), device="cpu", engine="torch")
        trace, model = jumok.trace(system, "the cat sat", "개가", extras=ONLY), system.models[0]
        memory = model.encode(torch.tensor([[*system.tokenizer.encode("the cat sat"), END]]))
    decoder, row = model.decoder, 1
    with torch.no_grad():
        score = decoder.attention.score
        words = decoder.embedding(torch.tensor([[START, *trace.findings.written]]))[0]
        cells = torch.tanh(times(memory.states.mean(dim=1), decoder.first))
        cells = cells.view(1, *decoder.cells.shape)
        for word in words[: row + 1]:
            state = cells[0, -1, 0]
            query = times(state, score.query)
            key = times(memory.states[0], score.key)
            terms = score.energy * torch.tanh(query + key)
            weights = terms.sum(dim=1).softmax(dim=0)
            z = weights @ memory.states[0]
            context = torch.sigmoid(times(state, decoder.gate)) * z if gated else z
            cells = decoder.cells.step(torch.cat([word, context])[None], cells)
        known = torch.cat([cells[0, -1, 0], context, word])
        shown = torch.tanh(times(known, decoder.readout))
        logits = shown @ decoder.output.weight.T
    walk = Walk(opened(trace), part="cross", query=row)
    found = walk.vectors()
    for name, wanted in {"state": state, "query": query, "z": z, "known": known}.items():
        near(found[name], wanted)
    near(found["after"], cells[0, -1, 0])
    near(found["shown"], shown)
    columns = walk.columns("cell")
    rows = walk.page.locator(".walk-key[data-key]").evaluate_all("e => e.map(x => x.dataset.key)")
    chosen = [int(each) for each in rows if each != "others"]
    near(columns["product"], terms.sum(dim=1)[chosen])
    near(columns["weight"][: len(chosen)], weights[chosen])
    assert abs(sum(columns["weight"]) - 1.0) < 0.005
    check_prediction(walk, logits, [token for token, _ in trace.steps[row].best])
    if gated:
        near(numbers(walk.says("cell")), [trace.steps[row].gate])


def test_cells_of_an_image_attend_to_cells(opened, tmp_path, photo):
    system = jumok.load(write_classifier(tmp_path / "cnn"), device="cpu")
    trace = jumok.trace(system, photo, extras=ONLY)
    model, site = system.models[0], trace.sites[0]
    attention = model.get_submodule(site.name)
    features: list[torch.Tensor] = []
    with attention.register_forward_pre_hook(lambda _, given: features.append(given[0])):
        system.classify([photo])
    with torch.no_grad():
        cells = features[0][0].flatten(1).T
        facts = attend(attention, cells, cells)
    walk = Walk(opened(trace), head=0, query=5, moment=3)
    assert walk.page.locator(".walk-picture").is_visible()
    found = walk.vectors()
    near(found["state"], cells[5])
    near(found["z"], facts["z"][0, 5])
    near(found["output"], facts["output"][5])
    gate = float(attention.residual_gate.detach())
    near(found["sum"], cells[5] + gate * facts["output"][5])
    assert abs(sum(walk.columns("mixed")["weight"]) - 1.0) < 0.005


def test_a_recurrence_has_weights_of_its_own_for_each_dimension(opened, tmp_path):
    """Its state by the equations, step by step, and its output, which is what the module gave."""
    folder = transformer(tmp_path / "model", decoder_attention_kind="ssru")
    system = jumok.load(folder, device="cpu", engine="torch")
    recorded = jumok.trace(system, "the cat sat", "개가 짖었다", extras=ONLY)
    unit = system.models[0].decoder.blocks[1].self_attention
    read: list[torch.Tensor] = []
    unit.forget.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    jumok.trace(system, "the cat sat", "개가 짖었다", extras=ONLY)
    with torch.no_grad():
        states = max(read, key=lambda each: each.shape[1])[0]
        gates, inputs = torch.sigmoid(unit.forget(states)), unit.input(states)
        cell = torch.zeros(inputs.shape[1])
        for gate, given in zip(gates[:4], inputs[:4], strict=True):
            cell = gate * cell + (1 - gate) * given
    walk = Walk(opened(recorded), part="decoder", layer=1, query=3)
    assert "mixed" not in walk.ops()
    assert "weight" in walk.says("sum")
    found = walk.vectors()
    near(found["z"], cell)
    near(found["output"], torch.relu(cell))
    assert "ReLU" in walk.says("output")
