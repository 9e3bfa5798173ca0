"""`jumok train --from MODEL` as a person types it, and what it refuses."""

import json
import shutil

import pytest

from jumok.bundle.reading import read_bundle
from jumok.cli.training.configs import model_and_language
from jumok.config import parse_config
from jumok.errors import BundleError, ConfigError
from jumok.training.run import train
from tests.cli.calls import call, fault
from tests.data.painted import pack, paint
from tests.training.conftest import Recorder
from tests.training.starts import earlier, labelled, masked, texts, translation

FAST = [
    *("--set", "training.steps=3", "--set", "training.threads=1", "--set", "validation.every=3"),
    *("--set", "training.precision=fp32"),
]


def refused(*arguments):
    error = fault(*arguments)
    assert isinstance(error, ConfigError | BundleError)
    assert error.exit_code == 2
    return str(error)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A translator in runs/old/model, and new pairs, new.en and new.ko."""
    monkeypatch.chdir(tmp_path)
    train(earlier("transformer", tmp_path), tmp_path / "runs", Recorder())
    translation(tmp_path / "new", 2)
    for side in ("en", "ko"):
        (tmp_path / "new" / f"a.{side}").rename(tmp_path / f"new.{side}")
    return tmp_path


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Makes a model of another family, in runs/old/model."""
    monkeypatch.chdir(tmp_path)

    def make(family):
        train(earlier(family, tmp_path), tmp_path / "runs", Recorder())

    return make


PAIRS = ("--source", "new.en", "--target", "new.ko")
FROM = ("train", "--from", "runs/old/model")


