"""The table of the runs that train a model further."""

import gzip

from benchmarks import finetuning

GAINS = [
    {"data": "new data", "score": "BLEU", "before": 12.0, "after": 31.5, "on": "200"},
    {"data": "earlier data", "score": "BLEU", "before": 48.0, "after": 44.128, "on": "300"},
]


def fact(mix, after, test):
    gains = [GAINS[0], GAINS[1] | {"after": after}]
    return {"mix": mix, "gains": gains, "best_step": 54, "steps": 60, "minutes": 4.8, "test": test}


def test_a_row_for_the_model_as_it_was_and_one_for_each_share():
    facts = [fact(0.0, 44.128, {"BLEU": 24.0}), fact(0.25, 47.0, {"BLEU": 25.0})]
    assert list(finetuning.table(facts, {"BLEU": 16.0})) == [
        "| mixed in | new data: BLEU | earlier data: BLEU | test: BLEU | steps | minutes |",
        "|---|---|---|---|---|---|",
        "| (before) | 12.00 | 48.00 | 16.00 | | |",
        "| 0% | 31.50 | 44.13 | 24.00 | 54 of 60 | 4.8 |",
        "| 25% | 31.50 | 47.00 | 25.00 | 54 of 60 | 4.8 |",
    ]


def test_the_captions_are_the_first_lines(tmp_path, monkeypatch):
    (tmp_path / "multi30k").mkdir()
    for language in ("en", "fr"):
        with gzip.open(tmp_path / "multi30k" / f"train.{language}.gz", "wt") as file:
            file.writelines(f"{language} {line}\n" for line in range(3_000))
    monkeypatch.setattr(finetuning, "data_folder", lambda: tmp_path)
    files = finetuning._captions(tmp_path, ("en", "fr"))
    assert [file.name for file in files] == ["captions-2000.en", "captions-2000.fr"]
    lines = files[1].read_text().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (2_000, "fr 0", "fr 1999")
