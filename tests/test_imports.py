"""How our files import one another."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp

PACKAGES = ("extensions", "sandbox", "emulator", "tui", "rdss_sandbox", "schemas")


def test_no_files_import_one_another_in_a_circle() -> None:
    """Not even for types: the contracts in ``pyproject.toml`` hold rooms, and this holds files."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 500
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle
