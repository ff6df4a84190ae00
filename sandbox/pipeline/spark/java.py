"""Find or install the Java that Spark needs. Set-up runs ``python -m sandbox.pipeline.spark.java``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = 17
OWN_FOLDER = Path(__file__).resolve().parents[3] / ".jdk"


class JavaMissingError(RuntimeError):
    """There is no Java 17 or later, and none could be installed; the message says what to do."""


@dataclass(frozen=True)
class Java:
    """A Java installation: its home folder and its major version."""

    home: Path
    version: int


def find(own_folder: Path = OWN_FOLDER) -> Java | None:
    """The first Java 17+ among JAVA_HOME, the project's own folder and PATH."""
    for home in _homes(own_folder):
        version = _version(home / "bin" / "java")
        if version >= OLDEST:
            return Java(home, version)
    return None


def require(own_folder: Path = OWN_FOLDER) -> Java:
    """Find a Java as ``find`` does. Raises JavaMissingError when there is none."""
    found = find(own_folder)
    if found is None:
        raise JavaMissingError(
            f"the pipeline needs Java {OLDEST}+, and none is in JAVA_HOME, {own_folder.name}/ or PATH: "
            f"get one with: {shlex.quote(sys.executable)} -m sandbox.pipeline.spark.java"
        )
    return found


def obtain(say: Callable[[str], None], own_folder: Path = OWN_FOLDER) -> Java:
    """Find a Java, or install one: as root the distribution's package, else Adoptium's in ``own_folder``.

    Raises JavaMissingError when the installation fails.
    """
    if found := find(own_folder):
        say(f"Java {found.version}: {found.home}")
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("no Java 17+ found; installing the distribution's default-jre-headless (about 200 MB)")
        _install_package(say)
    if find(own_folder) is None:
        say(f"no Java 17+ found; downloading Adoptium's Java {OLDEST} into {own_folder} (about 45 MB)")
        _install_own(own_folder)
    found = require(own_folder)
    say(f"Java {found.version}: {found.home}")
    return found


def _homes(own_folder: Path) -> Iterator[Path]:
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    for java in sorted(own_folder.glob("*/bin/java")) + sorted(own_folder.glob("*/Contents/Home/bin/java")):
        yield java.parent.parent
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent


def _version(java: Path) -> int:
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    numbers = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if not numbers:
        return 0
    # Up to Java 8 the major version came second: 1.8.0.
    return int(numbers[2] or 0) if numbers[1] == "1" else int(numbers[1])


def _install_package(say: Callable[[str], None]) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", "default-jre-headless"],
    ):
        done = subprocess.run(
            ["apt-get", *step], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            say(f"apt-get {step[0]} failed: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}")
            return


def _install_own(own_folder: Path) -> None:
    try:
        import jdk
    except ImportError:
        from rdss_sandbox.machine.installation import how_to_add

        raise JavaMissingError(f"install-jdk is missing; get it with: {how_to_add('pipeline')}") from None
    try:
        jdk.install(str(OLDEST), jre=True, path=str(own_folder))
    except (jdk.JdkError, OSError) as failed:
        raise JavaMissingError(
            f"Java {OLDEST} could not be downloaded ({failed}); install one and set JAVA_HOME"
        ) from failed


def main() -> int:
    """Return exit code 0 when there is a Java, 3 when none could be installed."""
    try:
        obtain(lambda line: print(line, file=sys.stderr))  # noqa: T201 - this module is a command of set-up
    except JavaMissingError as missing:
        print(missing, file=sys.stderr)  # noqa: T201 - as above
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
