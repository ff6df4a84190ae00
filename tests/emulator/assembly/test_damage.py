"""Whatever a power cut or a bad disk does to a file: nothing is lost in silence, and nothing is deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.assembly import damage as told
from emulator.assembly.components import Components, build_components
from emulator.assembly.embedded import Embedded, embedded
from emulator.assembly.repair import repair
from emulator.journal import DamagedLogError, Segments, frames
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tests.extensions.parts import PARTS
from tests.taken_out import needs

PROJECT = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}
KEEPING = [part for part in PARTS if part.files]
MADE_ANEW = ("lock", "messages.db", "messages.db-wal", "messages.db-shm")
"""Files in which nothing is that is not made again from others."""


def settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        aws_port=0,
        control_port=0,
        amqp="none",
        extensions=tuple(each for part in KEEPING for each in part.settings(folder.parent)),
        topology=Topology(
            streams={"input": 2, "error": 1, "audit": 1},
            buckets=("rdss-audit",),
            audit=AuditTap(taps=("input",)),
            claimable=("error",),
        ),
    )


def fill(emulator: Embedded) -> None:
    """Have something in every service, so that every durable file there is has been made."""
    components = emulator.components
    for number in range(20):
        record = {"StreamName": "input", "PartitionKey": str(number), "Data": b"input %d" % number}
        components.streams.call("PutRecord", record, components.home)
    components.streams.call(
        "PutRecord", {"StreamName": "error", "PartitionKey": "e", "Data": b"{}"}, components.home
    )
    components.amqp.record("exchange", [(b"amqp %d" % number, "key") for number in range(5)])
    for part in KEEPING:
        part.fill(emulator)
    emulator.components.archives._worker.drain()


def kept(components: Components) -> dict[str, list[bytes]]:
    """All that was acknowledged and can be read."""
    found: dict[str, list[bytes]] = {}
    for name, service in (("stream", components.streams), ("amqp", components.amqp)):
        for view in service.streams(components.home):
            for shard in view.shards:
                records = service.read(view.name, shard.id, None, 1000, components.home)
                found.setdefault(f"{name} {view.name}", []).extend(each.data for each in records)
    for part in KEEPING:
        found |= {name: [*values] for name, values in part.kept(components).items()}
    return {name: sorted(values) for name, values in found.items() if values}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something in every file, as a process leaves it that was killed."""
    folder = tmp_path_factory.mktemp("original") / "data"
    left = folder.parent / "left"
    with embedded(settings(folder)) as emulator:
        fill(emulator)
        shutil.copytree(folder, left)
    return left


