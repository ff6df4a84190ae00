"""The sandbox without one of its extensions: the folder is deleted, and the rest is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("emulator", "rdss_sandbox", "sandbox", "schemas", "tui")
EXTENSIONS = sorted(each.name for each in (ROOT / "extensions").iterdir() if (each / "extension.py").exists())
WITHOUT_COMPONENT = {"hub", "kinesis_source", "mcp"}
TESTED = "not (rabbitmq or spark or browser or terminal or real_client or compose or slow or long)"
MOST_SKIPPED = 60
MAY_SKIP = {
    "tests/emulator/assembly/test_damage.py",
    "tests/emulator/assembly/test_full_disk_services.py",
    "tests/emulator/diagnosis/test_page.py",
    "tests/emulator/faults/test_every_fault.py",
    "tests/emulator/faults/test_page.py",
    "tests/emulator/http/test_guard.py",
    "tests/emulator/settings/test_settings.py",
    "tests/emulator/test_destinations.py",
    "tests/sandbox/certify/test_clauses.py",
    "tests/sandbox/certify/test_population.py",
    "tests/sandbox/cli/test_advice_is_followed.py",
    "tests/sandbox/cli/test_applications.py",
    "tests/sandbox/cli/test_shards_at_once.py",
    "tests/sandbox/cli/test_terminal.py",
    "tests/sandbox/control/test_declarations.py",
    "tests/sandbox/learn/test_lessons.py",
    "tests/sandbox/profiles/test_compose_variables.py",
    "tests/sandbox/scenarios/test_against_commands.py",
    "tests/sandbox/scenarios/test_scenario_files.py",
    "tests/tui/test_actions.py",
    "tests/tui/test_every_screen.py",
    "tests/tui/test_following.py",
    "tests/tui/test_keys.py",
}
"""The files of tests that are about several extensions; the pages tell of all of them."""
_PROGRAM = """
import boto3
from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client

with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
    kinesis = boto3.client("kinesis", endpoint_url=emulator.aws, region_name="us-east-1",
                           aws_access_key_id="test", aws_secret_access_key="test")
    kinesis.put_record(StreamName="input", PartitionKey="k", Data=b"here it is")
    for shard in kinesis.list_shards(StreamName="input")["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamName="input", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for record in kinesis.get_records(ShardIterator=iterator)["Records"]:
            print(record["Data"].decode())
    with Client(emulator.control) as control:
        control.reset()
        control.snapshots.save("everything")
        control.snapshots.load("everything")
    print(*sorted(emulator.components.extensions))
"""


def in_a_copy(place: Path) -> dict[str, str]:
    """The environment in which Python imports the project from there."""
    return {**os.environ, "PYTHONPATH": str(place)}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_sandbox_starts_without_it(tmp_path: Path, name: str) -> None:
    """A record is put and read, everything is reset, saved and loaded; help tells of no trouble."""
    for package in PACKAGES:
        (tmp_path / package).symlink_to(ROOT / package)
    shutil.copytree(ROOT / "extensions", tmp_path / "extensions", ignore=shutil.ignore_patterns(name))
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=in_a_copy(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    record, components = ran.stdout.splitlines()
    assert record == "here it is"
    assert components.split() == [each for each in EXTENSIONS if each not in {name, *WITHOUT_COMPONENT}]
    helped = subprocess.run(
        [sys.executable, "-m", "sandbox", "--help"],
        env=in_a_copy(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert helped.stderr == ""
    assert "extensions." not in helped.stdout


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_rest_is_checked_and_tested_without_it(tmp_path: Path, name: str) -> None:
    """What ``make check test`` does is green in a copy in which its folder and its tests are deleted.

    What is skipped beside the pages is little, and lies where tests are about several extensions.
    """
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for each in filter(None, names.split("\0")):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / each, tmp_path / each)
    shutil.rmtree(tmp_path / "extensions" / name)
    shutil.rmtree(tmp_path / "tests" / "extensions" / name)
    subprocess.run(["git", "init", "--quiet", "."], cwd=tmp_path, check=True)
    scripts = Path(sys.executable).parent
    for command in (
        [scripts / "ruff", "check", "."],
        [scripts / "ruff", "format", "--check", "."],
        [scripts / "mypy"],
        [scripts / "lint-imports"],
        [sys.executable, "tests/file_sizes.py"],
        [sys.executable, "-m", "pytest", "-q", "-rsfE", "-n", "auto", "--dist", "loadgroup", "-m", TESTED],
    ):
        ran = subprocess.run(
            command, cwd=tmp_path, env=in_a_copy(tmp_path), capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    skipped = count_skipped(ran.stdout, name)
    assert sorted(set(skipped) - MAY_SKIP) == []
    assert sum(skipped.values()) <= MOST_SKIPPED


def count_skipped(said: str, name: str) -> Counter[str]:
    """How many tests pytest skipped for it, by their files; pages and other extensions are left out."""
    lines = re.findall(r"^SKIPPED \[(\d+)\] ([^:]+):.*extension (.*) was taken out$", said, re.MULTILINE)
    found: Counter[str] = Counter()
    for count, file, why in lines:
        if name in why and not file.startswith(("tests/docs/", "tests/extensions/")):
            found[file] += int(count)
    return found
