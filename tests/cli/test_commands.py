"""The commands, in this process: what they print and what they refuse."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu

from jumok.bundle.card import BundleConfig
from jumok.cli.verbs.info import alignment_words
from jumok.errors import BundleError, ConfigError, DataError
from tests.cli.calls import call, fault

FAST = ["--beam", "2", "--maximum-length", "5", "--threads", "1"]


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    source.write_text("I am a student.\n\nthe cat\n", encoding="utf-8")
    target.write_text("나는 학생입니다.\n\n고양이\n", encoding="utf-8")
    return source, target


def test_translate_gives_a_line_for_a_line(tiny_bundle: Path) -> None:
    awful = "the cat\n\n \t \n\x00\u2028\r\n🙂\nno end".encode()
    out = call("translate", tiny_bundle, *FAST, given=awful).stdout
    lines = out.split("\n")
    assert len(lines) == 7
    assert lines[1] == lines[2] == lines[3] == lines[6] == ""


def test_translate_adds_the_columns_that_were_asked_for(tiny_bundle: Path) -> None:
    arguments = ["--scores", "--alignments", *FAST]
    out = call("translate", tiny_bundle, *arguments, given="the cat\n\n").stdout
    first, empty, end = out.split("\n")
    text, score, alignment = first.split("\t")
    assert float(score) < 0
    assert len(alignment.split()) == len(text.split(" ")) if text else alignment == ""
    assert (empty, end) == ("\t0.0000\t", "")


def test_translate_numbers_the_lines_of_several_translations(tiny_bundle: Path) -> None:
    out = call("translate", tiny_bundle, "--nbest", "2", *FAST, given="the cat\n\nI am\n").stdout
    assert [line.split("\t")[0] for line in out.splitlines()] == ["1", "1", "2", "3", "3"]


def test_no_piece_is_written_twice_where_that_is_asked_for(tiny_bundle: Path) -> None:
    tokens = []
    for more in ((), ("--no-repeat-ngram", "1")):
        out = call("translate", tiny_bundle, "--json", *more, *FAST, given="the cat\n").stdout
        tokens.append(json.loads(out)["tokens"])
    free, once = tokens
    assert len(set(once)) == len(once)
    assert len(set(free)) < len(free)


def test_translate_json_is_an_object_a_line(tiny_bundle: Path) -> None:
    arguments = ["--json", "--nbest", "2", "--alignments", *FAST]
    out = call("translate", tiny_bundle, *arguments, given="the cat\n\n").stdout
    first, empty = map(json.loads, out.splitlines())
    assert first["line"] == 1
    assert first["source_tokens"]
    assert first["log_probability"] == pytest.approx(sum(first["token_log_probabilities"]))
    assert len(first["alternatives"]) == 1
    assert set(first["alternatives"][0]) == set(first) - {"line"}
    assert (empty["line"], empty["text"], empty["alternatives"]) == (2, "", [])


def test_translate_reads_compressed_files_and_writes_whole_ones(tiny_bundle, tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"the cat\nI am\n"))
    out = tmp_path / "out"
    done = call("translate", tiny_bundle, tmp_path / "in.gz", "--output", out, *FAST)
    assert done.stdout == ""
    assert out.read_text(encoding="utf-8").count("\n") == 2
    assert {entry.name for entry in tmp_path.iterdir()} == {"in.gz", "out"}


def test_translate_of_bad_bytes_names_them_and_leaves_no_half_output(tiny_bundle, tmp_path):
    (tmp_path / "in").write_bytes(b"good\nb\xffd\n")
    error = fault("translate", tiny_bundle, tmp_path / "in", "--output", tmp_path / "out", *FAST)
    assert isinstance(error, DataError)
    assert "in, line 2, byte 6: the text is not valid UTF-8." in str(error)
    assert "got:      byte 0xff" in str(error)
    assert {entry.name for entry in tmp_path.iterdir()} == {"in"}


def test_translate_of_an_empty_file_is_empty(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    done = call("translate", tiny_bundle, tmp_path / "in")
    assert (done.exit_code, done.stdout) == (0, "")


def test_translate_into_a_folder_that_is_not_there_says_so(tiny_bundle, tmp_path):
    error = fault("translate", tiny_bundle, "--output", tmp_path / "no" / "out", given="a\n")
    assert "the output cannot be written" in str(error)
    assert "No such file or directory" in str(error)


def test_translate_of_a_missing_file_says_so(tiny_bundle: Path, tmp_path: Path) -> None:
    error = fault("translate", tiny_bundle, tmp_path / "nothing.en")
    assert "nothing.en: there is no such file." in str(error)


def test_translate_with_several_models_is_an_ensemble(tiny_bundle: Path) -> None:
    both = f"{tiny_bundle},{tiny_bundle}"
    one, two = (call("translate", model, *FAST, given="the cat\n") for model in (tiny_bundle, both))
    assert one.stdout == two.stdout
    error = fault("translate", f"{tiny_bundle},", given="a\n")
    assert "a model's name is empty" in str(error)


def test_translate_with_a_missing_model_says_what_to_give(tmp_path: Path) -> None:
    error = fault("translate", tmp_path / "none", given="a\n")
    assert isinstance(error, BundleError)
    assert "there is no such bundle" in str(error)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--temperature", "0.5", "--seed", "2"], "got:      temperature, seed"),
        (["--min-p", "0.1"], "do:       sample (--sample;"),
        (["--top-k", "5"], "these options are for sampling"),
        (["--nbest", "6"], "expected: nbest <= 5"),
        (["--nbest", "6"], "do:       set beam=6 or more"),
        (["--minimum-length", "9", "--maximum-length", "5"], "minimum length is above the maximum"),
        (["--sample", "--top-p", "0"], "expected: 0 < top_p <= 1"),
        (["--sample", "--temperature", "0"], "do:       for the most probable token"),
    ],
)
def test_translate_refuses_options_that_contradict(tiny_bundle, arguments, what):
    error = fault("translate", tiny_bundle, *arguments, given="a\n")
    assert isinstance(error, ConfigError)
    assert what in str(error)


def test_of_samples_with_a_min_p_of_1_only_the_greedy_one_is_left(tiny_bundle: Path) -> None:
    lines, length = "the cat\nI am a student\n", ["--maximum-length", "9", "--no-keep"]
    greedy, sampled = (
        call("translate", tiny_bundle, *how, *length, given=lines).stdout
        for how in (["--beam", "1"], ["--sample", "--min-p", "1", "--seed", "5"])
    )
    assert sampled == greedy
    assert greedy.count("\n") == 2


def test_evaluate_prints_scores_with_intervals_and_signatures(tiny_bundle, texts, tmp_path):
    source, reference = texts
    out = tmp_path / "out.ko"
    arguments = ["--source", source, "--reference", reference, "--output", out, "--beam", "1"]
    done = call("evaluate", tiny_bundle, *arguments, "--threads", "1")
    assert done.exit_code == 0
    assert "95 %" in done.stdout
    assert "BLEU|nrefs:1|bs:1000|seed:12345|" in done.stdout
    assert "tok:ko-mecab-" in done.stdout
    assert "3 sentences, beam 1" in done.stdout
    assert out.read_text(encoding="utf-8").count("\n") == 3


def test_explain_redoes_a_row(tiny_bundle: Path) -> None:
    done = call("explain", tiny_bundle, "the cat sat", "--row", "1", "--target", "개가 짖었다")
    assert done.exit_code == 0, done.output
    assert "row 1: the" in done.stdout
    assert "encoder, layer 1" in done.stdout
    assert "sum of the weights 1.0000" in done.stdout
    assert "no such row" in str(fault("explain", tiny_bundle, "the cat sat", "--row", "zebra"))


def test_coverage_penalty_lowers_what_left_words_unlooked_at(tiny_bundle: Path) -> None:
    def score(penalty: float) -> float:
        arguments = ["--json", "--coverage-penalty", str(penalty), "--maximum-length", "2"]
        done = call("translate", tiny_bundle, *arguments, given="The cat saw a dog.\n")
        return json.loads(done.stdout)["score"]

    assert score(5.0) < score(0.0)


def test_evaluate_json_is_one_object(tiny_bundle: Path, texts: tuple[Path, Path]) -> None:
    source, reference = texts
    arguments = ["-s", source, "-r", reference, "--json", "--lowercase", "--tokenize", "char"]
    facts = json.loads(call("evaluate", tiny_bundle, *arguments, "--beam", "1").stdout)
    assert facts["examples"] == "3 sentences, beam 1"
    assert [score["name"] for score in facts["scores"]] == ["BLEU", "chrF2", "TER"]
    assert "case:lc" in facts["scores"][0]["signature"]
    assert "tok:char" in facts["scores"][0]["signature"]


def test_evaluate_writes_what_translate_does_with_the_same_options(tiny_bundle, texts, tmp_path):
    source, reference = texts
    found = tmp_path / "found"
    for options in ([], ["--length-penalty", "0", "--no-repeat-ngram", "1"]):
        said = call("translate", tiny_bundle, source, *options).stdout
        call("evaluate", tiny_bundle, "-s", source, "-r", reference, "-o", found, *options)
        assert found.read_text("utf-8") == said
    assert said != call("translate", tiny_bundle, source).stdout  # they do change something


def test_evaluate_counts_lines_and_characters_that_are_right(tiny_bundle, texts):
    source, reference = texts
    arguments = ("--source", source, "--reference", reference, "--metrics", "spelling")
    done = call("evaluate", tiny_bundle, *arguments, "--beam", "1", "--json")
    facts = json.loads(done.stdout)
    assert [score["name"] for score in facts["scores"]] == ["accuracy", "character accuracy"]
    assert facts["scores"][0]["value"] == pytest.approx(100 / 3)  # the empty line alone is right


def test_evaluate_scores_each_part_of_a_table(tiny_bundle: Path, tmp_path: Path) -> None:
    table = tmp_path / "test.tsv"
    rows = [
        "a\tThe cat ran.\t고양이가 뛰었다.",
        "b\tA dog slept.\t개가 잤다.",
        "a\tHe ate.\t먹었다.",
    ]
    table.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    arguments = ["--data", table, "--columns", "1,2", "--by", "0", "--json", "--beam", "1"]
    scores = json.loads(call("evaluate", tiny_bundle, *arguments).stdout)["scores"]
    assert [score["on"] for score in scores[::3]] == ["test.tsv", "a: 2", "b: 1"]


def test_evaluate_needs_both_sides(tiny_bundle: Path, texts: tuple[Path, Path]) -> None:
    error = fault("evaluate", tiny_bundle, "-s", texts[0])
    assert "or --data FILE.tmx --from en --to fr" in str(error)


def test_evaluate_refuses_files_of_different_lengths(tiny_bundle, texts):
    source, reference = texts
    source.write_text("one\n", encoding="utf-8")
    error = fault("evaluate", tiny_bundle, "--source", source, "--reference", reference)
    assert isinstance(error, DataError)
    assert "1 lines in" in str(error)
    assert "a.en" in str(error)


def test_evaluate_refuses_an_unknown_tokenizer_before_it_translates(tiny_bundle, texts):
    source, reference = texts
    arguments = ["-s", source, "-r", reference, "--tokenize", "moses"]
    assert "BLEU has no such tokenizer" in str(fault("evaluate", tiny_bundle, *arguments))


def test_score_prints_log_probabilities_and_the_perplexity(tiny_bundle, texts):
    source, target = texts
    done = call("score", tiny_bundle, "--source", source, "--target", target)
    rows = [list(map(float, line.split("\t"))) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    asked = call("score", tiny_bundle, "--source", source, "--target", target, "--json").stdout
    facts = [json.loads(line) for line in asked.splitlines()]
    for (whole, mean), fact in zip(rows, facts, strict=True):
        assert whole == pytest.approx(fact["log_probability"], abs=1e-4)
        assert mean == pytest.approx(whole / (len(fact["tokens"]) + 1), abs=1e-4)
    assert "3 pairs" in done.stderr
    table = source.with_name("pairs.tsv")
    sides = zip(*(file.read_text("utf-8").splitlines() for file in texts), strict=True)
    table.write_text("".join(f"{ours}\t{theirs}\n" for ours, theirs in sides), encoding="utf-8")
    assert call("score", tiny_bundle, "--data", table).stdout == done.stdout
    assert "perplexity" in done.stderr


def test_info_says_where_alignments_are_read() -> None:
    config = BundleConfig("translation", {}, 8, max_tokens=5)
    assert alignment_words(config) == ""
    told = replace(config, alignment_layer=1, alignment_at_input=True)
    assert alignment_words(told) == "from decoder layer 2, at the step that reads the token"
    told = replace(config, alignment_layer=0, alignment_head=3)
    expected = "from decoder layer 1, head 4, at the step that writes the token"
    assert alignment_words(told) == expected


def test_info_says_what_the_model_is(tiny_bundle: Path) -> None:
    out = call("info", tiny_bundle).stdout
    for fact in (
        "tiny (translation, en → ko)",
        "31,604 (F32)",
        "350 subwords",
        "dim 24",
        "12.50",
        "test.en",
    ):
        assert fact in out
    facts = json.loads(call("info", tiny_bundle, "--json").stdout)
    assert facts["sizes"]["parameters"] == 31604
    assert facts["card"]["scores"][0]["high"] == 13.75


def test_evaluate_refuses_a_side_beside_a_table(tiny_bundle, texts):
    error = fault("evaluate", tiny_bundle, "--source", texts[0], "--data", texts[1])
    assert "a text and its translation are needed" in str(error)
    assert "--source FILE --reference FILE" in str(error)
    error = fault("evaluate", tiny_bundle, "-s", texts[0], "-r", texts[1], "--by", "0")
    assert "--by names a column of --data" in str(error)


@pytest.mark.parametrize("verb", ["translate", "evaluate", "score", "align"])
def test_an_output_that_would_replace_an_input_is_refused(tiny_bundle, texts, verb):
    before = texts[0].read_bytes()
    pairs = ["--source", texts[0], "--reference" if verb == "evaluate" else "--target", texts[1]]
    given = [texts[0]] if verb == "translate" else pairs
    error = fault(verb, tiny_bundle, *given, "--output", texts[0])
    assert isinstance(error, ConfigError)
    assert "the output would replace the input" in str(error)
    assert texts[0].read_bytes() == before


def test_lines_of_windows_are_those_of_others(tiny_bundle: Path) -> None:
    outputs = [
        call("translate", tiny_bundle, *FAST, given=given).stdout
        for given in (b"the cat\nI am\n", b"\xef\xbb\xbfthe cat\r\nI am\r\n")
    ]
    assert outputs[0] == outputs[1]


SEVERAL = (
    "the cat sat. a dog saw the cat.",
    "1. the cat sat",
    "the <b>cat</b> saw a dog",
    "12",
    "",
    "the cat saw 25 dogs",
    "(a dog sat)",
)


@pytest.mark.parametrize("how", [[], ["--split", "length", "--no-keep"]], ids=["usual", "alone"])
def test_one_truth_of_scores(tiny_bundle: Path, tmp_path: Path, how: list[str]) -> None:
    """evaluate scores what translate writes, and score its probabilities."""
    source, reference, written = (tmp_path / name for name in ("s.en", "r.ko", "t.ko"))
    source.write_text("".join(f"{line}\n" for line in SEVERAL), "utf-8")
    reference.write_text("고양이가 앉았다.\n" * len(SEVERAL), "utf-8")
    how = [*how, "--threads", "1"]
    limits = ["--maximum-length", "12", *how]
    call("translate", tiny_bundle, source, "-o", written, "--engine", "torch", *limits)
    texts = written.read_text("utf-8").splitlines()
    evaluated = ["evaluate", tiny_bundle, "-s", source, "-r", reference, *limits]
    facts = json.loads(call(*evaluated, "--tokenize", "char", "--json").stdout)
    gold = [reference.read_text("utf-8").splitlines()]
    expected = {
        "BLEU": sacrebleu.corpus_bleu(texts, gold, tokenize="char").score,
        "chrF2": sacrebleu.corpus_chrf(texts, gold).score,
    }
    scores = {each["name"]: each for each in facts["scores"]}
    assert {name: scores[name]["value"] for name in expected} == expected
    setting = "split:length|keep:no" if "--no-keep" in how else "split:auto|keep:yes"
    assert all(each["signature"].endswith(f"|{setting}") for each in facts["scores"])
    assert any(
        line.startswith("6 of 7 lines are cut by jumok translate") for line in facts["details"]
    )

    translations = call("translate", tiny_bundle, source, "--json", "--engine", "torch", *limits)
    known = [json.loads(line) for line in translations.stdout.splitlines()]
    done = call("score", tiny_bundle, "-s", source, "-t", written, "--json", *how)
    scored = [json.loads(line) for line in done.stdout.splitlines()]
    same = 0
    for one, other in zip(known, scored, strict=True):
        ended = len(one["token_log_probabilities"]) == len(other["token_log_probabilities"])
        if list(one["tokens"]) == other["tokens"] and ended:
            assert other["log_probability"] == pytest.approx(one["log_probability"], abs=1e-4)
            same += 1
    assert same >= 3
