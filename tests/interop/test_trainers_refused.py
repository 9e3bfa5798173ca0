"""Models of Eole, OpenNMT-py and fairseq that are not imported, and texts that spaces separate."""

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.interop.importing import read_model, write_imported
from tests.interop.folders_trainers import write
from tests.interop.test_bad_folders import Bomb, refused


def with_settings(folder: Path, changes: Mapping[str, Any]) -> Path:
    """Changes settings, wherever the trainer stores them."""
    file = folder / "config.json"
    if file.is_file():
        values = json.loads(file.read_text())
        for key, value in changes.items():
            *way, last = key.split(".")
            inner = values
            for each in way:
                inner = inner.setdefault(each, {})
            inner[last] = value
        file.write_text(json.dumps(values))
        return folder
    (file,) = folder.glob("*.pt")
    stored = torch.load(file, weights_only=False)
    options = stored.get("opt") or stored.get("args") or stored["cfg"]["model"]
    for key, value in changes.items():
        vars(options).pop(key, None)
        setattr(options, key, value)
    torch.save(stored, file)
    return folder


@pytest.mark.parametrize(
    ("name", "key", "value", "said"),
    [
        ("eole tied", "model.architecture", "rnn", "a model of Eole (rnn)"),
        ("eole tied", "model.encoder.num_experts", 4, "encoder.num_experts = 4"),
        ("eole tied", "model.encoder.a_new_key", 1, "encoder.a_new_key = 1: not known"),
        ("eole tied", "model.a_new_key", 1, "a_new_key = 1: not known"),
        ("eole tied", "model.encoder.layer_norm", "rms", "layer_norm = rms of the encoder and"),
        ("eole tied", "model.embeddings.position_encoding_type", "Alibi", "position_encoding_type"),
        (
            "eole rotary",
            "model.encoder.rope_config.scaling_type",
            "llama3",
            "scaling_type = ll",
        ),
        ("eole tied", "model.generator_function", "sparsemax", "generator_function = sparsemax"),
        ("eole two", "model.share_embeddings", True, "share_embeddings needs one vocabulary"),
        ("eole tied", "transforms", ["onmt_tokenize"], "transforms.0 = ['onmt_tokenize']"),
        ("eole tied", "transforms_configs", {}, "the tokenizer is missing"),
        ("opennmt tied", "encoder_type", "brnn", "a model of OpenNMT-py (brnn)"),
        ("opennmt tied", "self_attn_type", "average", "self_attn_type = average: not known"),
        ("opennmt tied", "copy_attn", True, "copy_attn = True: not known"),
        ("opennmt tied", "position_encoding", False, "position_encoding_type = none"),
        ("opennmt rotary", "max_relative_positions", 20, "position_encoding_type = Relative"),
        ("opennmt tied", "transforms", ["uppercase"], "transforms.0 = ['uppercase']"),
        ("opennmt tied", "src_subword_model", "x/other.model", "other.model, the subword model"),
        ("fairseq post", "arch", "transformer_lm", "a model of fairseq (transformer_lm"),
        ("fairseq post", "task", "multilingual_translation", "multilingual_translation"),
        ("fairseq post", "source_lang", "fr", "dict.fr.txt"),
        ("fairseq pre", "adaptive_softmax_cutoff", [5], "adaptive_softmax_cutoff = [5]: not known"),
        ("fairseq pre", "decoder_embed_dim", 40, "encoder_embed_dim = 42 and decoder_embed_dim"),
        ("fairseq pre", "share_all_embeddings", True, "needs the same words of both languages"),
    ],
)
def test_settings_that_are_not_followed(tmp_path, name, key, value, said):
    folder = write(tmp_path / "theirs", name)
    assert said in refused(with_settings(folder, {key: value}))


def test_words_that_are_damaged(tmp_path):
    folder = write(tmp_path / "theirs", "eole two")
    file = folder / "vocab.json"
    good = json.loads(file.read_text("utf-8"))
    for changed, said in (
        ({"src": 3}, "no words of src and tgt"),
        ({"tgt": ["a", "a"]}, "a word that is there twice"),
        ({"decoder_start_token": ["<s>"]}, "no special token ['<s>']"),
        ({"decoder_start_token": "<blank>"}, "one word for several special tokens"),
        ({"tgt": [*good["tgt"], "more"]}, "tgt_emb.embeddings.weight"),
    ):
        file.write_text(json.dumps(good | changed), "utf-8")
        assert said in refused(folder)
    words = write(tmp_path / "theirs2", "fairseq pre") / "dict.en.txt"
    words.rename(tmp_path / "kept")
    folder.rename(tmp_path / "first")
    assert "dict.en.txt, the words of a language" in str(
        CliRunner().invoke(app, ["import", str(words.parent), "-o", str(tmp_path / "x")]).exception
    )
    for line, said in (("cat", "not a word and a number"), ("t 3", "a word that is there twice")):
        words.write_text((tmp_path / "kept").read_text("utf-8") + f"{line}\n", "utf-8")
        done = CliRunner().invoke(app, ["import", str(words.parent), "-o", str(tmp_path / "x")])
        assert said in str(done.exception)


