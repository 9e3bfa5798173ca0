"""A model in a page: offline, the same translations and attention as the engine's in Python."""

import io
import json
import random
import re
import unicodedata
from dataclasses import asdict, replace

import numpy as np
import pytest
import sentencepiece
from playwright.sync_api import expect

from jumok.bundle.profile import Profile
from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import TOKENIZER, read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.data.pieces import read_pieces
from jumok.data.tokenizer import END, Tokenizer, normalize
from jumok.engine.packing import OUTPUT_BIAS
from jumok.engine.structures import library
from jumok.engine.wasm import SIMD_FLAG, build_module, engine_wasm, missing_compiler
from jumok.systems.in_page.translator import WebTranslator
from jumok.systems.translation.judging import Judge
from jumok.systems.translation.kept.edges import core
from smallworld.corpus import pairs
from tests.browser.bare import SHORT, check_weights, on_plain_processor
from tests.browser.comparing import aligned, names, tables
from tests.browser.conftest import open_controls
from tests.conftest import TINY_TEXT
from tests.systems.test_ordinary_module import transformer
from tests.systems.untrained import write_rnn
from tests.tracing.test_same_answer import LINES

pytestmark = [
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(missing_compiler() is not None, reason="needs zig"),
]

SENTENCES = [
    pair.source for pair, _ in zip(pairs("test", maximum_words=8), range(200), strict=False)
]
LARGEST = 3_000_000


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> WebTranslator:
    folder = transformer(tmp_path_factory.mktemp("exported") / "model")
    return WebTranslator(read_bundle(folder), "int8", SHORT)


def test_the_page_reads_and_copies_what_python_does(asked, exported):
    """Three hundred lines: bullets, numbers, quotes, emoji, placeholders, addresses, Hangul."""
    page = asked(exported)
    texts = [normalize(line) for line in LINES]
    spans = [core(text) for text in texts]
    expected = [span and text[slice(*span)] for text, span in zip(texts, spans, strict=True)]
    assert page("cores", texts) == expected
    typed = ("A cat.", "1. “A cat.” ²", " 20 % ")
    bare, edged, copied = (page("looked", {"text": text}) for text in typed)
    assert edged["output"] == f"1. “{bare['output']}” ²"
    assert edged["findings"]["written"] == bare["findings"]["written"]
    assert (copied["output"], copied["sites"]) == ("20 %", [])


def test_the_page_knows_the_words_of_the_training_data_as_python_does(asked, tmp_path):
    folder = transformer(tmp_path / "model")
    profile = Profile.of([text for text in SENTENCES[:100] for _ in range(3)], SENTENCES, 1.0)
    _give_profile(folder, profile)
    page = asked(WebTranslator(read_bundle(folder), "int8", SHORT))
    judge = Judge(("en", "ko"), profile)
    texts = [*SENTENCES[100:130], "Hello, “dog”! 1,234 GROẞE ﬁne ΣΟΦΟΣ? 고양이가"]
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    read = [tokenizer.decode(tokenizer.encode(text[slice(*core(text))])) for text in texts]
    found = [page("looked", {"text": text})["findings"]["unseen"] for text in texts]
    assert found == [list(judge.unknown_words(text)) for text in read]
    assert found[-1][0] == 0
    assert 0 < sum(map(bool, found)) < len(found)


def test_a_translation_without_a_word_is_searched_again(asked, tmp_path):
    folder = transformer(tmp_path / "model", output_bias=True)
    bundle, tokenizer = read_bundle(folder), Tokenizer.load(folder / TOKENIZER)
    weights = load_model(bundle).state_dict()
    weights[OUTPUT_BIAS][END] = 50.0  # the first search ends at once
    ends = write_bundle(tmp_path / "ends", weights, bundle.config, tokenizer, bundle.card)
    page = asked(WebTranslator(read_bundle(ends), "fp32", SHORT))
    found = page("looked", {"text": "the cat sat"})
    least = len(tokenizer.encode("the cat sat")) // 2 + 1
    assert 1 < len(found["findings"]["written"]) == least < SHORT.maximum_length


