"""Tables, and where they go."""

from benchmarks.report import between_markers, markdown, table

MACHINE = {
    "date": "2026-11-20 11:04 UTC",
    "processor": "AMD EPYC",
    "family": "25/17",
    "cores": 2,
    "memory_gib": 23.5,
    "flags": ["avx2", "avx512_bf16"],
    "float32_gflops": 97,
    "bfloat16_gflops": 211,
    "jumok": "0.1.0",
    "torch": "2.13.0",
    "python": "3.11.7",
}


def test_table_has_a_head_a_rule_and_a_line_a_row() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_between_markers_replaces_only_its_own_part() -> None:
    text = "x <!-- train -->\nold\n<!-- /train --> y <!-- start -->\nkept\n<!-- /start -->"
    replaced = "x <!-- train -->\nnew\n<!-- /train --> y <!-- start -->\nkept\n<!-- /start -->"
    assert between_markers(text, "train", "new\n") == replaced


def test_training_ratio_is_to_the_fastest_jumok() -> None:
    rows = [
        _trained("jumok-bf16", 3000.0),
        _trained("jumok-fp32", 1500.0),
        _trained("eole", 1200.0),
    ]
    ratios = [
        line.split(" | ")[-1].removesuffix(" |")
        for line in markdown("train", {"machine": MACHINE, "rows": rows}).splitlines()[-3:]
    ]
    assert ratios == ["1.00", "2.00", "2.50"]


def test_failed_trainer_is_named_and_has_no_figures() -> None:
    rows = [{"name": "eole", "tool": "Eole 0.6.4", "failed": "ended with code 1"}]
    last = markdown("train", {"machine": MACHINE, "rows": rows}).splitlines()[-1]
    assert last == "| Eole 0.6.4 | failed: ended with code 1 | - | - | - | - | - |"


def test_decoding_has_a_line_a_case_and_a_column_an_engine() -> None:
    rows = [
        {"case": "greedy", "engine": "torch", "tokens_per_cpu_second": 1234.5, "same": 8},
        {"case": "greedy", "engine": "native", "tokens_per_cpu_second": 4321.0, "same": 7},
        {"case": "RNN", "engine": "native", "tokens_per_cpu_second": 99.0},
    ]
    written = markdown("decode", {"machine": MACHINE, "rows": [r | {"sentences": 8} for r in rows]})
    assert "| greedy | 1,234 | 4,321 |\n| RNN |  | 99 |" in written
    same = "same output as torch:\n\n| case | native |\n| --- | --- |\n| greedy | 7 of 8 |"
    assert same in written
    alone = markdown("decode", {"machine": MACHINE, "rows": rows[2:]})
    assert alone.endswith("| RNN | 99 |\n")


def _trained(name: str, rate: float) -> dict[str, object]:
    return {
        "name": name,
        "tool": name,
        "batching": "random",
        "precision": "float32",
        "tokens_per_cpu_second": rate,
        "slowest": rate,
        "fastest": rate,
        "peak_bytes": 2**30,
    }
