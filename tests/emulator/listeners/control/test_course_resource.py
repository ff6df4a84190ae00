"""``/learn`` shows the course as far as the learner is, in the directory of the sandbox."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from sandbox.cli.sandbox_command import sandbox as command
from tests.chromium import chromium


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the sandbox and of the learner."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def learn(*arguments: str) -> None:
    done = CliRunner().invoke(command, ["learn", *arguments])
    assert done.exit_code == 0, done.output


def test_what_the_learner_has_begun_is_shown(http: httpx.Client) -> None:
    """At once, without a restart of the sandbox; a browser is told to run and load nothing of elsewhere."""
    before = http.get("/learn")
    assert before.status_code == 200
    assert "sandbox learn start 1" in before.text
    learn("start", "1")
    page = http.get("/learn")
    assert "The at-least-once world" in page.text
    assert "Load this page again" in Path("learn/index.html").read_text(encoding="utf-8")
    assert "Load this page again" not in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "; connect-src 'self'; style-src 'sha256-" in policy


@pytest.mark.slow
def test_the_page_follows_the_learner_s_commands(http: httpx.Client, tmp_path: Path) -> None:
    """It is never loaded again by hand, and a hint that is being read stays open when the next one comes."""
    with chromium(tmp_path / "profile") as tab:
        tab.open(f"{http.base_url}/learn")
        learn("start", "1")
        tab.wait("document.body.textContent.includes('The at-least-once world')")
        learn("hint")
        tab.wait("document.querySelectorAll('details').length === 1")
        tab.click_on("details summary")
        assert tab.eval("document.querySelector('details').open")
        learn("hint")
        tab.wait("document.querySelectorAll('details').length === 2")
        assert tab.eval("[...document.querySelectorAll('details')].map((each) => each.open)") == [True, False]
        assert tab.eval("document.querySelectorAll('main').length") == 1
        assert tab.problems == []


@pytest.mark.parametrize("content", [b"<h1>My shop</h1>", b"", b"\xff\xfe"])
def test_a_page_of_somebody_else_is_not_shown(http: httpx.Client, directory: Path, content: bytes) -> None:
    """A project may have a file of that name: it is no page of the control port's."""
    (directory / "learn").mkdir()
    (directory / "learn/index.html").write_bytes(content)
    shown = http.get("/learn")
    assert "sandbox learn start 1" in shown.text
    assert "My shop" not in shown.text


def test_a_link_to_itself_is_no_error(http: httpx.Client, directory: Path) -> None:
    """It leads to no page."""
    (directory / "learn").symlink_to(directory / "learn")
    assert "sandbox learn start 1" in http.get("/learn").text


@pytest.mark.parametrize("folder", [True, False])
def test_a_link_out_of_the_directory_is_not_followed(
    http: httpx.Client, directory: Path, tmp_path_factory: pytest.TempPathFactory, *, folder: bool
) -> None:
    """Not even to a page of a course: it is somebody else's."""
    learn("start", "1")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "learn"
    (directory / "learn").rename(elsewhere)
    if folder:
        (directory / "learn").symlink_to(elsewhere)
    else:
        (directory / "learn").mkdir()
        (directory / "learn/index.html").symlink_to(elsewhere / "index.html")
    shown = http.get("/learn").text
    assert "sandbox learn start 1" in shown
    assert "The at-least-once world" not in shown


@pytest.mark.parametrize(
    "path", ["/learn/../secret", "/learn/%2e%2e/secret", "/learn%00", "/learn//etc/passwd"]
)
def test_no_path_behind_it_is_a_file(http: httpx.Client, directory: Path, path: str) -> None:
    """There is one page, and no file has a path of its own."""
    (directory / "secret").write_text("secret words")
    shown = http.get(path)
    assert shown.status_code == 404
    assert "secret words" not in shown.text


def test_what_cannot_be_read_is_no_error(http: httpx.Client, directory: Path) -> None:
    """A folder where the file would be: the page says how to begin, and nothing fails."""
    (directory / "learn/index.html").mkdir(parents=True)
    assert http.get("/learn").status_code == 200
    assert http.post("/learn").status_code == 405
