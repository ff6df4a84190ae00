"""What is harmed of the files that streams share: it is told, and a repair keeps the rest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.assembly import damage as told
from emulator.assembly.components import Components, build_components
from emulator.assembly.embedded import embedded
from emulator.assembly.repair import repair
from emulator.kinesis import KinesisError
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import AuditTap, Topology

COUNT, SIZE = 300, 2000
STREAMS = ("input", "other", "audit")


def settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        aws_port=0,
        control_port=0,
        amqp="none",
        topology=Topology(
            streams=dict.fromkeys(STREAMS, 1),
            buckets=("rdss-audit",),
            audit=AuditTap(taps=("input",)),
        ),
    )


def put(components: Components, stream: str) -> None:
    draws = Chance(5).draws("records", stream)
    for _ in range(6):
        records = [{"Data": draws.randbytes(SIZE), "PartitionKey": "k"} for _ in range(COUNT // 6)]
        components.streams.call("PutRecords", {"StreamName": stream, "Records": records}, components.home)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which all is packed, as a process leaves it that was killed."""
    folder = tmp_path_factory.mktemp("original") / "data"
    left = folder.parent / "left"
    with embedded(settings(folder)) as emulator:
        for stream in STREAMS[:2]:
            put(emulator.components, stream)
        emulator.components.archives._worker.drain()
        emulator.components.streams.pack()  # type: ignore[attr-defined]
        shutil.copytree(folder, left)
    assert len(files(left)) == 5
    return left


def files(folder: Path) -> list[Path]:
    """Two payload files, and three segments that refer to them."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".payloads", ".packed"))
    return [path for path in found if path.relative_to(folder).parts[0] != "put-aside"]


def read(components: Components) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    """What each stream holds, and why another cannot be read."""
    found: dict[str, list[bytes]] = {}
    refused: dict[str, str] = {}
    for stream in STREAMS:
        records: list[bytes] = []
        after = None
        try:
            while got := components.streams.read(stream, "shardId-000000000000", after, 100, components.home):
                records += [each.data for each in got]
                after = got[-1].sequence_number
        except KinesisError as error:
            refused[stream] = str(error)
        found[stream] = records
    return found, refused


@pytest.fixture(scope="module")
def whole(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    folder = tmp_path_factory.mktemp("whole") / "data"
    shutil.copytree(original, folder)
    with build_components(settings(folder)) as components:
        found, refused = read(components)
        assert not components.damage
        assert not refused
    assert found["audit"] == found["input"]
    assert [len(found[stream]) for stream in STREAMS] == [COUNT] * 3
    return found


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def missing(path: Path) -> None:
    path.unlink()


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 7)


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 0x10
    path.write_bytes(raw)


def garbage_within(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2] + os.urandom(97) + raw[len(raw) // 2 + 30 :])


HARMS = [emptied, zeroed, missing, cut_off, flipped, garbage_within]
TOLD = {emptied: "is empty", zeroed: "holds nothing but zeros", missing: "is missing"}


@pytest.mark.parametrize("harm", HARMS)
def test_a_payload_file_that_is_harmed_takes_nothing_else_with_it(
    harm: Callable[[Path], None], original: Path, whole: dict[str, list[bytes]], tmp_path: Path
) -> None:
    """The sandbox starts; what cannot be read is refused with the file's name, and nothing wrong is given."""
    for number in range(2):
        folder = tmp_path / str(number) / "data"
        shutil.copytree(original, folder)
        path = files(folder)[number]
        assert path.suffix == ".payloads"
        harm(path)
        with build_components(settings(folder)) as components:
            lines = [
                line for event in components.events.since(0, 10_000) if (line := told.describe_damage(event))
            ]
            found, refused = read(components)
        if harm in TOLD:
            assert any(str(path) in line and TOLD[harm] in line for line in lines), lines
        assert set(refused) in ({"input", "audit"}, {"other"})
        for stream in STREAMS:
            assert found[stream] == whole[stream][: len(found[stream])]
            if stream in refused:
                assert str(path) in refused[stream]
                assert "sandbox repair" in refused[stream]
            else:
                assert found[stream] == whole[stream]


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARMS)
def test_a_repair_keeps_what_can_be_read_of_every_file(
    harm: Callable[[Path], None], original: Path, whole: dict[str, list[bytes]], tmp_path: Path
) -> None:
    """Whichever file was harmed: it is put aside as it was, the rest is served, twice is once."""
    for number in range(5):
        folder = tmp_path / str(number) / "data"
        shutil.copytree(original, folder)
        path = files(folder)[number]
        harm(path)
        hurt = path.read_bytes() if path.exists() else b""
        before = {each: each.read_bytes() for each in files(folder)}
        said = list(repair(folder, dry_run=True))
        assert {each: each.read_bytes() for each in files(folder)} == before
        done = list(repair(folder))
        assert [each.file for each in done] == [each.file for each in said]
        assert list(repair(folder)) == []
        aside = [each.read_bytes() for each in (folder / "put-aside").rglob("*") if each.is_file()]
        assert hurt in aside or harm in (missing, emptied)
        with build_components(settings(folder)) as components:
            found, refused = read(components)
        assert refused == {}
        for stream in STREAMS:
            assert set(found[stream]) <= set(whole[stream])
        hurt_streams = {stream for stream in STREAMS if found[stream] != whole[stream]}
        assert len(hurt_streams) <= 1 or hurt_streams == {"input", "audit"}
        if harm in (flipped, garbage_within):
            # A byte costs what was compressed with it, and what was put in one call with that.
            assert len(found["input"]) + len(found["other"]) >= 2 * COUNT - 250
        with build_components(settings(folder)) as components:
            assert read(components) == (found, {})
            assert not components.damage
