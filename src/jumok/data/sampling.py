"""Sampled tokenizations of words: reproducible subword regularisation.

SentencePiece's own generator can be seeded only once per process, so a resumed training would see
other tokens than an uninterrupted one.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from math import exp
from random import Random

from sentencepiece import SentencePieceProcessor

BEST_SEGMENTATIONS = 64  # segmentations of a word to sample from (Kudo 2018, table 2)
LONGEST_SAMPLED = 100  # characters; a longer word is tokenized deterministically
REMEMBERED_WORDS = 1 << 17  # words


class UnigramSampler:
    """Samples a word's segmentation x from its best ones, with P(x) ~ P_unigram(x)^alpha.

    Tokens never cross a space, so a sentence's segmentation is sampled from the product of its
    words' best.
    """

    def __init__(self, processor: SentencePieceProcessor) -> None:
        self._processor = processor
        self._weighted: Callable[[str, float], tuple[list[list[int]], list[float]]] = lru_cache(
            maxsize=REMEMBERED_WORDS
        )(self._segmentations)

    def sample(self, word: str, alpha: float, random: Random) -> list[int]:
        """The ids of one word, without spaces around it."""
        if len(word) > LONGEST_SAMPLED:
            return self._processor.encode(word)
        segmentations, weights = self._weighted(word, alpha)
        return random.choices(segmentations, cum_weights=weights)[0]

    def _segmentations(self, word: str, alpha: float) -> tuple[list[list[int]], list[float]]:
        """The best segmentations, and their cumulative weights."""
        best = self._processor.nbest_encode(word, nbest_size=BEST_SEGMENTATIONS)
        # The cost of unknown characters is the same in all of them, and cancels.
        scores = [sum(map(self._processor.get_score, ids)) for ids in best]
        return best, list(accumulate(exp(alpha * (score - scores[0])) for score in scores))


class MergeSampler:
    """BPE with every possible merge left out with probability alpha at every step.

    The tokens of a character model never merge, so its tokenization does not change.
    Source: Provilkov et al. 2020, BPE-Dropout, section 3.1.
    """

    def __init__(self, processor: SentencePieceProcessor, space: str, unknown: int) -> None:
        self._processor, self._space, self._unknown = processor, space, unknown
        usable = [
            id
            for id in range(processor.get_piece_size())
            if not (processor.is_control(id) or processor.is_unknown(id) or processor.is_byte(id))
        ]
        self._ids = {processor.id_to_piece(id): id for id in usable}
        # A merge that was learned earlier has a higher score, and is applied first.
        self._scores = {piece: processor.get_score(id) for piece, id in self._ids.items()}

    def sample(self, word: str, alpha: float, random: Random) -> list[int]:
        """The ids of one word, without spaces around it."""
        if len(word) > LONGEST_SAMPLED:
            return self._processor.encode(word)
        pieces = [*self._space, *word]
        while merges := [
            (self._scores[pair], -place)
            for place, pair in enumerate(map(str.__add__, pieces, pieces[1:]))
            if pair in self._scores and random.random() >= alpha
        ]:
            place = -max(merges)[1]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        return [id for piece in pieces for id in self._piece_ids(piece)]

    def _piece_ids(self, piece: str) -> list[int]:
        if piece in self._ids:
            return [self._ids[piece]]
        ids = [self._processor.piece_to_id(f"<0x{byte:02X}>") for byte in piece.encode()]
        return ids if all(map(self._processor.is_byte, ids)) else [self._unknown]


def piece_sampler(
    processor: SentencePieceProcessor, space: str, unknown: int
) -> UnigramSampler | MergeSampler:
    """The sampler of the model: by the probability of segmentations, or by dropped merges."""
    try:
        processor.nbest_encode("a", nbest_size=2)
    except RuntimeError:
        return MergeSampler(processor, space, unknown)
    return UnigramSampler(processor)
