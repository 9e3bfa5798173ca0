"""mBART's first version: sources end with </s> and their language, targets open with theirs."""

import re
from pathlib import Path
from typing import Any

import pytest
import transformers
from safetensors.torch import load_file, save_file

import jumok
from jumok.decoding import DecodingOptions
from jumok.errors import BundleError, ConfigError
from jumok.interop.importing import Imported, read_model, write_imported
from tests.export.test_huggingface import exported
from tests.interop.folders import WEIGHTS, WRITTEN, configured

LINES = ["the cat sat on the mat", "again", "the dog saw the cat again", "고양이가 매트 위에"]
AS_IT_IS = {"split": "none", "keep": False, "alignments": False}
MOST = 17


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> Path:
    folder = WRITTEN["mbart"](tmp_path_factory.mktemp("folder") / "theirs")
    tensors = load_file(folder / WEIGHTS)
    tensors["final_logits_bias"][0, 2] += 3.0  # so that it ends
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def imported(theirs) -> Imported:
    return read_model(theirs)


@pytest.fixture(scope="module")
def bundle(imported, theirs) -> Path:
    return write_imported(imported, theirs.parent / "bundle")


def written(folder: Path, line: str, source: str, beams: int) -> tuple[list[int], Any]:
    """The ids that transformers reads, and what it writes: by its own tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, src_lang=source)
    model = transformers.MBartForConditionalGeneration.from_pretrained(folder).eval()
    given = tokenizer(line, return_tensors="pt")
    output = model.generate(
        **given, num_beams=beams, max_length=MOST + 2, length_penalty=1.0, early_stopping=True,
        decoder_start_token_id=tokenizer.convert_tokens_to_ids("ko_KR"), bad_words_ids=[[1]],
        forced_eos_token_id=None, output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    return given["input_ids"][0].tolist(), output


@pytest.mark.parametrize("engine", ["torch", "native"])
@pytest.mark.parametrize("beams", [1, 4])
def test_translations_from_two_languages_are_theirs(theirs, imported, bundle, engine, beams):
    order = imported.vocabulary.order
    system = jumok.load(bundle, engine=engine, kind=jumok.Translator)
    assert len(system.pairs) == 24
    assert system.pairs[0] == ("en_XX", "ko_KR")
    options = DecodingOptions(
        beam=beams, maximum_length=MOST, length_rule="power", length_penalty=1.0
    )
    scores = set()
    for source in ("en_XX", "fr_XX"):
        view = system.between(source.split("_")[0], "ko")
        for line in LINES:
            read, output = written(theirs, line, source, beams)
            ids = view.tokenizer.encode(line)
            assert [order[id] for id in ids] == read
            assert view.tokenizer.pieces(ids[-2:]) == ["</s>", source]
            (found,) = view.translate([line], options, **AS_IT_IS)
            mine = [order[id] for id in view.tokenizer.target.ids(found.tokens)]
            expected = output.sequences[0, 1:].tolist()
            assert mine == expected[: expected.index(2)]
            logs = sum(found.token_log_probabilities)
            if beams > 1:
                theirs_logs = float(output.sequences_scores[0]) * (len(mine) + 1)
                assert logs == pytest.approx(theirs_logs, abs=1e-4)
            scores.add(round(logs, 4))
    assert len(scores) == 2 * len(LINES)  # the language is read


def test_a_source_ends_in_no_word(bundle):
    view = jumok.load(bundle, kind=jumok.Translator).between("fr", "ko")
    tokenizer = view.tokenizer
    ids = tokenizer.encode("the cat sat")
    assert tokenizer.words(ids)[-2:] == [-1, -1]
    assert tokenizer.decode(ids) == "the cat sat"
    assert tokenizer.encode("") == []
    trace = jumok.trace(view, "the cat", "cat")
    assert trace.axes["source"].tokens[-3:] == ("</s>", "fr_XX", "</s>")
    assert trace.axes["source"].words[-3:] == (None, None, None)
    for site in (each for each in trace.sites if each.part == "cross"):
        assert float(site.weights[..., -1].max()) == 0.0  # END of ours, which is not read
        assert float(site.weights[..., -2].max()) > 0.0


def test_only_one_language_is_written(bundle):
    system = jumok.load(bundle, kind=jumok.Translator)
    with pytest.raises(ConfigError, match="does not translate between these languages"):
        system.between("ko_KR", "en_XX")


def test_it_goes_back_to_transformers_with_its_first_language(theirs, bundle, tmp_path):
    told = exported(bundle, tmp_path / "there")
    assert "equal ids" in told
    assert "tokens as here" in told
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "there").eval()
    given = tokenizer(LINES[0], return_tensors="pt")
    names = tokenizer.convert_ids_to_tokens(given["input_ids"][0])
    assert names[-2:] == ["</s>", "en_XX"]
    output = model.generate(input_ids=given["input_ids"], num_beams=1, max_length=MOST + 2)
    back = [each for each in tokenizer.convert_ids_to_tokens(output[0])[1:] if each != "</s>"]
    ids = written(theirs, LINES[0], "en_XX", 1)[1].sequences[0, 1:]
    first = transformers.AutoTokenizer.from_pretrained(theirs)
    assert back == [each for each in first.convert_ids_to_tokens(ids) if each != "</s>"]


@pytest.mark.parametrize(
    ("described", "changes", "said"),
    [
        ('{"src_lang": "en_XX"}', {}, "does not say which language targets open with"),
        ('{"tgt_lang": "xx_XX"}', {}, "lacks a token that this family needs.*xx_XX"),
        ("{}", {"decoder_start_token_id": 7}, "targets do not open with a language.*= 7"),
    ],
)
def test_a_target_without_its_language_is_refused(tmp_path, described, changes, said):
    folder = configured(WRITTEN["mbart"](tmp_path / "theirs"), changes)
    (folder / "tokenizer_config.json").write_text(described)
    with pytest.raises(BundleError) as raised:
        write_imported(read_model(folder), tmp_path / "bundle")
    assert re.search(said, str(raised.value), re.DOTALL)
    assert not (tmp_path / "bundle").exists()