def _give_profile(folder, profile) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["profile"] = asdict(profile)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("int8", {}),
        ("int8", {"norm": "post", "tied": "target"}),
        ("int8", {"positions": "learned", "max_length": 300, "tied": "none"}),
        ("int8", {"positions": "rotary", "kv_heads": 1, "norm_kind": "rms", "feedforward": 40}),
        ("int8", {"positions_join": "concatenate"}),
        ("int8", {"activation": "gelu"}),
        ("bf16", {"positions": "alibi", "feedforward_kind": "gated", "activation": "silu"}),
        ("fp32", {"window": 3, "window_layers": ["window", "whole"]}),
    ],
    ids=str,
)
def test_the_page_computes_the_bits_of_the_engine(asked, tmp_path, kind, changes):
    folder = transformer(tmp_path / "model", **changes)
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    fitting = [each for each in SENTENCES if len(tokenizer.encode(each)) <= 61]
    texts = fitting[:60] if (kind, changes) == ("int8", {}) else fitting[:5]
    expected, page = on_plain_processor(folder, kind, texts, tmp_path)
    look = asked(page)
    for number, text in enumerate(texts):
        found = look("looked", {"text": text})
        tokens = expected[f"{number}/tokens"].tolist()
        assert found["findings"]["written"] == tokens, text
        assert found["output"] == re.sub(" {2,}", " ", tokenizer.decode(tokens).strip())
        steps = [step["log_probability"] for step in found["steps"]]
        known = expected[f"{number}/log_probabilities"]  # without END's, where a text was cut
        np.testing.assert_allclose(steps[: len(known)], known, atol=1e-5)
        check_weights(found["sites"], number, expected)


@pytest.mark.parametrize("tied", ["all", "none"])
def test_integers_in_groups_are_those_of_the_engine(asked, tmp_path, tied):
    """Of a bundle that `jumok quantize` wrote with a scale for 32 inputs."""
    whole = transformer(tmp_path / "whole", dim=64, heads=4, feedforward=96, tied=tied)
    bundle = read_bundle(whole)
    folder = write_quantised(tmp_path / "small", bundle, "int8", bundle.card, in_groups=True)
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    texts = [each for each in SENTENCES if len(tokenizer.encode(each)) <= 61][:8]
    expected, page = on_plain_processor(folder, "int8", texts, tmp_path)
    look = asked(page)
    for number, text in enumerate(texts):
        found = look("looked", {"text": text})
        assert found["findings"]["written"] == expected[f"{number}/tokens"].tolist(), text
        check_weights(found["sites"], number, expected)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("int8", {}),
        ("int8", {"cell": "lstm", "encoder_layers": 2, "tied": "none", "order": "luong"}),
        ("bf16", {"bidirectional": False, "attention": "dot", "gate": True, "output_bias": True}),
        ("fp32", {"decoder_layers": 2, "order": "gnmt", "coverage": True, "tied": "target"}),
        ("fp32", {"attention": "none", "cell": "rnn", "first_state": "copy"}),
    ],
    ids=str,
)
def test_an_rnn_translates_as_the_engine(asked, tmp_path, kind, changes):
    folder = write_rnn(tmp_path / "model", **changes)
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    texts = [each for each in SENTENCES if len(tokenizer.encode(each)) <= 61][:8]
    expected, page = on_plain_processor(folder, kind, texts, tmp_path)
    look = asked(page)
    for number, text in enumerate(texts):
        found = look("looked", {"text": text})
        tokens = expected[f"{number}/tokens"].tolist()
        assert found["findings"]["written"] == tokens, text
        assert found["output"] == re.sub(" {2,}", " ", tokenizer.decode(tokens).strip())
        steps = [step["log_probability"] for step in found["steps"]]
        known = expected[f"{number}/log_probabilities"]
        np.testing.assert_allclose(steps[: len(known)], known, atol=1e-5)
        attention = changes.get("attention") != "none"
        assert [site["name"] for site in found["sites"]] == ["decoder.attention"] * attention
        check_weights(found["sites"], number, expected)


@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_written_is_shown_while_it_is_searched(asked, tmp_path, beam):
    bundle = read_bundle(transformer(tmp_path / "model"))
    page = asked(WebTranslator(bundle, "int8", replace(SHORT, beam=beam)))
    said, whole = page("said", "the cat sat")
    tokens = page("looked", {"text": "the cat sat"})["findings"]["written"]
    assert len(said) >= len(tokens) > 2
    if beam == 1:
        assert all(whole.startswith(each.rstrip("\ufffd")) for each in said)
        assert len(set(said)) > 2


