"""`jumok generate` and `jumok evaluate` of a language model, in this process."""

import json
import math
import re
import subprocess
import sys

import pytest

from jumok.cli.way_in import use_of
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError, DataError
from tests.cli.calls import call, imported
from tests.systems.lm import write_lm


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return write_lm(tmp_path_factory.mktemp("lm") / "letters", documents="line")


def test_generate_goes_on_from_the_prompt(bundle):
    out = call("generate", bundle, "ROM", "--max-tokens", 5, "--threads", 1)
    assert out.exit_code == 0
    assert out.stdout.startswith("ROM")
    assert out.stdout.endswith("\n")
    assert len(out.stdout) > 4
    assert out.stderr == ""


def test_generate_without_a_prompt_begins_a_text(bundle, tmp_path):
    call("generate", bundle, "--max-tokens", 3, "--output", tmp_path / "out")
    assert (tmp_path / "out").read_text("utf-8")


def test_generate_reads_a_prompt_from_standard_input_and_says_what_it_forgets(bundle):
    out = call("generate", bundle, "-", "--greedy", "--max-tokens", 1, given="나는 학생이다.\n")
    assert out.stdout.startswith("나는 학생이다.")
    assert "the prompt has 20 tokens and the context of the model 8" in out.stderr


def test_generate_refuses_a_prompt_that_is_no_text(bundle):
    error = call("generate", bundle, "-", given=b"a\xff").exception
    assert isinstance(error, DataError)
    assert "standard input, line 1, byte 1: the text is not valid UTF-8." in str(error)
    error = call("generate", bundle, "a\udcff").exception  # how Python shows such an argument
    assert isinstance(error, ConfigError)
    assert "the prompt is not valid UTF-8." in str(error)
    assert r"'a\udcff'" in str(error)


def test_generate_need_not_repeat_itself(bundle):
    greedy = ["--greedy", "--max-tokens", 30]
    free, once = (
        call("generate", bundle, "a", *greedy, *more).stdout
        for more in ([], ["--no-repeat-ngram", 1])
    )
    whole = once.rstrip("\n").replace("\N{REPLACEMENT CHARACTER}", "")  # of bytes
    assert len(set(whole)) == len(whole)
    assert len(set(free)) < 10


def test_generate_draws_samples_that_differ(bundle):
    one = ["--max-tokens", 5, "--temperature", 2.0, "--seed", 7]
    three = call("generate", bundle, "a", *one, "--samples", 3).stdout
    texts = three.split(f"{'-' * 20}\n")
    assert len(texts) == 3
    assert len(set(texts)) == 3
    assert call("generate", bundle, "a", *one).stdout == texts[0]


def test_a_penalty_keeps_from_repeating(bundle):
    def letters(*more):
        out = call("generate", bundle, "a", "--greedy", "--max-tokens", 30, *more)
        return len(set(out.stdout.replace("\N{REPLACEMENT CHARACTER}", "")))

    assert letters("--frequency-penalty", 2, "--presence-penalty", 2) > letters()


def test_a_text_ends_before_what_stops_it(bundle):
    def written(*more):
        done = call("generate", bundle, "a", "--max-tokens", 40, "--threads", 1, *more)
        assert done.exit_code == 0, done.output
        return done.stdout[1:-1]

    whole = written("--greedy")
    stop = whole[7:9]
    before = whole[: whole.index(stop)]
    assert written("--greedy", "--stop", "no such text", "--stop", stop) == before
    assert written("--beam", 2, "--stop", "\n") == written("--beam", 2).partition("\n")[0]
    assert "No such option: --stop" in call("translate", bundle, "--stop", "x").output


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    "how",
    [
        ("--temperature", "0.8", "--top-p", "0.9", "--min-p", "0.05"),
        ("--greedy", "--json"),
        ("--beam", "3"),
    ],
    ids=" ".join,
)
def test_generate_imports_no_torch_on_the_engine(bundle, how):
    arguments = [bundle, "ROMEO:", "--max-tokens", 9, "--threads", 1, *how]
    lines, heavy = imported({"torch", "jaxtyping"}, "generate", *arguments)
    assert heavy == set()
    assert "ROMEO:" in lines[0]


def test_generate_with_a_beam(bundle):
    out = call("generate", bundle, "a", "--beam", 2, "--max-tokens", 3)
    assert out.stdout.startswith("a")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--greedy", "--top-k", "3"], "these options are for sampling.\n  got:      top_k"),
        (["--beam", "2", "--samples", "2"], "--samples needs sampling, not a search"),
        (["--greedy", "--beam", "2"], "--greedy means beam size 1"),
        (["--temperature", "0"], "emperature"),
        (["--greedy", "--min-p", "0.1"], "neither --greedy nor --beam"),
        (["--beam", "2", "--presence-penalty", "1"], "need greedy decoding or sampling"),
    ],
)
def test_generate_refuses_what_does_not_fit_together(bundle, arguments, text):
    error = call("generate", bundle, "a", *arguments).exception
    assert isinstance(error, ConfigError)
    assert text in str(error)


