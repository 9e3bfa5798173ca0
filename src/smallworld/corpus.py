"""Streams of English-Korean pairs with their gold alignment, in splits that share no sentence."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from jumok.errors import ConfigError
from smallworld.fragment import index_pairs
from smallworld.grammar import LONGEST, write_line
from smallworld.writer import PhraseWriter

SHORTEST = 3
SPLITS = ("train", "validation", "test", "longer", "unseen combination")
USUAL_LENGTHS = (SHORTEST, 16)
# The share of all sentences, in 256ths, that a hash gives to each split; train has the others.
SHARE = 10
PATIENCE = 50_000
"""After this number of failed tries in a row there are no more new sentences of the split."""

HASHED = ("validation", "test", "longer")


@dataclass(frozen=True, slots=True)
class LinkedPair:
    """An English line, its Korean translation and how their words belong together.

    alignment: (English word, Korean word) indices from 0, of the lines split at spaces; sorted.
    constructions: the register and the names of the constructions in the line.
    """

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]
    constructions: tuple[str, ...]

    @property
    def pharaoh(self) -> str:
        """The alignment as "0-1 1-0", the format of word aligners."""
        return " ".join(f"{i}-{j}" for i, j in self.alignment)


def split_of(source: str) -> str:
    """The split that a sentence without unseen combinations belongs to, by a hash of its text."""
    bucket = blake2b(source.encode(), digest_size=1).digest()[0] // SHARE
    return HASHED[bucket] if bucket < len(HASHED) else "train"


def pairs(
    split: str = "train",
    seed: int = 1,
    minimum_words: int | None = None,
    maximum_words: int | None = None,
) -> Iterator[LinkedPair]:
    """An endless stream of pairs of one split.

    The stream depends on the arguments alone: not on the process, on Python's hash seed or on how
    much of it is read. It may repeat itself, as short sentences do in any corpus; `distinct` drops
    repeats. Splits share no sentence, whatever the seeds and lengths: a hash of the English gives
    a sentence to "train", "validation", "test" or "longer"; what holds a combination of a verb
    with an object or a frame that `choices.held_out` keeps back is "unseen combination" and is
    written for no other split.

    Args:
        split: one of SPLITS.
        seed: another seed, another stream.
        minimum_words: of the English, 3 or more. None: 3, and 17 for "longer".
        maximum_words: of the English, 60 or less. None: 16, and 60 for "longer".

    Raises:
        ConfigError: the split is not one of SPLITS, or the lengths are not 3 to 60 in order.
    """
    if split not in SPLITS:
        raise ConfigError(
            "smallworld has no such split.",
            expected=", ".join(SPLITS),
            got=split,
            do="choose one of these.",
        )
    usual = (USUAL_LENGTHS[1] + 1, LONGEST) if split == "longer" else USUAL_LENGTHS
    shortest = usual[0] if minimum_words is None else minimum_words
    longest = usual[1] if maximum_words is None else maximum_words
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ConfigError(
            "smallworld cannot generate sentences of these lengths.",
            expected=f"{SHORTEST} <= minimum_words <= maximum_words <= {LONGEST}",
            got=f"{shortest} and {longest}",
            do="choose lengths within these bounds.",
        )
    return _stream(split, seed, shortest, longest)


def _stream(split: str, seed: int, shortest: int, longest: int) -> Iterator[LinkedPair]:
    novel = split == "unseen combination"
    writer = PhraseWriter(f"{split}/{seed}/{shortest}/{longest}", novel)
    span = longest - shortest + 1
    tries = 0
    while True:
        tries += 1
        if tries > PATIENCE:
            raise no_more(split, "not one among so many tries")
        room = shortest + int(writer.random() * span)
        line, constructions = write_line(writer, room)
        if not shortest <= line.english_words <= longest:
            continue
        if writer.met_novel if novel else split_of(line.english) == split:
            tries = 0
            yield LinkedPair(line.english, line.korean, index_pairs(line.links), constructions)


def distinct(stream: Iterable[LinkedPair]) -> Iterator[LinkedPair]:
    """The stream without pairs whose source came before. Remembers 8 bytes for each pair read.

    Raises:
        ConfigError: nothing new comes any more.
    """
    seen: set[bytes] = set()
    repeats = 0
    for pair in stream:
        key = blake2b(pair.source.encode(), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            repeats = 0
            yield pair
            continue
        repeats += 1
        if repeats > PATIENCE:
            raise no_more("smallworld", f"{len(seen):,} different sentences")


def no_more(split: str, found: str) -> ConfigError:
    """What to raise when a stream gives nothing new any more."""
    return ConfigError(
        f"there are no more distinct sentences of these lengths in {split}.",
        got=f"{found}; the last {PATIENCE:,} were none, or had come before",
        do="ask for fewer (--held-out), or for longer ones (--maximum-words)",
    )


def write(
    folder: Path,
    sizes: dict[str, int],
    seed: int = 1,
    minimum_words: int | None = None,
    maximum_words: int | None = None,
    watch: Callable[[Iterable[LinkedPair]], Iterable[LinkedPair]] = iter,
) -> None:
    """Writes NAME.en, NAME.ko and NAME.align (Pharaoh) for every split in `sizes`.

    NAME is the split with "-" for spaces. "train" is streamed as it comes; in the other splits
    every sentence occurs once. "longer" begins one word above `maximum_words`; where the grammar
    has no longer sentences, that split is not written.

    Args:
        watch: is given each split's pairs and hands them on, to show how far the work is.

    Raises:
        ConfigError: as `pairs`, before anything is written; as `distinct`.
    """
    streams = {}
    longest_known = maximum_words or USUAL_LENGTHS[1]
    if longest_known == LONGEST:
        sizes = {split: size for split, size in sizes.items() if split != "longer"}
    for split in sizes:
        shortest, longest = minimum_words, maximum_words
        if split == "longer":
            shortest, longest = longest_known + 1, LONGEST
        stream = pairs(split, seed, shortest, longest)
        streams[split] = stream if split == "train" else distinct(stream)
    folder.mkdir(parents=True, exist_ok=True)
    # What there may be too little of comes first: it is said before a million pairs are written.
    for split, stream in sorted(streams.items(), key=lambda each: each[0] == "train"):
        name = split.replace(" ", "-")
        with ExitStack() as stack:
            english, korean, alignment = (
                stack.enter_context((folder / f"{name}.{kind}").open("w", encoding="utf-8"))
                for kind in ("en", "ko", "align")
            )
            for pair in watch(islice(stream, sizes[split])):
                english.write(pair.source + "\n")
                korean.write(pair.target + "\n")
                alignment.write(pair.pharaoh + "\n")
