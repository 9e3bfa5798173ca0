"""GGUF files: their numbers, their tokenizers, and what is refused."""

import json
import struct

import numpy as np
import pytest
import tokenizers
import torch
import transformers

from jumok.config.stack import Llama3Scaling
from jumok.errors import BundleError
from jumok.interop.checking import has_original, numbers_here, read_compared
from jumok.interop.families.llama import LLAMAS
from jumok.interop.gguf_tokenizer import described_tokenizer
from jumok.interop.importing import read_model
from jumok.interop.layouts.gguf import read, read_header
from jumok.interop.quantised import KINDS
from jumok.interop.source import Source
from tests.interop.folders_llama import of_characters
from tests.interop.gguf_files import write_file, write_gguf
from tests.interop.test_tokenizers import lines


@pytest.mark.parametrize(("kind", "tied"), [("llama", False), ("qwen2", True)])
def test_the_numbers_are_those_of_transformers_with_the_same_rounded_weights(tmp_path, kind, tied):
    compared_with_rounded(read_model(write_gguf(tmp_path, kind, tie_word_embeddings=tied)), kind)


@torch.no_grad()
def compared_with_rounded(imported, kind):
    """With the model of transformers that lies beside the file."""
    assert imported.family.kinds == (f"gguf {kind}",)
    folder = imported.source.folder / "theirs"
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ours = {name: each.detach() for name, each in imported.model.named_parameters()}
    family = next(each for each in LLAMAS if each.kinds == (kind,))
    config = json.loads((folder / "config.json").read_text())
    settings = family.settings.model_validate(
        {key: config[key] for key in family.settings.model_fields if key in config}
    )
    rounded = family.table(settings, ()).write(ours, imported.vocabulary)
    for name, tensor in theirs.named_parameters():
        if name in rounded:  # of the file's own rows: what is stored in pairs is found in pairs
            torch.testing.assert_close(rounded[name], tensor, atol=0.02, rtol=0.01)
    theirs.load_state_dict(rounded, strict=False)
    ids = imported.tokenizer.encode("the cat sat on the mat, again")
    order = imported.vocabulary.order
    expected = theirs(torch.tensor([[order[id] for id in (2, *ids)]])).logits
    torch.testing.assert_close(numbers_here(imported, ids, []), expected, atol=1e-5, rtol=0)


def scaled(tmp_path, factor=8.0, changes=lambda factors: factors, **values):
    """A file of the package gguf with the tensor that convert_hf_to_gguf.py adds for Llama 3."""
    gguf = pytest.importorskip("gguf", reason="the file is written by the package gguf")
    rope = {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "rope_theta": 5e3}
    rope |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    header = read_header(file := write_gguf(tmp_path, rope_parameters=rope))
    weights = read(file).weights()
    writer = gguf.GGUFWriter(tmp_path / "scaled.gguf", "llama")
    of_value = {bool: "BOOL", int: "UINT32", float: "FLOAT32", str: "STRING", list: "ARRAY"}
    turned = {"llama.rope.dimension_count": 14}
    for key, value in (header.values | turned | values).items():
        if key != "general.architecture":
            writer.add_key_value(key, value, gguf.GGUFValueType[of_value[type(value)]])
    for name in weights.shapes:
        writer.add_tensor(name, weights.load(name).numpy())
    waves = 2 * np.pi * 5e3 ** (np.arange(0, 14, 2, dtype=np.float32) / 14)
    kept = ((8192 / waves - 1) / 3).clip(0, 1)
    factors = changes((1 / ((1 - kept) / factor + kept)).astype(np.float32))
    writer.add_tensor("rope_freqs.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "scaled.gguf"


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_the_scaled_waves_of_llama_3_are_found_in_their_tensor(tmp_path, factor):
    imported = read_compared(scaled(tmp_path, factor))
    assert imported.section.rotary_scaling == Llama3Scaling(factor=factor, original_length=8192)
    assert imported.provenance.compared or not has_original(imported.family)
    assert not any("rope_freqs" in change for change in imported.provenance.changes)
    compared_with_rounded(imported, "llama")


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        (lambda factors: factors * np.float32(1 + 3e-6), {}),
        (lambda factors: np.where(factors > 7, 4, factors).astype(np.float32), {}),
        (lambda factors: factors * np.float32(np.nan), {}),
        (lambda factors: factors * 0, {}),
        (lambda factors: factors[:-1], {}),
        (lambda factors: factors[None], {}),
        (lambda factors: factors, {"llama.rope.scaling.type": "linear"}),
        (lambda factors: factors, {"llama.rope.freq_base": 1e4}),
    ],
)
def test_other_scaled_waves_are_refused_by_name(tmp_path, changes, values):
    with pytest.raises(BundleError, match=r"rope_freqs\.weight"):
        read_model(scaled(tmp_path, 8.0, changes, **values))


