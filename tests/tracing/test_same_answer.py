"""However a translation is made, recorded or traced, people get one answer."""

from functools import partial
from itertools import product
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.errors import DataError
from jumok.inspection.explain import choose, part_sites
from jumok.inspection.trace_file import load_trace
from jumok.serving.answers import answers
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import NOTHING

SENTENCES = [
    "The cat saw a dog.", "A student sat.", "나는 학생입니다.", "Two red cars barked!",
    "Who sat on the mat?",
]  # fmt: skip
FORMS = [
    "{}", "1. {}", "• {}", "- [ ] {}", "“{}”", "({})", "♪ {} ♪", "😀 {} 🎉", "{} [1]", "{}²",
    "> {}", "{} Then it slept.", "100. {}", "{} 2024-01-15", "{} 20 dogs came.",
    "I have %d of {}", "{} {{name}}", "{{0}}: {}", "<b>{}</b>",
    "{} <br/> It sat. <i>So</i> it is.", "{} See https://a.b/c?d=1.", "a@b.org {}",
    "{} 3.5 kg, 1,000 and 10:30", "{}  ", "\t{}", "“{}” – “{}”", "{} 👨‍👩‍👧 {}",
    "$HOME {} &amp; ${{x}}", "{{n, plural, one {{{}}} other {{# {}}}}}",
    "{} 100 200 300 400 500 600 700 800", "ca\u00adt {}", "{{n, plural, one {{{}}}",
    "{} <b>The", "{}{}", "…{}…", "«{}» 12", "{}\n{}", "[x] {} (2)", "C++: {}", "{} 日本語。",
    "ﬁ {}", "{}…", "A) {} B) {}", "10 km {}", "#{} #1", "{} %(a)s %s", "{}\u2028{}",
    "-5 {} +3", "{} {{{{y}}}} 42", "WWW.A.ORG {}", "{}. {}. {}", "{} 12/31/1999",
    "02-123-4567 {}", "“{} 15”",
]  # fmt: skip
COPIED = [
    "100", "-", "2024-01-15", "12:30", "😀", "👨‍👩‍👧 🎉", "%s", "{name}", "https://a.b/c?d",
    "a@b.org", "&nbsp;", "…", "1.", "- [x]", "(2)", "$HOME", "%(count)d / %(all)d", "3.14 %",
    "1 2 3", "*** ", "10. 20. 30.", "{n, plural, one {#} other {#}}",
    "%5d %%", "@someone", "#주제", "/usr/local/bin", "C:\\temp", "v2.0", "ISBN 978-3-16-148410-0",
    "$5", "100 °C", "a" * 1001,
]  # fmt: skip
EMPTY = ["", "  ", "\u200b\u00ad", "\n"]
LINES = [form.format(*[one] * 4) for form, one in product(FORMS, SENTENCES)] + COPIED * 2
SHORT = DecodingOptions(beam=2, maximum_length=9)


