"""The stages of `jumok prepare`: each is divided into tasks, which may run anywhere."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from jumok.data.pairs.cleaning import filters
from jumok.data.pairs.cleaning.characters import BothSides, Rows
from jumok.data.pairs.cleaning.duplicates import keys_of
from jumok.data.pairs.cleaning.filters import CorpusContext
from jumok.data.pairs.cleaning.findings import CleaningReport
from jumok.data.pairs.cleaning.near import BANDS, bands, likeness, signatures, sketches
from jumok.data.pairs.cleaning.survey import BATCH, Tally, corpus_context, filter_each
from jumok.data.pairs.corpus import read_columns, read_pairs
from jumok.data.pairs.noise import cases_seen
from jumok.data.pairs.pair import ColumnReader, Pair
from jumok.data.pairs.shards import write_manifest, write_shard_of
from jumok.data.pairs.store import CHUNK, Filters, PairEncoder
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import SAMPLE, Tokenizer, sample_lines
from jumok.errors import DataError, Location
from jumok.training.folder import CLEANING, TEST, TOKENIZER
from jumok.training.preparing.held_out import HeldOut, hashes_of
from jumok.training.preparing.pairs import corpus_of_pairs, write_pairs, write_report
from jumok.training.preparing.shards import blocks as files
from jumok.training.preparing.shards.blocks import KeyTable
from jumok.training.preparing.shards.plan import (
    KEY_PARTS,
    CorpusPlan,
    WorkBlock,
    name_of_block,
)
from jumok.training.preparing.vocabulary import learn_tokenizer

PAIR, BAND = "pair", "band{}"
VALIDATION, TESTED = "validation", "test"
NO_KEYS = NO_SKETCHES = np.zeros(0, dtype=np.uint64)


def read_corpora(plan: CorpusPlan, task: int) -> None:
    """Divides the corpora into blocks; a task reads whole corpora."""
    for index in range(task, len(plan.corpora), plan.tasks):
        corpus = plan.corpora[index]
        report = corpus.report()
        pairs = ColumnReader(read_columns(corpus, report, BATCH))
        first = pairs.take(BATCH)
        pairs.put_back(first)
        languages = plan.config.data.source_language, plan.config.data.target_language
        sizes: list[int] = []
        while size := files.write_block(plan, name_of_block(index, len(sizes)), pairs):
            sizes.append(size)
        known = corpus_context(first, languages, plan.clean)
        values = {
            "blocks": sizes,
            "ratio": known.ratio,
            "words": [sorted(words) for words in known.words],
            "report": report.to_json(),
        }
        files.write_json(plan, "read", f"{index:04}", values)


def filter_pairs(plan: CorpusPlan, task: int) -> None:
    """Applies the filters that judge each pair by itself, and writes the keys of those left."""
    for block in _own_blocks(plan, task):
        _filter_block(plan, block)


def _filter_block(plan: CorpusPlan, block: WorkBlock) -> None:
    data, clean = plan.config.data, plan.clean
    report = CleaningReport(plan.corpora[block.corpus].title, clean is not None)
    report.notes += plan.notes if block.part == 0 else ()
    read = files.read_json(plan, "read", f"{block.corpus:04}")
    languages = data.source_language, data.target_language
    source, target = (frozenset(words) for words in read["words"])
    context = CorpusContext(languages, read["ratio"], (source, target))
    left = []
    hashes, smallest = [NO_KEYS], NO_KEYS
    tables: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    wanted = _held_pairs(plan)
    start = 0
    for pairs in files.read_block(plan, block, BATCH):
        kept_rows = np.ones(len(pairs), dtype=np.bool_)
        if clean is not None:
            both = BothSides.of(pairs.sources, pairs.targets)
            tally = filter_each(pairs, both, clean, context, report)
            kept_rows = tally.left
            rows = np.flatnonzero(kept_rows)
            kept = rows.tolist()
            if clean.duplicates is not None:
                sources, targets = ([side.texts[row] for row in kept] for side in both.sides)
                keys = keys_of(sources, targets, clean.duplicates)
                tables.setdefault(PAIR, []).append((keys, rows + start, NO_SKETCHES))
            if clean.near_duplicates is not None:
                signed = signatures(*both.sides)[rows]
                sketched = sketches(signed)
                for number, keys in enumerate(bands(signed).T):
                    table = tables.setdefault(BAND.format(number), [])
                    table.append((keys, rows + start, sketched))
        if wanted:
            own = np.where(kept_rows, hashes_of(pairs.sources), np.uint64(0))
            hashes.append(own)
            smallest = np.unique(np.concatenate([smallest, own[kept_rows]]))[:wanted]
        left.append(kept_rows)
        start += len(pairs)
        report.read += len(pairs)
    for name, parts in tables.items():
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        KeyTable.of(*columns).write(plan, block, name)
    files.write_left(plan, block, np.concatenate(left))
    files.write_hashes(plan, block, np.concatenate(hashes))
    held = smallest.tolist()
    files.write_json(plan, "found", block.name, {"report": report.to_json(), "held": held})


def compare(plan: CorpusPlan, task: int) -> None:
    """Finds the pairs that repeat earlier ones, in some parts of all keys."""
    clean = plan.clean
    if clean is None:
        return
    every = list(plan.blocks())
    same, near = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for part in range(task, KEY_PARTS, plan.tasks):
        if clean.duplicates is not None:
            numbers, first, _ = _merge_keys(plan, every, PAIR, part)
            same.append(numbers[first < numbers])
        if clean.near_duplicates is not None:
            for band in range(BANDS):
                numbers, first, like = _merge_keys(plan, every, BAND.format(band), part)
                near.append(numbers[(first < numbers) & (like >= clean.near_duplicates)])
    files.write_repeated(plan, task, filters.DUPLICATES, np.concatenate(same))
    files.write_repeated(plan, task, filters.NEAR, np.concatenate(near))


def _merge_keys(
    plan: CorpusPlan, every: list[WorkBlock], name: str, part: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of the pairs with keys of a part, the first pair with the same key, and how alike
    the two are.
    """
    tables = [KeyTable.read(plan, block, name, part) for block in every]
    keys = np.concatenate([table.keys for table in tables])
    sketched = np.concatenate([table.sketches for table in tables])
    numbers = np.concatenate(
        [
            block.start + table.rows.astype(np.int64)
            for block, table in zip(every, tables, strict=True)
        ]
    )
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
    leader = np.flatnonzero(new)[np.cumsum(new) - 1]
    if not len(sketched):
        return numbers, numbers[leader], np.ones(len(numbers))
    sketched = sketched[order]
    return numbers, numbers[leader], likeness(sketched[leader], sketched)


