"""A file named .csv is CSV with a header, whatever verb writes it; other formats are refused."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from jumok.cli.output.cells import as_csv, as_table, form_of
from jumok.errors import ConfigError
from tests.cli.calls import call
from tests.data.painted import paint
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked

SOURCES = ["the cat sat", 'a "quoted", dog', "나는 학생입니다."]
FAST = ["--device", "cpu", "--threads", "1"]


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, strict=True))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    for file in (source, target):
        file.write_text("".join(f"{line}\n" for line in SOURCES), "utf-8")
    return source, target


@pytest.mark.parametrize("cell", ['say "hi", you', "two\nlines", "", " 가 ", "a\tb", "=1+1"])
def test_cells_come_back_as_they_went(cell: str) -> None:
    assert list(csv.reader(io.StringIO(as_csv((cell, 1, None)), newline=""))) == [[cell, "1", ""]]
    table = as_table([{"one": cell, "two": 2}], "\t")
    assert next(csv.DictReader(io.StringIO(table, newline=""), delimiter="\t"))["one"] == cell


@pytest.mark.parametrize(
    ("name", "as_json", "form"),
    [
        (None, False, "plain"),
        (None, True, "json"),
        ("a.csv", False, "csv"),
        ("A.CSV", False, "csv"),
        ("a.tsv", False, "plain"),
        ("a.ko", False, "plain"),
        ("test.out", False, "plain"),
        ("noname", True, "json"),
        ("a.jsonl", True, "json"),
    ],
)
def test_the_name_and_json_choose_the_form(name: str | None, as_json: bool, form: str) -> None:
    assert form_of(name and Path(name), as_json) == form


@pytest.mark.parametrize(
    ("name", "as_json", "said"),
    [
        ("a.xlsx", False, "this command does not write files that end in .xlsx."),
        ("a.parquet", True, "this command does not write files that end in .parquet."),
        ("a.npy", False, "this command does not write files that end in .npy."),
        ("a.csv.gz", False, "this command does not write files that end in .gz."),
        ("a.csv", True, "--json does not write files that end in .csv."),
        ("a.tsv", True, "--json does not write files that end in .tsv."),
        ("a.json", False, "a file that ends in .json is written with --json."),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_by_name(name, as_json, said):
    with pytest.raises(ConfigError) as caught:
        form_of(Path(name), as_json)
    assert said in str(caught.value)
    assert f"--output {name}" in str(caught.value)


def test_translations_with_scores_and_alignments(tmp_path, tiny_bundle, files):
    more = ["--beam", "2", "--nbest", "2", "--scores", "--alignments", "--maximum-length", "5"]
    out = tmp_path / "out.csv"
    done = call("translate", tiny_bundle, files[0], "--output", out, *more, *FAST)
    assert done.exit_code == 0, done.output
    found = rows(out)
    assert list(found[0]) == ["line", "translation", "score", "alignment"]
    plain = call("translate", tiny_bundle, files[0], *more, *FAST).stdout.splitlines()
    assert len(found) == len(plain)
    for row, line in zip(found, plain, strict=True):
        number, text, score, links = line.split("\t")
        assert (row["line"], row["translation"], row["alignment"]) == (number, text, links)
        assert f"{float(row['score']):.4f}" == score


def test_a_resumed_csv_has_one_header(tmp_path, tiny_bundle, files):
    """The first 3 lines are those of an interrupted command, whose record is written by hand."""
    from jumok.cli.output import resuming

    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    command = ["translate", tiny_bundle, files[0], "--beam", "1", "--maximum-length", "5", *FAST]
    assert call(*command, "--output", whole).exit_code == 0
    kept: list[resuming.Done] = []
    settle = resuming.Steps.settle

    def interrupted(steps: resuming.Steps, lines: list[str]) -> None:
        settle(steps, lines)
        kept.append(steps.done)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resuming.Steps, "settle", interrupted)
        assert call(*command, "--output", out).exit_code == 130
    assert kept[0].lines == 3
    assert call(*command, "--output", out, "--resume").exit_code == 0
    assert out.read_bytes() == whole.read_bytes()


def test_scores_and_links(tmp_path: Path, tiny_bundle: Path, files: tuple[Path, Path]) -> None:
    pair = ["--source", files[0], "--target", files[1], *FAST]
    scores, links = tmp_path / "s.csv", tmp_path / "l.csv"
    assert call("score", tiny_bundle, *pair, "--output", scores).exit_code == 0
    told = call("score", tiny_bundle, *pair, "--json").stdout.splitlines()
    facts = [json.loads(line) for line in told]
    for row, fact in zip(rows(scores), facts, strict=True):
        assert int(row["line"]) == fact["line"]
        assert float(row["log_probability"]) == fact["log_probability"]
        mean = fact["log_probability"] / len(fact["token_log_probabilities"])
        assert float(row["per_token"]) == pytest.approx(mean)
    assert call("align", tiny_bundle, *pair, "--output", links).exit_code == 0
    plain = call("align", tiny_bundle, *pair).stdout.splitlines()
    assert [row["alignment"] for row in rows(links)] == plain
    assert [row["line"] for row in rows(links)] == ["1", "2", "3"]


def test_outputs_of_an_evaluation(tmp_path, tiny_bundle, files):
    out, plain = tmp_path / "o.csv", tmp_path / "o.ko"
    for file in (out, plain):
        done = call(
            *("evaluate", tiny_bundle, "--source", files[0], "--reference", files[1]),
            *("--beam", "1", "--output", file, *FAST),
        )
        assert done.exit_code == 0, done.output
    assert [row["output"] for row in rows(out)] == plain.read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", ["v.csv", "V.CSV"])
def test_vectors(tmp_path: Path, tiny_bundle: Path, files: tuple[Path, Path], name: str) -> None:
    out = tmp_path / name
    done = call("embed", tiny_bundle, files[0], "--output", out, *FAST)
    assert done.exit_code == 0, done.output
    facts = map(json.loads, call("embed", tiny_bundle, files[0], *FAST).stdout.splitlines())
    for row, fact in zip(rows(out), facts, strict=True):
        text, *vector = row.values()
        assert (text, list(map(float, vector))) == (fact["text"], fact["vector"])
    words = call("embed", tiny_bundle, files[0], "--words", "--output", out, *FAST)
    assert "--words with --output NAME.csv" in str(words.exception)


def test_the_loss_and_bits_of_each_document(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("abc\nde\n")
    model, out = write_lm(tmp_path / "lm", "line"), tmp_path / "o.csv"
    done = call("evaluate", model, "--data", tmp_path / "t.txt", "--output", out, *FAST)
    assert done.exit_code == 0, done.output
    first, second = rows(out)
    assert list(first) == ["example", "loss", "bits_per_byte"]
    # 3 letters and END in nats, as bits of 3 bytes
    bits = 4 * float(first["loss"]) / math.log(2) / 3
    assert float(first["bits_per_byte"]) == pytest.approx(bits, abs=1e-5)
    assert second["example"] == "2"


@pytest.mark.parametrize("verb", ["translate", "embed"])
def test_a_verb_refuses_a_spreadsheet_and_writes_nothing(tmp_path, tiny_bundle, files, verb):
    done = call(verb, tiny_bundle, files[0], "--output", tmp_path / "a.xlsx", *FAST)
    assert "this command does not write files that end in .xlsx." in str(done.exception)
    assert not (tmp_path / "a.xlsx").exists()


def test_generated_text_is_no_table(tmp_path: Path) -> None:
    model = write_lm(tmp_path / "lm")
    done = call("generate", model, "a", "--output", tmp_path / "a.csv", *FAST)
    assert "this command does not write files that end in .csv." in str(done.exception)
    assert "expected: .txt, .json" in str(done.exception)


def test_labels_and_probabilities(tmp_path: Path) -> None:
    """A picture that cannot be read is a row of empty cells, as long as the others."""
    model, painted = write_classifier(tmp_path / "model"), paint(tmp_path / "painted", 1)
    pictures = sorted(painted.rglob("*.png"))
    (tmp_path / "broken.png").write_bytes(b"no picture")
    out = tmp_path / "o.csv"
    done = call(
        *("classify", model, *pictures, tmp_path / "broken.png"),
        *("--top", 9, "--output", out, *FAST),
    )
    assert done.exit_code != 0
    *found, broken = rows(out)
    names = [f"{name}{place}" for place in ("", " 2", " 3") for name in ("label", "probability")]
    assert list(found[0]) == ["item", *names]
    assert [row["item"] for row in found] == list(map(str, pictures))
    for row in found:
        three = [float(row[f"probability{place}"]) for place in ("", " 2", " 3")]
        assert sum(three) == pytest.approx(1, abs=1e-6)
        assert three == sorted(three, reverse=True)
    assert [*broken.values()] == [str(tmp_path / "broken.png"), *[""] * 6]


def test_captions_with_scores(tmp_path: Path) -> None:
    model, images = write_captioner(tmp_path / "model"), write_pictures(tmp_path / "images")
    out, more = tmp_path / "o.csv", ["--beam", 2, "--nbest", 2, "--scores", *FAST]
    assert call("caption", model, *images, *more, "--output", out).exit_code == 0
    plain = call("caption", model, *images, *more).stdout.splitlines()
    for row, line in zip(rows(out), plain, strict=True):
        file, text, score = line.split("\t")
        assert (row["file"], row["caption"]) == (file, text)
        assert f"{float(row['score']):.4f}" == score


def test_candidates_of_gaps(tmp_path: Path) -> None:
    model, lines, out = write_masked(tmp_path / "fill"), tmp_path / "in.txt", tmp_path / "o.csv"
    lines.write_text("the ___ sat on ___\nno gap\n")
    done = call("fill", model, lines, "--top", 2, "--output", out, *FAST)
    assert done.exit_code == 0, done.output
    found = rows(out)
    assert [(row["line"], row["gap"]) for row in found] == [
        *[("1", "1")] * 2,
        *[("1", "2")] * 2,
        ("2", ""),
    ]
    assert found[-1]["text"] == "no gap"
    fact = json.loads(
        call("fill", model, lines, "--top", 2, "--json", *FAST).stdout.splitlines()[0]
    )
    flat = [(each["text"], each["probability"]) for gap in fact["gaps"] for each in gap]
    assert [(row["candidate"], float(row["probability"])) for row in found[:4]] == flat
