"""kinesalite's suite against a sandbox: ``python -m tests.real_clients.kinesalite_suite FOLDER``.

FOLDER is a clone of mhart/kinesalite at c76689d, after ``npm install; npm install --no-save mocha@10``.
No registry has the suite. Each failure must be of one cluster of docs/aws.md. What a test asks at the same
time is asked in turn: else Mocha counts its second failure to the test behind it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rdss_sandbox.process import sandbox_process

CLUSTERS: Final[Mapping[str, str]] = {
    "texts of wrong types": r"'SerializationException',   Message: '[A-Z]+_VALUE can not be converted",
    "pages of browsers": r"CORS",
    "signature before body": r"MissingAuthenticationTokenException",
    "no known service": r"connections (?:basic|JSON)",
    "the model's constraints": r"for (?:no|empty|long) (?:StreamName|PartitionKey)",
    "limits of today": r"greater than 168|large ShardCount",
    "tags": r"tags? (?:key|value)|tags keys|TagKeys|too many tags|listTagsForStream functionality",
    "fields of answers": r"StreamDescription|StreamSummaries|to be 'CREATING'",
    "layout of sequence numbers": r"to match /\^20|ForOrdering|StartingSequenceNumber \d+ used",
    "layout of iterators": r"expected -?\d+ to be 0|if shard or stream does not exist",
    "texts of lists": r"too many records",
    "adjacent shards": r"adjacency is inverted|has already been merged or split",
}
"""The pattern of a cluster's failures, in a line of title and message; the first one that is found counts."""

_HOST: Final = """
const http = require('node:http'), request = http.request
http.request = (options, ...rest) => request({...options, port: process.env.SANDBOX_AWS_PORT}, ...rest)
const async = require('async')
async.forEach = async.forEachSeries
"""
_EXPIRES: Final = "ShardIterator has expired"
"""A test that waits for five minutes."""


def main(folder: Path) -> int:
    """Print how many tests passed and how many failures each cluster has; 1 for one that is of none."""
    report = _run(folder)
    found: Counter[str] = Counter()
    unknown: list[str] = []
    for failure in report["failures"]:
        text = f"{failure['fullTitle']} | {failure['err'].get('message', '')}".replace("\n", " ")
        cluster = next((name for name, pattern in CLUSTERS.items() if re.search(pattern, text)), None)
        if cluster is None:
            unknown.append(text[:300])
        else:
            found[cluster] += 1
    lines = [
        f"{report['stats']['passes']} passed",
        *(f"{found[name]:3} {name}" for name in CLUSTERS),
        *unknown,
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if unknown else 0


def _run(folder: Path) -> Any:
    preload, out = folder / "sandbox_port.cjs", folder / "report.json"
    preload.write_text(_HOST, encoding="ascii")
    mocha = ["node_modules/.bin/mocha", "--require", "should", "--require", f"./{preload.name}", "-t", "15s"]
    with sandbox_process("--topology", "none") as sandbox, out.open("wb") as to:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        port = {"SANDBOX_AWS_PORT": str(urlsplit(sandbox.aws).port)}
        subprocess.run(
            [*mocha, "--reporter", "json", "--grep", _EXPIRES, "--invert"],
            cwd=folder,
            env=environment | keys | port,
            stdout=to,
            timeout=300,
            check=False,
        )
    return json.loads(out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
