"""Folders that transformers loads: it computes and writes what the model does."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tokenizers
import torch
from safetensors.torch import load_file

import jumok
from jumok.bundle.card import Card
from jumok.bundle.quantising import CopiedTokenizer
from jumok.bundle.reading import TOKENIZER, WEIGHTS, read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.config.captioner import CaptionerConfig, RnnDecoderConfig
from jumok.config.masked import TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.data.pieces import NORMAL, USER_DEFINED, Piece, read_pieces, with_pieces
from jumok.data.tokenizer import Tokenizer, normalize
from jumok.errors import BundleError, ConfigError
from jumok.export.catalog import FORMATS
from jumok.export.equivalents import equivalent
from jumok.export.format import ExportOptions
from jumok.export.huggingface import folder as exporting
from jumok.export.huggingface.tokenizer_json import tokenizer_json
from jumok.export.rows import ExportedRows
from jumok.export.run import export_model
from jumok.interop.importing import read_model, write_imported
from jumok.models.catalog import DataSizes, build
from tests.cli.calls import call
from tests.conftest import TINY_TEXT
from tests.export.models import OF_IMAGES, OTHERS, SECTIONS, TRANSLATOR, VIT, write_model
from tests.interop.folders import WRITTEN
from tests.interop.folders_captioners import write_captioner
from tests.interop.folders_images import CLASSIFIERS
from tests.systems.pictures import write_pictures

pytest.importorskip("transformers", reason="needs transformers")
FORMAT = FORMATS["huggingface"]
LABELLED = "text classifier, post-norm, pooling by the first state"
CLASSES = {
    "translator, post-norm": "MarianMTModel",
    "translator, post-norm, output bias, two embedding tables": "MarianMTModel",
    "translator, pre-norm": "PegasusForConditionalGeneration",
    "translator, pre-norm, sinusoidal-inclusive positions": "PegasusForConditionalGeneration",
    "translator, pre-norm, learned positions": "PegasusForConditionalGeneration",
    "translator, post-norm, norm after the embedding": "BartForConditionalGeneration",
    "translator, pre-norm, norm after the embedding": "MBartForConditionalGeneration",
    "translator, relative positions": "T5ForConditionalGeneration",
    "translator, relative positions, gated feed-forward": "T5ForConditionalGeneration",
    "language model, learned positions": "GPT2LMHeadModel",
    "language model, learned positions, scaled embedding": "GPT2LMHeadModel",
    "language model, rotary positions": "GPTNeoXForCausalLM",
    "language model, gated feed-forward": "LlamaForCausalLM",
    "language model, gated feed-forward, scaled embedding": "LlamaForCausalLM",
    "language model, gated feed-forward, norms of queries and keys": "Qwen3ForCausalLM",
    "language model, gated feed-forward, sliding window": "MistralForCausalLM",
    "language model, gated feed-forward, biases of query, key and value": "Qwen2ForCausalLM",
    "masked language model, pre-norm": "MegatronBertForMaskedLM",
    "masked language model, post-norm": "BertForMaskedLM",
    "image classifier, ViT": "ViTForImageClassification",
    "image classifier, DeiT": "DeiTForImageClassification",
    "captioner, ViT and Transformer": "VisionEncoderDecoderModel",
    "captioner, DeiT and Transformer, scaled embedding": "VisionEncoderDecoderModel",
}


def exported(model: Path, folder: Path, **options: Any) -> str:
    return export_model(read_bundle(model), FORMAT, folder, ExportOptions("fp32", "m", **options))


@pytest.mark.parametrize("name", SECTIONS | OF_IMAGES)
def test_out_in_and_out_is_the_same_folder(tmp_path, name):
    """transformers computes what the model does; so does the model that is imported from there."""
    tokens = "byte" if "biases" in name else "bpe"
    model = write_model(tmp_path / "model", (SECTIONS | OF_IMAGES)[name], tokens=tokens)
    told = exported(model, tmp_path / "there")
    classifies = name.startswith("image classifier")
    assert ("equal ids" in told) is not classifies
    assert ("tokens as here" in told) is not (classifies or "masked" in name)
    size, difference = map(float, re.findall(r"(?:up to|differ by) (\S+) ", told)[:2])
    assert difference < 1e-5 * max(1.0, size)
    assert f'"{CLASSES[name]}"' in (tmp_path / "there" / "config.json").read_text()
    back = write_imported(read_model(tmp_path / "there"), tmp_path / "back")
    exported(back, tmp_path / "again")
    first, again = (load_file(tmp_path / each / WEIGHTS) for each in ("there", "again"))
    assert first.keys() == again.keys()
    assert all(torch.equal(first[key], again[key]) for key in first)
    for file in (tmp_path / "there").glob("*config.json"):
        if file.name in ("config.json", "preprocessor_config.json"):
            assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_classifier_of_texts_says_what_jumok_classify_says(tmp_path, precision):
    """All labels, also of texts in a batch, of which the shorter ones are padded."""
    import transformers

    model = write_model(tmp_path / "model", OTHERS[LABELLED])
    options = ExportOptions(precision, "m")
    told = export_model(read_bundle(model), FORMAT, tmp_path / "there", options)
    assert "equal ids" in told
    theirs = transformers.pipeline("text-classification", str(tmp_path / "there"), top_k=None)
    texts = [*TINY_TEXT, "the cat", "a dog sat \t on ½ mats"]
    known = jumok.load(model, device="cpu").classify(texts)
    bound = 1e-5 if precision == "fp32" else 0.03
    for found, expected in zip(theirs(texts, batch_size=4), known, strict=True):
        scores = {each["label"]: each["score"] for each in found}
        assert scores == pytest.approx(expected.probabilities, abs=bound)


def test_a_classifier_on_an_encoder_of_others_goes_there(tmp_path):
    """As `model.pretrained` makes it, with the tokenizer of the others."""
    theirs = WRITTEN["distilbert"](tmp_path / "theirs")
    first = write_imported(read_model(theirs), tmp_path / "first")
    bundle = read_bundle(first)
    sizes = bundle.section.model_dump(exclude={"kind", "head"})
    section = TextClassifierConfig(**sizes, pooling="first")
    torch.manual_seed(1)
    labels = ("bad", "good")
    model = build(section, DataSizes(bundle.config.vocabulary_size, len(labels)))
    model.encoder.load_state_dict(load_model(bundle).encoder.state_dict())
    told = replace(
        bundle.config, task="text-classification", labels=labels, model=section.model_dump()
    )
    own = tmp_path / "own"
    write_bundle(
        own, model.state_dict(), told, CopiedTokenizer(first / TOKENIZER), Card("untrained")
    )
    assert "equal ids" in exported(own, tmp_path / "there")


IN = ["gpt2", "gpt2 untied", "marian", "marian of two", "pegasus", "bart", "neox", "llama", "bert"]
IN += ["mbart", "mbart 50", "nllb", "nllb json", "m2m100", "t5", "t5 json", "t5 1.1", "mt5 tied"]
FOLDERS = {name: WRITTEN[name] for name in IN} | CLASSIFIERS | {"captioner": write_captioner}


@pytest.mark.parametrize("family", FOLDERS)
def test_in_out_and_in_is_the_same_bundle(tmp_path, family):
    first = write_imported(read_model(FOLDERS[family](tmp_path / "theirs")), tmp_path / "first")
    exported(first, tmp_path / "there")
    back = write_imported(read_model(tmp_path / "there"), tmp_path / "back")
    one, other = (load_file(each / WEIGHTS) for each in (first, back))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert read_bundle(first).config.model == read_bundle(back).config.model
    assert read_bundle(first).config.labels == read_bundle(back).config.labels
    assert read_bundle(first).config.languages == read_bundle(back).config.languages
    assert read_bundle(first).config.pairs == read_bundle(back).config.pairs


@pytest.mark.parametrize("family", ["gpt2", "gpt2 untied", "llama"])
def test_a_model_of_others_goes_back_when_it_was_trained_further(tmp_path, family):
    """It has no bias of the output, and one vector for what begins and ends a text. Its card says
    where it comes from, and under which licence.
    """
    folder = WRITTEN[family](tmp_path / "theirs")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", "utf-8")
    first = write_imported(read_model(folder), tmp_path / "first")
    (tmp_path / "a.txt").write_text("the cat sat on the mat\n" * 40, "utf-8")
    recipe = tmp_path / "new.toml"
    recipe.write_text(
        f'name = "new"\n[data]\nheld_out = 0.2\n[[data.train]]\nfile = "{tmp_path}/a.txt"\n'
        "[training]\nsteps = 2\nthreads = 1\nlearning_rate = 0.01\nweight_decay = 0.1\n"
        "[validation]\nevery = 2\n",
        "utf-8",
    )
    done = call("train", "--from", first, recipe, "--runs", tmp_path / "runs")
    assert done.exit_code == 0, (done.output, done.exception)
    trained = tmp_path / "runs" / "new" / "model"
    before, after = (load_file(each / WEIGHTS) for each in (first, trained))
    assert not torch.equal(before["decoder.embedding.table"], after["decoder.embedding.table"])
    assert torch.equal(before["decoder.output.bias"], after["decoder.output.bias"])
    assert "equal ids" in exported(trained, tmp_path / "there")
    assert read_bundle(trained).card.provenance == read_bundle(first).card.provenance
    card = (tmp_path / "there" / "README.md").read_text("utf-8")
    assert "\nlicense: apache-2.0\n" in card
    assert card.index("## Training") < card.index("- trained further from theirs")
    assert card.index("## Imported") < card.index("- licence: apache-2.0 (README.md)")
    there = load_file(tmp_path / "there" / WEIGHTS)
    theirs = load_file(tmp_path / "theirs" / WEIGHTS)
    assert sorted(each.shape for each in there.values()) == sorted(
        each.shape for each in theirs.values()
    )


def test_what_no_class_holds_is_named_with_what_would_fit(tmp_path):
    model = write_model(tmp_path / "model", TransformerConfig(**TRANSLATOR, norm_kind="rms"))
    told = str(FORMAT.obstacle(read_bundle(model)))
    assert 'a model trained with norm_kind = "layer" would fit' in told
    with pytest.raises(ConfigError, match="cannot be exported to huggingface"):
        exported(model, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (ImageClassifierConfig(), 'encoder.kind = "vit" would fit'),
        (CaptionerConfig(decoder=RnnDecoderConfig()), 'encoder.kind = "vit", decoder.kind'),
        (
            CaptionerConfig(encoder=VitConfig(**VIT | {"norm": "post"})),
            'encoder.norm = "pre"',
        ),
        (
            TextClassifierConfig(),
            "DistilBertForSequenceClassification is the nearest class; a model trained with norm = "
            '"post", norm_epsilon = 1e-12, embedding_norm = true, pooling = "first" would fit',
        ),
        (
            TextClassifierConfig.model_validate(
                OTHERS["text classifier, post-norm, pooling by the first state"].model_dump()
                | {"dim": 5, "heads": 1}
            ),
            "3 labels, and its head has room for 2",
        ),
    ],
)
def test_a_kind_that_no_class_holds_is_named_with_what_would_fit(tmp_path, section, said):
    told = FORMAT.obstacle(read_bundle(write_model(tmp_path / "model", section)))
    assert said in str(told)


def test_an_output_bias_that_a_class_has_not_is_refused(tmp_path):
    section = SECTIONS["language model, rotary positions"].model_copy(update={"output_bias": True})
    model = write_model(tmp_path / "model", section)
    with pytest.raises(BundleError, match="this family has no output bias"):
        exported(model, tmp_path / "there")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_other_numbers_in_transformers_leave_nothing(tmp_path, monkeypatch):
    model = write_model(tmp_path / "model", SECTIONS["translator, pre-norm"])
    wrong = lambda *given: {name: each * 1.01 for name, each in equivalent(*given).items()}  # noqa: E731
    monkeypatch.setattr(exporting, "equivalent", wrong)
    with pytest.raises(BundleError, match="computes other numbers"):
        exported(model, tmp_path / "there")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("file", "text", "key", "words"),
    [
        ("README.md", '---\nlicense: "Apache-2.0"\n---\n', "apache-2.0", "apache-2.0 (README.md)"),
        ("README.md", "---\nlicense: of my own\n---\n", "other", "other (README.md: of my own)"),
        ("LICENSE", "MIT License\n\nCopyright", "other", "other (LICENSE: MIT License)"),
        ("a.txt", "", "unknown", "the folder names none"),
    ],
)
def test_the_licence_is_an_identifier_and_its_place_is_told(tmp_path, file, text, key, words):
    folder = CLASSIFIERS["vit"](tmp_path / "theirs")
    (folder / file).write_text(text, "utf-8")
    model = write_imported(read_model(folder), tmp_path / "model")
    exported(model, tmp_path / "there")
    head, _, card = (tmp_path / "there" / "README.md").read_text("utf-8")[4:].partition("---\n")
    assert f"license: {key}\n" in head
    assert words in card


@pytest.mark.process
@pytest.mark.parametrize(
    "name",
    [
        "translator, pre-norm",
        "language model, rotary positions",
        "masked language model, pre-norm",
        "image classifier, DeiT",
        "captioner, ViT and Transformer",
        LABELLED,
    ],
)
def test_the_lines_of_the_card_load_the_model(tmp_path, name):
    section = (SECTIONS | OF_IMAGES | OTHERS)[name]
    exported(write_model(tmp_path / "model", section), tmp_path / "FOLDER")
    write_pictures(tmp_path, 1)[0].rename(tmp_path / "photo.jpg")
    card = (tmp_path / "FOLDER" / "README.md").read_text("utf-8")
    code = card.partition("```python\n")[2].partition("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
@pytest.mark.parametrize("layout", [False, True])
def test_texts_are_cut_as_by_sentencepiece(kind, layout):
    """Lines in ten scripts, and the same with what is invisible or odd within them."""
    tokenizer = Tokenizer.train(SCRIPTS, kind, 412, keep_layout=layout, byte_fallback=True)
    rows = ExportedRows(tuple(range(tokenizer.size)))
    file = tokenizer_json(tokenizer.model, rows, (None,))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    random = Random(1)
    lines = [*SCRIPTS, *(_disturbed(random, random.choice(SCRIPTS)) for _ in range(1000))]
    for line in lines:
        ids = tokenizer.encode(line)
        assert theirs.encode(line).ids == ids, line
        assert normalize(theirs.decode(ids)) == tokenizer.decode(ids), line


def test_subwords_that_a_vocabulary_has_grown_by_are_found_first():
    tokenizer = Tokenizer.train(SCRIPTS, "bpe", 412)
    grown = Tokenizer(_with_piece(tokenizer.model, "▁Deich", USER_DEFINED))
    rows = ExportedRows(tuple(range(grown.size)))
    file = tokenizer_json(grown.model, rows, (None,))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    for line in ("Deich", "ein  Deich.", "der Deichgraf und sein Deich", "Sylter Deiche"):
        ids = grown.encode(line)
        assert tokenizer.size in ids
        assert theirs.encode(line).ids == ids
        assert theirs.decode(ids) == grown.decode(ids)


def test_a_subword_that_is_found_within_words_is_refused():
    """Of "x Deich y" a tokenizer.json loses one space."""
    tokenizer = Tokenizer.train(SCRIPTS, "bpe", 412)
    grown = _with_piece(tokenizer.model, "Deich", USER_DEFINED)
    with pytest.raises(ConfigError, match="the subword 'Deich', which is found within words, too"):
        tokenizer_json(grown, ExportedRows(tuple(range(tokenizer.size + 1))), (None,))


def test_a_subword_that_is_spelled_as_a_byte_is_read_as_it_is():
    tokenizer = Tokenizer.train(SCRIPTS, "unigram", 158, byte_fallback=False)
    grown = Tokenizer(_with_piece(tokenizer.model, "<0x41>", NORMAL))
    rows = ExportedRows(tuple(range(grown.size)))
    file = tokenizer_json(grown.model, rows, (None,))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    for line in ("x <0x41> y", "x<0x41> y"):
        ids = grown.encode(line)
        assert tokenizer.size in ids
        assert theirs.encode(line).ids == ids
        assert theirs.decode(ids) == grown.decode(ids) == line


def _with_piece(model: bytes, text: str, kind: int) -> bytes:
    """The SentencePiece model with one more subword."""
    table = read_pieces(model)
    pieces = map(Piece, table.subwords, table.scores, table.types)
    return with_pieces(model, [*pieces, Piece(text, 0.0, kind)])


def _disturbed(random: Random, line: str) -> str:
    letters = list(line)
    for _ in range(3):
        letters.insert(random.randrange(len(letters) + 1), random.choice(ODD))
    return "".join(letters)


ODD = [
    "  ",
    "\t",
    "\u200b",
    "\xad",
    "e\u0301",
    "😀",
    "ａ",
    "\x07",
    "▁",
    " ",
    "\u3000",
    "\xa0",
]
SCRIPTS = [
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "고양이가 매트 위에 앉아 있다.",
    "吾輩は猫である。名前はまだ無い。",
    "Где находится библиотека?",
    "أين المكتبة؟",
    "इस पुस्तक का नाम क्या है?",
    "Πού είναι η βιβλιοθήκη;",
    "ספר זה טוב מאוד.",
    "ห้องสมุดอยู่ที่ไหน",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
]
