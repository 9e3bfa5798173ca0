"""Files damaged at random, the same way every time; and what a reader may do with them.

Whatever is in a file, its reader gives a result or a JumokError that names the file, in bounded
time. `make test` tries some hundred cases of each kind; `pytest -m slow tests/fuzz` a hundred times
as many, from a seed of the day or JUMOK_FUZZ_SEED.
"""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from jumok.errors import JumokError

LONGEST = 60
"""Seconds of wall time for one case, on a machine that others use, too."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 255, 65_536, 2**31, 2**63, 10**20, -(10**20)),
    *(0.5, -1.5, 1e308, -1e308, float("nan"), float("inf")),
    *("", "x", "0", "-1", "\ud800", "\0", "a" * 300, "../x", "가", "{}", "nan"),
    *([], [[]], [0], [None], ["x", "y"], {}, {"x": 1}, [1, [2, [3, [4]]]]),
)
TOKENS = (
    *(b"", b"\0", b"\xff", b"\xff" * 8, b"\x80", b"\n", b"\r\n", b"\t", b",", b'"', b"'", b"\\"),
    *(b"-1", b"0", b"9" * 20, b"9" * 5_000, b"1e999", b"nan", b"[" * 300, b"{" * 300, b"<", b"]]>"),
    *(b"&lt;", b"&x;", b"<!--", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\x1f\x8b", b"PK"),
    *(b"{", b"}", b"[", b"]", b"=", b".", b"#", b" ", b"a" * 2_000),
)


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to four damages."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        place = random.randrange(len(data) + 1)
        length = min(random.choice((1, 1, 2, 4, 16, 256)), len(data) - place)
        match random.randrange(7):
            case 0 if length:
                data[place] ^= 1 << random.randrange(8)
            case 1:
                del data[place : place + length]
            case 2:
                data[place:place] = random.choice(TOKENS)
            case 3:
                data[place : place + length] = random.choice(TOKENS)
            case 4:
                data[place:place] = data[place : place + length] * random.choice((1, 2, 50))
            case 5:
                del data[place:]
            case _ if length:
                data[place : place + length] = random.randbytes(length)
    return bytes(data)


def changed(value: Any, random: Random) -> Any:
    """Plain JSON with one value of it replaced, left out, doubled, or under another name."""
    places = list(_places(value))
    holder, key = random.choice(places)
    action = random.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        holder["strange"] = holder.pop(key)
    elif action == 2 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = random.choice(VALUES)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(inner):
        yield value, key
        if isinstance(each, dict | list):
            yield from _places(each)


@contextmanager
def in_time() -> Iterator[None]:
    """Ends what hangs."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"not done after {LONGEST} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(name: str, cases: int, case: Callable[[Random], object]) -> dict[str, int]:
    """Tries so many cases; each is of a seed of its own, which a failure names.

    Returns:
        How many gave a result, and how many an error in plain words.
    """
    seed = os.environ.get("JUMOK_FUZZ_SEED", "1")
    counts = {"result": 0, "error": 0}
    failures: dict[str, str] = {}
    for number in range(cases):
        random = Random(f"{name}/{seed}/{number}")
        start = time.process_time()
        try:
            with in_time():
                case(random)
            counts["result"] += 1
        except JumokError as error:
            counts["error"] += bool(str(error))
        except (Exception, MemoryError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__} at {where.filename}:{where.lineno}: {str(error)[:200]}"
            failures.setdefault(said, f"{name}/{seed}/{number}")
        spent = time.process_time() - start
        if spent > LONGEST / 3:
            failures.setdefault(f"{spent:.0f} s of processor time", f"{name}/{seed}/{number}")
    if failures:
        told = "\n".join(f"{seed}: {said}" for said, seed in failures.items())
        pytest.fail(f"{len(failures)} kinds of failure in {cases} cases:\n{told}", pytrace=False)
    print(f"{name}: {cases} cases, {counts['result']} results, {counts['error']} errors")
    return counts


def budgets(short: int) -> pytest.MarkDecorator:
    """Both forms of a test: with so many cases, and with a hundred times as many."""
    return pytest.mark.parametrize(
        "cases", [short, pytest.param(100 * short, marks=pytest.mark.nightly)]
    )
