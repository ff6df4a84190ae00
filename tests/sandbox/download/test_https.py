"""Files over real HTTPS: what comes is whole and vouched for, or there is no file at all."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest

from sandbox.download.download_errors import DownloadError, WrongChecksumError
from sandbox.download.https import HttpsSource
from sandbox.download.remote_file import Checksum
from tests.sandbox.download.conftest import CONTENT, Place, described


def _staged(staging: Path) -> list[Path]:
    return [path for path in staging.rglob("*") if path.is_file()]


def test_a_file_over_https_with_a_private_authority(place: Place) -> None:
    """The file is there under its name, with nothing beside it; a second fetch asks nobody."""
    server, downloads = place.serve(), place.downloads()
    file = described(f"{server.url}/reef.csv")
    path = downloads.fetch(file)
    assert (path.read_bytes(), path.name, _staged(place.staging)) == (CONTENT, "reef.csv", [path])
    assert downloads.fetch(file) == path
    assert len(server.answers) == 1


def test_a_cut_download_goes_on_where_it_was_cut(place: Place) -> None:
    """Every answer ends early: each try asks for the rest only, and the whole has the right checksums."""
    server = place.serve(cut_after=100_000)
    assert place.downloads().fetch(described(f"{server.url}/reef.csv")).read_bytes() == CONTENT
    starts = [answer.start for answer in server.answers]
    assert starts[0] == 0
    assert len(starts) >= 3
    assert starts == sorted(set(starts))
    assert place.clock.elapsed() >= 0.2 * (len(starts) - 1)


def test_another_process_resumes_what_one_left(place: Place) -> None:
    """What came before a restart is not fetched again."""
    server = place.serve(cut_after=100_000, unavailable=0)
    file = described(f"{server.url}/reef.csv")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(place, server.url)
    came = _staged(place.staging)
    assert not [path for path in came if path.name == "reef.csv"]
    before = len(server.answers)
    place.downloads().fetch(file)
    assert server.answers[before].start > 0


def _interrupted(place: Place, url: str) -> None:
    """The process is ended while it waits for its second try."""
    downloads = place.downloads()

    def wait(_seconds: float) -> bool:
        raise KeyboardInterrupt

    downloads._clock = type("Ended", (), {"wait": staticmethod(wait)})()
    downloads.fetch(described(f"{url}/reef.csv"))


def test_a_file_that_changed_meanwhile_begins_anew(place: Place) -> None:
    """No file is made of two states of the original."""
    server = place.serve(cut_after=100_000)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(place, server.url)
    other = CONTENT[::-1]
    (place.folder / "reef.csv").write_bytes(other)
    path = place.downloads().fetch(described(f"{server.url}/reef.csv", other))
    assert path.read_bytes() == other


def test_a_wrong_checksum_is_apperrmet004_and_leaves_no_file(place: Place) -> None:
    """The damaged file is refused with its code, and nothing of it stays."""
    server = place.serve(damaged=True)
    with pytest.raises(DownloadError, match=r"md5 is .*; the metadata says") as refused:
        place.downloads().fetch(described(f"{server.url}/reef.csv"))
    assert refused.type is WrongChecksumError
    assert _staged(place.staging) == []


def test_every_checksum_counts(place: Place) -> None:
    """A right MD5 does not excuse a wrong SHA-256."""
    server = place.serve()
    file = described(f"{server.url}/reef.csv")
    file = replace(file, checksums=(file.checksums[0], Checksum("sha256", "0" * 64)))
    with pytest.raises(DownloadError, match="sha256 is") as refused:
        place.downloads().fetch(file)
    assert refused.type is WrongChecksumError


@pytest.mark.parametrize(("life", "trusting", "why"), [(-1, True, "expired"), (1, False, "trust")])
def test_a_certificate_that_cannot_be_trusted_is_refused_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, life: int, trusting: bool, why: str
) -> None:
    """An expired certificate, or an authority nobody knows: no byte is taken, and no try repeated."""
    waits: list[float] = []
    monkeypatch.setattr(place.clock, "wait", waits.append)
    server = place.serve(life=timedelta(days=life))
    downloads = place.downloads() if trusting else place.downloads(trust=None)
    with pytest.raises(DownloadError, match=f"not to be trusted.*{why if trusting else ''}") as refused:
        downloads.fetch(described(f"{server.url}/reef.csv"))
    assert refused.type is DownloadError
    assert (server.answers, waits, _staged(place.staging)) == ([], [], [])


def test_ten_retries_with_growing_delays_then_generr006(place: Place) -> None:
    """A server that is busy for good is asked again ten times over 204.6 s of the clock."""
    server = place.serve(unavailable=1000)
    with pytest.raises(DownloadError, match=r"failed, and so did 10 retries; the last: .*503") as refused:
        place.downloads().fetch(described(f"{server.url}/reef.csv"))
    assert refused.type is DownloadError
    assert len(server.answers) == 11
    assert place.clock.elapsed() == pytest.approx(204.6, abs=5)


def test_a_file_that_is_not_there_is_not_asked_for_again(place: Place) -> None:
    """404 is final."""
    server = place.serve()
    with pytest.raises(DownloadError, match="404 Not Found"):
        place.downloads().fetch(described(f"{server.url}/gone.csv"))
    assert len(server.answers) == 1


def test_a_slow_server_only_takes_longer(place: Place) -> None:
    """At 64 kB a second the file takes four seconds of the clock."""
    server = place.serve(bytes_per_second=64_000)
    assert place.downloads().fetch(described(f"{server.url}/reef.csv")).read_bytes() == CONTENT
    assert place.clock.elapsed() >= 4.0


def test_space_is_checked_before_anything_is_asked_for(place: Place) -> None:
    """A staging area without room: the numbers are named, and the server hears nothing."""
    server = place.serve()
    with pytest.raises(DownloadError, match=r"needs 256,000 bytes; .* has room for 1,000"):
        place.downloads(free=lambda _: 1000).fetch(described(f"{server.url}/reef.csv"))
    assert server.answers == []


@pytest.mark.parametrize("location", ["file:///etc/passwd", "reef.csv", "ftp://127.0.0.1/reef.csv"])
def test_no_other_scheme_is_fetched(place: Place, location: str) -> None:
    """Local files and what is no URI are refused."""
    with pytest.raises(DownloadError, match="files are taken from https or http only"):
        place.downloads().fetch(described(location))


@pytest.mark.parametrize(
    "name", ["../../reef.csv", "/etc/reef.csv", "..\\reef.csv", "..", "a\0b", "x" * 5000]
)
def test_no_name_reaches_out_of_the_staging_area(place: Place, name: str) -> None:
    """Whatever a message calls a file, it lies in the folder of its UUID."""
    server = place.serve()
    path = place.downloads().fetch(described(f"{server.url}/reef.csv", name=name))
    assert path.resolve().parent == (place.staging / path.parent.name).resolve()
    assert path.parent.parent == place.staging


@pytest.mark.parametrize("uuid", ["..", "../../out", "/etc", "a/b", "a\0b", "", "x" * 5000, "\x1b[2J"])
def test_no_uuid_reaches_out_of_the_staging_area(place: Place, uuid: str) -> None:
    """Not even one that no valid message has: the file lies in a folder, which lies in the area."""
    server = place.serve()
    file = replace(described(f"{server.url}/reef.csv"), uuid=uuid)
    path = place.downloads().fetch(file, "package")
    assert path.resolve().parents[2] == place.staging.resolve()
    assert path.parents[1] == place.staging / "package"
    assert str(path).isprintable()


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "//etc/passwd",
            "/%2fetc%2fpasswd",
            "/link",
            "/loop",
        ),
        *("/folder-link/secret", "/a%00b", "/%1b%5b2J", "/" + "x" * 5000, "/" + "a/" * 3000, "/", "/fifo"),
    ],
)
def test_the_file_server_serves_no_file_of_elsewhere(place: Place, path: str) -> None:
    """404, whatever the name; and the next request of the same client is answered."""
    (place.folder.parent / "secret").write_text("secret")
    (place.folder / "link").symlink_to(place.folder.parent / "secret")
    (place.folder / "folder-link").symlink_to(place.folder.parent)
    (place.folder / "loop").symlink_to(place.folder / "loop")
    os.mkfifo(place.folder / "fifo")
    server = place.serve(plain=True)
    with closing(HTTPConnection(server.url.removeprefix("http://"), timeout=10)) as client:
        client.request("GET", path)
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (404, b"")
        client.request("GET", "/reef.csv")
        assert client.getresponse().read() == CONTENT


def test_not_even_a_redirect_leads_to_plain_http() -> None:
    """Every request that is made is looked at, the first as those that follow a redirect."""
    with (
        closing(HttpsSource()) as source,
        pytest.raises(DownloadError, match="is not https"),
        source.fetch("http://127.0.0.1:9/reef.csv", 0, None),
    ):
        pass
