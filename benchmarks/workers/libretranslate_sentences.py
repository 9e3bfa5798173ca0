"""Put a sentence splitter into a package of Argos Translate, so that nothing is downloaded.

python libretranslate_sentences.py PACKAGE CACHE LANGUAGE. Argos's own splitters are models that it
downloads. It also takes a pipeline of spaCy from the package, to which it adds spaCy's splitter by
rules: an empty pipeline is enough. With these settings it also looks for a downloaded model, which
it then does not use; the empty file in CACHE is in its place.
"""

import sys
from pathlib import Path

import spacy


def main() -> None:
    """Write both."""
    package, cache, language = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    spacy.blank(language).to_disk(package / "spacy")
    marker = cache / "argos-translate" / "spacy" / "senter" / "model"
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


if __name__ == "__main__":
    main()