def test_every_kind_of_block_is_that_of_the_package_gguf():
    gguf = pytest.importorskip("gguf", reason="compares with the package gguf")
    dice = np.random.default_rng(1)
    for number, kind in KINDS.items():
        blocks = dice.integers(0, 256, (37 * 256 // kind.numbers, kind.size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            expected = gguf.dequantize(blocks, gguf.GGMLQuantizationType(number))
            found = kind.floats(blocks)
        np.testing.assert_array_equal(found.ravel(), expected.ravel())


def test_a_block_is_what_its_bits_say():
    """d = 0.5 and m = -3: of Q4_1 the byte 0x2F is the number 15 of the first half, and 2 of the
    second.
    """
    block = np.frombuffer(struct.pack("<ee16B", 0.5, -3.0, 0x2F, *[0] * 15), np.uint8)[None]
    found = KINDS[3].floats(block)[0]
    assert (found[0], found[16], found[1]) == (0.5 * 15 - 3, 0.5 * 2 - 3, -3)


@pytest.mark.parametrize("before", ["gpt-2", "llama-bpe", "qwen2", "smollm"])
def test_texts_come_back_from_every_cut(tmp_path, before):
    source = read(write_gguf(tmp_path))
    config = {**source.config, "tokenizer.ggml.pre": before}
    made = described_tokenizer(Source(source.path, "", "", config, source.path, source.weights))
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(made))
    special = ("<|begin|>", "<|end|>", "<|pad|>")
    assert [tokenizer.token_to_id(each) for each in special] == [0, 1, 2]
    for line in lines(300):
        if before != "qwen2":  # which joins what is written as two characters
            assert tokenizer.decode(tokenizer.encode(line).ids, skip_special_tokens=False) == line


def test_subwords_by_scores_are_merged_as_by_merges(tmp_path):
    """Scores fall with the ids, as in a SentencePiece model."""
    theirs = of_characters()
    known = theirs.get_vocab()
    tokens = sorted(known, key=known.__getitem__)
    values = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [float(-id) for id in range(len(tokens))],
        "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259),
        "tokenizer.ggml.unknown_token_id": 0,
    }
    made = described_tokenizer(read(write_file(tmp_path / "m.gguf", values, {})))
    ours = tokenizers.Tokenizer.from_str(json.dumps(made))
    for line in lines(2_000):
        ids = ours.encode(line, add_special_tokens=False).ids
        assert ids == theirs.encode(line, add_special_tokens=False).ids, ascii(line)
        assert ours.decode(ids, False) == theirs.decode(ids, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general.architecture": "gemma3"}, "a GGUF file of the architecture gemma3"),
        ({"llama.expert_count": 8}, "expert_count = 8: not known"),
        ({"llama.rope.scaling.type": "longrope"}, "rope.scaling.type = longrope"),
        ({"llama.rope.dimension_count": 8}, "partial_rotary_factor"),
        ({"tokenizer.ggml.pre": "tekken"}, "gpt2 tekken"),
        ({"tokenizer.ggml.merges": ["a b c d"]}, "the tokenizer of this file is damaged"),
        ({"tokenizer.ggml.eos_token_id": 10**6}, "marks are not this model's"),
        ({"llama.block_count": 4}, "blk.4"),
        ({"llama.attention.head_count_kv": 3}, "attn_k.weight"),
    ],
)
def test_a_header_that_is_not_followed_is_named(tmp_path, changes, said):
    file = write_gguf(tmp_path)
    values = read_header(file).values | changes
    weights = read(file).weights()
    tensors = {name: weights.load(name) for name in weights.shapes}
    with pytest.raises(BundleError) as caught:
        read_model(write_file(tmp_path / "other.gguf", values, tensors))
    assert said in str(caught.value)


def test_damaged_files_are_refused(tmp_path):
    file = write_gguf(tmp_path)
    whole = file.read_bytes()
    dice = np.random.default_rng(2)
    damaged = [whole[:length] for length in (4, 7, 23, 24, 500, len(whole) // 2)]
    damaged += [whole[:8] + struct.pack("<QQ", *counts) for counts in ((2**60, 1), (1, 2**60))]
    damaged += [b"GGUF" + struct.pack("<I", 1) + whole[8:]]
    for place in dice.integers(4, 3000, 60):
        damaged.append(whole[:place] + dice.bytes(8) + whole[place + 8 :])
    refused = 0
    for content in damaged:
        file.write_bytes(content)
        try:
            read_model(file)
        except BundleError:
            refused += 1
    assert refused >= len(damaged) - 12  # a letter of a subword may be another one
