"""`jumok look` and `jumok explain` for every kind of model, and what they say where they cannot."""

import json
import re
from pathlib import Path

import pytest
import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.writing import write_bundle
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import Tokenizer
from jumok.evaluation.alignment import parse_gold
from jumok.inspection.page.document import guided, payload
from jumok.inspection.trace_file import load_trace
from jumok.models.catalog import DataSizes, build
from tests.cli.calls import call, fault
from tests.cli.test_start import run
from tests.conftest import TINY_TEXT
from tests.inspection.pages import page_data
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier


@pytest.fixture(scope="module")
def models(tmp_path_factory, tiny_bundle) -> dict[str, tuple[Path, str]]:
    """For each kind a bundle, and what it is given."""
    folder = tmp_path_factory.mktemp("models")
    picture = str(write_pictures(folder / "pictures", 1)[0])
    return {
        "translation": (tiny_bundle, "the cat sat"),
        "captioning": (write_captioner(folder / "captioner"), picture),
        "language-model": (write_lm(folder / "lm"), "ab"),
        "masked-lm": (write_masked(folder / "masked"), "the [MASK] sat"),
        "text-classification": (write_text_classifier(folder / "texts"), "the cat sat"),
        "image-classification": (write_classifier(folder / "cnn"), picture),
    }


TASKS = (
    *("translation", "captioning", "language-model"),
    *("masked-lm", "text-classification", "image-classification"),
)


@pytest.mark.parametrize("task", TASKS)
def test_every_kind_is_saved_as_a_page_and_as_numbers(models, tmp_path, task):
    model, given = models[task]
    for file in (tmp_path / "page.html", tmp_path / "trace.npz"):
        done = call("look", model, given, "--save", file, "--device", "cpu", "--level", "full")
        assert done.exit_code == 0, done.output
    assert "<!doctype html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    trace = load_trace(tmp_path / "trace.npz")
    assert (trace.task, trace.level) == (task, "full")
    assert trace.sites


def test_a_page_opens_in_the_language_that_is_asked_for(models, tmp_path):
    model, given = models["translation"]
    page, other = tmp_path / "page.html", tmp_path / "other.html"
    for file, lang in ((page, ["--lang", "ko"]), (other, [])):
        assert call("look", model, given, "--save", file, *lang).exit_code == 0
    langs = [page_data(each.read_text("utf-8")).get("lang") for each in (page, other)]
    assert langs == ["ko", None]


