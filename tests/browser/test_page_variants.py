"""Maps of other kinds of attention: sinks, subtracted maps, and attention without a softmax."""

from dataclasses import replace

import numpy as np
import pytest

from jumok.inspection.trace import Site, Trace
from tests.inspection.traces import trace


def changed(recorded: Trace, **keys: object) -> Trace:
    """The encoder's last layer with other facts; the page is opened at it."""
    sites = [
        replace(site, **keys) if (site.part, site.layer) == ("encoder", 1) else site
        for site in recorded.sites
    ]
    return replace(recorded, sites=tuple(sites))


def site_of(recorded: Trace) -> Site:
    return next(site for site in recorded.sites if (site.part, site.layer) == ("encoder", 1))


def shown(reader: object) -> dict[str, list[str]]:
    """The map as a table."""
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Show as", "table")
    return reader.table()


def test_the_share_of_a_sink_is_a_column_and_a_row(opened):
    """A sink with the score of the other keys' logarithm of the sum takes half of each row."""
    recorded = trace()
    site = site_of(recorded)
    scores = np.einsum("hqd,hkd->hqk", site.query, site.key) * site.scale
    sink = np.array([0.3, -0.4, 1.1], np.float32)
    powers = np.exp(scores)
    weights = powers / (powers.sum(-1, keepdims=True) + np.exp(sink)[:, None, None])
    reader = opened(changed(recorded, weights=weights.astype(np.float32), sink=sink))
    rows = shown(reader)
    mean = weights.mean(0)
    assert rows[0][-1] == "rest, sink"
    for row, line in zip(rows[1:], mean, strict=False):  # words a, cat, ran; then </s>
        assert abs(float(row[-1]) - (1 - line.sum() + line[3])) < 0.006
    assert "a learned score without a key" in reader.page.locator(".kind-note").inner_text()
    reader.tab("One row, step by step")
    reader.choose("Head", "2")
    table = reader.table()
    (of_sink,) = [row for row in table if row[0] == "sink"]
    assert of_sink[2] == "-0.4000"
    assert abs(float(of_sink[3]) - (1 - weights[1, 0].sum())) < 1e-4
    assert all(abs(float(row[-1])) < 1e-5 for row in table[1:-2])  # recomputed is recorded


def test_a_subtracted_map_says_so_and_the_mean_is_signed(opened):
    recorded = trace(heads=4)
    site = site_of(recorded)
    factors = np.array([1, 1, -0.75, -0.75], np.float32)
    reader = opened(changed(recorded, factors=factors, norms=None))
    rows = shown(reader)
    signed = (site.weights[:2] - 0.75 * site.weights[2:]).mean(0)
    found = [[float(cell) for cell in row[1:4]] for row in rows[1:4]]
    np.testing.assert_allclose(found, signed[:3, :3], atol=0.006)
    heads = reader.page.get_by_label("Head", exact=True).locator("option").all_inner_texts()
    assert heads[0] == "signed difference"
    assert heads[2:] == ["1", "2", "3 (× -0.75)", "4 (× -0.75)"]
    assert "Differential attention" in reader.page.locator(".kind-note").inner_text()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("linear", {"en-US": "Linear attention has no softmax", "ko": "softmax가 없습니다"}),
        ("ssru", {"en-US": "a forget gate lets a part of the state go", "ko": "망각 게이트가"}),
    ],
)
def test_what_has_no_softmax_says_so_in_both_languages(opened, kind, said):
    recorded = changed(trace(), kind=kind, scale=None)
    names = {
        "en-US": ("Attention kind", "encoder self-attention (source → source)"),
        "ko": ("어텐션 종류", "원문 → 원문 (인코더 셀프 어텐션)"),
    }
    for language, control in names.items():
        reader = opened(recorded, language)
        reader.choose(*control)
        assert said[language] in reader.page.locator(".kind-note").inner_text()
