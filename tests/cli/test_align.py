"""`jumok align`: lines of links, and the table of error rates."""

import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.calls import call, fault

FILES = {
    "a.en": "the cat sat\n\na dog\n" + "the " * 3_000 + "\n",
    "a.ko": "고양이가 앉았고\n나는\n개가\n나는\n",
    "a.gold": "0-0 2p1\n\n1-0\n\n",
}
FAST = ["--threads", "1", "--device", "cpu"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    columns = [text.split("\n")[:3] for text in FILES.values()]
    rows = ["\t".join(row) + "\n" for row in zip(*columns, strict=True)]
    (tmp_path / "a.tsv").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def align(*arguments: str | Path) -> Result:
    return call("align", *arguments, *FAST)


def refused(*arguments: str | Path) -> str:
    return str(fault("align", *arguments, *FAST))


def sides(folder: Path) -> list[str | Path]:
    return ["--source", folder / "a.en", "--target", folder / "a.ko"]


def test_a_line_of_links_for_each_pair(tiny_bundle: Path, folder: Path) -> None:
    result = align(tiny_bundle, *sides(folder))
    first, empty, third, long, end = result.stdout.split("\n")
    assert [link.split("-")[1] for link in sorted(first.split(), key=lambda link: link[-1])] == [
        "0",
        "1",
    ]
    assert (empty, len(third.split()), long, end) == ("", 1, "", "")
    assert f"{folder / 'a.en'}: too long for the model, so without links: line 4" in (result.stderr)


def test_json_is_an_object_a_pair(tiny_bundle: Path, folder: Path) -> None:
    lines = align(tiny_bundle, *sides(folder), "--json").stdout.splitlines()
    assert [json.loads(line)["line"] for line in lines] == [1, 2, 3, 4]
    assert json.loads(lines[1])["alignment"] == []


def test_gold_gives_the_table_and_the_links_go_to_the_file(tiny_bundle: Path, folder: Path) -> None:
    file = folder / "links"
    result = align(tiny_bundle, *sides(folder), "--gold", folder / "a.gold", "--output", file)
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "layer.head"
    assert [line.split()[0] for line in lines[1:13]] == [
        f"{layer}.{head}" for layer in (1, 2, 3) for head in ("all", 1, 2, 3)
    ]
    assert sum("* " in line for line in lines[1:13]) == 1
    assert lines[14].startswith("best: layer ")
    assert "used: layer 2, all heads, at the step that writes the word, by weights" in lines[15]
    assert file.read_text("utf-8").count("\n") == 4


def test_columns_hold_it_all_and_json_tells_every_reading(tiny_bundle: Path, folder: Path) -> None:
    asked = ["--layer", "3", "--head", "2", "--reading", "read", "--norms"]
    result = align(tiny_bundle, "--data", folder / "a.tsv", "--columns", "0,1,2", "--json", *asked)
    found = json.loads(result.stdout)
    rates = [reading["error_rate"] for reading in found["readings"]]
    assert len(rates) == 3 * 4 * 2 * 2
    assert found["best"]["error_rate"] == min(rates)
    used = found["used"]
    assert (used["layer"], used["head"], used["reading"], used["norms"]) == (3, 2, "read", True)


def test_a_reading_that_is_asked_for_is_used(tiny_bundle: Path, folder: Path) -> None:
    plain = align(tiny_bundle, *sides(folder), "--layer", "2", "--reading", "write").stdout
    assert plain == align(tiny_bundle, *sides(folder)).stdout
    assert "no such layer" in refused(tiny_bundle, *sides(folder), "--layer", "4")
    assert "no such head" in refused(tiny_bundle, *sides(folder), "--head", "4")


def test_what_cannot_be_aligned_is_said(tiny_bundle: Path, folder: Path) -> None:
    assert "a text and its translation are needed" in refused(
        tiny_bundle, "--source", folder / "a.en"
    )
    short = folder / "short"
    short.write_text("나는\n", encoding="utf-8")
    assert str(short) in refused(tiny_bundle, "--source", folder / "a.en", "--target", short)
    columns = ["--data", folder / "a.tsv", "--columns"]
    assert "--columns takes two" in refused(tiny_bundle, *columns, "0")
    assert "named twice" in refused(tiny_bundle, *columns, "0,1,2", "--gold", folder / "a.gold")
    both = f"{tiny_bundle},{tiny_bundle}"
    assert "--gold needs a single model" in refused(both, *columns, "0,1,2")
    short.write_text("\n\n\n", encoding="utf-8")
    assert "no links at line 4" in refused(tiny_bundle, *sides(folder), "--gold", short)
