"""``python -m tests.certificates NAME...`` certifies these; without a name all, and renews the page."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.certificates.clients import CLIENTS
from tests.certificates.page import PAGE, certify_all, certify_command, renew
from tests.docs.pages import ROOT


def main() -> int:
    by_name = {each.name: each for each in CLIENTS}
    parser = argparse.ArgumentParser(prog="python -m tests.certificates", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(by_name))
    parser.add_argument(
        "--at-once", type=int, default=2, metavar="N", help="how many at a time  [default: 2]"
    )
    arguments = parser.parse_args()
    if unknown := [each for each in arguments.names if each not in by_name]:
        parser.error(f"there is no client {', '.join(unknown)}; there are {', '.join(by_name)}")
    if arguments.names:
        return max(
            subprocess.run(certify_command(by_name[each]), cwd=ROOT, check=False).returncode
            for each in arguments.names
        )
    page = renew(PAGE.read_text(encoding="utf-8"), certify_all(CLIENTS, arguments.at_once))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
