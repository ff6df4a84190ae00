"""Every block of README and of the pages that a person would copy does what the page says.

A page is one shell: its blocks are run one after another in a temporary directory, with free ports in place
of the usual ones; see ``pages`` for what a comment can say of a block.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.loaders import load
from tests.docs.pages import LOADED, PAGES, ROOT, RUN, SHOWN, WRITTEN, Block, blocks

PORTS = ("4566", "4570", "4580", "5672", "8888", "9007", "8090", "8000")
SETTINGS = {
    "4566": "AWS",
    "4570": "CONTROL",
    "4580": "HUB",
    "5672": "AMQP",
    "8888": "QUEUES",
    "9007": "TOPICS",
}
NOT_RUN = {
    "README.md": [
        "it installs into the reader's Python; tests/packaging/test_installers.py does so elsewhere",
        "they run everything, this test as well",
    ],
    "install.md": [
        "it installs into the reader's Python; tests/packaging/test_installers.py does so elsewhere"
    ],
    "kinesis-source.md": [
        "tests/extensions/kinesis_source/test_alone.py installs it and runs the job below with it"
    ],
    "pipeline.md": [
        "a cluster, and AWS",
        "a cluster; tests/sandbox/pipeline/test_remote.py runs it with a server of PySpark's own",
        "a Docker engine; tests/compose/test_pipeline.py runs the stack",
    ],
    "profiles.md": ["a Docker engine; tests/compose runs the stack"],
    "python-api.md": [
        "it needs tables; the notebook has the same, and tests/docs/test_tables_page.py runs that"
    ],
    "how-to/run-in-ci.md": ["certify.md runs the same, with a client that is shown there"],
    "how-to/server.md": [
        "it is the reader's own; tests/deploy gives one to each",
        *["a Docker engine; tests/compose runs the image that this starts, tests/deploy reads the line"] * 2,
        "it needs root; tests/deploy asks systemd about the unit, and starts what it starts",
        *["a cluster; tests/deploy renders the chart with these values, by Helm itself"] * 3,
    ],
    "how-to/test-go.md": ["tests/real_clients/test_other_languages.py runs the last line"],
    "how-to/test-java.md": ["tests/real_clients/test_other_languages.py runs it"],
    "how-to/test-javascript.md": ["tests/real_clients/test_other_languages.py runs the last line"],
    "how-to/tls.md": ["tests/docs/test_proxies.py runs it behind both proxies"],
    "how-to/without-python.md": [
        "a Docker engine; tests/compose runs the image that this builds, with Compose",
    ]
    * 2,
    "how-to/yesterdays-outage.md": ["an account at AWS; the next block does the same with a sandbox"],
    "testing.md": ["a Docker engine; tests/compose/test_container.py runs the same"],
    "tutorial.md": ["it makes the environment in which this page is run"],
    "tables.md": ["it needs tables; the notebook has the same, and tests/docs/test_tables_page.py runs that"],
}
SLOW = {
    "README.md": ["a client under every fault of silver"],
    "certify.md": ["a client under every fault"] * 7,
    "ci.md": ["a hub"],
    "explanation/scale.md": ["twenty seconds of measuring"],
    "how-to/cloudevents.md": ["sandboxes of its own, one command after another"] * 8,
    "how-to/expired-message.md": ["sandboxes of its own, one command after another"] * 5,
    "how-to/hub.md": ["a hub, one command after another"] * 5,
    "how-to/lambda.md": ["sandboxes of its own, one command after another"] * 9,
    "how-to/rabbitmq.md": ["sandboxes of its own, one command after another"] * 4,
    "how-to/skipped-after-a-reshard.md": ["sandboxes of its own, one command after another"] * 4,
    "how-to/tls.md": ["sandboxes of its own, one command after another"] * 9,
    "how-to/without-python.md": ["sandboxes of its own, one command after another"] * 4,
    "how-to/yesterdays-outage.md": ["sandboxes of its own, one command after another"] * 8,
    "how-to/yesterdays-run.md": ["sandboxes of its own, one command after another"] * 5,
    "kinesis-source.md": ["Spark", "Spark"],
    "learn.md": ["a client under a restart", "a sandbox", "both clients of a lesson"],
    "metrics.md": ["a sandbox"],
    "pipeline.md": ["Spark"],
    "python-api.md": ["a sandbox"] * 3,
    "scenarios.md": ["every scenario", "a client in real time"],
    "tables.md": ["Spark"],
    "trainers.md": [
        "a client under a lesson's faults",
        *["what the pictures need"] * 2,
        "three sandboxes that start",
        "a client under a lesson's faults",
    ],
}

OF_SECONDS = frozenset(
    {
        "access.md", "applications.md", "ci.md", "diagnose.md", "extending.md", "faults.md",
        "gateway.md", "how-to/run-in-ci.md", "learn.md", "processing.md", "snapshots.md", "testing.md",
        "topics.md", "trainers.md", "tutorial.md", "watch.md",
    }
)  # fmt: skip
"""The pages whose commands take seconds together."""
OF_MINUTES = frozenset(
    {
        "certify.md", "how-to/cloudevents.md", "how-to/yesterdays-outage.md", "kinesis-source.md", "learn.md",
        "pipeline.md", "scenarios.md", "tables.md", "trainers.md",
    }
)  # fmt: skip
"""The pages whose slow commands take half a minute or more."""
NAMES = ["README.md", *(page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:])]
_COMMAND = re.compile(r"^\s*(\$ |sandbox \w|curl |pip |docker |make |python -m )", re.MULTILINE)
_SHELL = """\
set -E -o pipefail
trap 'echo "failed ($?): $BASH_COMMAND" >&2; exit 1' ERR
trap 'jobs -p | xargs -r kill || true' EXIT
"""


def of(name: str) -> list[Block]:
    return blocks(ROOT / name if name == "README.md" else ROOT / "docs" / name)


@pytest.mark.parametrize("name", NAMES)
def test_every_block_says_what_it_is(name: str) -> None:
    """A block without a language, or of one that nobody runs or loads, would be checked by nobody."""
    for block in of(name):
        known = {*RUN, *LOADED, *SHOWN, *(WRITTEN if "file" in block.said else ())}
        assert block.language in known, f"{block.where}: ```{block.language}"
        assert block.language not in SHOWN or not _COMMAND.search(block.text), f"{block.where} is commands"


def test_what_is_not_run_is_listed_here() -> None:
    """So that it does not grow unseen: the blocks that cannot be run here, with their reasons."""
    assert _marked("not run") == NOT_RUN
    assert _marked("slow") == SLOW


@pytest.mark.parametrize("name", NAMES)
def test_files_are_taken_by_what_loads_them(name: str, tmp_path: Path) -> None:
    """Settings, topologies, scenarios and the like as the pages show them."""
    for block in of(name):
        if block.language in LOADED:
            load(block, tmp_path)


@pytest.mark.timeout(600)  # as many commands as a page has, on whatever machine
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in OF_SECONDS else name for name in NAMES]
)
def test_blocks_run(name: str, tmp_path: Path) -> None:
    """What is shown to be typed can be typed; what is shown to come of it does."""
    _run([block for block in of(name) if not {"not run", "slow"} & block.said.keys()], tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name in OF_MINUTES else name
        for name in sorted(NAMES)
        if any("slow" in block.said for block in of(name))
    ],
)
def test_slow_blocks_run(name: str, tmp_path: Path) -> None:
    """The same with what takes minutes."""
    _run([block for block in of(name) if "not run" not in block.said], tmp_path)


def _marked(word: str) -> dict[str, list[str]]:
    found = {name: [block.said[word] for block in of(name) if word in block.said] for name in NAMES}
    return {name: reasons for name, reasons in found.items() if reasons}


def _run(found: Iterable[Block], directory: Path) -> None:
    wanted = [block for block in found if block.language in RUN or "file" in block.said]
    if not any(block.language in RUN for block in wanted):
        return
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    script = _SHELL + "".join(_step(block, directory, ports) for block in wanted)
    (directory / "page.sh").write_text(script, encoding="utf-8")
    environment = _environment(directory, ports)
    try:
        ran = subprocess.run(
            ["bash", "page.sh"],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=550,
            check=False,
        )
    finally:
        for running in directory.rglob(".sandbox/running.json"):  # of a page that failed half way
            subprocess.run(
                ["sandbox", "down"],
                cwd=running.parents[1],
                env=environment,
                capture_output=True,
                check=False,
            )
    assert ran.returncode == 0, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    for block in wanted:
        if block.language == "console":
            _compare(block, directory, ports)


def _step(block: Block, directory: Path, ports: dict[str, str]) -> str:
    """What the page's shell does for a block: it says where it is, so that a failure is found."""
    text, given, then = (_at(ports, each) for each in (block.text, *map(block.said.get, ("given", "then"))))
    begin = f"echo '### {block.where}' | tee /dev/stderr\n"
    if "file" in block.said:
        path = directory / f"{block.line}.text"
        path.write_text(text, encoding="utf-8")
        return f"{begin}cp {path.name} {shlex.quote(block.said['file'])}\n"
    if block.language == "python":
        path = directory / f"test_block_{block.line}.py"
        path.write_text(f"{given}\n{text}\n{then}\n", encoding="utf-8")
        how = "-m pytest -q -p no:cacheprovider -p no:randomly" if "def test_" in text else ""
        return f"{begin}{sys.executable} {how} {path.name}\n"
    if block.language == "console":
        return (
            begin
            + given
            + "\n"
            + "".join(
                _recorded(f"output.{block.line}.{number}", command)
                for number, command in enumerate(_typed(block, ports))
            )
        )
    return f"{begin}{given}\n{text}\n{then}\n"


