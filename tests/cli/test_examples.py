"""What `jumok look MODEL` shows first: the model's own data, or sentences that fit it."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.bundle.card import Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.cli.examples import CANDIDATES, examples_for, opening_first, words_moved
from jumok.cli.main import app
from jumok.cli.verbs.inside import look
from jumok.data.tokenizer import Tokenizer
from jumok.inspection.page.document import page
from jumok.inspection.trace import Trace
from jumok.systems.catalog import load
from jumok.systems.translation.result import Translation
from smallworld.corpus import pairs, split_of
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.untrained import write_masked

RECIPE = """name = "a"
[data]
validation_pairs = 2
{data}
"""


@pytest.fixture
def run(tmp_path: Path, tiny_bundle: Path) -> Path:
    """The folder of a run with a translator from English to Korean."""
    shutil.copytree(tiny_bundle, tmp_path / "run" / "model")
    (tmp_path / "run" / "config.json").write_text("{}")
    return tmp_path / "run"


def recipe(run: Path, data: str) -> None:
    (run / "recipe.toml").write_text(RECIPE.format(data=data))


def corpus(folder: Path, name: str, *lines: str) -> str:
    for side in ("en", "ko"):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    sides = {"source": "en", "target": "ko"}
    return "\n".join(f'{key} = "{folder / name}.{side}"' for key, side in sides.items())


def test_the_validation_data_of_the_run_comes_first(run: Path, tmp_path: Path) -> None:
    long = "word " * 11
    checked = corpus(tmp_path, "dev", "One.", "Two of them.", long, "Two of them.", "Three of us.")
    trained = corpus(tmp_path, "train", "Four of you.", "Five of it.")
    recipe(run, f"[[data.train]]\n{trained}\n[[data.validation]]\n{checked}")
    assert examples_for(run / "model") == [
        *("Two of them.", "Three of us."),
        *("Four of you.", "Five of it."),
    ]
    stage = run / "steps" / "000500"
    shutil.copytree(run / "model", stage)
    assert examples_for(stage) == examples_for(run / "model")


def test_single_words_and_long_lines_are_taken_where_there_is_nothing_else(run, tmp_path):
    recipe(run, f"[[data.train]]\n{corpus(tmp_path, 'a', 'gas', 'gas', 'taxi')}")
    assert examples_for(run / "model") == ["gas", "taxi"]
    recipe(run, f"[[data.train]]\n{corpus(tmp_path, 'b', 'la ' * 40)}")
    assert examples_for(run / "model") == [" ".join(["la"] * 10)]


def test_the_demo_shows_its_validation_sentences(run: Path) -> None:
    (run / "smallworld").mkdir()
    (run / "smallworld" / "validation.en").write_text("Mina saw it.\n")
    recipe(run, "[data.smallworld]\npairs = 10")
    assert examples_for(run / "model") == ["Mina saw it."]


def test_without_its_data_an_english_model_gets_sentences_of_the_built_in_corpus(run, tmp_path):
    recipe(run, f'[[data.train]]\nsource = "{tmp_path}/no.en"\ntarget = "{tmp_path}/no.ko"')
    found = examples_for(run / "model")
    assert len(found) == len(set(found)) == 5
    assert {split_of(text) for text in found} == {"test"}


@pytest.mark.parametrize(("language", "known"), [("ko", True), ("de", False), ("", False)])
def test_the_language_decides(tmp_path, tiny_bundle, language, known):
    old = read_bundle(tiny_bundle)
    weights = load(tiny_bundle).models[0].state_dict()
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    config = replace(old.config, source_language=language)
    model = write_bundle(tmp_path / "other", weights, config, tokenizer, Card("other"))
    found = examples_for(model)
    assert bool(found) == known
    korean = {pair.target for pair in islice(pairs("test", maximum_words=10), 200)}
    assert set(found) <= korean


def test_a_language_model_begins_and_a_masked_one_has_a_gap(tmp_path: Path) -> None:
    for task, write in (("language-model", write_lm), ("masked-lm", write_masked)):
        run = tmp_path / task
        model = write(run / "model")
        (tmp_path / "text.txt").write_text("the cat sat quietly on it\n")
        (run / "config.json").write_text("{}")
        kind = "causal-lm" if task == "language-model" else "masked-lm"
        (run / "recipe.toml").write_text(
            f'name = "a"\n[model]\nkind = "{kind}"\n[[data.train]]\nfile = "{tmp_path}/text.txt"\n'
        )
        told = "the cat sat quietly" if task == "language-model" else "the cat sat [MASK] on it"
        assert examples_for(model) == [told]


def test_look_without_a_text_traces_the_first_example_and_offers_all(run, tmp_path, monkeypatch):
    lines = ("the cat sat", "the dog </script> barked")
    recipe(run, f"[[data.train]]\n{corpus(tmp_path, 'a', *lines)}")
    served: list[tuple[Trace, Sequence[str]]] = []

    def serve(page, *rest) -> None:
        served.append((page.args[0], page.keywords["examples"]))

    monkeypatch.setattr(look, "serve_page", serve)
    done = CliRunner().invoke(app, ["look", str(run / "model"), "--device", "cpu"])
    assert done.exit_code == 0, done.output
    ((trace, examples),) = served
    assert trace.text == "the cat sat"
    assert trace.sites
    assert examples == [*lines]
    html = page(trace, "token", None, examples)
    assert html.count("</script>") == 2  # the data and the code; none from the text


def test_a_model_of_images_still_opens_without_one(tmp_path, monkeypatch):
    served: list[Trace] = []
    monkeypatch.setattr(look, "serve_page", lambda page, *rest: served.append(page.args[0]))
    model = write_captioner(tmp_path / "captioner")
    done = CliRunner().invoke(app, ["look", str(model), "--device", "cpu"])
    assert done.exit_code == 0, done.output
    assert served[0].sites == ()


def test_how_far_words_move_is_the_footrule_of_the_links() -> None:
    """Ranks of the links by either side: none, two words exchanged, and three turned round."""
    links = {((0, 0), (1, 1), (2, 2)): 0, ((0, 1), (1, 0)): 2, ((0, 2), (1, 1), (2, 0)): 4}
    for alignment, far in links.items():
        assert words_moved(Translation("a b c", alignment=alignment)) == far
    assert words_moved(Translation("a", alignment=None)) == 0


def test_a_page_opens_with_a_sentence_whose_words_move(run: Path, tmp_path: Path, monkeypatch):
    """An untrained model is sure of nothing; were it, the farthest would come first."""
    lines = [
        f"the cat {word} a mat" for word in ("sat on", "ran from", "saw", "is", "likes to be on")
    ]
    recipe(run, f"[[data.train]]\n{corpus(tmp_path, 'train', *lines)}")
    bundle = read_bundle(run / "model")
    assert opening_first(bundle) == examples_for(bundle) == lines
    monkeypatch.setattr("jumok.cli.examples.SURE", 1e-9)
    moved = [words_moved(each) for each in load(bundle.folder, device="cpu").translate(lines)]
    first = lines[moved.index(max(moved))]
    assert opening_first(bundle) == [first, *(line for line in lines if line != first)]
    assert len(lines) < CANDIDATES
