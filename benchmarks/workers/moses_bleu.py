"""BLEU on the scale of the Multi30k papers; runs in the environment `moses`.

Lower-cased, punctuation normalised and tokenised as Moses does, both sides alike; the German
reference of test_2016_flickr then has the 12,103 tokens that the papers print.
"""

import sys
from pathlib import Path

import sacrebleu
from sacremoses import MosesPunctNormalizer, MosesTokenizer


def main(hypotheses: str, reference: str, language: str) -> None:
    """Prints the score as sacreBLEU does, and how many tokens the reference has."""
    lines = [_tokenised(Path(path), language) for path in (hypotheses, reference)]
    tokens = sum(len(line.split()) for line in lines[1])
    print(sacrebleu.corpus_bleu(lines[0], [lines[1]], tokenize="none", force=True))
    print(f"reference: {tokens:,} tokens")


def _tokenised(path: Path, language: str) -> list[str]:
    normalizer, tokenizer = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [
        tokenizer.tokenize(normalizer.normalize(line.lower()), escape=False, return_str=True)
        for line in lines
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
