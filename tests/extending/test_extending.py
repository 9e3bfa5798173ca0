"""docs/extending.md: every plugin in it is written to a file and used as the text says."""

import copy
import json
import re
import threading
import urllib.request
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import jumok
from jumok.errors import BundleError, ConfigError, TrainingError
from jumok.planning.products import TextLengths, model_parts
from jumok.plugins import Plugin, load_plugin
from tests.cli.calls import call
from tests.training.conftest import Recorder, write_corpus
from tests.training.runs import Killed, killed_at

DOCS = Path(__file__).parents[2] / "docs"
TINY = """
name = "tiny"
plugins = ["{plugin}"]
[data]
train = [{{ source = "rows.en", target = "rows.back" }}]
validation_pairs = 11
[tokenizer]
kind = "bpe"
size = 48
byte_fallback = false
[model]
dim = 16
heads = 2
encoder_layers = 1
decoder_layers = 2
feedforward = 32
{key}
[training]
steps = 6
tokens_per_batch = 256
tokens_per_micro_batch = 256
checkpoint_every = 3
threads = 1
[validation]
every = 3
decode_pairs = 4
beam = 1
"""
TRAINED_ON = """
[data]
train = [{ file = "rows.en" }]
documents = "line"
[training]
steps = 6
tokens_per_batch = 256
tokens_per_micro_batch = 256
checkpoint_every = 3
threads = 1
[validation]
every = 3
"""


def blocks(language: str = "en") -> list[str]:
    file = DOCS / ("extending.md" if language == "en" else f"extending.{language}.md")
    return re.findall(r"```python\n(.*?)```", file.read_text("utf-8"), re.DOTALL)


def code(start: str) -> str:
    (found,) = (block for block in blocks() if start in block)
    return found


def trained_and_resumed(recipe: Path | str):
    """A whole run, whose weights are those of one that was killed and resumed."""
    whole = jumok.train(recipe, "whole", screen=Recorder())
    with pytest.raises(Killed):
        jumok.train(recipe, "cut", screen=killed_at(Recorder, 4))
    cut = jumok.train(recipe, "cut", resume=True, screen=Recorder())
    first, second = (load_file(run.model / "model.safetensors") for run in (whole, cut))
    assert all(torch.equal(first[name], second[name]) for name in first)
    return whole


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch, tmp_path):
    monkeypatch.setattr("jumok.parts.PARTS", copy.deepcopy(jumok.parts.PARTS))
    monkeypatch.setattr("jumok.plugins.LOADED", {})
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path)


def test_both_languages_have_the_same_plugins():
    assert blocks("en") == blocks("ko")


@pytest.mark.parametrize(
    ("plugin", "start", "key"),
    [
        ("my_score.py", "class DistanceScore", 'score = "distance"'),
        ("my_norm.py", "class ScaleNorm", 'norm_kind = "scale"'),
    ],
)
def test_a_part_trains_resumes_decodes_and_shows_itself(tmp_path, plugin, start, key, monkeypatch):
    (tmp_path / plugin).write_text(code(start), "utf-8")
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(TINY.format(plugin=plugin, key=key), "utf-8")
    whole = trained_and_resumed(recipe)
    model = jumok.load(whole.model, kind=jumok.Translator)
    best = model.translate(["one two three"], beam=3)[0]
    trace = jumok.trace(model, "one two three")
    site = next(site for site in trace.sites if site.part == "cross")
    assert site.kind == ("distance" if "score" in plugin else "scaled-dot")
    jumok.page(trace).save("page.html")

    # Another process: the bundle names its plugin, and is refused without it.
    monkeypatch.setattr("jumok.plugins.LOADED", {})
    config = json.loads((whole.model / "config.json").read_text("utf-8"))
    assert list(config["plugins"]) == [plugin]
    assert not list(whole.model.rglob("*.py"))
    Path("book.en").write_text("one two three\n", "utf-8")
    use = ["translate", str(whole.model), "book.en", "--beam", "3"]
    error = call(*use).exception
    assert isinstance(error, BundleError)
    assert f"this bundle needs the plugin {plugin}, which has not been loaded." in str(error)
    assert f"jumok --plugin PATH/{plugin}" in str(error)
    monkeypatch.setattr("jumok.parts.PARTS", copy.deepcopy(jumok.parts.PARTS))
    for role in ("score", "norm"):
        jumok.parts.PARTS[role].pop("distance", None)
        jumok.parts.PARTS[role].pop("scale", None)
    done = call("--plugin", plugin, *use)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == best.text


