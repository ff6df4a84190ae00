"""What docs/certificates.md says of the clients is so."""

from __future__ import annotations

import subprocess

import pytest

from tests.certificates.clients import CLIENTS, PROGRAMS, Certified
from tests.certificates.page import PAGE, Verdict, certify, certify_command, renew, write_row

_FIRST = "boto3-put-record"


def _expect_row(client: Certified) -> None:
    try:
        verdict = certify(certify_command(client))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{client.library} is not installed and cannot be: {error}")
    assert write_row(client, verdict) in PAGE.read_text(encoding="utf-8")


@pytest.mark.real_client
@pytest.mark.timeout(900)
def test_one_client_gets_the_verdict_of_the_page() -> None:
    _expect_row(next(each for each in CLIENTS if each.name == _FIRST))


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if each.name != _FIRST], ids=lambda each: each.name
)
def test_a_client_gets_the_verdict_of_the_page(client: Certified) -> None:
    """The same level, and the same clauses that fail or were not seen."""
    _expect_row(client)


def test_the_page_has_every_client() -> None:
    """Fifteen and more, in five languages, each with a sentence and a start script of a few lines."""
    page = PAGE.read_text(encoding="utf-8")
    assert len({each.name for each in CLIENTS}) == len(CLIENTS) >= 15
    assert len({each.language for each in CLIENTS}) >= 5
    for client in CLIENTS:
        assert f"`python -m tests.certificates {client.name}`" in page
        assert client.found in page
        assert client.found.endswith(".")
    assert max(len(each.read_text().splitlines()) for each in PROGRAMS.iterdir()) <= 65


def test_the_table_is_written_again() -> None:
    """Whatever the verdicts are, they are what the page says then."""
    page = renew(PAGE.read_text(encoding="utf-8"), {each.name: Verdict("bronze", ("x",)) for each in CLIENTS})
    assert page.count("*Fails:* `x`.") == len(CLIENTS)
