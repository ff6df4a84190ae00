"""``python -m tests.contract_documents FOLDER`` tries the AsyncAPI documents in it, and renews the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.contract_documents.page import PAGE, renew, try_folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.contract_documents", description=__doc__)
    parser.add_argument("folder", type=Path, help="repositories of other people, as OWNER/NAME/...")
    parser.add_argument(
        "--at-once", type=int, default=1, metavar="N", help="how many at a time  [default: 1]"
    )
    arguments = parser.parse_args()
    outcomes = try_folder(arguments.folder.resolve(), arguments.at_once)
    PAGE.write_text(renew(PAGE.read_text(encoding="utf-8"), outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
