"""A file that is replaced is the old one or the new one, whatever happens meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from rdss_sandbox.files.rewriting import remove_drafts, rewriting


def test_the_new_content_appears_when_it_is_whole_and_is_private(tmp_path: Path) -> None:
    """Until the block ends the old content is read; then the new one, which only this user may read."""
    path = tmp_path / "file.json"
    path.write_text("old")
    path.chmod(0o644)
    with rewriting(path) as draft:
        draft.write_text("ne")
        assert path.read_text() == "old"
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
        draft.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "error", [OSError("no space left on device"), KeyboardInterrupt()], ids=["full", "^C"]
)
def test_an_error_leaves_the_old_content_and_no_draft(tmp_path: Path, error: BaseException) -> None:
    """A writer that fails half-way changes nothing, and leaves nothing behind."""
    path = tmp_path / "file.json"
    path.write_text("old")
    with pytest.raises(type(error)):
        _fail_half_way(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_is_on_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synced, then named, then its folder is synced; without ``fsync`` it is only named."""
    path = tmp_path / "file.json"
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        steps.append("sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        fsync(descriptor)

    def replaced(draft: Path, target: Path) -> Path:
        steps.append("name")
        return replace(draft, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    with rewriting(path) as draft:
        draft.write_text("new")
    with rewriting(path, fsync=False) as draft:
        draft.write_text("newer")
    assert steps == ["sync file", "name", "sync folder", "name"]


def test_two_processes_that_rewrite_one_file_do_not_mix(tmp_path: Path) -> None:
    """Another process rewrites the file in the middle of it: each has a draft of its own."""
    path = tmp_path / "file"
    other = multiprocessing.get_context("spawn").Process(target=_rewrite, args=(path, "theirs"))
    with rewriting(path) as draft, draft.open("w") as file:
        file.write("ou")
        other.start()
        other.join(60)
        assert other.exitcode == 0
        assert path.read_text() == "theirs"
        file.write("rs")
    assert path.read_text() == "ours"


def _rewrite(path: Path, text: str) -> None:
    with rewriting(path) as draft:
        draft.write_text(text)


def _fail_half_way(path: Path, error: BaseException) -> None:
    with rewriting(path) as draft:
        draft.write_text("ha")
        raise error


def test_what_a_crash_left_is_removed(tmp_path: Path) -> None:
    """Drafts go, whatever they were of; files that are none stay."""
    for name in ("state.log", "state.log.77.draft", "checkpoint.draft"):
        (tmp_path / name).write_text("")
    remove_drafts(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["state.log"]
