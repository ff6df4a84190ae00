"""The file of object versions: it stays small, and that of an earlier release is read."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from extensions.topics.current_versions import ObjectVersions


def test_the_file_does_not_grow_with_every_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that is published again and again takes the room of a few messages, and all is known."""
    monkeypatch.setattr("emulator.journal.log.OVERGROWN_BYTES", 5000)
    path = tmp_path / "versions.log"
    with closing(ObjectVersions(path)) as versions:
        versions.publish("other", {}, 1.0)
        for second in range(1000):
            versions.publish("often", {}, float(second))
            assert path.stat().st_size < 6000
    with closing(ObjectVersions(path)) as versions:
        assert versions.shows("other")
        assert versions.shows("often")
        assert not versions.publish("often", {}, 998.0).newest


def test_the_file_of_the_format_before_is_taken_over_once(tmp_path: Path) -> None:
    """The version ``b`` follows ``a``, and ``c`` was deleted."""
    path = tmp_path / "versions.log"
    shutil.copyfile(Path(__file__).with_name("format_1_versions.log"), path)
    for _ in range(2):
        with closing(ObjectVersions(path)) as versions:
            assert [versions.shows(uuid) for uuid in "abc"] == [False, True, False]
            assert versions.torn_bytes == 0