def test_a_model_with_a_plugin_is_trained_further(tmp_path):
    (tmp_path / "my_norm.py").write_text(code("class ScaleNorm"), "utf-8")
    Path("tiny.toml").write_text(TINY.format(plugin="my_norm.py", key='norm_kind = "scale"'))
    model = jumok.train("tiny.toml", screen=Recorder()).model
    done = call(
        *("train", "--from", str(model), "--source", "rows.en", "--target", "rows.back"),
        *("--name", "further", "--set", "training.steps=2", "--set", "training.threads=1"),
    )
    assert done.exit_code == 0, done.output
    for run in ("tiny", "further"):
        config = json.loads(Path("runs", run, "model", "config.json").read_text("utf-8"))
        assert list(config["plugins"]) == ["my_norm.py"]


def test_a_plugin_that_changed_is_warned_about(tmp_path, monkeypatch):
    (tmp_path / "my_norm.py").write_text(code("class ScaleNorm"), "utf-8")
    Path("tiny.toml").write_text(TINY.format(plugin="my_norm.py", key='norm_kind = "scale"'))
    model = jumok.train("tiny.toml", screen=Recorder()).model
    monkeypatch.setattr("jumok.plugins.LOADED", {"my_norm.py": Plugin(Path("other"), "0")})
    with pytest.warns(UserWarning, match="is not the one that the model was trained with"):
        jumok.load(model)


def test_a_plugin_that_changed_during_a_run_stops_its_resumption(tmp_path, monkeypatch):
    plugin = tmp_path / "my_norm.py"
    plugin.write_text(code("class ScaleNorm"), "utf-8")
    Path("tiny.toml").write_text(TINY.format(plugin="my_norm.py", key='norm_kind = "scale"'))
    with pytest.raises(Killed):
        jumok.train("tiny.toml", screen=killed_at(Recorder, 4))
    plugin.write_text(plugin.read_text("utf-8") + "\nCHANGED = True\n", "utf-8")
    monkeypatch.setattr("jumok.parts.PARTS", copy.deepcopy(jumok.parts.PARTS))
    monkeypatch.setattr("jumok.plugins.LOADED", {})  # another process
    jumok.parts.PARTS["norm"].pop("scale")
    with pytest.raises(TrainingError, match=r"the plugin my_norm\.py has changed since the run's"):
        jumok.train("tiny.toml", resume=True, screen=Recorder())


def test_a_file_format_is_read_everywhere(tmp_path):
    (tmp_path / "my_format.py").write_text(code("def read_fastalign"), "utf-8")
    rows = zip(
        Path("rows.en").read_text().splitlines(),
        Path("rows.back").read_text().splitlines(),
        strict=True,
    )
    Path("corpus.fastalign").write_text("".join(f"{a} ||| {b}\n" for a, b in rows), "utf-8")
    done = call(
        *("--plugin", "my_format.py", "train", "--data", "corpus.fastalign", "--columns", "0,1"),
        *("--name", "mine", "--set", "training.steps=2", "--set", "model.dim=16"),
        *("--set", "training.threads=1"),
    )
    assert done.exit_code == 0, done.output
    Path("bad.fastalign").write_text("no sides\n", "utf-8")
    error = call("train", "--data", "bad.fastalign", "--name", "b").exception
    assert "bad.fastalign, line 1: the line has too few sides." in str(error)