def train_tokenizer(plan: CorpusPlan, task: int) -> None:
    """Chooses the pairs that are held out, and trains the tokenizer on the others."""
    del task
    every = list(plan.blocks())
    if not any(files.read_left(plan, block).any() for block in every):
        stored = [files.read_json(plan, "found", block.name)["report"] for block in every]
        lines = [line for report in stored for line in CleaningReport.from_json(report).lines()]
        raise DataError(
            "data.clean leaves no pair.",
            got="\n            ".join(lines),
            do="correct the languages or the columns in the recipe, or switch filters off",
            place=Location(plan.folder),
        )
    validation, test = _held_out_of_blocks(plan, every)
    held = validation.hashes | test.hashes
    texts = chain.from_iterable(
        files.read_texts(plan, block, _rows_left(plan, block) & ~_among(plan, block, held))
        for block in every
    )
    settings, file = plan.config.tokenizer, plan.work / TOKENIZER
    said: list[str] = []
    seed = plan.config.seed
    seen = cases_seen(_sampled(texts, seed), plan.config.data.noise, seed)
    learn_tokenizer(settings, seen, file, seed, said.append)
    values = {VALIDATION: sorted(validation.hashes), TESTED: sorted(test.hashes), "said": said}
    files.write_json(plan, "held", "out", values)


def encode(plan: CorpusPlan, task: int) -> None:
    """Writes the shards."""
    tokenizer = Tokenizer.load(plan.work / TOKENIZER)
    data = plan.config.data
    limits = Filters(data.max_tokens, data.max_ratio)
    encoder = PairEncoder((tokenizer, tokenizer.target), limits, plan.config.varies, threads=1)
    held = files.read_json(plan, "held", "out")
    for block in _own_blocks(plan, task):
        stored = files.read_json(plan, "found", block.name)
        report = CleaningReport.from_json(stored["report"])
        left = _without_repeats(plan, block, report)
        aside: dict[str, list[tuple[str, str, int]]] = {VALIDATION: [], TESTED: []}
        for name, pairs in aside.items():
            rows = left & _among(plan, block, frozenset(held[name]))
            left &= ~rows
            for part in files.read_block(plan, block, BATCH, rows):
                pairs += [(pair.source, pair.target, pair.line) for pair in part]
        counts = CorpusReport(report.name)
        chunks = files.read_block(plan, block, CHUNK, left)
        write_shard_of(plan.folder, block.number, chunks, encoder, report=counts)
        values = {"report": report.to_json(), "counts": counts.to_json(), "aside": aside}
        files.write_json(plan, "encoded", block.name, values)


