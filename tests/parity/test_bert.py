"""The masked language model against Hugging Face's BERT with the same random weights."""

import json
import math

import pytest
import torch

import jumok
from jumok.attention.observe import observe
from jumok.config import MaskedConfig
from jumok.errors import BundleError
from jumok.models.masked import MaskedLanguageModel
from jumok.systems.bert import Bert, copy_bert
from tests.parity.torch_weights import copy_linear

pytest.importorskip("transformers")
import tokenizers
import transformers

from tests.parity.bert import DIM, HEADS, INNER, LAYERS, LENGTH, PIECES, bert, save


def ours() -> MaskedLanguageModel:
    config = MaskedConfig(
        dim=DIM,
        heads=HEADS,
        layers=LAYERS,
        feedforward=INNER,
        norm="post",
        positions="learned",
        max_length=LENGTH,
        embedding_norm=True,
    )
    return MaskedLanguageModel(config, PIECES).eval()


@torch.no_grad()
def copy(theirs: "transformers.BertForMaskedLM", model: MaskedLanguageModel) -> None:
    """BERT's weights in ours.

    The encoder's table is theirs divided by sqrt(dim), so the head's norm is multiplied by it: the
    logits are dot products with the same table.
    """
    copy_bert(theirs.state_dict(), model.encoder)
    head, scale = theirs.cls.predictions, math.sqrt(DIM)
    copy_linear(model.head.dense, head.transform.dense)
    model.head.norm.weight.copy_(head.transform.LayerNorm.weight * scale)
    model.head.norm.bias.copy_(head.transform.LayerNorm.bias * scale)
    model.head.bias.copy_(head.bias)


@torch.no_grad()
def test_logits_are_berts():
    theirs, model = bert(), ours()
    copy(theirs, model)
    tokens = torch.arange(3 * 13).view(3, 13) * 7 % PIECES
    tokens[1, 4] = model.mask
    allowed = torch.arange(13) < torch.tensor([[13], [11], [7]])
    expected = theirs(input_ids=tokens, attention_mask=allowed.long()).logits
    found = model(tokens, allowed)
    torch.testing.assert_close(found[allowed], expected[allowed], atol=1e-4, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("whole", [True, False])
def test_an_encoder_in_a_folder_is_berts(tmp_path, whole):
    """Of a masked language model, and of an encoder alone: states and weights."""
    theirs = bert() if whole else bert().bert
    folder = save(theirs, tmp_path)
    found = Bert.load(folder, device="cpu")
    cut = found.cut("the cats sat downly")
    assert cut.ids == (2, 5, 6, 9, 7, 8, 10, 3)
    assert cut.words == (None, 0, 1, 1, 2, 3, 3, None)
    assert cut.texts == ("the", "cats", "sat", "downly")
    tokens, seen = torch.tensor([cut.ids]), []

    def keep(_, attention):
        seen.append(attention.weights)

    with observe(found.model, keep, lambda _: True):
        states = found.model.encoder(tokens)
    expected = (theirs.bert if whole else theirs)(tokens, output_attentions=True)
    torch.testing.assert_close(states, expected.last_hidden_state, atol=1e-5, rtol=0)
    assert len(seen) == LAYERS
    for ours_, theirs_ in zip(seen, expected.attentions, strict=True):
        torch.testing.assert_close(ours_, theirs_, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", None, "No such file"),
        ("config.json", '{"model_type": "bert"}', "vocab_size: Field required"),
        ("tokenizer.json", "{}", "Model missing"),
    ],
)
def test_a_folder_that_holds_no_bert_is_told_by_its_file(tmp_path, file, content, said):
    folder = save(bert(), tmp_path)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    with pytest.raises(BundleError) as caught:
        Bert.load(folder, device="cpu")
    assert str(caught.value).startswith(f"{folder / file}: this BERT cannot be read.")
    assert said in str(caught.value)


def test_damaged_weights_of_a_bert(tmp_path):
    folder = save(bert(), tmp_path)
    (folder / "model.safetensors").write_text("abc")
    with pytest.raises(
        BundleError,
        match=r"model\.safetensors: the weights cannot be read[^$]*this is not a safetensors file",
    ):
        Bert.load(folder, device="cpu")


@pytest.mark.parametrize("keys", [{"num_hidden_layers": 900}, {"vocab_size": 2**30}])
def test_sizes_that_lie_are_found_before_memory_is_taken(tmp_path, keys):
    folder = save(bert(), tmp_path)
    sizes = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(sizes | keys))
    with pytest.raises(BundleError, match=r"numbers, and config\.json describes about"):
        Bert.load(folder, device="cpu")


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_size": "much"},
        {"num_hidden_layers": 10**20},
        {"layer_norm_eps": []},
        {"_name_or_path": 7},
        {"hidden_act": "swish"},
    ],
)
def test_sizes_of_a_wrong_type_are_named(tmp_path, config):
    folder = save(bert(), tmp_path)
    sizes = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(sizes | config))
    with pytest.raises(BundleError) as caught:
        Bert.load(folder, device="cpu")
    name = {"hidden_act": "Input should be 'relu', 'relu2', 'gelu' or 'silu'"}
    (key,) = config
    assert name.get(key, f"{key}: Input should be") in str(caught.value)


OTHERS = {
    "gpt2": transformers.GPT2Config(vocab_size=31, n_embd=20, n_layer=1, n_head=5, n_positions=17),
    "distilbert": transformers.DistilBertConfig(
        vocab_size=31, dim=20, n_layers=1, n_heads=5, hidden_dim=8
    ),
    "marian": transformers.MarianConfig(
        vocab_size=31, d_model=20, encoder_layers=1, decoder_layers=1, pad_token_id=0
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("with_tokenizer", [True, False])
def test_another_model_of_transformers_is_called_by_its_name(tmp_path, kind, with_tokenizer):
    OTHERS[kind].save_pretrained(tmp_path)
    if with_tokenizer:
        (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BundleError) as caught:
        jumok.load(tmp_path, device="cpu")
    assert f"this is a {kind} model of transformers" in str(caught.value)
    assert "jumok reads BERT: jumok look, explain and embed" in str(caught.value)


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    folder = save(bert(), tmp_path)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens([f"word{number}" for number in range(PIECES)])
    tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(BundleError, match="41 subwords, and the model has 31"):
        Bert.load(folder, device="cpu")


def test_weights_of_other_sizes_are_refused(tmp_path):
    folder = save(bert(), tmp_path)
    sizes = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(sizes | {"intermediate_size": 29}))
    with pytest.raises(BundleError, match=r"model\.safetensors: this BERT cannot be read"):
        Bert.load(folder, device="cpu")
