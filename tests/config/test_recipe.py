"""What a recipe may say, and what a faulty one gets to hear."""

from pathlib import Path

import pytest

from jumok.config import TransformerConfig, load_config, parse_config
from jumok.errors import ConfigError

MINIMAL = """
name = "tiny"
[data]
[[data.train]]
source = "a.en"
target = "a.ko"
"""


def write(folder: Path, text: str) -> Path:
    recipe = folder / "tiny.toml"
    recipe.write_text(text, encoding="utf-8")
    return recipe


def refusal(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(write(folder, text), overrides)
    return str(caught.value)


def test_a_recipe_needs_only_a_name_and_a_corpus(tmp_path):
    config = load_config(write(tmp_path, MINIMAL))
    assert config.name == "tiny"
    assert config.training.schedule.kind == "cosine"


def test_relative_paths_count_from_the_recipe(tmp_path):
    corpus = load_config(write(tmp_path, MINIMAL)).data.train[0]
    assert corpus.source == tmp_path / "a.en"


def test_variables_in_paths_are_filled_in(tmp_path):
    text = MINIMAL.replace('"a.en"', '"$JUMOK_DATA/a.en"')
    config = load_config(write(tmp_path, text), variables={"JUMOK_DATA": "/data"})
    assert config.data.train[0].source == Path("/data/a.en")


def test_variables_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_DATA", "/elsewhere")
    monkeypatch.delenv("JUMOK_RUNS", raising=False)
    text = MINIMAL.replace('"a.en"', '"$JUMOK_DATA/a.en"').replace('"a.ko"', '"$JUMOK_RUNS/a"')
    corpus = load_config(write(tmp_path, text)).data.train[0]
    assert corpus.source == Path("/elsewhere/a.en")
    assert corpus.target == Path.cwd() / "runs" / "a"


def test_a_recipe_may_be_named_by_a_string(tmp_path):
    assert load_config(str(write(tmp_path, MINIMAL))).name == "tiny"


def test_a_variable_that_is_not_set_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("JUMOK_DATA", raising=False)
    message = refusal(tmp_path, MINIMAL.replace('"a.en"', '"$JUMOK_DATA/a.en"'))
    assert "data.train.0.source: the environment variable JUMOK_DATA is not set" in message
    assert "export JUMOK_DATA=/path/to/the/folder" in message


def test_a_relative_variable_counts_from_where_the_user_stands(tmp_path):
    text = MINIMAL.replace('"a.en"', '"$JUMOK_DATA/a.en"')
    config = load_config(write(tmp_path, text), variables={"JUMOK_DATA": "data"})
    assert config.data.train[0].source == Path.cwd() / "data" / "a.en"


def test_a_stray_dollar_is_explained(tmp_path):
    message = refusal(tmp_path, MINIMAL.replace('"a.en"', '"a$.en"'))
    assert "write $$ for a literal $" in message


def test_a_config_without_a_file_counts_from_where_the_user_stands():
    values = {"name": "x", "data": {"train": [{"source": "a", "target": "b"}]}}
    assert parse_config(values).data.train[0].source == Path.cwd() / "a"


def test_weights_are_given_to_all_corpora_or_to_none(tmp_path):
    more = MINIMAL + 'weight = 2.0\n[[data.train]]\nfile = "b.tsv"\n'
    assert "needs a `weight` for every [[data.train]] corpus, or for none" in refusal(
        tmp_path, more
    )


def test_smallworld_stands_alone(tmp_path):
    message = refusal(tmp_path, MINIMAL + "[data.smallworld]\n")
    assert "takes either [[data.train]] corpora, or [data.smallworld]" in message


def test_overrides_are_toml_values_or_bare_words(tmp_path):
    overrides = ["training.steps=7", "model.positions=rotary", "training.betas=[0.8, 0.9]"]
    config = load_config(write(tmp_path, MINIMAL), overrides)
    assert config.training.steps == 7
    assert config.model.positions == "rotary"
    assert config.training.betas == (0.8, 0.9)


def test_an_unknown_key_names_its_nearest(tmp_path):
    message = refusal(tmp_path, MINIMAL + "[training]\nlearning_rat = 1.0\n")
    assert "training.learning_rat: unknown key; did you mean 'learning_rate'?" in message
    assert str(tmp_path / "tiny.toml") in message


def test_an_unknown_key_inside_a_corpus_names_its_nearest(tmp_path):
    assert "did you mean 'weight'?" in refusal(tmp_path, MINIMAL + "wieght = 2.0\n")


def test_an_unknown_key_like_nothing_is_still_refused(tmp_path):
    assert "zzz: unknown key; no such key" in refusal(tmp_path, "zzz = 1\n" + MINIMAL)


def test_all_faults_are_reported_at_once(tmp_path):
    message = refusal(
        tmp_path, MINIMAL + '[model]\ndim = "sixty"\nheds = 4\n[training]\nlearning_rate = -1.0\n'
    )
    assert "model.dim: Input should be a valid integer" in message
    assert "model.heds: unknown key; did you mean 'heads'?" in message
    assert "training.learning_rate: Input should be greater than 0 (got -1.0)" in message


def test_a_width_that_heads_cannot_share_is_refused(tmp_path):
    message = refusal(tmp_path, MINIMAL + "[model]\ndim = 250\nheads = 4\n")
    assert "dim = 250 cannot be split among heads = 4" in message


def test_layers_without_a_window_need_a_window_for_the_others(tmp_path):
    layers = 'window_layers = ["window", "whole"]\n'
    message = refusal(tmp_path, MINIMAL + f"[model]\n{layers}")
    assert "window_layers has no effect without a window: give window = 64" in message
    model = load_config(write(tmp_path, MINIMAL + f"[model]\nwindow = 9\n{layers}")).model
    assert [model.window_of(layer) for layer in range(5)] == [9, None, 9, None, 9]


def test_heads_with_a_size_of_their_own_need_not_divide_the_width(tmp_path):
    text = MINIMAL + "[model]\ndim = 250\nheads = 4\nhead_dim = 32\n"
    assert load_config(write(tmp_path, text)).model.head_dim == 32


def test_rotary_needs_an_even_head(tmp_path):
    text = MINIMAL + '[model]\nhead_dim = 7\npositions = "rotary"\n'
    assert "rotary positions need an even head size, not 7" in refusal(tmp_path, text)


@pytest.mark.parametrize("positions", ["rotary", "alibi", "none"])
def test_what_gives_no_vectors_cannot_be_concatenated(tmp_path, positions):
    text = MINIMAL + f'[model]\npositions = "{positions}"\npositions_join = "concatenate"\n'
    message = refusal(tmp_path, text)
    assert f'positions = "{positions}" has no vectors to concatenate' in message
    assert "leave positions_join out" in message


def test_more_bits_than_elements_are_refused(tmp_path):
    text = MINIMAL + '[model]\ndim = 8\npositions = "binary"\n'
    message = refusal(tmp_path, text)
    assert "binary positions up to max_length = 1024 have more bits than dim = 8" in message


@pytest.mark.parametrize(
    ("positions", "reach"), [("learned", 300), ("binary", 512), ("rotary", None), ("index", None)]
)
def test_reach_is_how_many_positions_there_are(positions, reach):
    assert TransformerConfig(positions=positions, max_length=300).reach == reach


def test_sentences_longer_than_the_positions_are_refused(tmp_path):
    text = MINIMAL + "[model]\nmax_length = 128\n"
    message = refusal(tmp_path, text)
    assert "data.max_tokens = 128 and the end of the sentence need more positions" in message
    rotary = text + 'positions = "rotary"\n'
    assert load_config(write(tmp_path, rotary)).model.max_length == 128


def test_a_recipe_without_data_is_refused(tmp_path):
    message = refusal(tmp_path, 'name = "x"\n[data]\n')
    assert "needs at least one [[data.train]] corpus, or [data.smallworld]" in message


def test_half_a_corpus_is_refused(tmp_path):
    message = refusal(tmp_path, 'name = "x"\n[[data.train]]\nsource = "a"\n')
    assert "data.train.0: needs both `source` and `target`" in message


def test_two_shapes_of_a_corpus_are_refused(tmp_path):
    message = refusal(tmp_path, MINIMAL + 'file = "both.tsv"\n')
    assert "needs either `source` and `target`, or `file`" in message


def test_a_missing_recipe_names_the_nearest_file(tmp_path):
    write(tmp_path, MINIMAL)
    with pytest.raises(ConfigError, match=r"did you mean .*tiny\.toml"):
        load_config(tmp_path / "tinny.toml")


def test_a_missing_recipe_in_a_missing_folder_is_said(tmp_path):
    with pytest.raises(ConfigError, match="there is no such recipe"):
        load_config(tmp_path / "nowhere" / "x.toml")


def test_a_recipe_that_is_not_toml_is_refused_with_its_line(tmp_path):
    assert "line 2" in refusal(tmp_path, 'name = "x"\nsteps =\n')


def test_a_recipe_that_is_not_utf8_names_the_byte(tmp_path):
    recipe = tmp_path / "x.toml"
    recipe.write_bytes(b'name = "\xff"\n')
    with pytest.raises(ConfigError, match="byte 8: the recipe is not UTF-8"):
        load_config(recipe)


@pytest.mark.parametrize("override", ["steps", "=3"])
def test_an_override_without_key_and_value_is_refused(tmp_path, override):
    message = refusal(tmp_path, MINIMAL, override)
    assert "an override has the form section.key=value" in message
    assert "--set training.steps=2000" in message


def test_an_override_inside_a_value_is_refused(tmp_path):
    assert "'name' in 'name.x' is a value, not a section" in refusal(tmp_path, MINIMAL, "name.x=1")


def test_a_kind_that_is_no_text_is_refused():
    with pytest.raises(ConfigError, match="no such kind of model"):
        parse_config({"name": "x"}, ["model.kind=[1]"])


def test_the_given_values_stay_as_they_were():
    values = {"name": "x", "data": {"smallworld": {}}}
    parse_config(values, ["training.steps=3"])
    assert values == {"name": "x", "data": {"smallworld": {}}}


def test_a_recipe_may_begin_with_a_byte_order_mark(tmp_path: Path):
    file = tmp_path / "a.toml"
    text = 'name = "x"\n[data]\nsmallworld = {}\n'
    file.write_text(text, encoding="utf-8-sig")
    assert load_config(file).name == "x"


@pytest.mark.parametrize("change", ["name='..'", "training.learning_rate=inf", f"seed={2**64}"])
def test_names_rates_and_seeds_that_cannot_be_are_refused(change: str):
    with pytest.raises(ConfigError, match=change.partition("=")[0]):
        parse_config({"name": "x", "data": {"smallworld": {}}}, [change])
