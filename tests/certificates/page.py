"""Certifies clients of others, and makes docs/certificates.md of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from tests.certificates.clients import CLIENTS, Certified
from tests.docs.page_parts import renew_part
from tests.docs.pages import ROOT

PAGE: Final = ROOT / "docs/certificates.md"
SEED: Final = 7
MOST_SECONDS: Final = 5000
_HEAD: Final = "| client | language | what it does | level | what was found | the line that repeats it |"


class Verdict(msgspec.Struct, frozen=True):
    """What came of a client: the level that it reached, and the clauses that fail or were not exercised."""

    level: str
    failed: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


def certify_command(client: Certified) -> list[str]:
    """The kit's command for a client, which is installed now if it is not."""
    options = ["--group", "delivery", "--seed", str(SEED), "--no-shrink", *client.options]
    kit = [sys.executable, "-m", "sandbox", "certify", client.role, "--channel", client.channel, *options]
    return [*kit, "--", *client.command()]


def certify(command: list[str]) -> Verdict:
    """Certify a client by the kit's command. Raises ``ValueError`` where it prints no certificate."""
    separator = command.index("--")
    try:
        # Some clients write files of their own where they are.
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                [*command[:separator], "--json", *command[separator:]],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return Verdict(f"no end in {MOST_SECONDS} s")
    if not ran.stdout.startswith("{"):
        raise ValueError(f"no certificate, exit code {ran.returncode}: {ran.stderr[-500:]}")
    return read_verdict(json.loads(ran.stdout))


def read_verdict(certificate: dict[str, Any]) -> Verdict:
    """Read the verdict from what ``sandbox certify --json`` prints."""
    judged = [each for each in certificate["clauses"] if each["reason"] not in ("deselected", "not-in-level")]
    by_verdict = {
        verdict: tuple(each["id"] for each in judged if each["verdict"] == verdict)
        for verdict in ("fail", "not exercised")
    }
    return Verdict(certificate["level"] or "none", by_verdict["fail"], by_verdict["not exercised"])


def certify_all(clients: Iterable[Certified], at_once: int) -> dict[str, Verdict]:
    """Certify clients, so many at a time; what each came to is told on standard error."""
    commands = {each.name: certify_command(each) for each in clients}  # installs one after another

    def certify_one(name: str) -> Verdict:
        verdict = certify(commands[name])
        sys.stderr.write(f"{name}: {verdict.level}; {', '.join(verdict.failed) or 'nothing'} fails\n")
        return verdict

    with ThreadPoolExecutor(at_once) as pool:
        return dict(zip(commands, pool.map(certify_one, commands), strict=True))


def write_row(client: Certified, verdict: Verdict) -> str:
    """The row of a client on the page."""
    what = f"{client.role}, {'Kinesis' if client.channel == 'kinesis' else 'RabbitMQ'}"
    fails = f" *Fails:* {_list(verdict.failed)}." if verdict.failed else ""
    missed = f" *Not exercised:* {_list(verdict.missed)}." if verdict.missed else ""
    line = f"`python -m tests.certificates {client.name}`"
    found = f"{client.found}{fails}{missed}"
    cells = [client.library, client.language, what, verdict.level, found, line]
    return f"| {' | '.join(cells)} |"


def renew(page: str, verdicts: dict[str, Verdict]) -> str:
    """Write the table of the page again. Raises ``ValueError`` when a mark is missing."""
    rows = [write_row(each, verdicts[each.name]) for each in CLIENTS]
    return renew_part(
        page, "certificates", "\n".join(["", "", _HEAD, "|---|---|---|---|---|---|", *rows, "", ""])
    )


def _list(clauses: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in clauses)
