"""Every file of a bundle that says something else than it should is named, with the key."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

import jumok
from jumok.bundle.reading import read_bundle, read_tensor_entries
from jumok.config import TransformerConfig, load_config
from jumok.config.models import SECTIONS
from jumok.errors import BundleError, ConfigError, ModelError
from jumok.models.catalog import DataSizes, build
from jumok.models.size import numbers_in
from tests.bundle.conftest import change
from tests.systems.untrained import write_classifier


def refused(folder: Path) -> str:
    start = time.process_time()
    with pytest.raises(BundleError) as caught:
        jumok.load(folder, device="cpu").translate(["a cat"])
    assert time.process_time() - start < 30  # no sizes of a file make it hang, on any machine
    return str(caught.value)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"task": 7}, "config.json: this file of the bundle is damaged"),
    ({"task": []}, "task: Input should be a valid string"),
    ({"task": "cooking"}, "does not know what the bundle is for"),
    ({"model": "big"}, "model: Input should be a valid dictionary"),
    ({"model": None}, "model: Input should be a valid dictionary"),
    ({"vocabulary_size": "many"}, "vocabulary_size: Input should be a valid integer"),
    ({"vocabulary_size": -1}, "vocabulary_size: Input should be greater than or equal to 0"),
    ({"vocabulary_size": 10**30}, "vocabulary_size: Input should be"),
    ({"vocabulary_size": 2**31 - 1}, "2,147,483,647 subwords, by config.json"),
    ({"vocabulary_size": 0}, "0 subwords, by config.json"),
    ({"vocabulary_size": 349}, "350 subwords"),
    ({"labels": 3}, "labels: Input should be a valid tuple"),
    ({"labels": [1]}, "labels.0: Input should be a valid string"),
    ({"target_language": ["ko"]}, "target_language: Input should be a valid string"),
    ({"max_tokens": 0}, "max_tokens of 1 or more"),
    ({"max_tokens": -5}, "max_tokens: Input should be greater"),
    ({"max_tokens": 1.5}, "max_tokens: Input should be a valid integer"),
    ({"alignment_layer": 3}, "expected: alignment_layer below 3, or null"),
    ({"alignment_layer": "last"}, "alignment_layer: Input should be a valid integer"),
    ({"alignment_layer": 0, "alignment_head": 3}, "expected: alignment_head below 3, or null"),
    ({"jumok": {}}, "jumok: Input should be a valid string"),
    ({"tokenizer_sha256": 5}, "tokenizer_sha256: Input should be a valid string"),
    ({"tokenizer_sha256": None}, "tokenizer_sha256 None"),
    ({"format": "1"}, "not a jumok bundle"),
    ({"model__kind": ["rnn"]}, "kind"),
    ({"model__dim": 10**9, "model__heads": 1}, "GB for its weights and tables"),
    ({"model__feedforward": 2**31 - 1}, "GB for its weights and tables"),
    ({"model__max_length": 2**31 - 1}, "GB for its weights and tables"),
    ({"model__encoder_layers": 10**6}, "less than or equal to 1000"),
    ({"model__encoder_layers": 1000}, "no tensor for encoder.blocks.1."),
    ({"model__activation": "swish"}, "activation"),
    ({"model__colour": "red"}, "colour"),
]


@pytest.mark.parametrize(("keys", "said"), WRONG, ids=str)
def test_a_config_that_cannot_be(copy: Path, keys: dict[str, Any], said: str) -> None:
    change(copy / "config.json", **keys)
    assert said in refused(copy)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"name": None}, "name: Input should be a valid string"),
        ({"steps": "ten"}, "steps: Input should be a valid integer"),
        ({"minutes": []}, "minutes: Input should be a valid number"),
        ({"scores": [{"name": "BLEU"}]}, "scores.0.value: Field required"),
        ({"scores": {"BLEU": 3}}, "scores: Input should be a valid tuple"),
        ({"notes": 5}, "notes: Input should be a valid tuple"),
    ],
)
def test_a_card_that_cannot_be(copy: Path, keys: dict[str, Any], said: str) -> None:
    change(copy / "card.json", **keys)
    with pytest.raises(BundleError) as caught:
        read_bundle(copy)
    assert f"{copy / 'card.json'}: this file of the bundle is damaged" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "card.json"])
@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"[]", b"\xff\xfe", b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_json_that_is_none(copy: Path, name: str, content: bytes) -> None:
    (copy / name).write_bytes(content)
    with pytest.raises(BundleError, match=name):
        read_bundle(copy)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_every_changed_bit_of_the_weights_is_named(copy: Path, engine: Any) -> None:
    file = copy / "model.safetensors"
    content = file.read_bytes()
    for place in range(0, len(content), 1000):
        bit = 1 << place // 1000 % 8
        file.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        with pytest.raises(BundleError, match=r"model\.safetensors: ") as caught:
            jumok.load(copy, device="cpu", engine=engine).translate(["a cat"])
        header = 8 + int.from_bytes(content[:8], "little")
        assert place < header or "are not those that this bundle was written" in str(caught.value)


def rewrite_header(file: Path, change_entry: Any) -> None:
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change_entry(header)
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize(
    "keys",
    [
        {"shape": "24"},
        {"shape": [-1, 24]},
        {"shape": [10**12, 10**12]},
        {"shape": None},
        {"dtype": "C128"},
        {"data_offsets": [0]},
        {"data_offsets": ["0", {}]},
    ],
)
def test_a_header_that_lies(copy: Path, keys: dict[str, Any]) -> None:
    def lie(header: dict[str, Any]) -> None:
        header["encoder.first_norm.bias"].update(keys)

    rewrite_header(copy / "model.safetensors", lie)
    with pytest.raises(BundleError, match="not a safetensors file, or its header is cut off"):
        read_tensor_entries(copy / "model.safetensors")


def test_tensors_that_overlap_are_no_traceback(copy: Path) -> None:
    def overlap(header: dict[str, Any]) -> None:
        entries = [entry for name, entry in header.items() if entry.get("shape") == [24]]
        entries[0]["data_offsets"] = entries[1]["data_offsets"]

    rewrite_header(copy / "model.safetensors", overlap)
    assert "model.safetensors: the weights cannot be read" in refused(copy)


@pytest.mark.parametrize("content", [b"\x00" * 100, b"jumok: every byte is a token\n"])
def test_a_tokenizer_that_is_none_though_its_digest_fits(copy: Path, content: bytes) -> None:
    (copy / "tokenizer.model").write_bytes(content)
    change(copy / "config.json", tokenizer_sha256=hashlib.sha256(content).hexdigest())
    assert f"{copy / 'tokenizer.model'}: this is not a SentencePiece model." in refused(copy)


def test_a_tokenizer_of_another_model_though_its_digest_fits(copy: Path) -> None:
    from jumok.data.tokenizer import Tokenizer
    from tests.conftest import TINY_TEXT

    other = Tokenizer.train(TINY_TEXT, "bpe", 340)
    other.save(copy / "tokenizer.model")
    change(copy / "config.json", tokenizer_sha256=other.hash)
    assert "expected: 350 subwords, by config.json\n  got:      340 subwords" in refused(copy)


def test_sizes_are_counted_about_right() -> None:
    for section in SECTIONS.values():
        config = section()
        model = build(config, DataSizes(2000, 10))
        real = sum(each.numel() for each in [*model.parameters(), *model.buffers()])
        assert 0.75 * real < numbers_in(config, 2000, 10) < 1.1 * real, section


@pytest.mark.parametrize(
    "parts",
    [
        {"kv_heads": 1},
        {"feedforward_kind": "gated"},
        {"bias": False, "norm_kind": "rms", "process_heads": ("qk-norm",)},
        {"score": "bilinear", "kv_heads": 2, "value_dim": 32},
    ],
)
def test_sizes_are_counted_about_right_with_other_parts(parts: dict[str, Any]) -> None:
    config = TransformerConfig(**parts)
    real = sum(each.numel() for each in build(config, DataSizes(2000, 10)).parameters())
    assert 0.9 * real < numbers_in(config, 2000, 10) < 1.1 * real


def test_a_model_that_no_machine_holds_is_not_begun() -> None:
    with pytest.raises(ModelError, match=r"about 144,065\.\d GB for its weights and tables"):
        build(TransformerConfig(dim=10**6, heads=1), DataSizes(2000))


@pytest.mark.parametrize("key", ["height", "width"])
def test_an_image_that_no_machine_holds_is_refused(tmp_path: Path, key: str) -> None:
    """A convolution has the same weights for every size, so the tensors do not tell."""
    folder = write_classifier(tmp_path / "pictures")
    change(folder / "config.json", **{f"model__{key}": 2**16})
    with pytest.raises(BundleError, match=f"{key}: Input should be less than or equal to 16384"):
        jumok.load(folder, device="cpu")


def test_a_recipe_of_a_million_layers_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\n[data]\nsource = "a"\ntarget = "b"\n')
    with pytest.raises(ConfigError) as caught:
        load_config(recipe, ["model.encoder_layers=1000000"])
    assert "model.encoder_layers: Input should be less than or equal to 1000" in str(caught.value)
