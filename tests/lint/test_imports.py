"""Imports: no circles, wherever they stand."""

import grimp


def test_modules_do_not_import_each_other_in_a_circle():
    """Whether at once, late, inside a function or for types alone."""
    graph = grimp.build_graph(
        "jumok", "jumok_lectures", "smallworld", exclude_type_checking_imports=False, cache_dir=None
    )
    imported = {
        module: {*graph.find_modules_directly_imported_by(module)} for module in graph.modules
    }
    while free := {module for module, others in imported.items() if not others & imported.keys()}:
        imported = {module: others for module, others in imported.items() if module not in free}
    circle = imported.keys() & set().union(*imported.values())
    assert not circle, sorted(circle)
