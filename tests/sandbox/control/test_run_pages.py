"""The pages of runs on the control port: what the directory has, and nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import httpx
import pytest

from emulator.assembly.embedded import embedded
from emulator.pages.frame import PageFrame
from emulator.settings.settings import Settings
from sandbox.control.run_pages import run_pages

_EVIL = "<script>fetch('/reset', {method: 'POST'})</script>"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[httpx.Client]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, token="s3cret")
    with chdir(tmp_path), embedded(settings, more=(run_pages,)) as sandbox:
        cookie = httpx.get(f"{sandbox.control}/?token=s3cret", trust_env=False).cookies
        with httpx.Client(base_url=sandbox.control, trust_env=False, cookies=cookie) as client:
            yield client


def _write(file: Path, title: str, body: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PageFrame(here="Certificate").render(title, body), encoding="utf-8")


def test_a_directory_without_runs_says_how_to_get_one(port: httpx.Client) -> None:
    """The page is there, with a command, and ``/runs`` leads to it."""
    page = port.get("/runs", follow_redirects=True)
    assert page.status_code == 200
    assert "sandbox scenario run split-under-load" in page.text


def test_a_page_in_the_folder_is_listed_and_shown_with_the_places_of_the_port(
    port: httpx.Client, tmp_path: Path
) -> None:
    """By its title. One that was written after the start is found."""
    _write(tmp_path / "runs/mine & yours/certificate.html", "Gold & more", "<p>it holds</p>")
    listed = port.get("/runs/").text
    assert '<a href="mine%20%26%20yours/certificate.html">Gold &amp; more</a>' in listed
    _write(tmp_path / "runs/report.html", "Tables")
    assert '<a href="report.html">Tables</a>' in port.get("/runs/").text
    shown = port.get("/runs/mine%20%26%20yours/certificate.html").text
    assert "<p>it holds</p>" in shown
    assert '<a href="/docs">Control API</a><a aria-current="page">Certificate</a>' in shown


@pytest.mark.parametrize(
    "path",
    ["%2e%2e/secret.html", "..%2Fsecret.html", "link.html", "circle.html", "notes.txt", "none.html",
     "%00.html", "folder.html"],
)  # fmt: skip
def test_nothing_else_is_shown(port: httpx.Client, tmp_path: Path, path: str) -> None:
    """Neither what is beside the folder, nor by a link out of it, nor a file of another kind."""
    _write(tmp_path / "secret.html", "Secret")
    _write(tmp_path / "runs/notes.txt", "Notes")
    (tmp_path / "runs/folder.html").mkdir()
    (tmp_path / "runs/link.html").symlink_to(tmp_path / "secret.html")
    (tmp_path / "runs/circle.html").symlink_to("circle.html")
    assert port.get(f"/runs/{path}").status_code == 404
    assert "Secret" not in port.get("/runs/").text


def test_a_script_that_is_not_ours_does_not_run(port: httpx.Client, tmp_path: Path) -> None:
    """A folder of runs may come from somebody else; by the page's policy only scripts that we write run."""
    _write(tmp_path / "runs/theirs.html", "Theirs", _EVIL)
    answer = port.get("/runs/theirs.html")
    policy = answer.headers["content-security-policy"]
    assert _EVIL in answer.text
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


@pytest.mark.parametrize("path", ["/runs", "/runs/", "/runs/theirs.html"])
def test_runs_want_the_token(port: httpx.Client, path: str) -> None:
    """As every page does; the cookie of the watch page opens them."""
    assert httpx.get(f"{port.base_url}{path}", trust_env=False).status_code == 401
