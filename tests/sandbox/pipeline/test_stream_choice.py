"""Which streams a run of the pipeline reads, and what it says of the others; no Spark is needed to choose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from emulator.settings.topologies import rdss_topology
from rdss_sandbox.shapes.topology import Topology
from sandbox.cli.tables.pipeline_options import choose
from sandbox.pipeline.sources.stream_choice import choose_streams
from sandbox.pipeline.spark.failures import UnavailableError, UsageError

NAMES = ("input", "output", "error", "invalid", "reviews", "loans", "audit")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    topology = Topology(streams=dict.fromkeys(NAMES, 1))
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=topology)) as emulator:
        yield emulator.aws


def test_what_is_left_out_is_told(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    """With their names and how to read all; nothing where nothing is left out."""
    assert choose("input, output,error,invalid", url, "us-east-1") == ("input", "output", "error", "invalid")
    told = "sandbox: 2 streams are not read: loans, reviews; --channel '*' reads all\n"
    assert capfd.readouterr() == ("", told)
    assert set(choose("*", url, "us-east-1")) == {*NAMES} - {"audit"}
    assert capfd.readouterr() == ("", "")


def test_patterns_and_names_are_read_once_each(url: str) -> None:
    """The audit log's copies are read where they are named; a pattern without a stream is refused."""
    assert choose_streams(["in*", "input", "audit"], url, "us-east-1").read == ("input", "invalid", "audit")
    with pytest.raises(UsageError, match=r"no stream matches 'x\*'; there are: audit, error, input"):
        choose_streams(["x*"], url, "us-east-1")


def test_an_endpoint_that_lists_nothing_is_asked_for_names() -> None:
    """A name needs no list; a pattern does."""
    nowhere = "http://127.0.0.1:9"
    assert choose_streams(["input"], nowhere, "us-east-1") == (("input",), ())
    with pytest.raises(UnavailableError, match=r"the streams for '\*' cannot be listed"):
        choose_streams(["*"], nowhere, "us-east-1")


def test_the_deployed_streams_are_all_read_but_the_audit_log() -> None:
    """In the topology of the deployed system, as in the default one."""
    topology = rdss_topology()
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=topology)) as emulator:
        read = choose_streams(["*"], emulator.aws, "us-east-1").read
    assert set(read) == {*topology.streams} - {"message_audit_dev"}