@pytest.mark.parametrize(
    "flags",
    [
        (SIMD_FLAG, "-U__wasm_simd128__"),  # with the C library that is compiled already
        pytest.param(("-mno-simd128",), marks=pytest.mark.nightly),
    ],
    ids=["hidden", "none"],
)
def test_without_vectors_the_module_computes_the_same(asked, exported, tmp_path, flags):
    """The products of int8 have a readable twin, which is compiled where there are no vectors."""
    build_module(tmp_path / "plain.wasm", flags=flags)
    assert (tmp_path / "plain.wasm").read_bytes() != engine_wasm(), "it is the twin"
    fast = asked(exported)
    plain = asked(exported, wasm=(tmp_path / "plain.wasm").read_bytes())
    for text in TINY_TEXT:
        found, expected = (one("looked", {"text": text}) for one in (fast, plain))
        assert found["sites"] == expected["sites"]
        assert found["steps"] == expected["steps"]


def hard_texts() -> list[str]:
    """Sentences, and what SentencePiece might treat in its own way."""
    signs = (
        "abc ABC é e\u0301 ﬁ ＡＢＣ　１２ ½②㎏ ｶﾞ 한글각 \u1112\u1161\u11ab ▁ <s></s><0x41><pad> "
        "\x00\x1b\t\n\u2028\ufeff\u200b\u200d\u00a0 👨‍👩‍👧🇰🇷 漢字 हिन्दी ſß"
    )
    draw = random.Random(3)
    texts = [*SENTENCES, *TINY_TEXT, *map(unicodedata.normalize, ["NFD"] * 4, TINY_TEXT)]
    texts += ["".join(draw.choices(signs, k=draw.randint(0, 14))) for _ in range(1500)]
    whole = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000]
    return texts + ["".join(draw.choices(whole, k=9)) for _ in range(500)]


