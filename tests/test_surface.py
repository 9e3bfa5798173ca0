"""The public names, held as a list: a new one is a decision."""

import jumok


def test_public_names_are_these_and_all_can_be_used() -> None:
    assert jumok.__all__ == [
        "Config",
        "DecodingOptions",
        "JumokError",
        "Score",
        "Tokenizer",
        "Trace",
        "Translation",
        "Translator",
        "WordAttention",
        "load",
        "load_config",
        "load_trace",
        "page",
        "score_text",
        "trace_translation",
    ]
    assert dir(jumok) == jumok.__all__
    for name in jumok.__all__:
        assert getattr(jumok, name).__module__.startswith("jumok")