def test_two_files_and_a_model_become_a_better_model(made):
    result = call(*FROM, *PAIRS, "--name", "medical", "--mix", 0.25, *FAST)
    assert result.exit_code == 0, result.output
    assert "trained further from old (" in result.output
    assert "earlier data: " in result.output
    lines = result.output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[-1:] == ["difference"])
    names = [line.split()[:3] for line in lines[at + 1 : at + 5]]
    assert names == [[data, "data", s] for data in ("new", "earlier") for s in ("BLEU", "chrF2")]
    recipe = (made / "runs" / "medical" / "recipe.toml").read_text("utf-8")
    assert "mix = 0.25\n" in recipe
    assert "dim = 16\n" in recipe
    told = call("info", "runs/medical/model")
    assert "trained further" in told.output
    assert f"from {read_bundle(made / 'runs/medical/model').card.started_from}" in told.output
    again = call("train", "runs/medical/recipe.toml", "--name", "again")
    assert again.exit_code == 0, again.output
    weights = [made / f"runs/{name}/model/model.safetensors" for name in ("medical", "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_result_as_json_has_both_scores_before_and_after(made):
    result = call(*FROM, *PAIRS, "--name", "medical", "--json", *FAST)
    told = json.loads(result.stdout.splitlines()[-1])
    assert told["started_from"].startswith("old (")
    named = [(gain["data"], gain["score"]) for gain in told["gains"]]
    assert named == [(d, s) for d in ("new data", "earlier data") for s in ("BLEU", "chrF2")]
    values = {score["on"]: score["value"] for score in told["scores"] if score["name"] == "chrF2"}
    assert [gain["after"] for gain in told["gains"] if gain["score"] == "chrF2"] == [
        *values.values()
    ]


def evaluated(model, *files):
    done = call("evaluate", model, *files, "--beam", 1, "--split", "length", "--no-keep", "--json")
    assert done.exit_code == 0, done.output
    return {one["name"]: one["value"] for one in json.loads(done.stdout)["scores"]}


def test_what_was_forgotten_is_what_evaluate_finds(made):
    (made / "runs/old/recipe.toml").unlink()  # as of an imported model
    for side in ("en", "ko"):
        lines = (made / "old" / f"a.{side}").read_text("utf-8").splitlines()[:9]
        (made / f"check.{side}").write_text("".join(f"{one}\n" for one in lines), "utf-8")
    check = ("--check", "check.en", "--check", "check.ko")
    beam = ("--set", "validation.decode_pairs=9", "--set", "validation.beam=1")
    fast = (*FAST, *beam, "--set", "training.learning_rate=0.01")
    result = call(*FROM, *PAIRS, "--name", "medical", *check, *fast, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    stored = json.loads((made / "runs/medical/further.json").read_text("utf-8"))
    assert stored == {name: told[name] for name in ("started_from", "gains")}
    found = {gain["score"]: gain for gain in told["gains"] if gain["data"] == "earlier data"}
    files = ("--source", "check.en", "--reference", "check.ko")
    for when, model in (("before", "runs/old/model"), ("after", "runs/medical/model")):
        scores = evaluated(model, *files)
        assert {name: one[when] for name, one in found.items()} == {n: scores[n] for n in found}
    chrf = found["chrF2"]
    assert chrf["difference"] == chrf["after"] - chrf["before"] != 0.0
    line = f"earlier data: chrF2 {chrf['before']:.2f} -> {chrf['after']:.2f}"
    assert line in (made / "runs/medical/model/README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (["a", "b", "c"], "start.check of a translator is a table, or a text and its translation"),
        (["missing.tsv"], "missing.tsv"),
    ],
)
def test_a_text_to_check_that_cannot_be_read_is_refused(made, check, text):
    named = [word for file in check for word in ("--check", file)]
    assert text in str(fault(*FROM, *PAIRS, *named, *FAST))


def test_a_recipe_is_trained_from_a_model(made):
    (made / "new.toml").write_text(
        'name = "new"\n[[data.train]]\nsource = "new.en"\ntarget = "new.ko"\n', "utf-8"
    )
    result = call(*FROM, "new.toml", *FAST)
    assert result.exit_code == 0, result.output
    assert read_bundle(made / "runs/new/model").config.source_language == "en"


def test_a_table_and_a_model_may_both_be_named_by_from(made):
    sides = [(made / f"new.{side}").read_text("utf-8").splitlines() for side in ("en", "ko")]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="ko"><seg>{b}</seg></tuv></tu>'
        for a, b in zip(*sides, strict=True)
    )
    tmx = f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>'
    (made / "new.tmx").write_text(tmx, "utf-8")
    languages = ("--from", "en", "--to", "ko")
    result = call(*FROM, "--data", "new.tmx", *languages, "--name", "named", *FAST)
    assert result.exit_code == 0, result.output
    scratch = ("--set", "model.dim=16", "--set", "model.heads=2")
    plain = call("train", "--data", "new.tmx", *languages, "--name", "scratch", *scratch, *FAST)
    assert plain.exit_code == 0, plain.output
    assert not read_bundle(made / "runs/scratch/model").card.started_from
    wrong = ("--from", "de", "--to", "ko")
    text = refused(*FROM, "--data", "new.tmx", *wrong, "--name", "other", *FAST)
    assert "data.source_language is 'de'; the model's is 'en'" in text


@pytest.mark.parametrize(
    ("family", "write", "file"),
    [
        ("text", texts, ["new/a.txt"]),
        ("masked", masked, ["new/a.txt"]),
        ("labelled", labelled, ["--data", "new/a.tsv"]),
        ("text", texts, ["--data", "new/a.txt"]),
    ],
)
def test_a_file_is_enough_for_a_model_of_texts(tmp_path, other, family, write, file):
    other(family)
    write(tmp_path / "new", 2)
    result = call(*FROM, *file, "--name", "new", *FAST)
    assert result.exit_code == 0, result.output
    assert read_bundle(tmp_path / "runs/new/model").card.started_from.startswith("old (")


@pytest.mark.parametrize("file", ["photos", "photos.zip"])
def test_a_folder_of_images_is_enough_for_a_classifier_of_images(tmp_path, other, file):
    other("images")
    pack(paint(tmp_path / "photos", 9))
    result = call(*FROM, file, *FAST)
    assert result.exit_code == 0, result.output
    assert read_bundle(tmp_path / "runs/photos/model").config.labels == ("blue", "green", "red")


def test_the_same_command_resumes_and_another_model_does_not(made):
    command = (*FROM, *PAIRS, "--name", "medical", *FAST)
    assert call(*command).exit_code == 0
    shutil.copytree("runs/old/model", "second")
    text = refused(*("train", "--from", "second", *PAIRS, "--name", "medical", "--resume"), *FAST)
    assert "the recipe differs from the one that this run was started with" in text
    assert "start.model was" in text
    shutil.rmtree("runs/old")
    longer = call(*command, "--resume", "--set", "training.steps=6")
    assert longer.exit_code == 0, longer.output
    assert "continuing after step 3" in longer.output
    assert "new data  BLEU" in " ".join(longer.output.split("   "))


def test_a_run_from_scratch_is_not_resumed_from_a_model(made):
    shutil.copytree("runs/old/model", "second")
    text = refused("train", "runs/old/recipe.toml", "--from", "second", "--resume")
    assert "start.model was None and is now" in text


def test_another_learning_rate_needs_another_run_that_begins_with_the_model(made):
    command, rate = ("train", "runs/old/recipe.toml"), ("--set", "training.learning_rate=0.002")
    text = refused(*command, *rate, "--resume")
    assert "training.learning_rate was" in text
    advice = "start another run: --name OTHER, from the weights of this one: "
    assert f"{advice}--from runs/old/model --name OTHER" in text
    result = call(*command, *rate, "--from", "runs/old/model", "--name", "other", *FAST)
    assert result.exit_code == 0, result.output


def test_a_missing_model_is_named(made):
    text = refused("train", "--from", "runs/nothing/model", *PAIRS)
    assert text.startswith("runs/nothing/model: there is no such bundle.")
    text = refused("train", "--from", "runs/old", *PAIRS)
    assert "did you mean runs/old/model?" in text


def test_a_bundle_of_a_newer_format_is_refused(made):
    file = made / "runs/old/model/config.json"
    told = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(told | {"format": 99}), "utf-8")
    text = refused(*FROM, *PAIRS)
    assert "this bundle was written by a newer jumok" in text
    assert "got:      format 99" in text


