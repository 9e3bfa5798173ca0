"""Several pairs of languages in one bundle."""

import json
import pickle
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="the models are written by it")

import torch
import transformers

import jumok
from jumok import Translator
from jumok.decoding import DecodingOptions
from jumok.errors import BundleError, ConfigError
from jumok.interop.importing import read_model, write_imported
from tests.interop.folders_encdec import write_nllb
from tests.interop.folders_tagged import TAGS, write_tagged_marian

LINES = ["the cat sat on the mat", "again", "the dog saw the cat again", ""]
GREEDY = DecodingOptions(beam=1, maximum_length=13)
AS_IT_IS = {"split": "none", "keep": False, "alignments": False}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> Path:
    return write_tagged_marian(tmp_path_factory.mktemp("tagged") / "theirs")


@pytest.fixture(scope="module")
def bundle(theirs) -> Path:
    return write_imported(read_model(theirs), theirs.parent / "model")


@pytest.fixture
def forcing(bundle, tmp_path) -> Path:
    """The same model, whose tags also open targets: as M2M100 has them."""
    import shutil

    folder = shutil.copytree(bundle, tmp_path / "forcing")
    config = json.loads((folder / "config.json").read_text())
    for tokens in config["languages"].values():
        tokens |= {"source": tokens["asked"], "asked": None, "target": tokens["asked"]}
    config["pairs"] = []
    del config["languages"]["en"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_the_tags_of_a_marian(theirs, bundle):
    system = jumok.load(bundle, kind=Translator)
    assert set(system.pairs) == {("en", "de"), ("en", "fra")}
    tokenizer = transformers.AutoTokenizer.from_pretrained(theirs)
    order = read_model(theirs).vocabulary.order
    model = transformers.MarianMTModel.from_pretrained(theirs).eval()
    written = set()
    for tag in TAGS:
        view = system.between(target=tag.strip("<>"))
        for line in LINES[:3]:
            ids = tokenizer(f"{tag} {line}", return_tensors="pt")
            assert [order[id] for id in view.tokenizer.encode(line)] == ids["input_ids"][
                0, :-1
            ].tolist()
            pad = model.config.pad_token_id
            output = model.generate(**ids, num_beams=1, max_length=15, bad_words_ids=[[pad]])
            (found,) = view.translate([line], GREEDY, **AS_IT_IS)
            ended = [order[id] for id in view.tokenizer.ids(found.tokens)]
            assert output[0, 1:].tolist()[: len(ended)] == ended
            written.add(round(found.score, 3))
    assert len(written) == 6  # the languages differ
    assert view.tokenizer.encode("") == []


def test_the_languages_of_nllb(tmp_path):
    folder = write_nllb(tmp_path / "theirs")
    imported = read_model(folder)
    order = imported.vocabulary.order
    system = jumok.load(write_imported(imported, tmp_path / "model"), kind=Translator)
    assert set(system.pairs) == {("eng_Latn", "kor_Hang"), ("kor_Hang", "eng_Latn")}
    model = transformers.M2M100ForConditionalGeneration.from_pretrained(folder).eval()
    for pair in system.pairs:
        view = system.between(*pair)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, src_lang=pair[0])
        (opening,) = view.tokenizer.target.opening
        assert view.tokenizer.pieces([opening]) == [pair[1]]
        target = order[opening]
        for line in LINES[:3]:
            ours = view.tokenizer.encode(line)
            names = tokenizer.convert_ids_to_tokens(tokenizer(line)["input_ids"])
            assert view.tokenizer.pieces(ours) == names[:-1]
            ids = torch.tensor([[*(order[id] for id in ours), 2]])
            output = model.generate(ids, num_beams=1, max_length=15, forced_bos_token_id=target)
            (found,) = view.translate([line], GREEDY, **AS_IT_IS)
            ended = [order[id] for id in view.tokenizer.ids(found.tokens)]
            assert output[0, 1:].tolist()[: len(ended)] == ended
            assert ended[0] == target


def test_a_pair_has_to_be_chosen(bundle):
    system = jumok.load(bundle, kind=Translator)
    for use in (
        lambda: system.translate(["the cat"]),
        lambda: system.score(["the cat"], ["cat"]),
        lambda: jumok.trace(system, "the cat"),
    ):
        with pytest.raises(ConfigError, match="several pairs of languages") as raised:
            use()
        assert "en → de" in str(raised.value)
        assert "en → fra" in str(raised.value)
    with pytest.raises(ConfigError, match="does not translate between these"):
        system.between("ko", "de")
    with pytest.raises(ConfigError, match="several pairs"):
        system.between("en")


def test_pairs_share_the_models(bundle):
    system = jumok.load(bundle, kind=Translator)
    german, french = system.between("en", "de"), system.between("EN", "fra")
    assert german is system.between(target="de") is french.between(target="de")
    assert french.computed_by["name"] == "native"
    before = french.translate(["again"], GREEDY)[0].text
    german.models[0].encoder.embedding.table.data.neg_()
    assert french.computed_by["name"] == "torch"
    assert french.translate(["again"], GREEDY)[0].text != before
    again = pickle.loads(pickle.dumps(french))
    assert again.target_language == "fra"
    assert again.translate(LINES, GREEDY)[1].text == french.translate(LINES, GREEDY)[1].text


@pytest.mark.parametrize("beam", [1, 3])
def test_targets_that_open_with_their_language(forcing, beam):
    options = DecodingOptions(beam=beam, maximum_length=13)
    found = {}
    for engine in ("native", "torch"):
        view = jumok.load(forcing, kind=Translator, engine=engine).between("de", "fra")
        (tag,) = view.tokenizer.target.pieces(view.tokenizer.target.opening)
        found[engine] = view.translate(LINES, options)
        for each in found[engine][:3]:
            assert each.tokens[0] == tag == ">>fra<<"
            assert tag not in each.text
        scored = view.score(LINES[:1], [found[engine][0].text], split="none", keep=False)
        assert scored[0].tokens[0] == tag
    assert [each.text for each in found["native"]] == [each.text for each in found["torch"]]
    assert view.translate(LINES[:1], options, prefixes=["cat"])[0].text.startswith("cat")


def test_tags_belong_to_no_word(forcing):
    view = jumok.load(forcing, kind=Translator).between("de", "fra")
    seen = view.attention("the cat sat", "cat again")
    assert seen.weights.shape == (2, 3)
    assert view.word_vectors("the cat sat")[1].shape[0] == 3
    trace = jumok.trace(view, "the cat", "cat")
    assert trace.axes["source"].words[:2] == (None, 0)
    assert trace.axes["target"].words[:3] == (None, None, 0)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("languages", {"de": {"asked": 10**6}}, "token 1000000"),
        ("languages", {"de": {"asked": 2}}, "token 2"),
        ("pairs", [["en", "xx"]], "a pair of 'xx'"),
    ],
)
def test_languages_that_the_bundle_does_not_have(bundle, tmp_path, key, value, said):
    import shutil

    folder = shutil.copytree(bundle, tmp_path / "bad")
    config = json.loads((folder / "config.json").read_text()) | {key: value}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError) as raised:
        jumok.load(folder)
    assert said in str(raised.value)
