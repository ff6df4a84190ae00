"""The action that others use, and the workflows of this project: their form, and what their steps do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.machine import process_ids
from sandbox.certify.history import Level
from sandbox.certify.stages import CONSUMER
from tests.ci_schemas import check_schema
from tests.docs.pages import blocks

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_make_and_nothing_else(path: Path) -> None:
    """What CI does, a person does with the same words; the targets exist."""
    check_schema("github-workflows", path)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    steps = [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    for command in commands:
        assert re.fullmatch(r"make [a-z-]+", command), command
        assert command.removeprefix("make ") in targets


def test_the_action_is_composite_and_quotes_its_inputs() -> None:
    """Every input is used, and none is pasted into a script, where it would be run."""
    check_schema("github-actions", ROOT / "action.yml")
    steps = action()["runs"]["steps"]
    assert all(step["shell"] == "bash" for step in steps)
    assert not any("${{" in step["run"] for step in steps)
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps([step.get("env", {}) for step in steps])))
    assert used == set(action()["inputs"])


class Runner:
    """Runs the steps of the action as GitHub does: its files, its variables, each step in a shell."""

    def __init__(self, folder: Path, inputs: dict[str, str]) -> None:
        self.workspace, self._temp = folder / "workspace", folder / "temp"
        for each in (self.workspace, self._temp):
            each.mkdir()
        self._inputs = {
            name: str(each.get("default", "")) for name, each in action()["inputs"].items()
        } | inputs
        self._files = {name: self._temp / name for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT")}
        for file in self._files.values():
            file.touch()
        self._environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "AWS_"))
            },
            **{name: str(file) for name, file in self._files.items()},
            "RUNNER_TEMP": str(self._temp),
        }
        self.checkout = ROOT

    def run(self, *, without: str = "") -> list[tuple[str, int]]:
        """The names and exit codes of the steps that ran; after a failure only those that always run."""
        done = []
        for step in action()["runs"]["steps"]:
            if step["name"] == without or (any(code for _, code in done) and step.get("if") != "always()"):
                continue
            given = {name: self._fill(value) for name, value in step.get("env", {}).items()}
            script = self._temp / "step.sh"
            script.write_text(step["run"], encoding="utf-8")
            ran = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
                cwd=self.workspace,
                env={**self._environment, **given},
                check=False,
                timeout=600,
            )
            done.append((step["name"], ran.returncode))
            self._take_over()
        return done

    def set_path(self, folder: Path) -> None:
        """Put a folder in front of PATH, as the first step does where it installs the sandbox."""
        self._environment["PATH"] = f"{folder}{os.pathsep}{self._environment['PATH']}"

    def output(self, name: str) -> str:
        return dict(self._lines("GITHUB_OUTPUT"))[name]

    def _fill(self, text: str) -> str:
        known = {f"inputs.{name}": value for name, value in self._inputs.items()}
        known["github.action_path"] = str(self.checkout)
        return _EXPRESSION.sub(lambda match: known[match[1]], text)

    def _take_over(self) -> None:
        self._environment |= dict(self._lines("GITHUB_ENV"))
        for folder in self._files["GITHUB_PATH"].read_text().split():
            self._environment["PATH"] = f"{folder}{os.pathsep}{self._environment['PATH']}"
        self._files["GITHUB_PATH"].write_text("")

    def _lines(self, name: str) -> Iterator[tuple[str, str]]:
        for line in self._files[name].read_text().splitlines():
            key, _, value = line.partition("=")
            yield key, value


_COMMAND = f"""
sandbox message sample --count 3 --seed 7 | sandbox send -
{sys.executable} -c 'import boto3; print(boto3.client("kinesis").list_streams()["StreamNames"])' > streams
echo '<testsuite/>' > junit.xml
sandbox status --json > mine.json
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_steps_start_wait_run_collect_and_stop(tmp_path: Path) -> None:
    """As they stand, but for the installation: the sandbox of this checkout is on the path."""
    runner = Runner(tmp_path, {"run": _COMMAND, "seed": "7", "faults": '[{"type": "duplicate"}]'})
    runner.set_path(Path(sys.executable).parent)

    done = runner.run(without="Set up the sandbox")

    assert [code for _, code in done] == [0] * 5, done
    assert "input" in (runner.workspace / "streams").read_text()
    status = json.loads((runner.workspace / "mine.json").read_text())
    assert status["seed"] == 7
    results = Path(runner.output("results"))
    assert {each.name for each in results.iterdir()} == {"events.ndjson", "status.json", "junit.xml"}
    assert '"fault.injected"' in (results / "events.ndjson").read_text()
    assert process_ids.state(status["pid"]) in {None, "Z"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_command_that_fails_fails_the_action_and_the_sandbox_is_stopped(tmp_path: Path) -> None:
    """What it recorded is collected all the same."""
    runner = Runner(tmp_path, {"run": "sandbox status --json > mine.json\nexit 5"})
    runner.set_path(Path(sys.executable).parent)

    done = dict(runner.run(without="Set up the sandbox"))

    assert done["Run the command"] == 5
    assert (done["Collect what it recorded"], done["Stop the sandbox"]) == (0, 0)
    assert (Path(runner.output("results")) / "events.ndjson").stat().st_size
    pid = json.loads((runner.workspace / "mine.json").read_text())["pid"]
    assert process_ids.state(pid) in {None, "Z"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_step_runs_from_a_clone(tmp_path: Path) -> None:
    """With the installation by hashes, into an environment of its own."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone], check=True)
    runner = Runner(tmp_path, {"run": "sandbox status --json > mine.json"})
    runner.checkout = clone

    done = runner.run()

    assert [code for _, code in done] == [0] * 6, done
    assert json.loads((runner.workspace / "mine.json").read_text())["profile"] == "embedded"


def _read_parallel_jobs() -> dict[str, tuple[list[str], str, str]]:
    """The stages, the line of a part and that of the merge, of GitHub and GitLab, as docs/ci.md has them."""
    github, gitlab = (
        yaml.safe_load(each.text)
        for each in blocks(ROOT / "docs" / "ci.md")
        if each.language == "yaml" and "certify merge" in each.text
    )
    part, whole = github["jobs"]["part"], github["jobs"]["certificate"]
    steps = (step.get("with", {}) for job in (part, whole) for step in job["steps"])
    play, merge = (each["run"] for each in steps if "run" in each)
    (matrix,) = gitlab["part"]["parallel"]["matrix"]
    return {
        "github": (part["strategy"]["matrix"]["stage"], play.replace("${{ matrix.stage }}", "$STAGE"), merge),
        "gitlab": (matrix["STAGE"], *gitlab["part"]["script"], *gitlab["certificate"]["script"]),
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_jobs_of_a_certificate_in_parallel(tmp_path: Path, ci: str) -> None:
    """Their lines as they stand: every stage of the level has its job, and their certificate is silver."""
    stages, part, whole = _read_parallel_jobs()[ci]
    assert stages == [each.name for each in CONSUMER if each.level <= Level.SILVER]
    client = ROOT / "tests" / "sandbox" / "certify" / "clients" / "right_consumer.py"
    (tmp_path / "consumer.py").write_bytes(client.read_bytes())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(line: str, stage: str = "") -> int:
        environment = {**os.environ, "PATH": path, "STAGE": stage}
        shell = ["bash", "-e", "-o", "pipefail", "-c", line]
        return subprocess.run(shell, cwd=tmp_path, env=environment, check=False, timeout=240).returncode

    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(lambda stage: run(part, stage), stages)] == [0] * len(stages)
    assert run(whole) == 0
    assert json.loads((tmp_path / "certificate" / "certificate.json").read_bytes())["level"] == "silver"