def trained(**settings: object) -> bytes:
    """A model of SentencePiece with settings that jumok's own do not have."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*TINY_TEXT, *SENTENCES]), model_writer=model, minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, **settings,
    )  # fmt: skip
    return model.getvalue()


TOKENIZERS = {
    "unigram": lambda: Tokenizer.train([*TINY_TEXT, *SENTENCES], "unigram", 420).model,
    "bpe": lambda: Tokenizer.train([*TINY_TEXT, *SENTENCES], "bpe", 450).model,
    "char": lambda: Tokenizer.train([*TINY_TEXT, *SENTENCES], "char", 350).model,
    "unigram without bytes": lambda: Tokenizer.train(
        [*TINY_TEXT, *SENTENCES], "unigram", 150, byte_fallback=False
    ).model,
    "layout": lambda: Tokenizer.train(
        [*TINY_TEXT, *SENTENCES], "unigram", 420, keep_layout=True
    ).model,
    "nmt_nfkc": lambda: trained(model_type="unigram", vocab_size=420, byte_fallback=True),
    "nmt_nfkc_cf, symbols": lambda: trained(
        model_type="bpe", vocab_size=170, normalization_rule_name="nmt_nfkc_cf",
        add_dummy_prefix=False, user_defined_symbols=["<pad>b", "한글", "c A"],
    ),
    "nfkc, symbols": lambda: trained(
        model_type="unigram", vocab_size=150, normalization_rule_name="nfkc",
        remove_extra_whitespaces=False, user_defined_symbols=["<pad>b", "한글", "c A"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
def test_text_is_cut_as_sentencepiece_cuts_it(asked, exported, name):
    model = TOKENIZERS[name]()
    tokenizer, table = Tokenizer(model), read_pieces(model)
    facts = {
        "segmentation": table.segmentation, "pieces": table.subwords, "scores": table.scores,
        "types": table.types, "byteFallback": table.byte_fallback, "unknown": table.unknown,
        "dummyPrefix": table.dummy_prefix, "removeExtra": table.remove_extra,
    }  # fmt: skip
    page = asked(exported, tokenizer=facts, charsmap=table.charsmap)
    texts = hard_texts()
    assert page("encoded", texts) == tokenizer.encode_batch(texts)
    draw, codes = random.Random(4), [id for id, kind in enumerate(table.types) if kind == 6]
    lists = [draw.choices(range(tokenizer.size), k=draw.randint(0, 12)) for _ in range(600)]
    lists += [draw.choices([*codes, 5], k=9) for _ in range(300)]
    lists += [[codes[byte] for byte in text.encode()] for text in texts[-50:] if codes]
    assert page("decoded", lists) == [
        [tokenizer.decode(ids), tokenizer.words(ids)] for ids in lists
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" \u2028\t", {"known": "faultEmpty", "numbers": []}),
        ("cat " * 90, {"known": "faultLong", "numbers": [90, 61]}),
    ],
)
def test_texts_that_the_model_does_not_read_are_refused(asked, exported, text, told):
    assert asked(exported)("answered", {"text": text})["error"] == told


def test_a_text_that_is_typed_is_translated_and_drawn_at_once(reading, exported):
    """Without a server or a network: the page loads nothing after itself."""
    saved = exported.page("a model", SENTENCES[:3])
    assert len(saved.encode()) < LARGEST
    reader = reading(saved, view="board")
    page = reader.page
    page.locator("#text").fill(SENTENCES[1])
    expect(page).to_have_title(re.compile(re.escape(SENTENCES[1]) + "$"), timeout=60_000)
    cost = page.locator(".cost").inner_text()
    assert re.search(r"in \d+\.\d ms, by \d[\d,]+ weights in int8", cost)
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Show as", "table")
    assert reader.table()[0][1:-1] == SENTENCES[1].split()
    page.get_by_role("button", name=SENTENCES[2]).click()
    expect(page).to_have_title(re.compile(re.escape(SENTENCES[2]) + "$"), timeout=60_000)
    assert reader.table()[0][1:-1] == SENTENCES[2].split()
    assert reader.serious() == []


def test_two_texts_are_shown_side_by_side(reading, exported):
    first, *others = SENTENCES[0].split()
    second = " ".join([SENTENCES[1].split()[0], "old", first, *others[:-1]])
    reader = reading(exported.page("a model", SENTENCES[:1]))
    reader.tab("A | B")
    open_controls(reader.page)
    reader.page.get_by_label("Second sentence").fill(second)
    reader.page.get_by_label("Second sentence").press("Enter")
    reader.page.get_by_text("B − A").first.wait_for()
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Show as", "table")
    one, other = tuple(SENTENCES[0].split()), tuple(second.split())
    rows = aligned(one, other)
    columns = [*rows, (len(one), len(other))]
    (_, _, mine), (_, _, theirs), (heads, of, less) = tables(reader.page)
    assert (heads, of) == ([*names(one, other, rows), "rest"], names(one, other, rows))
    both = np.array([[None not in (*row, *column) for column in columns] for row in rows])
    np.testing.assert_array_equal(np.isnan(less), ~both)
    np.testing.assert_allclose(less[both], (theirs - mine)[both], atol=2e-3)
    reader.tab("Attention map")
    check_alone(reader, mine[[i is not None for i, _ in rows]])
    reader.page.locator("#text").fill(second)
    expect(reader.page).to_have_title(re.compile(re.escape(second) + "$"), timeout=60_000)
    check_alone(reader, theirs[[j is not None for _, j in rows]])


def check_alone(reader, weights: np.ndarray) -> None:
    """These rows of a comparison, without gaps, are the map of the sentence alone."""
    shown = np.array([[float(cell) for cell in row[1:]] for row in reader.table()[1:]])
    assert shown.shape == (len(weights), np.isfinite(weights[0]).sum())
    np.testing.assert_allclose(weights[np.isfinite(weights)].reshape(shown.shape), shown)
    np.testing.assert_allclose(shown.sum(1), 1, atol=0.006)  # of cells with three digits


def test_the_page_speaks_korean_and_fits_a_phone(reading, exported):
    reader = reading(exported.page("모델", SENTENCES[:1]), "ko-KR")
    reader.page.set_viewport_size({"width": 360, "height": 740})
    assert "만에 계산했습니다" in reader.page.locator(".cost").inner_text()
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert reader.page.evaluate(wide) <= 0
    reader.page.locator("#text").fill("cat " * 90)
    reader.page.get_by_role("alert").get_by_text("한 번에 61개까지 읽습니다").wait_for()


@pytest.mark.parametrize("changes", [{}, {"positions": "rotary", "kv_heads": 1}], ids=str)
def test_weights_are_recomputed_from_the_vectors_of_the_page(reading, tmp_path, changes):
    translator = WebTranslator(
        read_bundle(transformer(tmp_path / "model", **changes)), "int8", SHORT
    )
    reader = reading(translator.page("a model", SENTENCES[:1]))
    reader.tab("One row, step by step")
    for part in (
        "cross-attention (target → source)",
        "encoder self-attention (source → source)",
        "decoder self-attention (target → target)",
    ):
        reader.choose("Attention kind", part)
        rows = [row for row in reader.table()[1:] if row[0] != "sum"]
        assert rows
        assert all(abs(float(row[5])) < 1e-6 for row in rows), "recomputed minus recorded"
        assert len({row[4] for row in rows}) > 1, "the values differ"
