"""How the peers' own progress lines are read; each line was copied from a run."""

import pytest

from benchmarks.peers import eole, huggingface, joeynmt, jumok

JOEYNMT = (
    "2026-11-20 10:35:58,689 - INFO - joeynmt.training - Epoch   1, Step:        5, "
    "Batch Loss:     7.423665, Batch Acc: 0.060498, Tokens per Sec:      524, Lr: 0.000001"
)
EOLE = (
    "[2026-11-20 10:34:26,467 INFO] Step  4/1000000; acc: 6.5; ppl: 3734.76; xent: 8.23; "
    "aux: 0.000; mtp: 0.000; attn_ent: 0.000; lr: 1.00e-03; sents:     612; bsz: 3594/3780/306; "
    "1696/1784 tok/s;     28 sec;"
)


def test_joeynmt_tokens_are_its_rate_times_the_seconds_since_its_last_line() -> None:
    progress = joeynmt.Progress()
    assert progress("2026-11-20 10:35:34 - INFO - joeynmt.training - EPOCH 1", 100.0) is None
    assert progress(JOEYNMT, 104.0) == 524 * 4.0
    assert progress(JOEYNMT, 107.0) == 524 * 3.0


def test_joeynmt_other_lines_are_no_progress() -> None:
    assert joeynmt.Progress()("Total params: 7578624", 1.0) is None


def test_eole_tokens_are_its_mean_of_target_tokens_times_its_batches() -> None:
    assert eole.read_progress(EOLE, 0.0) == 3780 * eole.REPORT_EVERY


@pytest.mark.parametrize(
    ("line", "tokens"), [("tokens 4079 loss 8.913", 4079.0), ("7,708,672 parameters", None)]
)
def test_huggingface_tokens_are_what_our_loop_prints(line: str, tokens: float | None) -> None:
    assert huggingface.read_progress(line, 0.0) == tokens


def test_jumok_tokens_are_the_growth_of_its_running_total() -> None:
    progress = jumok.Progress()
    assert progress('{"kind": "step", "step": 1, "tokens": 4099}', 0.0) == 4099.0
    assert progress('{"kind": "validation", "step": 1}', 0.0) is None
    assert progress('{"kind": "step", "step": 2, "tokens": 8190}', 0.0) == 4091.0
