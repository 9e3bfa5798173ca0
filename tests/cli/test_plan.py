"""`jumok plan`: what it prints, and what it refuses."""

import json
from functools import partial

import pytest

from jumok.cli.plan_tables import amount, duration
from jumok.cli.verbs.scale.plan import counts_of, shapes
from jumok.errors import ConfigError
from jumok.shipped import recipe_names
from tests.cli.calls import call, fault, imported

BASE = [
    *("multi30k-en-de", "--set", "model.dim=512", "--set", "model.heads=8"),
    *("--set", "model.feedforward=2048", "--set", "model.encoder_layers=6"),
    *("--set", "model.decoder_layers=6", "--set", "tokenizer.size=32000"),
    *("--set", "training.tokens_per_batch=500000", "--length", "25", "--source-length", "25"),
]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("JUMOK_DATA", raising=False)


plan = partial(call, "plan")


def rows(text: str) -> dict[str, list[str]]:
    return {line.split("  ")[0]: line.split() for line in text.splitlines() if line.strip()}


def test_one_number_of_cards_is_shown_in_full():
    done = plan(*BASE, "--gpus", "8", "--price-per-hour", "2")
    assert done.exit_code == 0, done.output
    assert "60.4 M parameters, 365.3 MFLOP a target token" in done.stdout
    found = rows(done.stdout)
    assert found["encoder: feed-forward"][2:] == [*("12,582,912", "25.2", "M", "50.3", "M", "21%")]
    assert found["tokens of all"][-1] == "500,000"
    assert found["tokens of one card"][-1] == "62,500"
    assert found["sent to other nodes"][-2:] == ["0.0", "MB"]
    assert "assumed: 35% of 989.0 TFLOP/s" in done.stdout
    assert "h100: NVIDIA's data sheet (SXM)" in done.stdout


def test_several_numbers_of_cards_are_a_table():
    done = plan(*BASE, "--gpus", "8,256")
    assert done.exit_code == 0, done.output
    found = rows(done.stdout)
    assert found["8"][1] == "62,500"
    assert found["256"][1] == "1,953"
    assert "warning (256): 66% of the time is computing" in done.stdout


def test_json_has_the_same_numbers():
    done = plan(*BASE, "--gpus", "8,256", "--json", "--price-per-hour", "2", "--share", "0.5")
    found = json.loads(done.stdout)
    first, second = found["plans"]
    assert (first["nodes"], second["nodes"]) == (1, 32)
    assert found["assumptions"]["share"] == 0.5
    assert first["cost"] == pytest.approx(first["hours"] * 8 * 2)
    assert first["computing"] == pytest.approx(62_500 * found["model"]["flop"] / (0.5 * 989e12))
    assert {each["rule"] for each in second["warnings"]} == {"waiting", "starting"}
    assert found["model"]["parameters"] == 60_424_192
    assert first["memory_total"] > sum(first["memory"]["state"].values())


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_that_comes_with_jumok_is_planned(name):
    done = plan(name, "--gpus", "2", "--card", "cpu")
    if name == "nsmc-pretrained":
        assert "the sizes of this model are those of a pretrained one" in str(done.exception)
    else:
        assert done.exit_code == 0, done.output


def test_neither_torch_nor_data_is_needed():
    lines, heavy = imported({"torch"}, "plan", "multi30k-en-de", "--gpus", "8,64")
    assert any("warning (64)" in line for line in lines)
    assert heavy == set()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--gpus", "eight"], r"--gpus is not a number of cards\.\n  expected: .*\n  got: .*eight"),
        (["--gpus", "0"], "expected: a number from 1 to 1,048,576"),
        (["--card", "h1000"], "did you mean h100"),
        (["--gpus", "12"], "12 cards, 8 in a node\n  do: .*--gpus-per-node"),
        (["--gpus", "8", "--nodes", "3"], "8 cards in 3 nodes"),
        (["--gpus", "9", "--nodes", "2", "--gpus-per-node", "4"], "expected: --gpus 8"),
        (["--set", "model.dimm=3"], "model.dimm: unknown key; did you mean 'dim'"),
        (["--set", "start.model='x'"], "sizes of a model that is trained further"),
    ],
)
def test_wrong_requests_are_refused(arguments, expected):
    with pytest.raises(ConfigError, match=expected):
        raise fault("plan", "multi30k-en-de", *arguments)


def test_nodes():
    assert shapes([8, 64, 1], None, None, cores=False) == [(1, 8), (8, 8), (1, 1)]
    assert shapes([64], 4, None, cores=False) == [(4, 16)]
    assert shapes([64], None, 4, cores=False) == [(16, 4)]
    assert shapes([64], 16, 4, cores=False) == [(16, 4)]
    assert shapes([96], None, None, cores=True) == [(1, 96)]
    assert counts_of("8, 64") == [8, 64]


def test_units():
    assert amount(365.3e6) == "365.3 M"
    assert amount(12) == "12 "
    assert [duration(each) for each in (2e-5, 0.0082, 3.5, 720, 18_000, 400_000)] == [
        *("20 us", "8.2 ms", "3.5 s", "12.0 min", "5.0 h", "4.6 days")
    ]
