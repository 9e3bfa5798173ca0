"""Under load: nobody is forgotten, gets another's answer, or can hold the server up.

These are the trials of benchmarks/serving.py, for a second or two. Times depend on the machine, and
are printed there; here is what holds on any machine. All clients are on this machine, and end with
the test.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import serving as trials
from benchmarks.load import Question, closed_loop, statuses
from benchmarks.tagged import compared, tagged_questions
from jumok.serving.http.monitoring import SHARED, SHARED_BYTES
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import ServedProcess, serving

WORDS = 4
"""The most words of a text: nobody trained the model, which writes until it has to stop."""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory and files are counted in /proc"
)


@pytest.fixture(scope="module")
def server(tiny_bundle, tmp_path_factory) -> Iterator[ServedProcess]:
    """A server with places for 64 requests."""
    with serving(
        tmp_path_factory.mktemp("load"), f"m={tiny_bundle}", "--queue-requests", "24"
    ) as server:
        yield server
        assert "Traceback" not in server.errors
        assert '"status": 500' not in server.log


def test_a_load_below_the_capacity_is_answered_without_an_error(server):
    rate = trials.capacity(server.url, 30, together=10, most=WORDS)
    few = 0.3 * rate
    facts = trials.steady(server.url, few, 10 / few, WORDS)
    assert set(facts["statuses"]) == {200}, facts
    assert facts["p99"] < 60_000


@needs_proc
def test_an_overload_is_refused_with_the_time_to_come_back_and_the_rest_is_answered(server):
    rate = trials.capacity(server.url, 30, together=10, most=WORDS)
    facts = trials.overload(server, rate, seconds=1.0, burst=0.5, most=WORDS)
    counted = facts["twice"]["statuses"], facts["tenfold"]["statuses"]
    assert set(counted[0]) <= {200, 429}, facts
    assert set(counted[1]) <= {200, 429}, facts
    assert counted[1][429] > 0, facts
    assert min(counted[0][200], counted[1][200]) > 0, facts  # how many: benchmarks, not tests
    least, longest = facts["retry_after"]
    assert 1 <= least <= longest <= 60
    assert facts["goodput"] > 0, facts
    assert facts["memory"] < 1.5, facts


def test_every_answer_is_that_of_the_offline_command_and_its_client(server, tiny_bundle):
    """Bit for bit: an answer does not depend on what is computed together with it."""
    offline = Translator.load(tiny_bundle, device="cpu")
    found = trials.own_answers(server.url, 40, WORDS, offline)
    same = ("status 200", "same text", "same score", "bitwise the same score")
    assert found == dict.fromkeys(same, 40)


def test_an_answer_to_another_client_is_noticed(server, tiny_bundle):
    offline = Translator.load(tiny_bundle, device="cpu")
    questions = tagged_questions(["the cat.", "a dog and a bird."], random.Random(1), 0)
    replies, _ = trials.loaded(server.url, lambda target: closed_loop(target, questions, 2))
    swapped = compared(questions, replies[::-1], offline)
    assert (swapped["status 200"], swapped["another client's"]) == (2, 2)
    assert swapped["bitwise the same score"] == 0


@needs_proc
def test_a_steady_load_leaves_no_file_open_and_its_memory_is_measured(server):
    facts = trials.soak(server, rate=20.0, seconds=1.6, most=WORDS, parts=8)
    assert set(facts["statuses"]) == {200}, facts
    first, _, last = facts["open_files"]
    assert last <= first + 2, facts
    least, most = facts["memory"][1:3]
    assert 0 < least <= most < 1.5 * least, facts
    assert facts["memory_rise"]["error"] >= 0.0


def test_clients_that_hang_up_free_their_places_and_are_counted(server):
    facts = trials.hung_up(server.url, 100, longest=0.3, most=WORDS)
    assert facts["answered"] + facts["refused"] + facts["hung_up"] == 100, facts
    assert facts["cancelled"] == facts["hung_up"] > 0, facts
    assert facts["queue"] == facts["running"] == facts["faults"] == 0, facts


@needs_proc
def test_clients_that_hang_up_leave_nothing_open(server):
    pid = server.process.pid
    trials.hung_up(server.url, 20, longest=0.1, most=WORDS)
    before = trials.open_files(pid)
    trials.hung_up(server.url, 60, longest=0.1, most=WORDS)
    assert trials.open_files(pid) <= before + 2


def test_health_is_answered_while_the_longest_searches_run(server):
    facts = trials.health_while_searching(server.url, count=2, beam=16, most=WORDS)
    assert set(facts["statuses"]) == {200}, facts
    assert facts["p99"] < 1_000, facts


def test_slow_heads_do_not_hold_up_others(tiny_bundle, tmp_path):
    with serving(tmp_path, f"m={tiny_bundle}", "--max-connections", "20") as server:
        facts = trials.besieged(server.url, 28, seconds=2.0)
        assert set(facts["health"]["statuses"]) == {200}, facts
        assert trials.counted(server.url)["queue"] == 0


def test_nobody_is_lost_at_the_end(tiny_bundle, tmp_path):
    with serving(tmp_path, f"m={tiny_bundle}", "--grace", "0") as server:
        facts = trials.ended(server, 40, WORDS)
        assert facts["statuses"] == {200: 40}, facts
        assert facts["exit_code"] == 0
        assert "Traceback" not in server.errors


@pytest.mark.skipif(os.name == "nt", reason="the system has no SO_REUSEPORT")
def test_several_processes_share_the_address_and_sum_their_metrics(tiny_bundle, tmp_path):
    with serving(
        *(tmp_path, f"m={tiny_bundle}", "--processes", "2", "--grace", "0"),
        variables={"TMPDIR": str(tmp_path)},
    ) as server:
        draw = random.Random(9)
        given = [
            Question("/v1/translate", {"text": trials.sentence(draw, WORDS), "beam": 1})
            for _ in range(24)
        ]
        replies, _ = trials.loaded(server.url, lambda target: closed_loop(target, given, 24))
        assert statuses(replies)[200] + statuses(replies)[503] == 24
        assert trials.counted(server.url)["answered"] == statuses(replies)[200]
        kept = {
            (file.name.rpartition("_")[0], file.stat().st_size)
            for file in tmp_path.glob("jumok-serve-*/metrics/*")
        }
        assert kept == {(name, SHARED_BYTES) for name in SHARED}
        server.process.terminate()
        assert server.process.wait(120) == 0
        assert "Traceback" not in server.errors
