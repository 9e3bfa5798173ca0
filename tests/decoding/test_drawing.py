"""The random numbers of sampling, against the algorithm of the paper in plain integers."""

import subprocess
import sys

import pytest

from jumok.decoding.sampling import Draws

WORD = 2**64 - 1
MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
BUMPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B


def philox(counter: int, key: tuple[int, int]) -> list[int]:
    """Philox-4x64 with ten rounds (Salmon et al. 2011, section 3.3 and table 2)."""
    words = [counter >> 64 * place & WORD for place in range(4)]
    first, second = key
    for _ in range(10):
        low, high = (
            multiplier * word for multiplier, word in zip(MULTIPLIERS, words[::2], strict=True)
        )
        words = [
            (high >> 64) ^ words[1] ^ first,
            high & WORD,
            (low >> 64) ^ words[3] ^ second,
            low & WORD,
        ]
        first, second = (first + BUMPS[0]) & WORD, (second + BUMPS[1]) & WORD
    return words


def test_the_paper_s_numbers_for_the_counter_and_the_key_0() -> None:
    """Random123, kat_vectors: philox4x64, 10 rounds."""
    assert philox(0, (0, 0)) == [
        0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B,
    ]  # fmt: skip


@pytest.mark.parametrize(("seed", "place"), [(0, 0), (7, 0), (2**63 - 1, 5), (-1, 2)])
def test_the_numbers_are_those_of_the_seed_the_place_and_the_token(seed: int, place: int) -> None:
    draws = Draws(seed, place)
    expected = [
        (word >> 11) / 2**53
        for counter in range(1, 6)
        for word in philox(counter, (seed % 2**64, place))
    ]
    assert [draws.next() for _ in expected] == expected
    assert all(0 <= each < 1 for each in expected)


@pytest.mark.process
def test_drawing_imports_no_torch() -> None:
    code = (
        "import sys; from jumok.decoding import DecodingOptions as O;"
        "O(sample=True, temperature=0.5, top_k=3, top_p=0.9, min_p=0.1, frequency_penalty=1.0);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
