"""What the page of head cards is given."""

import json
from dataclasses import replace

from jumok.inspection.page.cards_page import cards_page, cards_payload
from tests.inspection.test_measures import QUIET


def test_page_has_every_measure_of_every_model():
    late = replace(QUIET, entropy=0.5, most_next=0.9)
    found = cards_payload({"early": [QUIET], "late": [late]}, "dev.en", 7)
    assert (found["data"], found["count"], found["unit"]) == ("dev.en", 7, "sentences")
    assert found["furthest"] == 8
    early, after = (each["heads"][0] for each in found["models"])
    assert (early["entropy"], early["role"]) == (1.0, "no clear role")
    assert (after["entropy"], after["role"]) == (0.5, "next")
    assert (after["layer"], after["head"]) == (1, 1), "people count from 1"
    text = cards_page({"early": [QUIET], "late": [late]}, "dev.en", 7)
    inside = text.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside) == json.loads(json.dumps(found))
    assert "default-src 'none'" in text
    assert "connect-src" not in text