@pytest.mark.parametrize("name", ["opennmt tied", "fairseq post"])
def test_checkpoints_are_data(tmp_path, name):
    folder = write(tmp_path / "theirs", name)
    (file,) = folder.glob("*.pt")
    stored = torch.load(file, weights_only=False)
    torch.save(stored | {"more": Bomb(tmp_path / "touched")}, file)
    error = refused_in(folder, tmp_path)
    assert "this pickle holds more than weights" in error
    assert "pathlib" in error
    assert not (tmp_path / "touched").exists()
    torch.save({"opt": Namespace(encoder_type="transformer"), "vocab": [3]}, file)
    assert "is damaged" in refused_in(folder, tmp_path)
    torch.save(stored, file)
    torch.save(stored, folder / "b.pt")
    if name == "opennmt tied":
        assert "there are several checkpoints" in refused_in(folder, tmp_path)
    read_model(folder / "b.pt")


def refused_in(folder: Path, room: Path) -> str:
    done = CliRunner().invoke(app, ["import", str(folder), "-o", str(room / "bundle")])
    assert done.exit_code, done.output
    assert not (room / "bundle").exists()
    return str(done.exception)


def test_a_number_that_jumok_does_not_have(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = write(tmp_path / "theirs", "eole tied")
    file = folder / "model.00.safetensors"
    tensors = load_file(file)
    name = "decoder.transformer_layers.1.layer_scalar"
    save_file(tensors | {name: torch.tensor([0.5])}, file)
    assert "layer_scalar = [1.0]" in refused(folder)


def test_without_a_subword_model_words_are_what_spaces_separate(tmp_path):
    folder = with_settings(write(tmp_path / "theirs", "eole two"), {"transforms": []})
    assert read_model(folder).tokenizer.encode("the cat")  # the one that lies beside
    (folder / "both.model").unlink()
    assert "the SentencePiece model that has made these words" in refused(folder)
    text = (folder / "vocab.json").read_text("utf-8").replace("▁", "#")
    (folder / "vocab.json").write_text(text, "utf-8")
    bundle = write_imported(read_model(folder), tmp_path / "bundle")
    translator = jumok.load(bundle, kind=jumok.Translator)
    tokenizer = translator.tokenizer
    ids = tokenizer.encode("#the #cat <unk> dog <s> 고양이")
    assert tokenizer.pieces(ids)[0] == "▁#the"
    assert ids[2:5] == [1, 1, 1]  # no special token comes from a text
    assert tokenizer.decode(tokenizer.target.encode("고양이 #매 트")) == "고양이 #매 트"
    assert tokenizer.split("#the 트") == ["#the", "트"]
    (found,) = translator.translate(["#the #cat"], jumok.DecodingOptions(maximum_length=5))
    assert found.text
    assert set(found.text.split()) <= {*json.loads(text)["tgt"]}


CODES = """#version: 0.2
t h
th e</w>
a t</w>
c at</w>
s at</w>
매 트</w>
g a
i n</w>
ga in</w>
"""
CUT = "the c@@ a@@ t@@ s sat @@@ @ 매트 매@@ 트@@ x a@@ gain"
"""By subword-nmt 0.3.8 with these codes: "the cats sat @@ 매트 매트x again"."""


def test_codes_of_a_bpe_cut_texts_as_subword_nmt(tmp_path):
    folder = write(tmp_path / "theirs", "eole two")
    settings = {"src_subword_model": "codes.bpe"}
    with_settings(folder, {"transforms": ["bpe"], "transforms_configs": {"bpe": settings}})
    assert "codes.bpe, the subword model" in refused(folder)
    for codes, said in (("t h\n", "in its first line"), (f"{CODES}t\n", "line 11: no pair")):
        (folder / "codes.bpe").write_text(codes, "utf-8")
        assert said in refused(folder)
    (folder / "codes.bpe").write_text(CODES, "utf-8")
    words = json.loads((folder / "vocab.json").read_text("utf-8"))
    known = [*dict.fromkeys(CUT.split())]
    for side in ("src", "tgt"):  # of as many words as the model has
        words[side][4 : 4 + 9] = known[:9]
    words["tgt"][13:17] = known[9:]
    (folder / "vocab.json").write_text(json.dumps(words), "utf-8")
    bundle = write_imported(read_model(folder), tmp_path / "bundle")
    tokenizer = jumok.load(bundle, kind=jumok.Translator).tokenizer
    text = "the cats sat @@ 매트 매트x again"
    ids = tokenizer.encode(text)
    assert tokenizer.pieces(ids) == CUT.split()
    assert tokenizer.words(ids) == [0, 1, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 6, 6]
    assert tokenizer.split(text) == text.split()
    assert tokenizer.decode(ids) == text
    assert tokenizer.ids(CUT.split()) == ids
