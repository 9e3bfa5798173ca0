"""jumok (주목): train attention models, look inside them, and ship them.

    import jumok

    model = jumok.load("runs/NAME/model", kind=jumok.Translator)
    best = model.translate(["I am a student."], beam=5)[0]
    best.text, best.score, best.tokens, best.alignment

Heavy modules are imported when a name of theirs is first used, so that `jumok --help` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from jumok.environment import let_threads_sleep
from jumok.errors import JumokError

let_threads_sleep()  # torch reads what this sets when it is imported, which is later

if TYPE_CHECKING:
    from jumok import plot
    from jumok.config import Config, load_config
    from jumok.data.tokenizer import Tokenizer
    from jumok.decoding import DecodingOptions
    from jumok.evaluation.text import score_text
    from jumok.inspection.page.notebook import page
    from jumok.inspection.rollout import rollout
    from jumok.inspection.trace import Axis, Trace
    from jumok.inspection.trace_file import Recording, load_trace
    from jumok.kinds import Kind
    from jumok.plugins import load_plugin, register
    from jumok.systems.catalog import load
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.translator import Translator
    from jumok.tracing.catalog import trace
    from jumok.tracing.changes import changed, patched
    from jumok.tracing.given import trace_of
    from jumok.tracing.huggingface import from_transformers
    from jumok.tracing.record import record
    from jumok.tracing.states import states_of
    from jumok.training.from_python import train

__version__: str

__all__ = [
    "Axis",
    "Config",
    "DecodingOptions",
    "JumokError",
    "Kind",
    "Recording",
    "Tokenizer",
    "Trace",
    "Translation",
    "Translator",
    "changed",
    "from_transformers",
    "load",
    "load_config",
    "load_plugin",
    "load_trace",
    "page",
    "patched",
    "plot",
    "record",
    "register",
    "rollout",
    "score_text",
    "states_of",
    "trace",
    "trace_of",
    "train",
]

_HOMES = {
    "train": "jumok.training.from_python",
    "Kind": "jumok.kinds",
    "load_plugin": "jumok.plugins",
    "register": "jumok.plugins",
    "Axis": "jumok.inspection.trace",
    "Config": "jumok.config",
    "DecodingOptions": "jumok.decoding",
    "Recording": "jumok.inspection.trace_file",
    "Tokenizer": "jumok.data.tokenizer",
    "Trace": "jumok.inspection.trace",
    "Translation": "jumok.systems.translation.result",
    "Translator": "jumok.systems.translation.translator",
    "changed": "jumok.tracing.changes",
    "from_transformers": "jumok.tracing.huggingface",
    "load": "jumok.systems.catalog",
    "load_config": "jumok.config",
    "load_trace": "jumok.inspection.trace_file",
    "page": "jumok.inspection.page.notebook",
    "patched": "jumok.tracing.changes",
    "record": "jumok.tracing.record",
    "rollout": "jumok.inspection.rollout",
    "score_text": "jumok.evaluation.text",
    "states_of": "jumok.tracing.states",
    "trace": "jumok.tracing.catalog",
    "trace_of": "jumok.tracing.given",
}


def __getattr__(name: str) -> object:
    """Imports a public name's module when the name is first used (PEP 562)."""
    if name == "plot":
        return import_module(f"jumok.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("jumok")
    if name not in _HOMES:
        raise AttributeError(f"module 'jumok' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