@pytest.fixture(autouse=True)
def types_are_not_executed():
    """Many calls, whose types the tests of each part execute."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_three_hundred_lines_are_translated_recorded_and_traced_alike(
    tiny_bundle: Path, engine: str
) -> None:
    assert len(LINES) > 300
    system = jumok.load(tiny_bundle, engine=engine, threads=1, kind=jumok.Translator)
    expected = [each.text for each in system.translate(LINES, SHORT)]
    with jumok.record(system) as recording:
        assert [each.text for each in system.translate(LINES, SHORT)] == expected
    by_line: dict[int, list[jumok.Trace]] = {}
    for trace in recording.traces:
        by_line.setdefault(trace.index, []).append(trace)
    assert sorted(by_line) == list(range(len(LINES)))
    for line, text in enumerate(expected):
        traces = by_line[line]
        assert [trace.segment for trace in traces] == list(range(traces[0].segments))
        if "<" not in LINES[line] and "plural" not in LINES[line]:
            assert " ".join(trace.output for trace in traces if trace.output) == text
    traced = partial(jumok.trace, system, options=SHORT, extras=NOTHING, level="weights")
    assert [traced(line).output for line in LINES] == expected


def test_the_live_page_shows_what_translate_gives(tiny_bundle: Path) -> None:
    expected = [each.text for each in jumok.load(tiny_bundle).translate(LINES[::3], SHORT)]
    family = load_family(tiny_bundle)
    answer = answers(Comparison(partial(family.trace, options=SHORT)))
    shown = [answer({"text": line}, lambda: None) for line in LINES[::3]]
    assert [each["output"] for each in shown] == expected
    for line in ("", "  ", "\n"):
        with pytest.raises(DataError, match="cannot be traced"):
            answer({"text": line}, lambda: None)


def test_what_search_alone_does_not_write_is_recorded_as_it_is_written(tiny_bundle: Path) -> None:
    """Kept strings and terms: the trace has the tokens of the answer, and their probabilities."""
    system = jumok.load(tiny_bundle, engine="torch", kind=jumok.Translator)
    lines, terms = ["The cat saw 20 dogs.", "A student sat."], {"student": "강아지네"}
    with jumok.record(system, level="qk") as recording:
        answers = system.translate(lines, SHORT, glossary=terms, nbest=2)
    for line, answer in enumerate(answers):
        traces = [trace for trace in recording.traces if trace.index == line]
        assert [trace.output for trace in traces] == [
            one.text for one in (answer, *answer.alternatives)
        ]
        trace = traces[0]
        assert trace.tree is None or not (answer.forced or answer.inserted or answer.terms)
        assert trace.axes["target"].tokens[1:] == answer.tokens
        values = [step.log_probability for step in trace.steps]
        assert values == pytest.approx(answer.token_log_probabilities, abs=1e-4)
        again = jumok.trace(system, lines[line], trace.findings.written, extras=NOTHING)
        np.testing.assert_allclose(trace.sites[-1].weights, again.sites[-1].weights, atol=1e-5)


@pytest.mark.parametrize("precision", ["int8", "bf16"])
def test_rounded_weights_write_what_is_recorded(tiny_bundle: Path, precision: str) -> None:
    lines = [*SENTENCES, "20 cats. 100.", *COPIED[:3]]
    for threads in (1, 2):
        system = jumok.load(tiny_bundle, precision=precision, engine="native", threads=threads)
        expected = [each.text for each in system.translate(lines, SHORT, batch_size=2)]
        with jumok.record(system) as recording:
            inside = system.translate(lines, SHORT, batch_size=2)
        assert [each.text for each in inside] == expected
        for line, text in enumerate(expected):
            traces = [trace for trace in recording.traces if trace.index == line]
            assert " ".join(trace.output for trace in traces if trace.output) == text
            assert jumok.trace(system, lines[line], options=SHORT, extras=NOTHING).output == text


def test_a_segment_is_chosen(tiny_bundle: Path) -> None:
    system = jumok.load(tiny_bundle)
    text = "100! The cat sat. A dog barked."
    whole = system.translate([text], SHORT)[0].text
    traced = partial(jumok.trace, system, text, options=SHORT, extras=NOTHING)
    first, second, copied = traced(), traced(segment=2), traced(segment=0)
    assert [each.output for each in (first, second, copied)] == [whole] * 3
    assert [(each.segment, each.segments) for each in (first, second)] == [(1, 3), (2, 3)]
    assert first.axes["source"].texts == ("The", "cat", "sat.")
    assert second.axes["source"].texts == ("A", "dog", "barked.")
    forced = traced(second.findings.written, segment=2)
    assert forced.steps == second.steps
    with pytest.raises(DataError, match="no such segment"):
        traced(segment=3)
    given = jumok.trace(system, text, "개", extras=NOTHING)
    assert given.segment is None
    assert len(given.axes["source"].texts) == 7


def test_a_copied_text_says_that_nothing_was_read(tiny_bundle: Path, tmp_path: Path) -> None:
    trace = jumok.trace(jumok.load(tiny_bundle), "2024-01-15")
    assert (trace.output, trace.copied, trace.sites) == ("2024-01-15", True, ())
    trace.save(tmp_path / "t.npz")
    assert load_trace(tmp_path / "t.npz").copied
    for look in (partial(choose, trace, "1", None, None), partial(part_sites, trace)):
        with pytest.raises(DataError, match="it was copied"):
            look()


def test_a_trace_within_a_recording_is_apart(tiny_bundle: Path) -> None:
    """Its passes with heads off and words hidden are no uses of the model."""
    system = jumok.load(tiny_bundle)
    with jumok.record(system) as recording:
        trace = jumok.trace(system, "the cat sat", options=SHORT)
        (answer,) = system.translate(["the cat sat"], SHORT)
    (recorded,) = recording.traces
    assert recorded.output == trace.output == answer.text
