"""The Kinesis source can be taken out of the project, and used in another."""

from __future__ import annotations

import grimp

MANIFEST = "extensions.kinesis_source.extension"


def test_the_source_imports_nothing_else_of_ours() -> None:
    """Only what the sandbox finds it by does."""
    ours = ("extensions", "sandbox", "emulator", "tui", "rdss_sandbox", "schemas")
    graph = grimp.build_graph(*ours, cache_dir=None)
    source = graph.find_descendants("extensions.kinesis_source") - {MANIFEST}
    imported = {each for module in source for each in graph.find_modules_directly_imported_by(module)}
    assert {each for each in imported if not each.startswith("extensions.kinesis_source")} == set()
    assert imported
