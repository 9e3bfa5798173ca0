"""The public names, held as a list: a new one is a decision."""

from types import ModuleType

import jumok


def test_public_names_are_these_and_all_can_be_used() -> None:
    assert jumok.__all__ == [
        "Config",
        "DecodingOptions",
        "JumokError",
        "Tokenizer",
        "Trace",
        "Translation",
        "Translator",
        "load",
        "load_config",
        "load_trace",
        "page",
        "plot",
        "record",
        "score_text",
        "trace",
    ]
    assert dir(jumok) == jumok.__all__
    for name in jumok.__all__:
        public = getattr(jumok, name)
        home = public.__name__ if isinstance(public, ModuleType) else public.__module__
        assert home.startswith("jumok")
