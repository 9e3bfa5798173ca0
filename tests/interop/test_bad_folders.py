"""What is not imported: one error that names the file, what is wrong, and what to do."""

import json
import pickle
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import BundleError, JumokError
from jumok.interop.checking import read_compared
from jumok.interop.containers import Container
from jumok.interop.importing import plan_import, read_model, shapes_of
from tests.interop import folders_encdec
from tests.interop.folders import INDEX, WEIGHTS, WRITTEN, configured, sharded


@pytest.fixture(
    params=[
        *folders_encdec.MUTATED,
        *("bert", "bert alone", "roberta", "distilbert", "gpt2", "gpt2 untied", "marian"),
        *("llama 3", "qwen3", "neox"),
    ]
)
def folder(request, tmp_path) -> Path:
    return WRITTEN[request.param](tmp_path / "theirs")


@pytest.fixture
def bert_folder(tmp_path) -> Path:
    return WRITTEN["bert"](tmp_path / "theirs")


def refused(folder: Path) -> str:
    """The error; nothing is written."""
    output = folder.parent / "bundle"
    done = CliRunner().invoke(app, ["import", str(folder), "--output", str(output)])
    assert isinstance(done.exception, JumokError), done.output
    assert not output.exists()
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]
    return str(done.exception)


def without_use(name: str) -> bool:
    return "pooler" in name


def test_each_tensor_is_needed_once_in_its_shape(folder):
    """Dropped, doubled, transposed, of other sizes, renamed, not a number."""
    tensors, plan = load_file(folder / WEIGHTS), plan_import(folder)

    def error(changed: dict[str, torch.Tensor]) -> str:
        shapes = {name: tuple(each.shape) for name, each in changed.items()}
        stored = Container(folder, shapes, dict.fromkeys(changed, folder), changed.__getitem__)
        table = plan.family.table(plan.settings, shapes)
        try:
            table.check(stored, plan.vocabulary, shapes_of(plan.model))
            list(table.read(stored, plan.vocabulary))
        except BundleError as error:
            return str(error)
        return "no error"

    for name, tensor in tensors.items():
        rest = {key: each for key, each in tensors.items() if key != name}
        if without_use(name):
            continue
        if name != "lm_head.weight":  # without it a T5 has one table
            assert name in error(rest), name
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor.clone()})
        assert name in error(rest | {f"other.{name}": tensor})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})
        assert name in error(tensors | {name: tensor * float("nan")})
        assert name in error(tensors | {name: tensor.to(torch.int8)})
        if tensor.ndim == 2 and tensor.shape[0] != tensor.shape[1]:
            assert name in error(tensors | {name: tensor.t()})


@pytest.mark.parametrize("family", ["t5", "t5 1.1", "mt5"])
def test_a_t5_that_does_not_tie_its_tables_needs_both(tmp_path, family):
    folder = configured(WRITTEN[family](tmp_path / "theirs"), {"tie_word_embeddings": False})
    tensors = load_file(folder / WEIGHTS)
    tensors["lm_head.weight"] = torch.randn_like(tensors["shared.weight"])
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    assert read_compared(folder).provenance.compared
    del tensors["lm_head.weight"]
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    text = refused(folder)
    assert "a tensor is missing" in text
    assert "lm_head.weight" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"relative_attention_num_buckets": 3}, "relative_attention_num_buckets = 3: Input should"),
        ({"relative_attention_max_distance": 0}, "relative_attention_max_distance = 0: Input"),
        ({"relative_attention_max_distance": 16}, "end before relative_distance = 16"),
        ({"relative_attention_num_buckets": 20}, "32 x 7"),
    ],
)
def test_buckets_of_a_t5_that_are_none(tmp_path, changes, said):
    assert said in refused(configured(WRITTEN["t5"](tmp_path / "theirs"), changes))


def test_the_encoder_of_a_t5_alone(tmp_path):
    folder = WRITTEN["t5"](tmp_path / "theirs")
    transformers.T5EncoderModel.from_pretrained(folder).save_pretrained(folder)
    assert "is_encoder_decoder = False" in refused(folder)


def test_positions_that_are_counted_from_another_padding(tmp_path):
    folder = configured(WRITTEN["roberta"](tmp_path / "theirs"), {"pad_token_id": 0})
    assert "pads with another token" in refused(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_act": "quick_gelu"}, "hidden_act = quick_gelu: Input should be 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = relative_key"),
        ({"a_new_key": 3}, "a_new_key = 3: not known"),
        ({"is_decoder": True}, "is_decoder = True"),
        ({"auto_map": {"AutoModel": "evil.py"}}, "auto_map"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
        ({"num_hidden_layers": "DROP"}, "no num_hidden_layers"),
        ({"num_hidden_layers": 10**20}, "num_hidden_layers"),
        ({"layer_norm_eps": []}, "layer_norm_eps"),
        ({"num_attention_heads": 4}, "dim = 35 cannot be split among heads = 4"),
        ({"num_hidden_layers": 900}, "about"),
        ({"vocab_size": 2**30}, "config.json"),
        ({"intermediate_size": 31}, "29"),
        ({"model_type": "mixtral"}, "this is a mixtral model of transformers"),
        ({"model_type": "DROP"}, "no model_type"),
    ],
)
def test_a_config_that_is_not_followed_is_named(bert_folder, changes, said):
    error = refused(configured(bert_folder, changes))
    assert error.startswith(str(bert_folder))
    assert said in error


