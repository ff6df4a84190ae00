"""``/learn`` shows the course as far as the learner is, in the directory of the sandbox."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from sandbox.cli.commands import sandbox as command


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the sandbox and of the learner."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_the_learner_has_begun_is_shown(http: httpx.Client) -> None:
    """At once, without a restart of the sandbox; the page of the lesson runs no script and loads nothing."""
    before = http.get("/learn")
    assert before.status_code == 200
    assert "sandbox learn start 1" in before.text
    begun = CliRunner().invoke(command, ["learn", "start", "1"])
    assert begun.exit_code == 0, begun.output
    page = http.get("/learn")
    assert page.text == Path("learn/index.html").read_text(encoding="utf-8")
    assert "The at-least-once world" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src")
    assert "script-src" not in page.headers["content-security-policy"]


@pytest.mark.parametrize("content", [b"<h1>My shop</h1>", b"", b"\xff\xfe"])
def test_a_page_of_somebody_else_is_not_shown(http: httpx.Client, directory: Path, content: bytes) -> None:
    """A project may have a file of that name: it is no page of the control port's."""
    (directory / "learn").mkdir()
    (directory / "learn/index.html").write_bytes(content)
    shown = http.get("/learn")
    assert "sandbox learn start 1" in shown.text
    assert "My shop" not in shown.text


def test_what_cannot_be_read_is_no_error(http: httpx.Client, directory: Path) -> None:
    """A folder where the file would be: the page says how to begin, and nothing fails."""
    (directory / "learn/index.html").mkdir(parents=True)
    assert http.get("/learn").status_code == 200
    assert http.post("/learn").status_code == 405
