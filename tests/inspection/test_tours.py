"""Tours as files: those that come with jumok are whole; a wrong one is answered with what to do."""

import re

import pytest

from jumok.errors import ConfigError
from jumok.inspection.page.document import guided, page
from jumok.inspection.page.source import source_folder
from jumok.inspection.page.tours import (
    NEEDS,
    READER_NAMES,
    built_in,
    find_tour,
    place_names,
    read_tour,
    state_names,
    tour_names,
    view_names,
)
from tests.inspection.pages import page_data
from tests.inspection.traces import trace

MINE = """\
[title]
en = "Mine"
ko = "내 것"

[text]
en = "About it."
ko = "무엇인지."

[needs]
parts = ["cross"]

[[steps]]
link = "view=overview"
text.en = "First."
text.ko = "처음."

[[steps]]
link = "view=board&layer={sharpest.layer}"
text.en = "Second: {sentence}"
text.ko = "다음: {sentence}"
"""


def wrong(tmp_path, old: str, new: str) -> str:
    file = tmp_path / "mine.toml"
    assert old in MINE
    file.write_text(MINE.replace(old, new), "utf-8")
    with pytest.raises(ConfigError) as raised:
        read_tour(file)
    assert raised.value.exit_code == 2
    return str(raised.value).replace(str(file), "FILE")


def test_a_tour_of_ones_own_is_read(tmp_path):
    file = tmp_path / "my tour.toml"
    file.write_text(MINE, "utf-8")
    tour = read_tour(file)
    assert tour.name == "my-tour"
    assert tour.title == {"en": "Mine", "ko": "내 것"}
    assert [step.link for step in tour.steps] == [
        "view=overview",
        "view=board&layer={sharpest.layer}",
    ]
    found = guided(trace(), tour)
    assert found["tour"] == "my-tour"
    assert next(each["name"] for each in found["tours"]) == "my-tour"
    assert page_data(page(trace(), tour=tour))["tour"] == "my-tour"


@pytest.mark.parametrize("document", ["look.md", "look.ko.md"])
def test_the_documented_tour_is_one(tmp_path, document):
    text = (source_folder().parent / "docs" / document).read_text("utf-8")
    file = tmp_path / "first.toml"
    file.write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1], "utf-8")
    assert read_tour(file).title["en"] == "The first layer"
    for name in place_names("LINK_PLACES") + place_names("TEXT_PLACES"):
        assert f"{{{name}}}" in text or f"`.{name.partition('.')[2]}`" in text
    assert all(f"`{name}`" in text for name in NEEDS)


def test_five_tours_of_five_steps_come_with_jumok():
    assert tour_names() == [
        *("attention-is-not-use", "bottleneck", "switch-off", "translating-head", "why-the-mask"),
    ]
    for tour in built_in():
        assert len(tour.steps) == 5
        for step in tour.steps:
            assert re.search("[가-힣]", step.text["ko"])
            assert not re.search("[가-힣]", step.text["en"])
            # The same facts in both languages.
            assert set(re.findall(r"\{.*?\}", step.text["en"])) == set(
                re.findall(r"\{.*?\}", step.text["ko"])
            )
            assert not re.search(r"\d+ ?%", step.text["en"]), "numbers come from the model"


def test_the_names_are_those_of_the_page():
    catalog = (source_folder() / "views" / "catalog.js").read_text("utf-8")
    assert len(set(view_names())) == len(re.findall(r"^import \{ \w+View \}", catalog, re.M)) > 10
    assert set(state_names()) >= READER_NAMES
    assert len(place_names("LINK_PLACES")) == 14
    assert len(place_names("TEXT_PLACES")) == 9
    fit = (source_folder() / "tours" / "fit.js").read_text("utf-8")
    block = fit.partition("const NEEDS = {\n")[2].partition("\n};")[0]
    assert re.findall(r"^  (\w+):", block, re.MULTILINE) == list(NEEDS)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "view=overview",
            "view=overvew",
            "FILE, line 12: step 1: the link opens a view that the page does not have.\n"
            f"  expected: {', '.join(view_names())}\n"
            "  got:      view=overvew\n"
            "  do:       did you mean view=overview?",
        ),
        (
            'text.ko = "다음: {sentence}"\n',
            "",
            "FILE, line 17: step 2: the text is missing in Korean.\n"
            '  expected: ko = "..."\n'
            "  do:       write it in both languages, because the page has both",
        ),
        (
            "view=overview",
            "view=overview&haed=1",
            "step 1: the link has a name that the page does not know.",
        ),
        ("view=overview", "view=overview&haed=1", "do:       did you mean head=?"),
        ("view=overview", "overview", "step 1: the link cannot be read."),
        (
            "view=overview",
            "view=board&lang=ko",
            "step 1: lang= does not belong in a link of a tour",
        ),
        ("{sharpest.layer}", "{sharpest.lyer}", "do:       did you mean {sharpest.layer}?"),
        ("={sharpest.layer}", "=1{sharpest.layer}", "a placeholder is the whole value of a name"),
        (": {sentence}", ": {sentense}", "the text has an unknown placeholder."),
        ("[needs]", "[need]", "the tour has an unknown key.\n"),
        ("[needs]", "[need]", "do:       did you mean needs?"),
        ('["cross"]', '["crss"]', "[needs] has a wrong value for parts."),
        ('parts = ["cross"]', "part = 1", "[needs] has an unknown key."),
        ('parts = ["cross"]', "heads = true", "expected: a number of heads"),
        ('link = "view=overview"\n', "", "step 1: the step has no link."),
        ('ko = "내 것"\n', "", "the title is missing in Korean."),
        ("[title]", "[title", "the tour is not a TOML file in UTF-8."),
    ],
)
def test_a_wrong_tour_is_named_with_its_step(tmp_path, old, new, said):
    assert said in wrong(tmp_path, old, new)


def test_a_tour_without_steps(tmp_path):
    file = tmp_path / "empty.toml"
    file.write_text(MINE.partition("[[steps]]")[0], "utf-8")
    with pytest.raises(ConfigError, match=r"the tour has no steps\."):
        read_tour(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not a TOML file in UTF-8"):
        read_tour(file)


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(ConfigError) as raised:
        find_tour("switchoff")
    assert "one of attention-is-not-use, bottleneck, switch-off" in str(raised.value)
    assert "did you mean switch-off?" in str(raised.value)
    with pytest.raises(ConfigError, match="jumok look --tours lists them"):
        find_tour(str(tmp_path / "none.toml"))
    assert find_tour("bottleneck").name == "bottleneck"
