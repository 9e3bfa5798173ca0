"""`--data FILE --from en --to ko`, and files that are not plain text, as a person gives them."""

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from jumok.errors import ConfigError, DataError
from tests.cli.calls import SMALL, call, fault

FAST = ["--threads", "1"]
PAIRS = [
    (f"the cat saw {number} students", f"고양이가 학생 {number}명을 봤다") for number in range(60)
]


def tmx() -> str:
    units = "".join(
        f'<tu><tuv xml:lang="en-US"><seg>{source}</seg></tuv>'
        f'<tuv xml:lang="KO"><seg>{target}</seg></tuv></tu>\n'
        for source, target in PAIRS
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header/><body>{units}</body></tmx>'


def xliff() -> str:
    units = "".join(
        f'<trans-unit id="{number}"><source>{source}</source><target>{target}</target>'
        "</trans-unit>\n"
        for number, (source, target) in enumerate(PAIRS)
    )
    return (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file '
        f'source-language="en-US" target-language="ko" original="a">'
        f"<body>{units}</body></file></xliff>"
    )


def po() -> str:
    units = "".join(f'\nmsgid "{source}"\nmsgstr "{target}"\n' for source, target in PAIRS)
    return f'msgid ""\nmsgstr ""\n"Language: ko\\n"\n{units}'


def write(folder: Path, suffix: str) -> Path:
    """The pairs in a file of this format."""
    file = folder / f"talk.{suffix}"
    if suffix == "parquet":
        columns = {"ko": [t for _, t in PAIRS], "en": [s for s, _ in PAIRS]}
        pyarrow.parquet.write_table(pyarrow.table(columns), file)
        return file
    records = [{"ko": target, "en": source} for source, target in PAIRS]
    text = {
        "tmx": tmx,
        "xlf": xliff,
        "po": po,
        "csv": lambda: "".join(f"{one},{other}\n" for other, one in [("en", "ko"), *PAIRS]),
        "tsv": lambda: "".join(f"{one}\t{other}\n" for other, one in [("en", "ko"), *PAIRS]),
        "jsonl": lambda: "".join(json.dumps(record) + "\n" for record in records),
    }[suffix]()
    file.write_text(text, encoding="utf-8")
    return file


SUFFIXES = ["tmx", "xlf", "po", "csv", "tsv", "jsonl", "parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_file_of_any_format_becomes_a_model(tmp_path, suffix, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("train", "--data", write(tmp_path, suffix), "--from", "en", "--to", "ko", *SMALL)
    assert result.exit_code == 0, result.output
    assert "Made by jumok for 60 pairs" in result.output
    assert 'source_language = "en"\ntarget_language = "ko"' in result.output
    again = call("train", "runs/talk/recipe.toml", "--name", "again", *SMALL)
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_file_of_any_format_is_scored_evaluated_and_aligned(tmp_path, suffix, tiny_bundle):
    file = write(tmp_path, suffix)
    asked = ["--data", file, "--from", "en", "--to", "ko", *FAST]
    scored = call("score", tiny_bundle, *asked)
    assert len(scored.stdout.splitlines()) == 60, scored.output
    assert len(call("align", tiny_bundle, *asked).stdout.splitlines()) == 60
    judged = call("evaluate", tiny_bundle, *asked, "--beam", "1", "--json")
    assert json.loads(judged.stdout)["examples"] == "60 sentences, beam 1"
    # The other way round is another task, and not the same figures.
    back = call("score", tiny_bundle, "--data", file, "--from", "ko", "--to", "en", *FAST)
    assert len(back.stdout.splitlines()) == 60
    assert back.stdout != scored.stdout


def test_a_table_without_a_header_has_columns_and_languages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "talk.tsv"
    file.write_text("".join(f"1\t{one}\t{other}\n" for one, other in PAIRS), encoding="utf-8")
    error = fault("train", "--data", file, "--from", "en", "--to", "ko", *SMALL)
    assert "there is no column 'en'" in str(error)
    assert "--columns 0,1" in str(error)
    named = ["--columns", "1,2", "--from", "en", "--to", "ko"]
    result = call("train", "--data", file, *named, *SMALL)
    assert result.exit_code == 0, result.output
    assert "source_column = 1\ntarget_column = 2" in result.output
    assert 'source_language = "en"' in result.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--data", "a.tmx", "--from", "en"], "--from and --to go together"),
        (["--source", "a", "--target", "b", "--columns", "0,1"], "need --data"),
    ],
)
def test_languages_that_contradict_the_rest_are_refused(more, said, tiny_bundle):
    error = fault("score", tiny_bundle, *more)
    assert isinstance(error, ConfigError)
    assert said in str(error)


@pytest.mark.parametrize("suffix", ["tmx", "xlf", "po"])
def test_markup_is_refused_where_sentences_are_read(tmp_path, suffix, tiny_bundle, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path, suffix)
    for arguments in (
        ["train", "--source", file, "--target", file],
        ["score", tiny_bundle, "--source", file, "--target", file],
        ["align", tiny_bundle, "--source", file, "--target", file],
        ["evaluate", tiny_bundle, "--source", file, "--reference", file],
        ["embed", tiny_bundle, file, "--output", tmp_path / "a.npy"],
    ):
        error = fault(*arguments)
        assert isinstance(error, DataError)
        assert "not plain text" in str(error)
        assert f"--data {file} --from en --to fr" in str(error)
    assert not (tmp_path / "runs").exists()


def test_a_corpus_given_as_a_recipe_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory.tmx").write_text(tmx())
    error = fault("train", tmp_path / "memory.tmx")
    assert "this is a translation memory (TMX), not a recipe" in str(error)
    assert f"--data {tmp_path}/memory.tmx --from en --to fr" in str(error)
    compressed = tmp_path / "memory.tmx.gz"
    compressed.write_bytes(gzip.compress(tmx().encode()))
    assert "this is a translation memory (TMX), not a recipe" in str(fault("train", compressed))


def test_a_file_in_other_languages_says_which(tmp_path: Path, tiny_bundle: Path) -> None:
    asked = ["--from", "en", "--to", "fr"]
    error = fault("score", tiny_bundle, "--data", write(tmp_path, "xlf"), *asked)
    assert "has other languages" in str(error)
    assert "got:      en-US and ko" in str(error)


def test_lines_that_are_no_text_are_left_out_where_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    lines = [text.encode() for text, _ in PAIRS]
    source.write_bytes(b"\n".join([*lines[:20], b"a NUL \0 byte", *lines[21:]]) + b"\n")
    others = [text.encode() for _, text in PAIRS]
    target.write_bytes(b"\n".join([*others[:40], b"latin \xe9", *others[41:]]) + b"\n")
    asked = ["train", "--source", source, "--target", target]
    assert "--skip-damaged of train" in str(fault(*asked))
    result = call(*asked, "--skip-damaged", *SMALL)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "corrected, line that contains a NUL byte made empty: 1 (line 21)" in said
    assert "corrected, line that is not valid UTF-8 made empty: 1 (line 41)" in said
    assert "dropped, one side empty: 2 (lines 21, 41)" in said


def test_a_language_model_is_evaluated_and_not_scored(tmp_path: Path) -> None:
    from tests.systems.lm import write_lm

    error = fault("score", write_lm(tmp_path / "lm"), "--data", tmp_path / "held.txt")
    assert "this model does not translate, so it cannot score pairs" in str(error)
    assert "do:       jumok evaluate " in str(error)
