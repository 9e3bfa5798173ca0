"""`jumok look --tour`: tours by name and by file, and what is said where one does not fit."""

from tests.cli.calls import call, fault
from tests.inspection.pages import page_data


def test_a_page_is_saved_with_a_tour(tiny_bundle, tmp_path):
    file = tmp_path / "page.html"
    asked = ("look", tiny_bundle, "the cat", "--save", file, "--device", "cpu")
    assert call(*asked, "--tour", "switch-off").exit_code == 0
    data = page_data(file.read_text("utf-8"))
    assert data["tour"] == "switch-off"
    assert "bottleneck" not in {each["name"] for each in data["tours"]}
    message = str(fault(*asked, "--tour", "bottleneck"))
    assert message == (
        "the tour 'bottleneck' does not fit this model.\n"
        "  expected: recurrent = true\n"
        "  do:       choose one that fits: attention-is-not-use, switch-off, translating-head, "
        "why-the-mask"
    )


def test_the_tours_are_listed(tiny_bundle, tmp_path):
    done = call("look", "--tours")
    assert done.exit_code == 0
    assert "translating-head   From the mean of all heads" in done.output
    wrong = fault("look", tiny_bundle, "the cat", "--tour", "nothing")
    assert "there is no such tour." in str(wrong)
    assert "jumok look --tours lists them" in str(wrong)
    assert wrong.exit_code == 2
    numbers = tmp_path / "t.npz"
    wrong = fault("look", tiny_bundle, "the cat", "--save", numbers, "--tour", "switch-off")
    assert "--tour is for a page." in str(wrong)