def test_generate_is_not_for_translators_nor_translate_for_language_models(tiny_bundle, bundle):
    error = call("generate", tiny_bundle, "a").exception
    assert isinstance(error, BundleError)
    assert "jumok translate" in str(error)
    error = call("translate", bundle, given="a\n").exception
    assert isinstance(error, BundleError)
    assert "jumok generate" in str(error)


def test_evaluate_gives_loss_perplexity_and_bits(bundle, tmp_path):
    (tmp_path / "text").write_text("abc\n\nde\n")
    out = call("evaluate", bundle, "--data", tmp_path / "text", "--json")
    judged = json.loads(out.stdout)
    loss, perplexity, bits = (score["value"] for score in judged["scores"])
    assert judged["examples"] == "2 documents"
    assert "text, 7 tokens" in judged["scores"][0]["on"]  # two ENDs
    assert perplexity == pytest.approx(math.exp(loss))
    assert bits == pytest.approx(loss * 7 / 5 / math.log(2))
    shown = call("evaluate", bundle, "--data", tmp_path / "text").stdout  # 80 columns wide
    for name, value in (("loss", loss), ("perplexity", perplexity), ("bits per byte", bits)):
        assert re.search(rf"{name} +{value:.2f} ", shown), shown


def test_evaluate_reads_a_column(bundle, tmp_path):
    (tmp_path / "t.tsv").write_text("1\tabc\n2\tde\n")
    (tmp_path / "t").write_text("abc\nde\n")
    column, plain = (
        json.loads(call("evaluate", bundle, "--data", tmp_path / name, *more, "--json").stdout)
        for name, more in (("t.tsv", ["--columns", "1"]), ("t", []))
    )
    assert column["scores"][0]["value"] == plain["scores"][0]["value"]


def test_evaluate_needs_the_text_and_nothing_else(bundle, tmp_path):
    error = call("evaluate", bundle).exception
    assert isinstance(error, ConfigError)
    assert "--data FILE" in str(error)
    error = call("evaluate", bundle, "--data", tmp_path / "none").exception
    assert isinstance(error, DataError)


def test_a_trained_model_is_tried_out_with_its_own_verb(tiny_bundle, bundle):
    assert use_of(bundle, "MODEL") == 'jumok generate MODEL "..."'
    assert use_of(tiny_bundle, "MODEL") == 'echo "..." | jumok translate MODEL'


def test_generate_in_json_is_what_generate_writes(bundle):
    asked = ["ROM", "--max-tokens", 5, "--samples", 2, "--seed", 7, "--threads", 1]
    plain = call("generate", bundle, *asked).stdout.removesuffix("\n").split(f"\n{'-' * 20}\n")
    objects = [
        json.loads(line) for line in call("generate", bundle, *asked, "--json").stdout.splitlines()
    ]
    assert [each["prompt"] + each["text"] for each in objects] == plain
    assert [each["seed"] for each in objects] == [7, 8]


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    "how",
    [
        ("--seed", 3),
        ("--seed", 4, "--temperature", 0.7, "--top-k", 40),
        ("--seed", 5, "--top-p", 0.8, "--samples", 3),
        ("--greedy", "--no-repeat-ngram", 2),
        ("--seed", 6, "--min-p", 0.1, "--temperature", 1.5),
        ("--seed", 7, "--frequency-penalty", 1.2, "--presence-penalty", 0.4),
        ("--greedy", "--frequency-penalty", 0.5),
    ],
)
def test_generate_writes_the_same_text_on_both_engines(bundle, how):
    """Forty bytes in a context of eight: the window moves many times."""
    native, torch = (
        call("generate", bundle, "ROM", "--max-tokens", 40, "--json", "--engine", engine, *how)
        for engine in ("native", "torch")
    )
    assert native.exit_code == torch.exit_code == 0
    assert native.stdout == torch.stdout
    assert len(json.loads(native.stdout.splitlines()[0])["text"]) > 20


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_generate_writes_in_fewer_bits(bundle, precision):
    more = "--precision", precision, "--engine", "native"
    out = call("generate", bundle, "ROM", "--max-tokens", 9, "--seed", 1, *more)
    assert out.exit_code == 0
    assert out.stdout.startswith("ROM")
    assert call("generate", bundle, "ROM", "--max-tokens", 9, "--seed", 1, *more).stdout == (
        out.stdout
    )


def test_generate_searches_with_a_beam_on_either_engine(bundle):
    asked = "generate", bundle, "ROM", "--beam", 3, "--max-tokens", 9
    expected = call(*asked, "--engine", "torch").stdout
    assert expected.startswith("ROM")
    assert call(*asked, "--engine", "native").stdout == expected
    assert call(*asked, "--precision", "int8").stdout.startswith("ROM")
    error = call("generate", bundle, "--precision", "int8", "--engine", "torch").exception
    assert "int8 needs the native engine." in str(error)


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_generate_prints_while_it_writes(bundle):
    """The real command: its first words arrive while it is still at work."""
    arguments = ["ROM", "--engine", "native", "--samples", "900000", "--max-tokens", "50"]
    command = [sys.executable, "-m", "jumok", "generate", str(bundle), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.read(4)[:3] == b"ROM"
            assert process.poll() is None
        finally:
            process.kill()
