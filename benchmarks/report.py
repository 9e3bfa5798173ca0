"""Results as Markdown: tables for the terminal and for docs/benchmarks.md."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.results import Result, Row, load

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
GIB = 2**30
OURS = "jumok"


def markdown(part: str, result: Result) -> str:
    """The machine on one line, and the part's table."""
    table = {"train": _train, "decode": _decode, "start": _start, "prepare": _prepare}[part]
    return f"{_machine(result['machine'])}\n\n{table(result['rows'])}\n"


def write_document() -> None:
    """Put the tables of all results into docs/benchmarks.md, between the markers of their part.

    "figures", which documents have in their sentences, has no table.
    """
    text = DOCUMENT.read_text()
    for part, result in load().items():
        if part != "figures":
            text = between_markers(text, part, markdown(part, result))
    DOCUMENT.write_text(text)


def between_markers(text: str, part: str, new: str) -> str:
    """`text` with everything between `<!-- PART -->` and `<!-- /PART -->` replaced by `new`."""
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{new}{end}{after}"


def _machine(machine: Row) -> str:
    flags = " ".join(map(str, machine["flags"])) or "none of those that matter"
    return (
        f"*{machine['date']}: {machine['processor']} (family {machine['family']}), "
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, {flags}; matrix multiplication on "
        f"one core: {machine['float32_gflops']} GFLOP/s in float32, "
        f"{machine['bfloat16_gflops']} in bfloat16. "
        f"jumok {machine['jumok']}, torch {machine['torch']}, Python {machine['python']}.*"
    )


def _train(rows: Sequence[Row]) -> str:
    measured = [row for row in rows if "failed" not in row]
    ours = [row["tokens_per_cpu_second"] for row in measured if row["name"].startswith(OURS)]
    best = max(ours, default=None)
    body = [
        [
            row["tool"],
            row["batching"],
            row["precision"],
            f"**{row['tokens_per_cpu_second']:,.0f}**",
            f"{row['slowest']:,.0f} to {row['fastest']:,.0f}",
            f"{row['peak_bytes'] / GIB:.2f}",
            f"{best / row['tokens_per_cpu_second']:.2f}" if best else "-",
        ]
        for row in measured
    ]
    body += [
        [row["tool"], f"failed: {row['failed']}"] + ["-"] * 5 for row in rows if "failed" in row
    ]
    head = [
        "tool",
        "batches",
        "precision",
        "target tokens / CPU-s",
        "slowest to fastest quarter",
        "peak memory, GiB",
        "jumok's best rate ÷ this rate",
    ]
    return table(head, body)


def _decode(rows: Sequence[Row]) -> str:
    reference = rows[0]["engine"]
    rates = _by_engine(rows, lambda row: f"{row['tokens_per_cpu_second']:,.0f}")
    compared = [row for row in rows if "same" in row and row["engine"] != reference]
    tables = f"Output tokens per CPU-second:\n\n{rates}"
    if compared:
        same = _by_engine(compared, lambda row: f"{row['same']} of {row['sentences']}")
        tables += f"\n\nSentences with the same output as {reference}:\n\n{same}"
    return tables


def _by_engine(rows: Sequence[Row], cell: Callable[[Row], str]) -> str:
    """A line for each case, and a column for each engine; an empty cell: not measured."""
    cells = {(row["case"], row["engine"]): cell(row) for row in rows}
    cases, engines = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    body = [[case, *(cells.get((case, engine), "") for engine in engines)] for case in cases]
    return table(["case", *engines], body)


def _start(rows: Sequence[Row]) -> str:
    body = [[f"`{row['command']}`", f"{row['wall_seconds']:.2f}"] for row in rows]
    return table(["command", "seconds"], body)


def _prepare(rows: Sequence[Row]) -> str:
    body = [
        [
            row["what"],
            f"{row['pairs']:,}",
            f"{row['wall_seconds']:,.0f}",
            f"{row['cpu_seconds']:,.0f}",
            f"{row['peak_bytes'] / GIB:.2f}",
        ]
        for row in rows
    ]
    return table(["step", "pairs", "seconds", "CPU-seconds", "peak memory, GiB"], body)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