def test_shards_are_read(bert_folder):
    whole = read_model(bert_folder).model.state_dict()
    sharded(bert_folder)
    for name, tensor in read_model(bert_folder).model.state_dict().items():
        assert torch.equal(tensor, whole[name])


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        (INDEX, "not a safetensors file of this folder"),  # a cycle
        ("../theirs/model-00001-of-00002.safetensors", "not a safetensors file of this folder"),
        (7, "not a safetensors file of this folder"),
        ("model-00003-of-00002.safetensors", "a shard of the weights is missing"),
        ("model-00002-of-00002.safetensors", "the index names a tensor that its shard does not"),
    ],
)
def test_an_index_that_lies(bert_folder, shard, said):
    shards = sharded(bert_folder)
    first = min(shards)
    (bert_folder / INDEX).write_text(json.dumps({"weight_map": shards | {first: shard}}))
    assert said in refused(bert_folder)


def test_a_tensor_that_the_index_does_not_name(bert_folder):
    shards = sharded(bert_folder)
    first = min(shards)
    rest = {name: file for name, file in shards.items() if name != first}
    (bert_folder / INDEX).write_text(json.dumps({"weight_map": rest}))
    error = refused(bert_folder)
    assert "a shard has a tensor that the index does not have" in error
    assert first in error


def test_half_written_weights(bert_folder):
    content = (bert_folder / WEIGHTS).read_bytes()
    for size in (0, 7, 1000, len(content) - 1):
        (bert_folder / WEIGHTS).write_bytes(content[:size])
        assert f"{WEIGHTS}: the weights cannot be read" in refused(bert_folder)
    huge = (2**62).to_bytes(8, "little") + content[8:]
    (bert_folder / WEIGHTS).write_bytes(huge)
    assert f"{WEIGHTS}: the weights cannot be read" in refused(bert_folder)
    (bert_folder / WEIGHTS).unlink()
    assert "there are no weights in this folder" in refused(bert_folder)


class Bomb:
    """A pickle that writes a file when it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.file,)


def test_pickles_of_tensors_are_read_and_no_others(bert_folder):
    whole = read_model(bert_folder).model.state_dict()
    tensors = load_file(bert_folder / WEIGHTS)
    (bert_folder / WEIGHTS).unlink()
    file = bert_folder / "pytorch_model.bin"
    torch.save(tensors, file)
    for name, tensor in read_model(bert_folder).model.state_dict().items():
        assert torch.equal(tensor, whole[name])
    trap = bert_folder.parent / "touched"
    torch.save(tensors | {"more": Bomb(trap)}, file)
    assert "this pickle holds more than weights" in refused(bert_folder)
    file.write_bytes(pickle.dumps(Bomb(trap)))
    assert "this pickle holds more than weights" in refused(bert_folder)
    torch.save([1, 2], file)
    assert "this pickle holds something else" in refused(bert_folder)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tokenizer.json", None, "there is no tokenizer in this folder"),
        ("tokenizer.json", "{}", "this is not a tokenizer.json"),
        ("tokenizer.json", "[", "this file cannot be read as JSON"),
        ("config.json", None, "this folder holds no model of transformers"),
        ("config.json", "[1]", "this is no model that jumok imports"),
        ("config.json", "[" * 100_000, "this file cannot be read as JSON"),
    ],
)
def test_a_file_that_is_missing_or_damaged(bert_folder, file, content, said):
    if content is None:
        (bert_folder / file).unlink()
    else:
        (bert_folder / file).write_text(content)
    error = refused(bert_folder)
    assert said in error
    assert file in error


def test_a_tokenizer_of_another_model(bert_folder):
    file = bert_folder / "tokenizer.json"
    described = json.loads(file.read_text())
    for number in range(40):
        described["model"]["vocab"][f"word{number}"] = 11 + number
    file.write_text(json.dumps(described))
    assert "at most 31 subwords" in refused(bert_folder)
    del described["model"]["vocab"]["[SEP]"]
    file.write_text(json.dumps(described))
    assert str(file) in refused(bert_folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"decoder_ffn_dim": 31}, "decoder_ffn_dim = 31"),
        ({"decoder_start_token_id": 1}, "decoder_start_token_id = 1"),
        ({"share_encoder_decoder_embeddings": False}, "no target_vocab.json"),
        ({"normalize_before": True}, "normalize_before = True"),
        ({"pad_token_id": "DROP"}, "no pad_token_id"),
    ],
)
def test_a_marian_that_is_not_followed(tmp_path, changes, said):
    folder = configured(WRITTEN["marian"](tmp_path / "theirs"), changes)
    assert said in refused(folder)


def test_the_vocabulary_of_a_marian(tmp_path):
    folder = WRITTEN["marian"](tmp_path / "theirs")
    file = folder / "vocab.json"
    names = json.loads(file.read_text())
    for changed, said in (
        (names | {"more": len(names)}, "the vocabulary is not this model's"),
        (names | {"in neither": 5}, "the vocabulary is not this model's"),
        (names | {"in neither": "5"}, "the vocabulary is not this model's"),
    ):
        file.write_text(json.dumps(changed))
        error = refused(folder)
        assert error.startswith(f"{file}: {said}")
    file.write_text(json.dumps(names))
    (folder / "target.spm").write_bytes(b"no model")
    assert "this is not a SentencePiece model" in refused(folder)
    (folder / "source.spm").unlink()
    assert "no source.spm" in refused(folder)


def test_no_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "this is no model that jumok imports" in refused(tmp_path / "empty")
    with pytest.raises(BundleError, match="there is nothing there"):
        read_model(tmp_path / "nothing")


def test_the_output_is_never_the_folder_itself(bert_folder):
    before = sorted(bert_folder.iterdir())
    done = CliRunner().invoke(app, ["import", str(bert_folder), "-o", str(bert_folder)])
    assert "would replace the model that it is made from" in str(done.exception)
    assert sorted(bert_folder.iterdir()) == before
