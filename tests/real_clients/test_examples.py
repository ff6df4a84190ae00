"""The examples in JavaScript and in Java reach gold."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.certify.clause import Role
from sandbox.certify.trial import certify
from tests.docs.pages import ROOT
from tests.real_clients.maven_repository import make_repository
from tests.real_clients.test_kcl import java
from tests.sandbox.certify.trials import build_trial

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(900)]

_EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples are copied, as a reader copies them; what they check by stays where it is."""
    monkeypatch.setenv("RDSS_SCHEMAS", str(ROOT / "schemas/rdss"))


def _expect_gold(role: Role, *command: str, patience: float = 8.0) -> None:
    certificate, _ = certify(build_trial(role, *command, patience=patience), lambda _doing: None)
    assert (certificate.failed, certificate.missed, certificate.level) == ((), (), "gold")


@pytest.mark.parametrize("role", [Role.CONSUMER, pytest.param(Role.PRODUCER, marks=pytest.mark.long)])
def test_javascript(role: Role, javascript: Path, tmp_path: Path) -> None:
    """With the AWS SDK for JavaScript and Ajv."""
    node = shutil.which("node")
    assert node is not None
    shutil.copytree(_EXAMPLES / "javascript", tmp_path, dirs_exist_ok=True)
    (tmp_path / "node_modules").symlink_to(javascript / "node_modules")
    _expect_gold(role, node, str(tmp_path / f"{role}.mjs"))


@pytest.fixture(scope="module")
def classpath(kcl: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled classes, and the AWS SDK that comes with the KCL."""
    if shutil.which("mvn") is None:
        pytest.skip("NO MAVEN ON PATH")
    jars = next(kcl.parent.glob("lib/python*/site-packages/amazon_kclpy/jars"))
    folder = tmp_path_factory.mktemp("java")
    shutil.copytree(_EXAMPLES / "java", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    repository = make_repository(folder / "repository", jars, "2.33.0")
    maven = ["mvn", "--offline", "--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}", "compile"]
    subprocess.run(maven, cwd=folder, check=True)
    return f"{folder / 'target/classes'}:{jars}/*"


@pytest.mark.long
@pytest.mark.parametrize("role", Role)
def test_java(role: Role, classpath: str) -> None:
    """With the AWS SDK for Java 2 and Jackson; the JVM takes its time to start."""
    program = f"org.example.{role.capitalize()}"
    _expect_gold(role, java(), "-XX:TieredStopAtLevel=1", "-cp", classpath, program, patience=20.0)