@pytest.fixture(scope="module")
def whole(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    folder = tmp_path_factory.mktemp("whole") / "data"
    shutil.copytree(original, folder)
    with build_components(settings(folder)) as components:
        assert not components.damage
        return kept(components)


def durable(folder: Path) -> list[str]:
    """Every file in which something is that cannot be made again."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(str(path.relative_to(folder)) for path in files if path.name not in MADE_ANEW)


def test_every_service_has_files(original: Path, whole: dict[str, list[bytes]]) -> None:
    """What follows is about these, and about whatever else there will be."""
    files = durable(original)
    for name in (
        *("streams/state.log", "events.log", "positions.log", "streams/streams/", "amqp/streams/"),
        *(name for part in KEEPING for name in part.files),
    ):
        assert any(each.startswith(name) for each in files), name
    names = {name for part in KEEPING for name in part.kept_names}
    assert {"stream input", "amqp amqp:exchange"} | names <= whole.keys()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zeros_at_the_end(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2] + bytes(size - size // 2))


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 7)


def missing(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 0x10
    path.write_bytes(raw)


def a_draft_left(path: Path) -> None:
    """A rename that did not happen: the old file, and beside it part of what was to take its place."""
    for suffix in (".draft", ".new"):
        path.with_suffix(suffix).write_bytes(path.read_bytes()[:-1])
    path.with_name(f"{path.name}.7.draft").write_bytes(path.read_bytes()[:-1])


DAMAGES = [emptied, zeroed, zeros_at_the_end, cut_off, missing, flipped, a_draft_left]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "damage" in metafunc.fixturenames:
        metafunc.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_file_is_lost_in_silence(
    damage: Callable[[Path], None], original: Path, whole: dict[str, list[bytes]], tmp_path: Path
) -> None:
    """For every file: a start is refused in a line that names it, or all is there, or an event says what not.

    What other files hold is still somewhere, and the next start says nothing any more.
    """
    for number, name in enumerate(durable(original)):
        folder = tmp_path / str(number) / "data"
        shutil.copytree(original, folder)
        damage(folder / name)
        before = contents(folder)
        judge(folder, name, whole)
        after = contents(folder)
        for other, content in before.items():
            if other != name and other.endswith(".log") and "/streams/" in other:
                assert any(each.startswith(content) for each in after.values()), f"{other}, by {name}"
        shutil.rmtree(folder)


def judge(folder: Path, name: str, whole: dict[str, list[bytes]]) -> None:
    try:
        with build_components(settings(folder)) as components:
            now = kept(components)
            lines = [
                line for event in components.events.since(0, 10_000) if (line := told.describe_damage(event))
            ]
    except DamagedLogError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert str(folder / name) in said
        assert "sandbox repair" in said
        assert "\n" not in said
        return
    lost = {key: set(values) - set(now.get(key, ())) for key, values in whole.items()}
    about = [line for line in lines if name in line or str(Path(name).parent) in line]
    if any(lost.values()) or name not in contents(folder):
        assert about, f"{name}: {lost}, {lines}"
        assert all("\n" not in line for line in about)
    with build_components(settings(folder)) as components:
        assert not components.damage, f"{name}: told twice"
        assert {
            key: set(values) - set(kept(components).get(key, ())) for key, values in whole.items()
        } == lost


def garbage(path: Path) -> None:
    path.write_bytes(b"this was never a file of ours, and is long enough to be taken for one" * 9)


def garbage_within(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2] + os.urandom(97) + raw[len(raw) // 2 + 30 :])


@pytest.mark.parametrize("harm", [flipped, garbage, garbage_within, zeroed, emptied, missing])
def test_after_a_repair_everything_starts(
    harm: Callable[[Path], None], original: Path, whole: dict[str, list[bytes]], tmp_path: Path
) -> None:
    """Whichever file was hurt: what can be read is served, what was there is put aside, and twice is once."""
    for number, name in enumerate([*durable(original), "messages.db"]):
        folder = tmp_path / str(number) / "data"
        shutil.copytree(original, folder)
        harm(folder / name)
        hurt = (folder / name).read_bytes() if (folder / name).exists() else b""
        before = contents(folder)
        said = list(repair(folder, dry_run=True))
        before.pop("lock")
        assert {name: content for name, content in contents(folder).items() if name != "lock"} == before
        done = list(repair(folder))
        assert [each.file for each in done] == [each.file for each in said]
        for each in done:
            assert each.file == str(folder / name)
            assert each.put_aside is not None
            assert Path(each.put_aside).read_bytes() == hurt
        assert list(repair(folder)) == []
        with build_components(settings(folder)) as components:
            now = kept(components)
        for key in now:
            assert set(now[key]) <= set(whole[key]), f"{name}: {key}"
        others = sum(set(now.get(key, ())) == set(values) for key, values in whole.items())
        assert others >= len(whole) - 3, f"{name} took more along than its own"
        shutil.rmtree(folder.parent)


def put(components: Components, data: bytes) -> tuple[str, str]:
    answer = components.streams.call(
        "PutRecord", {"StreamName": "input", "PartitionKey": "k", "Data": data}, components.home
    )
    return str(answer["ShardId"]), str(answer["SequenceNumber"])


@pytest.mark.parametrize("harm", [emptied, zeroed, missing, zeros_at_the_end, "flipped and repaired"])
def test_numbers_that_lost_records_had_are_not_given_again(harm: Any, tmp_path: Path) -> None:
    """A reader that had come to the last of them finds what is put after the loss, and nothing is pending."""
    folder = tmp_path / "data"
    with build_components(settings(folder)) as components:
        shard, last = [put(components, b"%d" % number * 50) for number in range(9)][-1]
        view = next(view for view in components.streams.streams(components.home) if view.name == "input")
    (path,) = (
        path
        for path in folder.glob("streams/streams/*/*/*.log")
        if path.stat().st_size and int(path.parent.name) == int(shard[-12:])
    )
    if callable(harm):
        harm(path)
    else:
        raw = bytearray(path.read_bytes())
        raw[-9] ^= 1
        path.write_bytes(raw)
        assert list(repair(folder))
    for _ in range(2):
        with build_components(settings(folder)) as components:
            view = next(view for view in components.streams.streams(components.home) if view.name == "input")
            assert sum(components.streams.unread("input", each, None) for each in view.shards) <= 8
            seen = next(each for each in view.shards if each.id == shard)
            assert components.streams.unread("input", seen, last) == 0
            assert components.streams.read("input", shard, last, 10, components.home) == []
    with build_components(settings(folder)) as components:
        assert put(components, b"after")[1] > last
        assert [each.data for each in components.streams.read("input", shard, last, 10, components.home)] == [
            b"after"
        ]
        view = next(view for view in components.streams.streams(components.home) if view.name == "input")
        seen = next(each for each in view.shards if each.id == shard)
        assert components.streams.unread("input", seen, last) == 1
        assert seen.put < 100


def test_records_that_no_state_names_are_put_aside(original: Path, tmp_path: Path) -> None:
    """And the streams that are made instead get numbers that none of those had."""
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    records = {path.name: path.read_bytes() for path in folder.glob("streams/streams/*/*/*.log")}
    emptied(folder / "streams" / "state.log")
    with build_components(settings(folder)) as components:
        lines = components.damage
        put(components, b"new")
    aside = list((folder / "streams" / "put-aside").rglob("*.log"))
    assert {path.name: path.read_bytes() for path in aside} == records
    assert f"{folder / 'streams/state.log'} is empty: the names and shards of the streams is gone" in lines
    assert sum("was put aside as" in line for line in lines) >= 3
    numbers = {path.parents[1].name for path in aside}
    assert numbers.isdisjoint(path.name for path in (folder / "streams" / "streams").iterdir())


def test_what_a_deletion_left_undone_is_still_removed(tmp_path: Path) -> None:
    """A process that died between saying that a stream is gone and removing it left nothing to put aside."""
    folder = tmp_path / "data"
    with build_components(settings(folder)) as components:
        put(components, b"x")
        (stream,) = {path.parents[1] for path in folder.glob("streams/streams/*/*/*.log")}
        shutil.copytree(stream, tmp_path / "kept")
        components.streams.call("DeleteStream", {"StreamName": "input"}, components.home)
        next(iter(components.streams.streams(components.home)))
    shutil.copytree(tmp_path / "kept", stream, dirs_exist_ok=True)
    with build_components(settings(folder)) as components:
        assert not components.damage
    assert not stream.exists()
    assert not (folder / "streams" / "put-aside").exists()


def test_what_is_removed_on_purpose_is_not_missed(tmp_path: Path) -> None:
    """A reset, a deleted stream, an emptied queue: the next start has nothing to say."""
    folder = tmp_path / "data"
    with embedded(settings(folder)) as emulator:
        fill(emulator)
        emulator.reset()
    with build_components(settings(folder)) as components:
        assert not components.damage
    with embedded(settings(folder)) as emulator:
        fill(emulator)
        for name in ("input", "error"):
            emulator.components.streams.call("DeleteStream", {"StreamName": name}, emulator.components.home)
    with build_components(settings(folder)) as components:
        assert not components.damage


@needs("queues")
def test_queues_that_show_a_stream_read_it_again_when_they_are_lost(original: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    missing(folder / "queues.log")
    with embedded(settings(folder)) as emulator, httpx.Client(trust_env=False, headers=PROJECT) as client:
        found = client.get(
            f"{emulator.urls['queues']}/v2/queues/error/messages", headers={"X-Project-ID": "rdss"}
        ).json()
        assert len(found["messages"]) == 1
        assert any("queue-positions.log was put aside" in line for line in emulator.components.damage)
        notes = emulator.status().notes
        assert any("queues.log is missing" in note for note in notes)


@needs("topics")
def test_damage_found_while_topics_are_opened_is_their_answer(original: Path, tmp_path: Path) -> None:
    """503 and the line that says what to do, at every request; the rest of the sandbox works."""
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    (path,) = (folder / "topics" / "messages").glob("*.log")
    flipped(path)
    with embedded(settings(folder)) as emulator, httpx.Client(trust_env=False) as client:
        for url in (
            f"{emulator.control}/topics/records?topic=prices",
            f"{emulator.urls['topics']}/topics/messages?topic=prices",
        ):
            answer = client.get(url)
            assert answer.status_code == 503, answer.text
            assert "sandbox repair" in answer.json()["error"]["message"]
        assert client.get(f"{emulator.control}/status").is_success


@needs("topics")
@pytest.mark.parametrize("name", ["messages", "positions.log", "versions.log"])
def test_the_start_tells_what_was_cut_from_logs_of_topics(name: str, original: Path, tmp_path: Path) -> None:
    """Once, by an event and a line, though nobody has opened topics yet; and opens nothing that ends well."""
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    path = folder / "topics" / name
    log = next(path.glob("*.log")) if path.is_dir() else path
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(frames.header(b"half of it")[:20])
    with build_components(settings(folder)) as components:
        assert not components.extensions["topics"].service.opened
        (line,) = components.damage
        assert line == f"{path}: 20 bytes at its end were not written whole: cut"
        (event,) = [event for event in components.events.since() if event.kind == "journal.cut"]
        assert event.fields == {"file": str(path), "bytes": 20}
        assert kept(components)["topic prices"]
    with build_components(settings(folder)) as components:
        assert not components.damage


@needs("topics")
def test_the_start_tells_of_damage_at_the_end_of_a_log_of_topics(original: Path, tmp_path: Path) -> None:
    """With what to do about it, and nothing else fails."""
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    (path,) = (folder / "topics" / "messages").glob("*.log")
    content = bytearray(path.read_bytes())
    content[-2] ^= 0xFF
    path.write_bytes(content)
    with build_components(settings(folder)) as components:
        (line,) = components.damage
        assert str(path) in line
        assert "sandbox repair" in line
        assert [
            event.fields["file"] for event in components.events.since() if event.kind == "journal.damaged"
        ]


def test_the_start_tells_what_was_cut_from_the_list_of_logs(original: Path, tmp_path: Path) -> None:
    """And what is written to it afterwards does not stand in front of the rest of what was cut."""
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    with (folder / "inventory.log").open("ab") as file:
        file.write(b"x" * 30)
    for round_, expected in enumerate((1, 0, 0)):
        with build_components(settings(folder)) as components:
            assert sum("inventory.log: 30 bytes" in line for line in components.damage) == expected
            assert len(components.damage) == expected
            name = f"after-{round_}"
            components.streams.call("CreateStream", {"StreamName": name, "ShardCount": 1}, components.home)
            record = {"StreamName": name, "PartitionKey": "k", "Data": b"d"}
            components.streams.call("PutRecord", record, components.home)


@pytest.mark.parametrize("lengths", [[1], [10, 300, 20_000], [5] * 500, [40_000, 3]])
def test_a_log_ends_well_only_where_a_whole_entry_does(lengths: list[int], tmp_path: Path) -> None:
    whole = b"".join(frames.header(b"x" * length) + b"x" * length for length in lengths)
    path = tmp_path / "some.log"
    path.write_bytes(whole)
    assert frames.ends_whole(path) == (lengths[-1] < 16_000)
    last = frames.HEADER_BYTES + lengths[-1]
    for cut in range(1, min(last, 60)):
        path.write_bytes(whole[:-cut])
        assert not frames.ends_whole(path)
    path.write_bytes(whole + bytes(50))
    assert not frames.ends_whole(path)


@pytest.mark.parametrize("where", [0, 3, 60, -1, -5, -70])
def test_a_compressed_segment_is_repaired(where: int, tmp_path: Path) -> None:
    """Wherever a byte is wrong: what can be read is a segment again, the rest of the shard as it was."""
    shard = tmp_path / "streams" / "streams" / "000000001" / "000000000000"
    segments = Segments(shard, segment_bytes=1000)
    for number in range(40):
        line = b"%058d\n" % number
        segments.append(line * 3, 3, 177, 1000 + number)
    while (cold := segments.cold) is not None:
        assert segments.replace(cold, cold.pack())
    segments.close()
    path = min(shard.glob("*.packed"))
    raw = bytearray(path.read_bytes())
    raw[where] ^= 1
    path.write_bytes(raw)
    (said,) = list(repair(tmp_path, dry_run=True))
    (done,) = list(repair(tmp_path))
    assert (done.file, done.kept, done.position) == (str(path), said.kept, said.position)
    assert done.put_aside is not None
    assert Path(done.put_aside).read_bytes() == raw
    assert list(repair(tmp_path)) == []
    again = Segments(shard, segment_bytes=1000)
    found = again.read(1, 1000, 1 << 30)
    lines = b"".join(bytes(part) for part in found.parts).splitlines()
    while found.next < again.next:
        found = again.read(found.next, 1000, 1 << 30)
        lines += b"".join(bytes(part) for part in found.parts).splitlines()
    again.close()
    assert len(lines) >= 120 - 24
    assert lines == sorted(lines)
    assert lines[-1] == b"%058d" % 39
