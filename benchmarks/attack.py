"""A campaign against all of jumok: what crashes, hangs or answers wrongly.

    python -m benchmarks.attack MODEL [--scale 1.0] [--seed 1] [--only AREA]

MODEL translates; it is served. At scale 1.0 there are a million damaged files and a million
damaged requests, and it takes a day; 0.01 takes minutes. Every case is drawn by the seed. A crash
is an exception that is no error of jumok, or an end that nobody asked for; what takes longer than a
minute hangs. docs/reliability.md has the results.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import html5lib
import numpy as np
import torch

import jumok
from benchmarks import kills
from benchmarks.attacks import attack_broken, attack_exports, attack_full, attack_workers
from benchmarks.campaign import LABELS, Area, Campaign
from benchmarks.load import Question, closed_loop
from benchmarks.mutated import damaged, faults_of
from benchmarks.serving import besieged, hung_up, loaded, own_answers
from benchmarks.trips.checks import ENGLISH_KOREAN, faults, swapped
from benchmarks.trips.writing import TEMPLATES, trips
from jumok.documents.catalog import translate_document
from jumok.systems.translation.translator import Translator
from tests.fuzz.mutating import mutated
from tests.fuzz.test_readers import kinds
from tests.serving.http.process import serving


def attack_kills(asked: Campaign) -> Iterator[Area]:
    """Runs that are killed and resumed, in one process, in two, and in changing numbers."""
    for counts, title in (
        ((1,), "killed and resumed runs with 1 process"),
        ((2,), "killed and resumed runs with 2 processes"),
        (kills.COUNTS, "killed runs, resumed with another number of processes"),
    ):
        area = Area(title)
        number = asked.many("kills", 2)
        folder = asked.folder / f"kills{len(counts)}{counts[0]}"
        folder.mkdir()
        kills.prepare(folder)
        whole = kills.trained(folder, "whole", steps=12 * number)
        area.cases = number
        try:
            broken = kills.killed(folder, 12 * number, number, asked.seed, lambda _: None, counts)
            for name in kills.differing(whole, broken):
                area.fails("wrong", f"{name} differs")
        except Exception as error:
            area.fails("crashes", f"{error!r:.300}")
        yield area


def attack_readers(asked: Campaign) -> Iterator[Area]:
    """Damaged files, at every reader of data."""
    area, seeds = Area("damaged data files"), kinds()
    for number in range(asked.many("readers", len(seeds))):
        kind = list(seeds)[number % len(seeds)]
        content, read = seeds[kind]
        draw = random.Random(f"reader {kind} {asked.seed} {number}")
        file = asked.folder / f"a.{kind}"
        file.write_bytes(mutated(content, draw))

        def case(read: Callable[[Path], object] = read, file: Path = file) -> list[str]:
            read(file)
            return []

        area.tries(f"{kind} {number}", case)
    yield area


def attack_documents(asked: Campaign) -> Iterator[Area]:
    """Damaged documents of every format, translated."""
    area = Area("damaged documents")
    seeds = list(trips(len(TEMPLATES), asked.seed))
    for number in range(asked.many("documents", len(seeds))):
        trip = seeds[number % len(seeds)]
        content = mutated(trip.content, random.Random(f"{trip.name} {asked.seed} {number}"))

        def case(content: bytes = content, format: str = trip.format) -> list[str]:
            translate_document(content, swapped, format, languages=ENGLISH_KOREAN)
            return []

        area.tries(f"{trip.name} {number}", case)
    yield area


def attack_trips(asked: Campaign) -> Iterator[Area]:
    """Whole documents on round trips."""
    area = Area("round trips of documents")
    for trip in trips(asked.many("trips", len(TEMPLATES)), asked.seed):
        area.tries(trip.name, partial(faults, trip))
    yield area


def attack_pages(asked: Campaign) -> Iterator[Area]:
    """Pages of traces whose tokens are markup, code, or no text."""
    area, shape = Area("pages with markup in their tokens"), _elements(["a", "b", "c"])
    for number in range(asked.many("pages", len(LABELS))):
        draw = random.Random(f"page {asked.seed} {number}")
        labels = [draw.choice(LABELS) + draw.choice(("", "x", *LABELS)) for _ in range(3)]
        area.tries(repr(labels)[:80], partial(_unlike, shape, labels))
    yield area


def _elements(labels: list[str]) -> list[str]:
    """The elements of a page about these tokens, as a browser makes them."""
    weights = np.full((1, 1, len(labels), len(labels)), 1 / len(labels), np.float32)
    page = jumok.page(jumok.trace_of(weights, labels)).html
    return [
        str(element.tag) for element in html5lib.parse(page, namespaceHTMLElements=False).iter()
    ]


def _unlike(shape: list[str], labels: list[str]) -> list[str]:
    elements = _elements(labels)
    return [] if elements == shape else [f"{len(shape)} elements became {len(elements)}"]


def attack_server(asked: Campaign) -> Iterator[Area]:
    """Damaged requests, clients that hang up or are slow, and a model that is replaced."""
    model = asked.folder / "model"
    shutil.copytree(asked.model, model)
    with serving(asked.folder / "server", f"en-ko={model}", "--grace", "0") as server:
        area = Area("malformed, huge and out-of-order requests")
        sent = damaged(server, asked.seed, asked.many("requests", 100))
        area.cases = sent.count
        for request in sent.failed:
            area.fails("crashes", f"{request!r:.200}")
        for reply in sent.health:
            if reply.status != 200 or reply.seconds > 60:
                area.fails("hangs", f"health {reply.status} after {reply.seconds:.1f} s")
        yield area
        area = Area("clients that disconnect or send single bytes")
        count = asked.many("clients", 50)
        left = hung_up(server.url, count, 0.2)
        siege = besieged(server.url, min(count, 500), 12.0)
        area.cases = count + min(count, 500)
        if left["queue"] or left["running"] or left["faults"]:
            area.fails("hangs", f"after hanging up: {left}")
        if set(siege["health"]["statuses"]) != {200}:  # type: ignore[index]
            area.fails("hangs", f"while besieged: {siege}")
        yield area
        yield _answers(asked, server.url)
        yield _replaced(server.url, model)
        area = Area("state of the server after these attacks")
        area.cases = 1
        for fault in faults_of(server):
            area.fails("crashes", fault[:300])
        if server.process.poll() is not None:
            area.fails("crashes", "it is gone")
        yield area


def _answers(asked: Campaign, url: str) -> Area:
    """Answers that were not refused, beside those of the offline translation."""
    area = Area("answers of the server, compared with offline translations")
    sent = asked.many("answers", 50)
    facts = own_answers(url, sent, 40, Translator.load(asked.model, device="cpu"))
    counts = {name: int(str(count)) for name, count in facts.items()}
    area.cases = counts.get("status 200", 0)
    if counts.get("same text", 0) < area.cases:
        area.wrong = area.cases - counts.get("same text", 0)
        area.told.append(f"{area.name}: {counts}")
    if area.cases + counts.get("status 429", 0) < sent:
        area.fails("crashes", f"{counts}")
    return area


def _replaced(url: str, model: Path) -> Area:
    """The files of the model are replaced by halves while it answers."""
    area = Area("truncated model files of a running server")
    given = [Question("/v1/translate", {"text": f"the cat saw {word}"}) for word in "abcdefgh"]
    before, _ = loaded(url, lambda target: closed_loop(target, given, 4))
    for file in sorted(file for file in model.rglob("*") if file.is_file()):
        new = file.with_name("new")
        new.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        new.replace(file)  # as jumok writes a bundle
        after, _ = loaded(url, lambda target: closed_loop(target, given, 4))
        area.cases += len(after)
        for one, other in zip(before, after, strict=True):
            if one.status != 200 or one.json["answers"] != other.json.get("answers"):
                area.fails("wrong", f"{file.name}: {other.status} {other.body[:100]!r}")
    return area


AREAS: dict[str, Callable[[Campaign], Iterator[Area]]] = {
    "kills": attack_kills,
    "readers": attack_readers,
    "documents": attack_documents,
    "trips": attack_trips,
    "pages": attack_pages,
    "server": attack_server,
    "workers": attack_workers,
    "broken": attack_broken,
    "full": attack_full,
    "exports": attack_exports,
}


def main() -> int:
    """Prints a table and the failures; returns 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(AREAS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| area | cases | crashes | hangs | wrong answers | cases per second |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    told: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        asked = Campaign(given.model, Path(name), given.scale, given.seed)
        for area, attack in AREAS.items():
            if given.only not in (area, None):
                continue
            begin = time.monotonic()
            for each in attack(asked):
                rate = each.cases / max(time.monotonic() - begin, 1e-9)
                begin = time.monotonic()
                counts = f"{each.crashes} | {each.hangs} | {each.wrong}"
                print(f"| {each.name} | {each.cases:,} | {counts} | {rate:,.1f} |", flush=True)
                told += each.told
    print(json.dumps(told, indent=1, ensure_ascii=False))
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
