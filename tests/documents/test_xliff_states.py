"""What XLIFF says of the state of a translation."""

from tests.documents.helpers import upper


def test_the_state_of_a_target_with_segments_asks_for_a_review() -> None:
    unit = (
        '<xliff version="1.2"><file><body><trans-unit id="1"><source>One. Two.</source>'
        '<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>'
        '</seg-source><target state="{}"><mrk mtype="seg" mid="1">{}</mrk> '
        '<mrk mtype="seg" mid="2">{}</mrk></target></trans-unit></body></file></xliff>'
    )
    review = "needs-review-translation"
    assert upper(unit.format("new", "", ""), "xliff") == unit.format(review, "ONE.", "TWO.")
    assert upper(unit.format("final", "Un.", ""), "xliff") == unit.format(review, "Un.", "TWO.")
    done = unit.format("final", "Un.", "Deux.")
    assert upper(done, "xliff") == done
