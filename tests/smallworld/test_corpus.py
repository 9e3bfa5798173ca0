"""What holds for every pair and for every stream."""

import subprocess
import sys
import unicodedata
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smallworld
from jumok.errors import ConfigError


@settings(max_examples=12, deadline=None)
@given(
    split=st.sampled_from(smallworld.SPLITS),
    seed=st.integers(0, 10**9),
    shortest=st.integers(3, 30),
    more=st.integers(4, 30),
)
def test_every_pair_is_clean_of_the_length_asked_for_and_wholly_aligned(
    split: str, seed: int, shortest: int, more: int
) -> None:
    longest = shortest + more
    for pair in islice(smallworld.pairs(split, seed, shortest, longest), 3):
        source, target = pair.source.split(" "), pair.target.split(" ")
        assert shortest <= len(source) <= longest
        assert "" not in source + target  # no double space
        assert {i for i, _ in pair.alignment} == set(range(len(source)))
        assert {j for _, j in pair.alignment} == set(range(len(target)))
        assert list(pair.alignment) == sorted(set(pair.alignment))
        assert unicodedata.is_normalized("NFC", pair.target)
        assert pair.source.isascii()
        assert pair.source[0].isupper()
        assert pair.source[-1] in ".?"
        assert pair.target[-1] == pair.source[-1]


@pytest.mark.parametrize("share", ["0.25", pytest.param("1", marks=pytest.mark.nightly)])
def test_the_claims_about_many_sentences_hold(share) -> None:
    command = [sys.executable, Path(__file__).with_name("sweep.py"), share]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "all hold\n"


def test_longer_begins_where_the_usual_lengths_end() -> None:
    usual = max(len(pair.source.split()) for pair in islice(smallworld.pairs(), 100))
    beyond = min(len(pair.source.split()) for pair in islice(smallworld.pairs("longer"), 5))
    assert usual <= 16 < 17 <= beyond


def test_a_stream_is_a_function_of_its_arguments() -> None:
    first = list(islice(smallworld.pairs("test", 7), 5))
    assert first == list(islice(smallworld.pairs("test", 7), 5))
    assert first != list(islice(smallworld.pairs("test", 8), 5))


def test_a_stream_does_not_depend_on_the_hash_seed_of_python() -> None:
    command = (
        "from itertools import islice; from smallworld import pairs;"
        "print([pair.source for pair in islice(pairs('unseen combination'), 30)])"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", command],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "11")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("['")


def test_smallworld_imports_no_torch() -> None:
    command = "import sys, smallworld; print('torch' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"


def test_distinct_drops_what_came_before() -> None:
    short = list(islice(smallworld.pairs(seed=2, minimum_words=3, maximum_words=3), 90))
    kept = [pair.source for pair in smallworld.distinct(short)]
    assert len(kept) == len(set(kept)) == len({pair.source for pair in short}) <= 90


def test_write_makes_aligned_files(tmp_path: Path) -> None:
    sizes = {"train": 70, "validation": 3, "longer": 5, "unseen combination": 7}
    smallworld.write(tmp_path / "world", sizes, maximum_words=11)
    for split, size in sizes.items():
        name = split.replace(" ", "-")
        lines = [
            (tmp_path / "world" / f"{name}.{kind}").read_text("utf-8").splitlines()
            for kind in ("en", "ko", "align")
        ]
        assert [len(each) for each in lines] == [size] * 3
        for english, korean, links in zip(*lines, strict=True):
            pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
            assert max(i for i, _ in pairs) == len(english.split()) - 1
            assert max(j for _, j in pairs) == len(korean.split()) - 1
            assert (len(english.split()) > 11) == (split == "longer")


def test_an_unknown_split_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as error:
        smallworld.pairs("valid")
    assert str(error.value) == (
        "smallworld has no such split.\n"
        "  expected: train, validation, test, longer, unseen combination\n"
        "  got:      valid\n"
        "  do:       choose one of these."
    )


@pytest.mark.parametrize(("shortest", "longest"), [(2, 9), (9, 8), (3, 61)])
def test_impossible_lengths_are_refused(shortest: int, longest: int) -> None:
    with pytest.raises(ConfigError) as error:
        smallworld.pairs("train", 1, shortest, longest)
    assert str(error.value) == (
        "smallworld cannot generate sentences of these lengths.\n"
        "  expected: 3 <= minimum_words <= maximum_words <= 60\n"
        f"  got:      {shortest} and {longest}\n"
        "  do:       choose lengths within these bounds."
    )


def test_no_sentence_is_longer_than_the_longest(tmp_path: Path) -> None:
    smallworld.write(tmp_path, {"train": 2, "longer": 2}, maximum_words=60)
    assert {file.stem for file in tmp_path.iterdir()} == {"train"}