def write_results(plan: CorpusPlan, task: int) -> None:
    """Writes the reports and the manifest, and removes what the stages handed on."""
    del task
    every = list(plan.blocks())
    corpora = plan.config.data.train
    reports: list[CleaningReport | None] = [None] * len(corpora)
    aside: dict[str, list[Pair]] = {VALIDATION: [], TESTED: []}
    for block in every:
        stored = files.read_json(plan, "encoded", block.name)
        own, before = CleaningReport.from_json(stored["report"]), reports[block.corpus]
        if before is None:
            reports[block.corpus] = own
        else:
            before.merge(own)
        for name, pairs in aside.items():
            pairs += [Pair(*row) for row in stored["aside"][name]]
    written = [report for report in reports if report is not None]
    write_report(plan.folder / CLEANING, written)
    if aside[TESTED]:
        write_pairs(plan.folder / TEST, aside[TESTED])
    validation: Iterable[Pair] = aside[VALIDATION]
    if plan.config.data.validation:
        corpora_to_validate = plan.config.data.validation
        skip = plan.config.data.skip_damaged
        validation = chain.from_iterable(
            read_pairs(corpus_of_pairs(one, skip)) for one in corpora_to_validate
        )
    tokenizer = Tokenizer.load(plan.work / TOKENIZER)
    name = plan.config.name
    clean = plan.clean.model_dump() if plan.clean else False
    about: dict[str, object] = {"plan": plan.digest, "clean": clean, "seed": plan.config.seed}
    write_manifest(plan.folder, tokenizer, name=name, validation=validation, about=about)
    for folder in ("blocks", "keys", "repeated", "found", "encoded", "held", "read"):
        shutil.rmtree(plan.work / folder, ignore_errors=True)


@dataclass(frozen=True)
class PrepareStage:
    """A stage: its name, its function, and whether it is one task."""

    name: str
    run: Callable[[CorpusPlan, int], None]
    alone: bool = False


STAGES = (
    PrepareStage("read", read_corpora),
    PrepareStage("judge", filter_pairs),
    PrepareStage("compare", compare),
    PrepareStage("learn", train_tokenizer, alone=True),
    PrepareStage("encode", encode),
    PrepareStage("finish", write_results, alone=True),
)


def _sampled(lines: Iterable[bytes], seed: int) -> Iterator[str]:
    """The lines that a tokenizer is trained on; the others are not decoded."""
    for line in sample_lines(lines, SAMPLE, seed):
        yield line.decode("utf-8", "surrogatepass").removesuffix("\n")


def _among(plan: CorpusPlan, block: WorkBlock, hashes: frozenset[int]) -> Rows:
    if not hashes:
        return np.zeros(block.pairs, dtype=np.bool_)
    return np.isin(files.read_hashes(plan, block), np.array(sorted(hashes), np.uint64))


def _own_blocks(plan: CorpusPlan, task: int) -> Iterator[WorkBlock]:
    return islice(plan.blocks(), task, None, plan.tasks)


def _without_repeats(plan: CorpusPlan, block: WorkBlock, report: CleaningReport) -> Rows:
    left = files.read_left(plan, block)
    if plan.clean is not None:
        tally = Tally(report, plan.clean, files.BlockExamples(plan, block))
        tally.left &= left
        for name in (filters.DUPLICATES, filters.NEAR):
            if getattr(plan.clean, name) is not None:
                tally.take(name, files.read_repeated(plan, block, name))
        left = tally.left
    report.kept = int(left.sum())
    return left


def _rows_left(plan: CorpusPlan, block: WorkBlock) -> Rows:
    left = files.read_left(plan, block)
    for name in (filters.DUPLICATES, filters.NEAR):
        left &= ~files.read_repeated(plan, block, name)
    return left


def _held_pairs(plan: CorpusPlan) -> int:
    data = plan.config.data
    return (0 if data.validation else data.validation_pairs) + data.test_pairs


def _held_out_of_blocks(plan: CorpusPlan, every: list[WorkBlock]) -> tuple[HeldOut, HeldOut]:
    """The held-out source sentences: for validation, and for a test."""
    count = _held_pairs(plan)
    if not count:
        return HeldOut(), HeldOut()
    stored = [files.read_json(plan, "found", block.name)["held"] for block in every]
    left = sum(int(files.read_left(plan, block).sum()) for block in every)
    held = HeldOut.of_hashes(chain.from_iterable(stored), count, left)
    return held.split((count - plan.config.data.test_pairs) / count)
