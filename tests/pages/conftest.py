"""Every page that a browser can open on a sandbox, each with what happened in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import boto3
import pytest
from click.testing import CliRunner

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.streams import Reshard
from sandbox.cli.sandbox_command import sandbox as command
from sandbox.control.run_pages import run_pages
from sandbox.pipeline.reports.report_page import render_page
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_run import run_scenario
from tests.chromium import Tab, chromium
from tests.docs.pages import ROOT
from tests.pages.design import design_page
from tests.sandbox.pipeline.test_page import REPORT
from tests.sandbox.scenarios.wrong_clients import knows_no_children

_CLIENT = ROOT / "tests/certificates/programs/boto3_guide.py"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of each page by its name: of ports of one sandbox, and of files that its commands wrote."""
    folder = tmp_path_factory.mktemp("pages")
    settings = Settings(
        aws_port=0,
        control_port=0,
        amqp_port=0,
        amqp_management_port=0,
        amqp="embedded",
        data_dir=None,
        seed=7,
    )
    with chdir(folder), embedded(settings, more=(run_pages,)) as sandbox:
        _use(sandbox)
        files = {
            "course on disk": _learn(folder),
            "certificate": _certify(folder),
            **_play(folder / "runs"),
            "pipeline report": _write(folder / "report.html", render_page(REPORT)),
            "design": _write(folder / "design.html", design_page()),
        }
        yield {
            "watch": f"{sandbox.control}/",
            "course": f"{sandbox.control}/learn",
            "control API": f"{sandbox.control}/docs",
            "runs on the port": f"{sandbox.control}/runs/",
            "run on the port": f"{sandbox.control}/runs/{files['run'].relative_to(folder / 'runs')}",
            "certificate on the port": f"{sandbox.control}/runs/certificate/certificate.html",
            "AMQP": f"{sandbox.urls['amqp_management']}/",
            **{name: file.resolve().as_uri() for name, file in files.items()},
        }


def _use(sandbox: Embedded) -> None:
    """Messages, a split, a reader that is behind, a fault that strikes and a finding."""
    keys = {"aws_access_key_id": "trainee", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    kinesis = boto3.client("kinesis", endpoint_url=sandbox.aws, **keys)
    with Client(sandbox.control) as client:
        client.add_fault(NewFault("duplicate", name="twice", toxicity=1))
        records = [{"Data": b"x", "PartitionKey": str(number)} for number in range(40)]
        kinesis.put_records(StreamName="input", Records=records)
        client.reshard("input", Reshard("split", "0"))
        shard = kinesis.get_shard_iterator(
            StreamName="input", ShardId="shardId-000000000001", ShardIteratorType="TRIM_HORIZON"
        )
        kinesis.get_records(ShardIterator=shard["ShardIterator"], Limit=3)
    sandbox.components.events.emit(
        "client.finding", rule="r", harm="loses", client="trainee", stream="input", shard=None,
        said="trainee reads no child of a split shard", advice="Follow the children.", evidence={}, faults=(),
    )  # fmt: skip


def _learn(folder: Path) -> Path:
    for arguments in (("start", "1"), ("hint",)):
        done = CliRunner().invoke(command, ["learn", *arguments])
        assert done.exit_code == 0, done.output
    return folder / "learn/index.html"


def _certify(folder: Path) -> Path:
    """The certificate of a client that reads one shard of two."""
    options = [
        "--seed",
        "7",
        "--stage",
        "duplicates:5",
        "--no-shrink",
        "--to",
        str(folder / "runs/certificate"),
    ]
    CliRunner().invoke(command, ["certify", "consumer", *options, "--", sys.executable, str(_CLIENT)])
    return folder / "runs/certificate/certificate.html"


def _play(runs: Path) -> dict[str, Path]:
    split = library()["split-under-load"]
    run_scenario(split, "split-under-load", seed=7, runs=runs)
    failed = run_scenario(split, "split-under-load", seed=8, runs=runs, client=knows_no_children(2))
    return {"runs": runs / "index.html", "run": failed.folder / "report.html"}


def _write(file: Path, page: str) -> Path:
    file.write_text(page, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The one tab: a watch page that is left open would keep one of the six connections to its port."""
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
