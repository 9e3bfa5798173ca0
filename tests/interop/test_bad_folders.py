"""What is not imported: one error that names the file, what is wrong, and what to do."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import BundleError, JumokError
from jumok.interop.importing import read_model_folder
from tests.interop.folders import WRITTEN, configured

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@pytest.fixture(params=["bert", "bert alone", "gpt2", "gpt2 untied", "marian"])
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
    tensors = load_file(folder / WEIGHTS)

    def error(changed: dict[str, torch.Tensor]) -> str:
        contiguous = {name: each.contiguous() for name, each in changed.items()}
        save_file(contiguous, folder / WEIGHTS, {"format": "pt"})
        with pytest.raises(BundleError) as caught:
            read_model_folder(folder)
        return str(caught.value)

    for name, tensor in tensors.items():
        rest = {key: each for key, each in tensors.items() if key != name}
        if without_use(name):
            continue
        assert name in error(rest), name
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor.clone()})
        assert name in error(rest | {f"other.{name}": tensor})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})
        assert name in error(tensors | {name: tensor * float("nan")})
        assert name in error(tensors | {name: tensor.to(torch.int8)})
        if tensor.ndim == 2 and tensor.shape[0] != tensor.shape[1]:
            assert name in error(tensors | {name: tensor.t()})


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
        ({"model_type": "llama"}, "this is a llama model of transformers"),
        ({"model_type": "DROP"}, "no model_type"),
    ],
)
def test_a_config_that_is_not_followed_is_named(bert_folder, changes, said):
    error = refused(configured(bert_folder, changes))
    assert error.startswith(str(bert_folder))
    assert said in error


def sharded(folder: Path) -> dict[str, str]:
    """Two shards and their index."""
    tensors = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    names = sorted(tensors)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    shards = {}
    for number, half in enumerate(halves, start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensors[name] for name in half}, folder / file)
        shards |= dict.fromkeys(half, file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": shards}))
    return shards


def test_shards_are_read(bert_folder):
    whole = read_model_folder(bert_folder).model.state_dict()
    sharded(bert_folder)
    for name, tensor in read_model_folder(bert_folder).model.state_dict().items():
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
    whole = read_model_folder(bert_folder).model.state_dict()
    tensors = load_file(bert_folder / WEIGHTS)
    (bert_folder / WEIGHTS).unlink()
    file = bert_folder / "pytorch_model.bin"
    torch.save(tensors, file)
    for name, tensor in read_model_folder(bert_folder).model.state_dict().items():
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
        ("config.json", "[1]", "this folder holds no model of transformers"),
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
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings = False"),
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
    tagged = {">>de<<" if piece == "in neither" else piece: id for piece, id in names.items()}
    for changed, said in (
        (tagged, "this model writes several languages"),
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
    assert "this folder holds no model" in refused(tmp_path / "empty")
    with pytest.raises(BundleError, match="there is no such folder"):
        read_model_folder(tmp_path / "nothing")


def test_the_output_is_never_the_folder_itself(bert_folder):
    before = sorted(bert_folder.iterdir())
    done = CliRunner().invoke(app, ["import", str(bert_folder), "-o", str(bert_folder)])
    assert "would replace the model that it is made from" in str(done.exception)
    assert sorted(bert_folder.iterdir()) == before