def test_a_route_serves_any_model(tiny_bundle):
    names: dict[str, object] = {}
    exec_block(code("def serve("), names)
    server = names["serve"](str(tiny_bundle), 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{server.server_port}/", json.dumps(["the cat", "I am"]).encode()
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    model = jumok.load(tiny_bundle, kind=jumok.Translator)
    assert [each["text"] for each in found] == [
        each.text for each in model.translate(["the cat", "I am"])
    ]


def test_a_block_of_own_parts_trains_resumes_writes_and_shows_itself(tmp_path):
    """The keys of the page, with sizes for a test: grouped queries and QK-norm, too."""
    Path("my_block.py").write_text(code("class DynamicTanh"), "utf-8")
    (keys,) = re.findall(
        r"```toml\n(.*?)```", (DOCS / "extending.md").read_text("utf-8"), re.DOTALL
    )
    sizes = "dim = 32\nlayers = 2\nfeedforward = 24\nmax_length = 32\ndropout = 0.1\n"
    Path("block.toml").write_text(f'name = "block"\n{keys}{sizes}{TRAINED_ON}', "utf-8")
    whole = trained_and_resumed("block.toml")
    weights = load_file(whole.model / "model.safetensors")
    assert "decoder.blocks.1.after_feedforward.norm.slope" in weights
    model = jumok.load(whole.model)
    block = model.modules()[0].decoder.blocks[0]
    assert type(block.feedforward).__name__ == "ReGLU"
    states, gate = torch.randn(1, 3, 32), block.feedforward
    expected = (states @ gate.gate.weight.T).relu() * (states @ gate.inner.weight.T)
    torch.testing.assert_close(gate(states), expected @ gate.outer.weight.T)
    (said,) = model.answer(["one two"])
    assert said["text"]
    trace = jumok.trace(model, "one two")
    assert [site.weights.shape[0] for site in trace.sites] == [4, 4]
    jumok.page(trace).save("page.html")
    config = jumok.load_config("block.toml")  # by the records of its parts
    lengths = TextLengths(0, 32)
    planned = sum(part.weights for part in model_parts(config, model.tokenizer.size, lengths))
    assert planned == sum(each.numel() for each in model.modules()[0].parameters() if each.ndim > 1)


def test_a_plugin_of_the_command_line_is_in_the_recipe_of_the_run_and_in_the_bundle(tmp_path):
    (tmp_path / "my_norm.py").write_text(code("class ScaleNorm"), "utf-8")
    (tmp_path / "my_format.py").write_text(code("def read_fastalign"), "utf-8")
    (tmp_path / "other.py").write_text(
        'import jumok\njumok.register("norm", "unused", print)\n', "utf-8"
    )
    rows = Path("rows.en").read_text().splitlines()
    Path("corpus.fastalign").write_text("".join(f"{a} ||| {a}\n" for a in rows), "utf-8")
    given = [
        each for name in ("my_norm", "my_format", "other") for each in ("--plugin", f"{name}.py")
    ]
    sizes = ("training.steps=2", "model.dim=16", "training.threads=1", "model.norm_kind=scale")
    done = call(
        *(*given, "train", "--data", "corpus.fastalign", "--columns", "0,1", "--name", "mine"),
        *(word for key in sizes for word in ("--set", key)),
    )
    assert done.exit_code == 0, done.output
    recipe = jumok.load_config("runs/mine/recipe.toml")
    assert [file.name for file in recipe.plugins] == ["my_norm.py", "my_format.py"]
    config = json.loads(Path("runs/mine/model/config.json").read_text("utf-8"))
    assert list(config["plugins"]) == ["my_norm.py"]
    assert f"jumok --plugin {tmp_path}/my_norm.py translate runs/mine/model" in done.output


def exec_block(text: str, names: dict[str, object]) -> None:
    exec(compile(text, "extending.md", "exec"), names)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import jumok\n1 / 0\n", "bad.py, line 2: the plugin raised an error.\n  got:      Zero"),
        ("def (:\n", "the plugin raised an error.\n  got:      SyntaxError"),
        (
            'import jumok\njumok.register("score", "dot", print)\n',
            "the score 'dot' is taken by another part.",
        ),
        ('import jumok\njumok.register("scores", "a", print)\n', "there is no such role of parts."),
        ('import jumok\njumok.register("score", "a", 3)\n', "this cannot be a score."),
        ('import jumok\njumok.register("kind", "a", print)\n', "a kind of model is a jumok.Kind."),
    ],
)
def test_a_plugin_that_is_wrong_is_named(tmp_path, content, said):
    Path("bad.py").write_text(content, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_plugin("bad.py")
    assert said in str(caught.value)


def test_a_plugin_that_is_not_there_or_not_python_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.py: the plugin cannot be read"):
        load_plugin("none.py")
    with pytest.raises(ConfigError, match="a plugin is a Python file"):
        load_plugin("rows.en")
    Path("tiny.toml").write_text('name = "t"\nplugins = ["$NOWHERE/a.py"]\n')
    with pytest.raises(ConfigError, match=r"plugins: the environment variable NOWHERE is not set"):
        jumok.load_config("tiny.toml")
    Path("tiny.toml").write_text('name = "t"\nplugins = "a.py"\n')
    with pytest.raises(ConfigError, match="plugins: "):
        jumok.load_config("tiny.toml")


def test_two_plugins_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "mine.py").write_text(f"# {folder}\n", "utf-8")
    assert load_plugin("a/mine.py") == "mine.py"
    assert load_plugin("a/mine.py") == "mine.py"
    with pytest.raises(ConfigError, match="another plugin of this name"):
        load_plugin("b/mine.py")
