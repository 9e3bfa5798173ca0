"""`jumok prepare`: the same pairs as training reads, in any number of tasks, and after any stop."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumok.cli.verbs.scale.prepare import plan_of
from jumok.data.files.manifest import MANIFEST, parse_manifest
from jumok.data.pairs.cleaning.survey import survey_corpora
from jumok.data.pairs.corpus import read_pairs
from jumok.data.pairs.store import PairStore
from jumok.data.store import read_store
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, Location
from jumok.training.preparing.shards.plan import CorpusPlan, begin
from jumok.training.preparing.shards.stages import STAGES

NOUNS = ["cat", "dog", "house", "tree", "river", "book", "song", "friend", "window", "garden"]
VERBS = ["sees", "likes", "paints", "finds", "loses", "sells", "buys", "draws"]


def rows(count: int) -> list[tuple[str, str]]:
    """Pairs of which some repeat one another, or are worth leaving out."""
    pairs = []
    for number in range(count):
        one, two = NOUNS[number % 10], NOUNS[number // 7 % 10]
        verb = VERBS[number // 3 % 8]
        source = f"the {one} {verb} the {two} number {number % 57}"
        pairs.append((source, f"le {two} que {verb} la {one}, {number % 57}"))
        if number % 29 == 5:
            pairs.append((source.upper() + "!", pairs[-1][1]))  # nearly the same
        if number % 31 == 7:
            pairs.append((f"{one} &amp; {two} {number}", "du texte"))
    return pairs


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> CorpusPlan:
    """A corpus that was prepared without a stop, in two tasks."""
    plan = planned(written(tmp_path_factory.mktemp("whole")), "out")
    run(plan)
    return plan


def written(tmp_path: Path) -> Path:
    """A recipe and its data in this folder."""
    for name, pairs in (("a", rows(700)), ("b", rows(900)[400:])):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / f"{name}.tsv").write_text(text)
    file = tmp_path / "r.toml"
    file.write_text(
        'name = "r"\n[data]\nsource_language = "en"\ntarget_language = "fr"\n'
        "validation_pairs = 20\ntest_pairs = 10\n"
        "[data.clean]\nlanguage = false\n"
        '[[data.train]]\nfile = "a.tsv"\n[[data.train]]\nfile = "b.tsv"\n'
        '[tokenizer]\nkind = "bpe"\nsize = 400\n'
    )
    return file


def planned(recipe: Path, folder: str, tasks: int = 2, pairs: int = 300) -> CorpusPlan:
    return plan_of(recipe, (), recipe.parent / folder, tasks, pairs)


def run(plan: CorpusPlan) -> None:
    """Every task of every stage, the last one first: their order must not matter."""
    assert begin(plan)
    for stage in STAGES:
        for task in reversed(range(1 if stage.alone else plan.tasks)):
            stage.run(plan, task)


def shards(folder: Path) -> list[tuple[str, str]]:
    """The pairs of all shards, decoded; the manifest fits them."""
    file = folder / MANIFEST
    manifest = parse_manifest(file.read_bytes(), Location(file))
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    decoded = []
    for record in manifest.shards:
        store = PairStore.of(read_store(folder / record.name), (manifest.vocabulary,) * 2)
        assert len(store) == record.pairs
        decoded += [
            (
                tokenizer.decode(store.source[row].tolist()),
                tokenizer.decode(store.target[row].tolist()),
            )
            for row in range(len(store))
        ]
    return decoded


def table(file: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in file.read_text().splitlines()]


def test_shards_hold_what_training_would_read(whole: CorpusPlan, tmp_path: Path) -> None:
    plan = whole
    left, reports = survey_corpora(plan.corpora, plan.clean, ("en", "fr"), tmp_path / "cache")
    expected = [(pair.source, pair.target) for one in left for pair in read_pairs(one)]
    aside = table(plan.folder / "validation.tsv") + table(plan.folder / "test.tsv")
    held = {source for source, _ in aside}
    assert len(held) == 30
    assert sorted(aside) == sorted(pair for pair in expected if pair[0] in held)
    assert shards(plan.folder) == [pair for pair in expected if pair[0] not in held]
    stored = json.loads((plan.folder / "cleaning.json").read_text())
    wanted = [report.to_json() for report in reports]
    for one, other in zip(stored, wanted, strict=True):
        assert (one["read"], one["kept"]) == (other["read"], other["kept"])
        assert one["filters"] == other["filters"]
    filters = stored[1]["filters"]
    assert {name for name, each in filters.items() if each["pairs"]} == {
        *("markup", "duplicates", "near_duplicates"),
    }
    assert sorted(path.name for path in plan.work.iterdir()) == ["plan.json", "tokenizer.model"]
    assert not begin(plan)  # nothing is left to do


def test_the_number_of_tasks_does_not_matter(recipe: Path, whole: CorpusPlan) -> None:
    many = planned(recipe, "many", tasks=5)
    run(many)
    files = sorted(whole.folder.glob("shard-*"))
    assert files
    for file in (*files, whole.folder / "cleaning.json"):
        assert file.read_bytes() == (many.folder / file.relative_to(whole.folder)).read_bytes()


def test_a_folder_of_something_else_is_refused(recipe: Path) -> None:
    plan = planned(recipe, "out")
    plan.folder.mkdir()
    (plan.folder / "thesis.tex").write_text("x")
    with pytest.raises(ConfigError, match="not an empty folder, nor one in which") as caught:
        begin(plan)
    assert "got:      thesis.tex" in str(caught.value)


def test_markers_of_another_recipe_or_number_of_tasks_are_refused(recipe: Path) -> None:
    assert begin(planned(recipe, "out"))
    assert begin(planned(recipe, "out"))  # the same goes on
    with pytest.raises(ConfigError, match="another number of tasks") as caught:
        begin(planned(recipe, "out", tasks=3))
    assert "do:       continue with --tasks 2" in str(caught.value)
    other = plan_of(recipe, ["data.clean.length=50"], recipe.parent / "out", 2, 300)
    with pytest.raises(ConfigError, match="begun from another recipe") as caught:
        begin(other)
    assert "got:      a difference in data" in str(caught.value)
    (recipe.parent / "a.tsv").write_text("new\tneuf\n")
    with pytest.raises(ConfigError, match="a difference in files"):
        begin(planned(recipe, "out"))
    (recipe.parent / "out" / "work" / "plan.json").write_text("{")
    with pytest.raises(ConfigError, match="the plan of this folder is damaged"):
        begin(planned(recipe, "out"))
    (recipe.parent / "a.tsv").unlink()
    with pytest.raises(DataError, match="there is no such file"):
        begin(planned(recipe, "new"))


def test_only_pairs_are_prepared(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('name = "r"\n[model]\nkind = "causal-lm"\n[[data.train]]\nfile = "a.txt"\n')
    with pytest.raises(ConfigError, match="only corpora of pairs are prepared"):
        plan_of(file, (), tmp_path / "out", 2, 300)


def test_a_corpus_of_which_nothing_is_left(recipe: Path) -> None:
    (recipe.parent / "a.tsv").write_text("same\tsame\nothers\tothers\n")
    (recipe.parent / "b.tsv").write_text("one\tone\nthe <b>cat</b>\tle chat\n")
    plan = planned(recipe, "out")
    with pytest.raises(DataError, match=r"data\.clean leaves no pair"):
        run(plan)


def test_a_killed_command_goes_on_to_the_same_shards(recipe: Path, whole: CorpusPlan) -> None:
    pytest.importorskip("datatrove")
    killed = planned(recipe, "killed")
    command = [
        sys.executable,
        "-m",
        "jumok",
        "prepare",
        str(recipe),
        "--output",
        str(killed.folder),
    ]
    command += ["--tasks", "2", "--at-once", "2", "--shard-pairs", "300"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    marker = killed.work / "logs" / "judge" / "completions"
    deadline = time.monotonic() + 120
    while not marker.is_dir() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    assert marker.is_dir()
    assert not (killed.folder / MANIFEST).exists()
    begun = {path: path.stat().st_mtime_ns for path in killed.work.glob("logs/*/completions/*")}
    again = subprocess.run(
        command, env=environment, timeout=180, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert begun
    assert {path: path.stat().st_mtime_ns for path in begun} == begun  # what had ended stays
    assert shards(killed.folder) == shards(whole.folder)
    assert "pairs read" in again.stdout
