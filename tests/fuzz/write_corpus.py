"""Write the corpus: ``python -m tests.fuzz.write_corpus [PARSER ...]``. Files that are there stay."""

from __future__ import annotations

import sys

from tests.fuzz.fuzzed_parser import CORPUS, NAMES, load_parser

for name in sys.argv[1:] or NAMES:
    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in load_parser(name).seeds():
        (folder / file).write_bytes(data)
