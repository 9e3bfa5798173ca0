"""The options of commands: made from dataclasses, listed in files that docs/options.py writes."""

from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from jumok.cli.options import Without, flat
from jumok.decoding.options import FOR_CONTINUATION, SAMPLING, DecodingOptions
from jumok.errors import ConfigError
from jumok.options import option

ROOT = Path(__file__).parents[2]


def test_documents_and_the_list_of_options_are_up_to_date():
    """A new option is a decision, and one that goes breaks somebody's script."""
    spec = spec_from_file_location("docs_options", ROOT / "docs" / "options.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    old = [
        name for name, text in module.files().items() if text != (ROOT / name).read_text("utf-8")
    ]
    assert not old, f"run: python docs/options.py ({old})"


@dataclass(frozen=True)
class Fruit:
    """Options of a command."""

    kind: Literal["apple", "pear"] = option("apple", "Which fruit.")
    count: int = option(1, "How many.", "--count", "-n", minimum=1, maximum=9)
    weight: float | None = option(None, "Grams.", above=0)
    ripe: bool = option(False, "Only ripe ones.")
    shop: str = "market"


def called(*words: str, given: object) -> object:
    """What the parameter of a command is, which has this annotation, called with these words."""
    got = []

    def command(*, asked) -> None:
        got.append(asked)

    command.__annotations__["asked"] = given
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(flat(command))
    done = CliRunner().invoke(app, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return got[0] if got else done.output


def test_a_command_is_given_its_dataclass():
    kind = Annotated[Fruit, Fruit(count=3, shop="garden"), Without("weight")]
    assert called(given=kind) == Fruit(count=3, shop="garden")
    words = ["--kind", "pear", "-n", "5", "--ripe"]
    assert called(*words, given=kind) == Fruit("pear", 5, None, True, "garden")
    assert "No such option" in called("--weight", "3", given=kind)
    assert "No such option" in called("--shop", "here", given=kind)
    assert "--count" in called("-n", "10", given=kind)
    shown = called("--help", given=kind)
    assert "How many." in shown
    assert "[1<=x<=9]" in shown
    assert "[default: 3]" in shown


def test_options_of_decoding_are_those_that_a_command_has():
    kind = Annotated[DecodingOptions, DecodingOptions(), Without("nbest", SAMPLING)]
    assert called("-b", "2", "--length-rule", "power", given=kind) == DecodingOptions(
        beam=2, length_rule="power"
    )
    assert "No such option" in called("--top-k", "3", given=kind)
    kind = Annotated[DecodingOptions, FOR_CONTINUATION]
    assert called("--top-k", "3", given=kind) == DecodingOptions(beam=1, sample=True, top_k=3)
    kind = Annotated[DecodingOptions, DecodingOptions()]
    with pytest.raises(ConfigError, match="these options are for sampling"):
        called("--top-k", "3", given=kind)