@pytest.mark.parametrize("task", TASKS)
def test_a_row_of_every_kind_is_explained(models, task):
    model, given = models[task]
    done = call("explain", model, given, "--row", "2", "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "sum of the weights 1.0000" in done.output
    assert float(done.output.split("recorded:")[1]) < 1e-5


def test_a_written_word_is_explained_at_the_step_that_is_asked_for(models):
    model, given = models["translation"]
    written = [
        "explain",
        model,
        given,
        "--part",
        "cross",
        "--row",
        "짖었다",
        "--target",
        "개가 짖었다",
    ]
    for reads in ("writes", "reads"):
        done = call(*written, "--read-at", reads, "--device", "cpu")
        assert done.exit_code == 0, done.output
        first = next(line for line in done.output.splitlines() if line.startswith("step "))
        assert re.match(r"step \d+: has read \S+, writes \S+$", first)
        # The word's own tokens are written, or have been read.
        token = first.split("writes " if reads == "writes" else "read ")[1].split(",")[0]
        assert token in "짖었다"


def test_of_a_picture_the_strongest_ten_cells_are_printed(models):
    model, given = models["image-classification"]
    done = call("explain", model, given, "--row", "2", "--device", "cpu")
    table = done.output.split("|weight x v|")[1].split("The 10 cells")[0].strip().splitlines()
    weights = [float(line.split()[3]) for line in table]
    assert len(weights) == 10
    assert weights == sorted(weights, reverse=True)
    assert re.search(
        r"The 10 cells with the largest weights; the other \d+ share 0\.\d{4}\.", done.output
    )


def test_a_label_can_be_asked_about(models):
    model, given = models["image-classification"]
    message = str(fault("look", model, given, "--target", "pink", "--save", "x.npz"))
    assert "no such label" in message
    assert "blue, green, red" in message


def test_heads_and_layers_that_do_not_exist_are_named(models):
    model, given = models["captioning"]
    message = str(fault("explain", model, given, "--row", "2", "--head", "99"))
    assert "the model has no such head" in message
    assert "1 to 3" in message
    message = str(fault("explain", model, given, "--row", "2", "--layer", "99"))
    assert "the model has no such layer" in message


def test_two_thousand_words_are_too_many_to_look_at_in_one_pass(models, tmp_path):
    model, _ = models["masked-lm"]
    message = str(fault("look", model, "cat " * 2000, "--save", tmp_path / "x.npz"))
    assert "cannot be traced in one pass" in message
    assert "2000 tokens" in message or "tokens: 'cat cat" in message
    translator, _ = models["translation"]
    call("look", translator, "cat " * 300, "--save", tmp_path / "x.npz")
    trace = load_trace(tmp_path / "x.npz")
    assert (trace.segment, trace.segments > 1) == (0, True)


@pytest.mark.parametrize("task", ["translation", "masked-lm", "text-classification"])
def test_one_word_is_enough_and_none_is_not(models, tmp_path, task):
    model, _ = models[task]
    assert call("look", model, "cat", "--save", tmp_path / "x.html").exit_code == 0
    assert "at least one word" in str(fault("look", model, "  ", "--save", tmp_path / "x.npz"))


def test_a_model_without_attention_says_so_and_exits_with_2(tmp_path):
    """Of the network that reads pictures without attention, and of the RNN that does."""
    sizes = ImageClassifierConfig(height=8, width=10, channels=(8, 12))
    weights = build(sizes, DataSizes(labels=2)).state_dict()
    told = BundleConfig("image-classification", sizes.model_dump(mode="json"), labels=("a", "b"))
    plain = write_bundle(tmp_path / "cnn", weights, told, None, Card("plain"))
    (picture,) = write_pictures(tmp_path / "pictures", 1)
    done = run("look", plain, picture, "--save", tmp_path / "x.html")
    assert done.returncode == 2
    assert "this model has no attention that could be shown." in done.stderr
    assert "jumok train ... --set model.attention_after=[2]" in done.stderr

    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = RecurrentConfig(dim=16, embedding=12, attention="none")
    torch.manual_seed(1)
    model = build(config, DataSizes(vocabulary=tokenizer.size))
    told = BundleConfig("translation", config.model_dump(), tokenizer.size, max_tokens=61)
    rnn = write_bundle(tmp_path / "rnn", model.state_dict(), told, tokenizer, Card("rnn"))
    assert "this model has no attention" in str(
        fault("look", rnn, "the cat sat", "--save", tmp_path / "x.html")
    )


@pytest.mark.parametrize("task", TASKS)
def test_a_saved_trace_is_shown_again(models, tmp_path, task):
    model, given = models[task]
    file, page = tmp_path / "t.npz", tmp_path / "page.html"
    assert call("look", model, given, "--save", file, "--device", "cpu").exit_code == 0
    done = call("look", model, file, "--save", page, "--device", "cpu")
    assert done.exit_code == 0, done.output
    shown = page_data(page.read_text(encoding="utf-8"))
    assert shown.pop("made") == {
        "models": [str(model)],
        "given": str(file),
        "saved": True,
        "target": None,
        "options": None,
        "beside": None,
    }
    loaded = load_trace(file)
    expected = payload(loaded) | {"token": None} | guided(loaded)
    assert shown == json.loads(json.dumps(expected))
    told = [
        call("explain", model, each, "--row", "2", "--device", "cpu").output
        for each in (given, file)
    ]
    assert told[0] == told[1]


def test_a_trace_of_another_model_is_refused_and_the_exit_code_is_2(models, tmp_path):
    (first, text), (second, _) = models["translation"], models["text-classification"]
    file = tmp_path / "t.npz"
    assert call("look", first, text, "--save", file, "--device", "cpu").exit_code == 0
    for verb in (["look", "--save", tmp_path / "x.html"], ["explain", "--row", "2"]):
        message = str(fault(verb[0], second, file, *verb[1:], "--device", "cpu"))
        assert "t.npz: this trace is of another model." in message
        assert f"expected: the model, with the fingerprint {fingerprint_in(second)}" in message
        assert f"a trace of 'tiny', with the fingerprint {fingerprint_in(first)}" in message
        assert "do:       give the model that it was recorded with, or record it again" in message
    done = run("look", second, file, "--save", tmp_path / "x.html")
    assert done.returncode == 2
    assert "this trace is of another model." in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_a_saved_trace_that_is_cut_off_or_missing_is_refused(models, tmp_path):
    model, text = models["translation"]
    file = tmp_path / "t.npz"
    assert call("look", model, text, "--save", file, "--device", "cpu").exit_code == 0
    missing = str(fault("look", model, tmp_path / "u.npz", "--save", tmp_path / "x.html"))
    assert "u.npz: there is no such trace." in missing
    sentence = ("look", model, "the cat.npz", "--save", tmp_path / "x.html", "--device", "cpu")
    assert call(*sentence).exit_code == 0, "a sentence may end so"
    file.write_bytes(file.read_bytes()[:900])
    assert "truncated or edited" in str(fault("look", model, file, "--save", tmp_path / "x.html"))


def test_nothing_is_recorded_anew_where_a_trace_is_given(models, tmp_path):
    model, text = models["translation"]
    file = tmp_path / "t.npz"
    assert call("look", model, text, "--save", file, "--device", "cpu").exit_code == 0
    options = (["--target", "b"], ["--against", text], ["--with", model], ["--beam", "2"])
    for option in (*options, ["--level", "full"]):
        message = str(fault("look", model, file, *option, "--save", tmp_path / "x.html"))
        assert "these options have no effect on a saved trace." in message
        assert f"{option[0]} with {file}" in message


def test_a_caption_as_long_as_no_name_can_be_is_no_picture(models):
    model, _ = models["captioning"]
    assert "there is no such file" in str(fault("look", model, "a red ball " * 99))


def test_gold_links_travel_with_the_trace(models, tmp_path):
    model, text = models["translation"]
    file = tmp_path / "trace.npz"
    given = ("look", model, text, "--target", "b a", "--device", "cpu")
    done = call(*given, "--gold", "0-0 2p1", "--save", file)
    assert done.exit_code == 0, done.output
    assert load_trace(file).findings.gold == parse_gold("0-0 2p1")
    message = str(fault(*given, "--gold", "0-7", "--save", tmp_path / "x.html"))
    assert "there is no such word to link." in message
    assert "3 words of the source and 2 of “b a”" in message
    assert "with --target" in message
    message = str(fault(*given, "--gold", "0:0", "--save", tmp_path / "x.html"))
    assert "this is not a link between words." in message
    assert not (tmp_path / "x.html").exists()


def test_texts_for_pictures_and_pictures_for_texts_are_refused(models, tmp_path):
    translator, _ = models["translation"]
    captioner, picture = models["captioning"]
    message = str(fault("look", translator, picture, "--save", tmp_path / "x.html"))
    assert "this model reads text, and this is an image" in message
    for verb, *more in (["look"], ["explain", "--row", "1"]):
        message = str(fault(verb, captioner, "a red ball", *more))
        assert "this model reads images, and there is no such file" in message
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG no picture")
    assert "broken.png" in str(fault("look", captioner, broken, "--save", tmp_path / "x.html"))


def test_without_a_text_nothing_can_be_saved(models, tmp_path):
    model, _ = models["translation"]
    message = str(fault("look", model, "--save", tmp_path / "x.html"))
    assert "these options need a text or an image" in message
    assert "--save without one" in message


@pytest.mark.parametrize("option", [["--port", "8000"], ["--host", "localhost:9000"]])
def test_what_is_saved_is_not_served(models, tmp_path, option):
    model, text = models["translation"]
    message = str(fault("look", model, text, "--save", tmp_path / "x.html", *option))
    assert "--port and --host are for the live page" in message


def test_a_text_that_the_model_does_not_read_is_named(models, tmp_path):
    page = ["--save", str(tmp_path / "page.html")]
    for text, notes in (("the cat sat", 0), ("고양이가 앉았다.", 1)):
        result = call("look", models["translation"][0], text, *page)
        assert result.exit_code == 0, result.output
        assert result.stderr.count("note: target-language") == notes
    result = call("look", models["translation"][0], "/usr/local/share", *page)
    assert "note: there is no word in this text" in result.stderr
