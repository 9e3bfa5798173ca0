"""The examples of docs/research.md are run, in order, as they stand there; in Korean they are the
same."""

import re
import shlex
import weakref
from itertools import islice
from pathlib import Path

import pytest

import jumok
from jumok.cli.main import app
from smallworld.corpus import pairs
from tests.inspection.pages import inside
from tests.systems.test_ordinary_module import transformer
from tests.tracing.huggingface import gpt2

DOCS = Path(__file__).parents[2] / "docs"


def blocks(name: str, language: str) -> list[str]:
    text = (DOCS / name).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def code(name: str) -> list[str]:
    """Without comments, which are in the page's own language."""
    lines = "".join(blocks(name, "python") + blocks(name, "bash")).splitlines()
    return [line.partition("#")[0].rstrip() for line in lines]


def test_both_languages_show_the_same_code():
    assert code("research.md") == code("research.ko.md")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A translator of 2 decoder layers, a GPT-2, and a corpus of the small world."""
    monkeypatch.chdir(tmp_path)
    transformer(tmp_path / "runs" / "first" / "model")
    model, tokenizer = gpt2()
    model.save_pretrained("gpt2")
    tokenizer.save_pretrained("gpt2")
    (tmp_path / "corpus").mkdir()
    for part in ("train", "test"):
        found = list(islice(pairs(part), 40))
        for side, texts in (("en", [p.source for p in found]), ("ko", [p.target for p in found])):
            lines = "".join(f"{text}\n" for text in texts)
            (tmp_path / "corpus" / f"{part}.{side}").write_text(lines, "utf-8")
    return tmp_path


def test_every_example_runs_and_prints_what_it_says(workplace, capsys):
    names: dict[str, object] = {}
    printed = []
    for block in blocks("research.md", "python"):
        exec(compile(block, "docs/research.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    assert (workplace / "mine.html").stat().st_size > 10_000
    assert "gpt2" in inside((workplace / "gpt2.html").read_text("utf-8"))
    table = next(each for each in printed if "layer  head" in each)
    assert len(table.splitlines()) == 1 + 2 * 3 + 1  # two layers of three heads
    (fit,) = [each for each in printed if each.startswith("R squared")]
    assert 0.3 < float(fit.split()[-1]) < 1
    changes = next(each for each in printed if each.startswith("0 ")).splitlines()
    assert len(changes) == 2
    assert all(abs(float(line.split()[1])) > 1e-6 for line in changes)
    assert len(names["entropies"]) >= 40  # a long sentence is read in two segments
    assert len(blocks("research.md", "python")) == len(printed) == 10


def test_traces_that_are_handed_over_are_not_kept(workplace):
    model = jumok.load("runs/first/model", kind=jumok.Translator)
    texts = (workplace / "corpus" / "train.en").read_text("utf-8").splitlines()
    seen: list[weakref.ref[jumok.Trace]] = []
    alive: list[int] = []

    def each(trace: jumok.Trace) -> None:
        seen.append(weakref.ref(trace))
        alive.append(sum(other() is not None for other in seen))

    with jumok.record(model, each=each):
        model.translate(texts, beam=1, batch_size=4)
    assert len(seen) >= len(texts) == 40
    assert max(alive) <= 4


def test_the_command_runs(workplace, capsys):
    (command,) = "".join(blocks("research.md", "bash")).splitlines()
    program, *arguments = shlex.split(command)
    assert program == "jumok"
    with pytest.raises(SystemExit) as ended:
        app([*arguments, "--beam", "1", "--threads", "1"])
    assert ended.value.code == 0
    assert "heads ablated: cross.2.3" in capsys.readouterr().out
