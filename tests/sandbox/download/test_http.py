"""Files over plain HTTP, where the metadata names HTTP as the storage platform."""

from __future__ import annotations

import pytest

from sandbox.download.download_errors import DownloadError, WrongChecksumError
from tests.sandbox.download.conftest import CONTENT, Place, described


def test_a_file_over_plain_http_is_fetched_with_a_line_on_its_risk(place: Place) -> None:
    """Resumed where it was cut, its checksums verified, and one line for all its requests."""
    server = place.serve(plain=True, cut_after=100_000)
    path = place.downloads().fetch(described(f"{server.url}/reef.csv"))
    assert path.read_bytes() == CONTENT
    assert len(server.answers) > 1
    (line,) = place.warnings
    assert line.startswith(f"{server.url}/reef.csv comes over plain HTTP: ")


def test_plain_http_is_refused_for_another_platform(place: Place) -> None:
    """The reason names the field that decides; nothing is asked for."""
    server = place.serve(plain=True)
    with pytest.raises(DownloadError, match="its storagePlatformType is S3, not HTTP") as refused:
        place.downloads().fetch(described(f"{server.url}/reef.csv", platform="S3"))
    assert refused.type is DownloadError
    assert server.answers == []


def test_what_was_changed_on_the_way_is_apperrmet004(place: Place) -> None:
    """The checksum of the message is what vouches for the file."""
    server = place.serve(plain=True, damaged=True)
    with pytest.raises(DownloadError) as refused:
        place.downloads().fetch(described(f"{server.url}/reef.csv"))
    assert refused.type is WrongChecksumError


def test_no_message_leads_to_the_credentials_of_a_cloud(place: Place) -> None:
    """A link-local address is refused at once."""
    with pytest.raises(DownloadError, match="where clouds keep credentials"):
        place.downloads().fetch(described("http://169.254.169.254/latest/meta-data/"))
