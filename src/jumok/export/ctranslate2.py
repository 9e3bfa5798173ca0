"""The folder of CTranslate2: a translator or a language model for its engine in C++.

Source: CTranslate2 4.8, docs/guides; its own sinusoids begin at another position, so that a table
is always written, and a source's END and a target's START are named in its config.json.
"""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.bundle.reading import Bundle
from jumok.config.causal import CausalConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.special_tokens import END, PAD, START
from jumok.errors import optional_import
from jumok.export.ctranslate2_readme import readme, write_tokenizer
from jumok.export.ctranslate2_spec import lacking, specification
from jumok.export.format import ExportFormat, ExportOptions, ExportPrecision, Obstacle

if TYPE_CHECKING:
    from jumok.export.comparing import GreedyWriter, Rows

OWNER = "CTranslate2"
TYPES = {"fp32": "float32", "int8": "int8"}


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What CTranslate2 does not compute."""
    section = bundle.section
    if type(section) not in (TransformerConfig, CausalConfig):
        return Obstacle(
            "it runs Transformers that translate or continue texts, and this is "
            f"kind = {section.kind!r}"
        )
    assert isinstance(section, TransformerConfig | CausalConfig)
    return lacking(section)


def write(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """The model with its tokenizer, and the lines that load it.

    Raises:
        BundleError: CTranslate2 writes other tokens.
        ConfigError: the model loses too much in int8.
    """
    folder.mkdir()
    compared = write_model(bundle, folder, options)
    write_tokenizer(bundle, folder)
    (folder / "README.md").write_text(readme(bundle, options), encoding="utf-8")
    return compared


def write_model(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """The model alone, in a folder that exists; as `write`."""
    with optional_import("exporting to CTranslate2", extra="ctranslate2"):
        import ctranslate2  # noqa: F401 - where it is missing, nothing is begun
    from jumok.export.comparing import GreedyWriter, compare_written, loss_of_engines

    writer = GreedyWriter(bundle)
    whole = folder if options.precision == "fp32" else folder / "float32"
    whole.mkdir(exist_ok=True)
    names = _save(writer, whole, "fp32")
    rows = writer.inputs(options.examples)
    theirs = CTranslate2Engine(whole, writer, names, "fp32").written(rows, writer.longest)
    compared = compare_written(writer, rows, theirs, OWNER)
    if whole == folder:
        return compared
    _save(writer, folder, options.precision)
    both = (
        CTranslate2Engine(whole, writer, names, "fp32"),
        CTranslate2Engine(folder, writer, names, options.precision),
    )
    lost = loss_of_engines(writer, both, options)
    shutil.rmtree(whole)
    return f"{compared} in fp32; {lost}"


def _save(writer: "GreedyWriter", folder: Path, precision: ExportPrecision) -> list[str]:
    """Writes the model; the names of its tokens."""
    from jumok.export.tokens import token_names
    from jumok.systems.native.models import weights_of

    section = writer.bundle.section
    assert isinstance(section, TransformerConfig | CausalConfig)
    names = token_names(writer.tokenizer)
    spec = specification(section, weights_of(writer.model), names)
    spec.optimize(quantization=TYPES[precision])
    spec.save(str(folder))
    return names


class CTranslate2Engine:
    """A folder on CTranslate2's engine.

    Args:
        names: of the tokens, by their ids.
    """

    def __init__(
        self, folder: Path, writer: "GreedyWriter", names: Sequence[str], precision: ExportPrecision
    ) -> None:
        import ctranslate2

        self._writer, self._names = writer, names
        self._ids = {name: id for id, name in enumerate(names)}
        self._continues = isinstance(writer.bundle.section, CausalConfig)
        kind = ctranslate2.Generator if self._continues else ctranslate2.Translator
        self._engine: Any = kind(
            str(folder), compute_type=TYPES[precision], inter_threads=1, intra_threads=1
        )

    def written(self, rows: "Rows", longest: int) -> list[list[int]]:
        """What it writes greedily for each source, or after each prompt, without END.

        Args:
            longest: of an output, in tokens; the opening of a target included.
        """
        common = {
            "beam_size": 1,
            "max_batch_size": 32,
            "suppress_sequences": [[self._names[id]] for id in (PAD, START)],
        }
        if self._continues:
            results = self._engine.generate_batch(
                [self._named((START, *row)) for row in rows],
                max_length=longest, include_prompt_in_result=False, **common,
            )  # fmt: skip
            return [self._known(each.sequences[0]) for each in results]
        opening = self._writer.opening
        results = self._engine.translate_batch(
            [self._named(row) for row in rows],
            target_prefix=[self._named(opening)] * len(rows) if opening else None,
            max_decoding_length=longest, min_decoding_length=0, **common,
        )  # fmt: skip
        return [self._known(each.hypotheses[0])[len(opening) :] for each in results]

    def perplexity(self, rows: "Rows") -> float:
        """Of these texts, END included."""
        whole = [self._named((START, *row, END)) for row in rows]
        scores = self._engine.score_batch(whole, max_batch_size=32)
        logs = [value for each in scores for value in each.log_probs]
        return math.exp(-sum(logs) / max(1, len(logs)))

    def _named(self, row: Sequence[int]) -> list[str]:
        return [self._names[id] for id in row]

    def _known(self, names: Sequence[str]) -> list[int]:
        return [self._ids[name] for name in names]


CTRANSLATE2 = ExportFormat(
    name="ctranslate2",
    reads=OWNER,
    precisions=("fp32", "int8"),
    obstacle=obstacle,
    write=write,
)
