"""How fast texts of a language model are written, one and several at a time.

    python -m benchmarks.writing [MODEL] [--precision int8] [--streams 1 4 16] [--sample]
    git worktree add ../before v0.2.0
    python -m benchmarks.writing --other ../before

First the engine alone, in this process: texts that take turns, and the same texts in shared steps.
Then `jumok serve`, whose clients each stream one text after the other. Rates are tokens a
CPU-second of the process that computes, which hardly changes while other programs use the cores.
Without MODEL it is one of 6 layers, 384 wide, with 8,000 subwords and random weights.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.against import HERE
from benchmarks.larger import random_language_model
from benchmarks.load import Question, percentile
from benchmarks.saturation import cpu_of
from jumok.decoding import DecodingOptions
from jumok.systems.language_model import LanguageModel
from jumok.systems.text_writer import TextWriter, native_writer
from tests.serving.http.process import serving

PROMPT = "To be, or not to be, that is the question:"
ROUNDS, TEXTS = 3, 8
"""Measurements, of which the median counts; texts that are written in each, or one for each client
if these are more."""


@dataclass
class Streamed:
    """What one client received.

    Attributes:
        tokens: how many the server has written; -1: it has not said so.
        parts: when each came, in seconds from the request on.
    """

    tokens: int = -1
    parts: list[float] = field(default_factory=list)


def in_turns(writers: Sequence[TextWriter], tokens: int, system: LanguageModel) -> None:
    """A step for each text and token."""
    assert system.engine is not None
    reader = system.engine.pass_reader()
    for _ in range(tokens):
        for writer in writers:
            reader.finish(writer.next())


def together(writers: Sequence[TextWriter], tokens: int, system: LanguageModel) -> None:
    """A step for each token of all texts."""
    assert system.engine is not None
    reader = system.engine.pass_reader()
    for _ in range(tokens):
        readings = [writer.next() for writer in writers]
        values = reader.read([next(reading) for reading in readings])
        for reading, logits in zip(readings, values, strict=True):
            try:
                reading.send(logits)
            except StopIteration:
                continue


WAYS: dict[str, Callable[[Sequence[TextWriter], int, LanguageModel], None]] = {
    "in turns": in_turns,
    "together": together,
}


def engine_rate(
    system: LanguageModel, way: str, streams: int, tokens: int, options: DecodingOptions
) -> float:
    """Tokens a CPU-second without a server; the prompts are read before."""
    engine, prompt = system.engine, system.tokenizer.encode(PROMPT)
    assert engine is not None
    options = replace(options, maximum_length=len(prompt) + tokens + 1)
    writers = [
        native_writer(engine, prompt, replace(options, seed=n), None) for n in range(streams)
    ]
    in_turns(writers, 1, system)
    begin = time.process_time()
    WAYS[way](writers, tokens, system)
    used = time.process_time() - begin
    for writer in writers:
        writer.close()
    return streams * tokens / used


async def stream(url: str, tokens: int, temperature: float, seed: int) -> Streamed:
    """One text, as a stream that is read to its end."""
    body = {
        "prompt": PROMPT, "max_tokens": tokens, "stream": True, "seed": seed,
        "temperature": temperature, "stream_options": {"include_usage": True},
    }  # fmt: skip
    host = url.removeprefix("http://")
    request = Question("/v1/completions", body).encoded(host)
    reader, writer = await asyncio.open_connection(*host.split(":"))
    streamed, begin = Streamed(), time.perf_counter()
    with closing(writer):
        writer.write(request)
        async for line in reader:
            if line.startswith(b"data: [DONE]"):
                break
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["choices"] and event["choices"][0]["text"]:
                streamed.parts.append(time.perf_counter() - begin)
            elif "usage" in event:
                streamed.tokens = event["usage"]["completion_tokens"]
    assert streamed.tokens >= 0, "the server answered with an error"
    return streamed


async def load(url: str, streams: int, tokens: int, temperature: float) -> list[Streamed]:
    """So many clients, each with one text after the other."""

    async def client(number: int) -> list[Streamed]:
        seeds = range(number, max(TEXTS, streams), streams)
        return [await stream(url, tokens, temperature, seed) for seed in seeds]

    texts_of_clients = await asyncio.gather(*(client(number) for number in range(streams)))
    return [each for texts in texts_of_clients for each in texts]


def served(url: str, process: int, streams: int, tokens: int, temperature: float) -> str:
    """The row of a server for so many clients: medians over rounds."""
    rates, texts = [], []
    for _ in range(ROUNDS):
        before, begin = cpu_of(process), time.perf_counter()
        some = asyncio.run(load(url, streams, tokens, temperature))
        seconds, used = time.perf_counter() - begin, max(cpu_of(process) - before, 0.01)
        written = sum(each.tokens for each in some)
        rates.append((written / used, written / seconds))
        texts += some
    first = [each.parts[0] * 1e3 for each in texts if each.parts]
    pauses = [(b - a) * 1e3 for each in texts for a, b in pairwise(each.parts)]
    cpu, wall = (median(each) for each in zip(*rates, strict=True))
    waits = (f"{median(each):.1f}; {percentile(each, 0.99):.1f}" for each in (first, pauses))
    return f"{streams} | {cpu:,.0f} | {wall:,.0f} | " + " | ".join(waits)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing", description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--precision", choices=("fp32", "bf16", "int8"), default="fp32")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--tokens", type=int, default=200, help="of each text")
    parser.add_argument("--sample", action="store_true", help="otherwise greedily")
    parser.add_argument("--other", type=Path, help="another checkout of jumok, for its server")
    given = parser.parse_args()
    model = given.model or random_language_model(subwords=8_000)
    system = LanguageModel.load(model, engine="native", precision=given.precision)
    options = DecodingOptions(beam=1, sample=given.sample)
    print(f"load {os.getloadavg()[0]:.1f}\n\n| streams | {' | '.join(WAYS)} | ratio |")
    print("|---|---|---|---|")
    for streams in given.streams:
        rates = [
            median(engine_rate(system, way, streams, given.tokens, options) for _ in range(ROUNDS))
            for way in WAYS
        ]
        row = " | ".join(f"{each:,.0f}" for each in rates)
        print(f"| {streams} | {row} | {rates[1] / rates[0]:.2f} |", flush=True)
    columns = "tokens a CPU-second | tokens a second | first part, ms | pauses, ms"
    print(f"\n| server | streams | {columns} |\n|---|---|---|---|---|---|")
    for name, checkout in {"this": HERE, "other": given.other}.items():
        if checkout is None:
            continue
        variables = {"PYTHONPATH": str(checkout.resolve() / "src")}
        arguments = f"m={model}", "--grace", "0", "--precision", given.precision
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(Path(folder), *arguments, variables=variables) as server,
        ):
            for streams in given.streams:
                process, temperature = server.process.pid, float(given.sample)
                row = served(server.url, process, streams, given.tokens, temperature)
                print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
