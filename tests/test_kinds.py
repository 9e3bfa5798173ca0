"""The table of kinds: every place that a record names is there, and nothing is left out."""

import dataclasses
import inspect
import json

import pytest

from jumok.cli.options import flat
from jumok.cli.verbs.evaluate import evaluate, options_of_kind
from jumok.config.families import RECIPES, TranslationConfig
from jumok.errors import ConfigError
from jumok.kinds import KINDS, Kind, page_facts, register_kind
from jumok.places import import_string
from jumok.systems.base import System
from jumok.tracing.forced import Tracer
from jumok.training.task import prepare_task


@pytest.mark.parametrize("task", KINDS)
def test_every_place_that_a_record_names_is_there(task):
    kind = KINDS[task]
    places = [each for each in dataclasses.astuple(kind) if isinstance(each, str) and ":" in each]
    assert len(places) >= 2
    assert all(
        callable(import_string(place)) or isinstance(import_string(place), Tracer)
        for place in places
    )
    system = import_string(kind.system)
    assert issubclass(system, System)
    assert system.task == task or task == "bert"
    assert isinstance(import_string(kind.trace), Tracer)


def test_every_recipe_has_a_kind():
    assert {import_string(kind.recipe) for kind in KINDS.values() if kind.recipe} == set(RECIPES)


def test_the_options_of_kinds_are_options_of_evaluate():
    options = set().union(*map(options_of_kind, KINDS.values()))
    assert options - {"metrics"} <= inspect.signature(flat(evaluate)).parameters.keys() | {
        # not evaluated
        *("nbest", "sample", "temperature", "top_k", "top_p", "min_p", "seed", "stop")
    }
    assert {"beam", "patience"} <= options_of_kind(KINDS["captioning"])


def test_a_name_that_is_taken_is_refused(monkeypatch):
    monkeypatch.setattr("jumok.kinds.KINDS", dict(KINDS))
    kind = Kind(verb="look", reads="text", system="somewhere:Else")
    with pytest.raises(ConfigError, match="another kind of model called 'translation'") as caught:
        register_kind("translation", kind)
    assert "taken are: translation, captioning" in str(caught.value)
    register_kind("mine", kind)
    register_kind("mine", kind)  # a plugin may be read twice


def test_an_entry_that_a_record_lacks_is_named():
    with pytest.raises(ConfigError, match="has no entry 'classify'"):
        KINDS["translation"].entry("classify")


def test_a_recipe_of_no_kind_is_refused(tmp_path):
    class Unknown(TranslationConfig):
        """A recipe that nobody registered."""

    config = Unknown.model_construct(name="x")
    with pytest.raises(ConfigError, match="no kind of model has recipes of this class") as caught:
        prepare_task(config, tmp_path, tmp_path, print)
    assert 'jumok.register("kind", NAME, jumok.Kind(...))' in str(caught.value)


@pytest.mark.parametrize("task", KINDS)
def test_the_page_knows_every_kind_by_its_record(task):
    facts = page_facts(task, pictures=False)
    assert facts == {"reads": KINDS[task].reads, "writes": KINDS[task].writes, "texts": {}}
    assert json.loads(json.dumps(facts)) == facts


def test_the_page_shows_a_kind_that_is_not_known_without_views_of_its_output():
    assert page_facts("of a plugin", pictures=True) == {
        "reads": "picture", "writes": None, "texts": {},
    }  # fmt: skip
    assert page_facts("of a plugin", pictures=False)["reads"] == "text"
