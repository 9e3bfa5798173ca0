"""The commands that the documents name exist, with these options: in sentences and in code blocks.

Those in blocks are run as well, but those that take hours (test_pages.py).
"""

import pytest

from tests.documented import ROOT, block_commands, documents, inline_commands, refused, unknown

DOCUMENTS = documents()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documented_commands_exist(document):
    text = document.read_text("utf-8")
    named = inline_commands(text) + block_commands(text)
    wrong = {each: found for each in named if (found := unknown(each))}
    assert not wrong, wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_benchmarks_take_their_arguments(document):
    text = document.read_text("utf-8")
    commands = [*inline_commands(text), *block_commands(text)]
    assert not [each for each in commands if each.startswith("python -m") and refused(each)]


def test_a_wrong_or_missing_value_is_found():
    assert refused("python -m benchmarks.plan --pairs many")
    assert refused("python -m benchmarks.serving --seconds 5")
    assert not refused("python -m benchmarks.serving MODEL --seconds 5")


@pytest.mark.parametrize(
    ("command", "strange"),
    [
        ("jumok translate MODEL --beams 5", ["--beams"]),
        ("jumok traduce MODEL", ["traduce"]),
        ("jumok --plugin a.py look MODEL --save page.html", []),
        ("jumok train multi40k", ["multi40k"]),
        ("jumok train RECIPE --processes 2", []),
        ("python -m benchmarks.plan --pairs 10 --pair 3", ["--pair"]),
        ("python -m benchmarks.nothing", ["benchmarks.nothing"]),
        ("python -m benchmarks.quality MODEL --beam 5", ["--beam"]),
        ("python -m benchmarks prepare --pairs 10000000", []),
        ("make bench-gpus", ["bench-gpus"]),
    ],
)
def test_an_unknown_verb_option_module_recipe_or_target_is_found(command, strange):
    assert unknown(command) == strange


def test_commands_are_found_in_sentences_and_in_blocks():
    texts = [document.read_text("utf-8") for document in DOCUMENTS]
    assert sum(len(inline_commands(text)) for text in texts) > 400
    assert sum(len(block_commands(text)) for text in texts) > 300
    block = (
        "a\n\n    jumok look MODEL \\\n      --save a.html  # a page\n\n```bash\nmake docs\n```\n"
    )
    assert block_commands(block) == ["jumok look MODEL --save a.html", "make docs"]
