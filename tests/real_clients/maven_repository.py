"""A local Maven repository with the AWS SDK for Java, which is taken from the KCL and not from a registry."""

from __future__ import annotations

from pathlib import Path

_SDK = "software.amazon.awssdk"
_PLEXUS = "org.codehaus.plexus"
_NOT_THE_SDK = (
    "amazon-kinesis-client",
    "cloudwatch",
    "dynamodb",
    "jackson",
    "logback",
    "schema-registry",
    "sts",
)
_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
    "<version>{version}</version></dependency>"
)


def make_repository(place: Path, jars: Path, version: str) -> Path:
    """Fill ``place`` with the user's own local repository and ``kinesis`` of the SDK, of this version.

    The jars are the SDK's own, in the folder ``jars``. The POMs are made here: all that the SDK needs lies in
    that folder, whichever artifact it belongs to. Raises FileNotFoundError where the version is not there.
    """
    own = Path.home() / ".m2/repository"
    opened = {
        parent for group in (f"{_SDK}.kinesis", f"{_PLEXUS}.plexus-utils") for parent in _with_parents(group)
    }
    _link(own, place, {own / each for each in opened})
    if not (_folder(place, _PLEXUS, "plexus-utils") / "1.1").exists():
        # Maven 3.8 puts this before every plugin that names none, and those of today use none of it.
        newer = max(own.glob("org/codehaus/plexus/plexus-utils/3.*/*.jar"))
        _install(place, newer, _PLEXUS, "plexus-utils", "1.1")
    if not (_folder(place, _SDK, "kinesis") / version).exists():
        if not (jars / f"kinesis-{version}.jar").exists():
            raise FileNotFoundError(f"kinesis-{version}.jar is not in {jars}")
        needed = [
            each for each in jars.glob("*.jar") if not each.name.startswith(("kinesis-", *_NOT_THE_SDK))
        ]
        others = [_install(place, each, _SDK, *each.stem.rsplit("-", 1)) for each in needed]
        sdk = jars / f"kinesis-{version}.jar"
        _install(place, sdk, _SDK, "kinesis", version, dependencies="".join(others))
    return place


def _with_parents(group: str) -> list[Path]:
    path = Path(*group.split("."))
    return [path, *path.parents]


def _link(own: Path, place: Path, opened: set[Path]) -> None:
    """Make a folder with links to what is in another, and folders like it for what is ``opened``."""
    place.mkdir()
    for each in own.iterdir():
        if each in opened:
            _link(each, place / each.name, opened)
        else:
            (place / each.name).symlink_to(each)


def _folder(place: Path, group: str, artifact: str) -> Path:
    return place.joinpath(*group.split("."), artifact)


def _install(
    place: Path, jar: Path, group: str, artifact: str, version: str, *, dependencies: str = ""
) -> str:
    """Put a jar into the repository, and return how a POM names it."""
    folder = _folder(place, group, artifact) / version
    folder.mkdir(parents=True)
    (folder / f"{artifact}-{version}.jar").symlink_to(jar)
    names = {"group": group, "artifact": artifact, "version": version}
    pom = _POM.format(**names, dependencies=dependencies)
    (folder / f"{artifact}-{version}.pom").write_text(pom, encoding="utf-8")
    return _DEPENDENCY.format(**names)