@pytest.mark.parametrize(
    ("family", "task", "expected"),
    [
        ("text", "language-model", "a text: --text FILE"),
        ("labelled", "text-classification", "a table of texts and labels: --data FILE.tsv"),
        ("captions", "captioning", "a recipe that names a table of captions and its images"),
    ],
)
def test_a_model_of_another_kind_is_refused(tmp_path, other, family, task, expected):
    other(family)
    translation(tmp_path, 2)
    text = refused(*FROM, "--source", "a.en", "--target", "a.ko")
    assert f"runs/old/model: a model of the task {task} is not trained on such files." in text
    assert f"expected: {expected}" in text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("model.dim=32", "model.dim is 32; the model's is 16"),
        ("model.kind=rnn", "model.kind is 'rnn'; the model's is 'transformer'"),
        ("model.encoder_layers=2", "model.encoder_layers is 2; the model's is 1"),
        ("tokenizer.size=700", "tokenizer.size is 700; the tokenizer is the model's"),
        ("tokenizer.kind=char", "tokenizer.kind is 'char'; the tokenizer is the model's"),
        ("tokenizer.path=t.model", "tokenizer.path is 't.model'; the tokenizer is the model's"),
        ("data.source_language=de", "data.source_language is 'de'; the model's is 'en'"),
        ("vectors.path=v.txt", "[vectors] would replace the model's embeddings"),
    ],
)
def test_what_contradicts_the_model_is_refused_by_name(made, change, fault):
    text = refused(*FROM, *PAIRS, "--set", change)
    assert f"the recipe contradicts the model that is trained further:\n  {fault}\n" in text
    assert "do:       leave these keys out" in text


def test_what_agrees_with_the_model_or_is_free_is_taken(made):
    free = ["model.dim=16", "model.dropout=0.4", "tokenizer.kind=bpe", "data.source_language=en-GB"]
    result = call(*FROM, *PAIRS, *(word for each in free for word in ("--set", each)), *FAST)
    assert result.exit_code == 0, result.output
    bundle = read_bundle(made / "runs/new/model").config
    assert (bundle.model["dropout"], bundle.source_language) == (0.4, "en")


def test_a_classifier_that_starts_twice_is_refused(tmp_path, other):
    other("labelled")
    labelled(tmp_path / "new", 2)
    text = refused(*FROM, "--data", "new/a.tsv", "--set", "model.pretrained=x")
    assert "model.pretrained would replace the model's encoder" in text


def test_mix_alone_names_what_it_needs(made):
    text = refused("train", "runs/old/recipe.toml", "--mix", 0.5)
    assert "the keys of [start] need a model to train further" in text
    assert "--from MODEL" in text


@pytest.mark.parametrize("mix", ["1.0", "-0.1"])
def test_a_share_of_everything_or_less_than_nothing_is_refused(made, mix):
    assert "start.mix: Input should be" in refused(*FROM, *PAIRS, f"--mix={mix}")


def test_a_recipe_of_another_model_is_not_that_of_the_start(made):
    values = texts(made / "texts", 1)
    config = parse_config({"name": "texts", **values})
    train(config.model_copy(update={"training": config.training.model_copy(update={"steps": 1})}),
          made / "runs", Recorder())  # fmt: skip
    text = refused(*FROM, *PAIRS, "--set", "start.recipe=runs/texts/recipe.toml")
    assert "this is not the recipe that the model was trained with" in text
    assert "got:      model.kind = 'causal-lm'" in text


def bundle(folder):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", "utf-8")
    return folder


def test_which_value_of_from_is_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = bundle(tmp_path / "runs" / "a" / "model")
    bundle(tmp_path / "general")
    (tmp_path / "fr").mkdir()  # a folder, but no model
    assert model_and_language([str(model)], False) == (model, None)
    assert model_and_language(["en"], True) == (None, "en")
    assert model_and_language(["Source text"], True) == (None, "Source text")
    found = model_and_language(["en", "general"], True)
    assert (str(found[0]), found[1]) == ("general", "en")
    assert model_and_language(["fr"], True) == (None, "fr")
    assert str(model_and_language(["./missing"], True)[0]) == "missing"
    assert model_and_language([], False) == (None, None)


@pytest.mark.parametrize(
    ("values", "with_data", "text"),
    [
        (["en"], False, "--from names neither the folder of a model nor, with --data, a language"),
        (["en", "fr"], True, "--from names two languages.\n  got:      en, fr"),
        (["./a", "./b"], True, "--from names two models.\n  got:      ./a, ./b"),
        (["ko"], True, "--from ko may be the language or the folder of a model"),
    ],
)
def test_a_value_of_from_is_never_guessed(tmp_path, monkeypatch, values, with_data, text):
    monkeypatch.chdir(tmp_path)
    bundle(tmp_path / "ko")
    with pytest.raises(ConfigError) as caught:
        model_and_language(values, with_data)
    assert text in str(caught.value)


def test_a_tokenizer_that_was_exchanged_is_refused(made):
    (made / "runs/old/model/tokenizer.model").write_bytes(b"another")
    text = refused(*FROM, *PAIRS)
    assert "the tokenizer is not the one these weights were trained with" in text
