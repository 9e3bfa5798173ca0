"""The public names, held as a list: a new one is a decision."""

from pathlib import Path
from types import ModuleType

import jumok


def test_public_names_are_these_and_all_can_be_used() -> None:
    assert jumok.__all__ == [
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
    assert dir(jumok) == jumok.__all__
    for name in jumok.__all__:
        public = getattr(jumok, name)
        home = public.__name__ if isinstance(public, ModuleType) else public.__module__
        assert home.startswith("jumok")


def test_paths_may_be_strings(tiny_bundle: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = jumok.load(str(tiny_bundle))
    jumok.Translator.load(str(tiny_bundle))
    tokenizer = jumok.Tokenizer.load(str(tiny_bundle / "tokenizer.model"))
    tokenizer.save("copy.model")
    assert jumok.Tokenizer.load("copy.model").hash == tokenizer.hash
    with jumok.record(model, level="weights") as recording:
        model.translate(["the cat"], beam=1)
    recording.save("trace.npz")
    kept = jumok.load_trace("trace.npz", of=str(tiny_bundle))
    jumok.page(kept).save("page.html")
    jumok.plot.save(jumok.plot.grid(kept), "grid.svg")
    assert {each.name for each in tmp_path.iterdir()} == {
        *("copy.model", "grid.svg", "page.html", "trace.npz")
    }
