"""Late imports: nothing is imported before it is used, and a missing extra is named."""

import builtins
import subprocess
import sys
from threading import Event, Thread

import pytest

from jumok.errors import MissingExtraError
from jumok.late import LateModule, late_imports


def test_a_late_module_is_imported_when_it_is_first_used() -> None:
    program = (
        "import sys\n"
        "from jumok.late import late_imports\n"
        "with late_imports():\n"
        "    import colorsys\n"
        "    import colorsys as colours\n"
        "    from xml.dom import minidom\n"
        "assert 'colorsys' not in sys.modules and 'xml.dom' not in sys.modules\n"
        "print(colours.rgb_to_hsv(1, 0, 0), colorsys.rgb_to_hsv is colours.rgb_to_hsv)\n"
        "assert 'colorsys' in sys.modules and 'xml.dom' not in sys.modules\n"
        "print(minidom.Document().nodeName)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["(0.0, 1.0, 1) True", "#document"], done.stderr


def test_a_package_that_is_not_installed_is_named_with_its_extra() -> None:
    with late_imports("reading runes", extra="runes"):
        import no_such_package_of_runes as runes
    with pytest.raises(MissingExtraError, match=r"reading runes[^$]*jumok\[runes\]"):
        _ = runes.read


def test_a_package_of_no_extra_fails_as_an_import_does() -> None:
    with late_imports():
        import no_such_package_of_runes as runes
    with pytest.raises(ModuleNotFoundError, match="no_such_package_of_runes"):
        _ = runes.read


def test_an_attribute_that_the_module_lacks_is_an_attribute_error() -> None:
    with late_imports():
        import colorsys
    with pytest.raises(AttributeError, match="module 'colorsys' has no attribute 'rgb_to_runes'"):
        _ = colorsys.rgb_to_runes


def test_a_dotted_import_without_a_name_is_refused() -> None:
    with pytest.raises(ImportError, match=r"is written `from a\.b import c`"), late_imports():
        exec("import xml.dom.minidom")


def test_blocks_of_two_threads_come_one_after_the_other() -> None:
    entered, leave = Event(), Event()
    order: list[str] = []

    def first() -> None:
        with late_imports():
            entered.set()
            leave.wait(5)
            order.append("first ends")

    def second() -> None:
        with late_imports():
            order.append("second begins")

    before = builtins.__import__
    threads = [Thread(target=first), Thread(target=second)]
    threads[0].start()
    assert entered.wait(5)
    threads[1].start()
    threads[1].join(0.2)
    leave.set()
    for thread in threads:
        thread.join()
    assert order == ["first ends", "second begins"]
    assert builtins.__import__ is before


def test_imports_after_the_block_and_of_other_threads_are_plain() -> None:
    found: list[bool] = []

    def work() -> None:
        import colorsys

        found.append(isinstance(colorsys, LateModule))

    with late_imports():
        thread = Thread(target=work)
        thread.start()
        thread.join()
    work()
    assert found == [False, False]
