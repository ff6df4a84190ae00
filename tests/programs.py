"""Other people's programs: which marks let a test find which, and one RabbitMQ for all that need one.

A test without the mark does not find the program, on any machine: what it needs would be missing where a
newcomer runs ``make test``. A marked test is skipped, and says so, where the machine has none.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.rabbitmq.broker_process import find_server, start_broker

NEEDS = {
    "rabbitmq": (("rabbitmq-server",), ("erl",), ("epmd",)),
    "browser": (("chromium", "chromium-browser", "google-chrome"),),
    "terminal": (("tmux",),),
    "spark": (("java",),),
    "real_client": (("java",), ("mvn",), ("node",), ("npm",), ("npx",)),
    "compose": (("docker",), ("npm",)),
}
"""What the tests with a mark run: of each of these, one of the names."""
SKIPPED_WITHOUT = ("rabbitmq", "browser", "terminal")
"""The other marks' fixtures look further than PATH, and say themselves what is not there."""
FIXTURES = {"broker_url": "rabbitmq", "spark": "spark", "stack": "compose"}
"""The fixtures that start something, and the mark that every test with one gets."""
MARKS = (*NEEDS, "slow", "long")


def hidden() -> set[str]:
    """The names of all the programs that a mark is needed for."""
    return {name for needed in NEEDS.values() for names in needed for name in names}


def missing(mark: str) -> list[str]:
    """What the tests with a mark would run and is not on PATH."""
    if mark == "rabbitmq" and find_server(os.environ):  # which looks in the folders of administrators too
        return []
    return [" or ".join(names) for names in NEEDS[mark] if not any(map(shutil.which, names))]


def browser_program() -> str:
    """The browser that a test marked as ``browser`` drives."""
    found = next(filter(None, map(shutil.which, NEEDS["browser"][0])), None)
    assert found, "mark the test as browser: without the mark there is none"
    return found


def mark_by_fixtures(items: list[pytest.Item]) -> None:
    """Mark what has a fixture that starts something; one worker has all that share a server or a session."""
    for item in items:
        for fixture, mark in FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        for mark in ("rabbitmq", "spark"):
            if item.get_closest_marker(mark) and not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(mark))


def tell_what_is_left_out(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """After a run that deselects marks: which those are, and what runs them."""
    expression = config.getoption("markexpr")
    if not expression.startswith("not ("):
        return
    reporter.section("left out, and run by make test-slow")
    for described in config.getini("markers"):
        if described.partition(":")[0] in re.findall(r"\w+", expression):
            reporter.line(described)
    reporter.line("hypothesis: three of four examples of each property")


class Programs:
    """Sets PATH before each test: all of it for what is marked, without ``hidden`` for all others."""

    def __init__(self) -> None:
        self._links = tempfile.TemporaryDirectory(prefix="path-")
        self._everything = {name: os.environ.get(name) for name in ("PATH", "JAVA_HOME")}
        self._bare = {"PATH": self._without_hidden(os.environ["PATH"].split(os.pathsep)), "JAVA_HOME": None}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        marked = [mark for mark in MARKS if item.get_closest_marker(mark)]
        for name, value in (self._everything if marked else self._bare).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for mark in marked:
            if mark in SKIPPED_WITHOUT and (absent := missing(mark)):
                pytest.skip(f"NO {', NO '.join(absent).upper()} ON PATH: nothing was tested with it")

    def pytest_unconfigure(self) -> None:
        self._links.cleanup()

    def _without_hidden(self, folders: list[str]) -> str:
        """Each folder that has a hidden program is replaced by one with links to the others."""
        names = hidden()
        shown = []
        for number, folder in enumerate(map(Path, folders)):
            if not any((folder / name).exists() for name in names):
                shown.append(str(folder))
                continue
            links = Path(self._links.name) / str(number)
            links.mkdir()
            for program in folder.iterdir():
                if program.name not in names:
                    (links / program.name).symlink_to(program)
            shown.append(str(links))
        return os.pathsep.join(shown)


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The AMQP URL of a real RabbitMQ. All of a run's tests share it: each takes queues of its own."""
    server = find_server(os.environ)
    assert server is not None, "mark the test as rabbitmq: without the mark there is no rabbitmq-server"
    broker = start_broker(server, tmp_path_factory.mktemp("rabbitmq"), os.environ)
    yield broker.url
    broker.stop()