def _recorded(file: str, command: str) -> str:
    return f"{{ {command}\n}} > {file} 2>&1\ncat {file}\n"


def _typed(block: Block, ports: dict[str, str]) -> list[str]:
    return [line[2:] for line in _at(ports, block.text).splitlines() if line.startswith("$ ")]


def _compare(block: Block, directory: Path, ports: dict[str, str]) -> None:
    """Every line that the block shows came, in that order; what differs each time is not compared."""
    shown = re.split(r"^\$ .*\n", _at(ports, block.text), flags=re.MULTILINE)[1:]
    for number, lines in enumerate(shown):
        output = (directory / f"output.{block.line}.{number}").read_text()
        came = iter([_plain(line) for line in output.splitlines()])
        for line in filter(None, map(_plain, lines.splitlines())):
            assert line in came, f"{block.where}: {line!r} did not come"


def _plain(line: str) -> str:
    """A line without what is another each time: identifiers, times, versions, how far a client had read."""
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID", line.strip())
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.-]+Z", "TIME", line)
    line = re.sub(r"Boto3/[\d.]+", "Boto3/VERSION", line)
    line = re.sub(r"^((?:pass|fail) +[a-z-]+(?: +[a-z]+)? +)\d+( tried, \d+ needed)$", r"\1SOME\2", line)
    line = re.sub(r"read: \d+ of its \d+ records were not delivered.*", "read: SOME were not delivered", line)
    return re.sub(r"\s+", " ", line.strip("│ "))


def _at(ports: dict[str, str], text: str | None) -> str:
    return re.sub(r"\b(" + "|".join(ports) + r")\b", lambda match: ports[match[1]], text or "")


def _environment(directory: Path, ports: dict[str, str]) -> dict[str, str]:
    commands = directory / "bin"
    commands.mkdir()
    shim = commands / "sandbox"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.docs.command "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "AWS_"))}
    usual = {f"SANDBOX_{name}_PORT": ports[port] for port, name in SETTINGS.items()}
    return (
        kept
        | usual
        | {
            "SANDBOX_AMQP": "none",
            "SANDBOX_SEED": "7",
            "SANDBOX_GATEWAY_ADDRESS": f"http://127.0.0.1:{ports['4566']}",
            "EXAMPLE_PORT": ports["8090"],
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(directory),
        }
    )


def _free_ports(count: int) -> Iterator[str]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        yield from [str(each.getsockname()[1]) for each in sockets]
