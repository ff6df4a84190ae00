"""A log of keys and values: the last values survive, whatever ends the process, and the file stays small."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.journal import Change, DamagedLogError, KeyedLog, Log, frames
from emulator.journal.salvage import salvage, write_kept

_WORKER = """
import sys
from pathlib import Path
from emulator.journal import KeyedLog, log
log.OVERGROWN_BYTES = 2000
keyed, number = KeyedLog(Path(sys.argv[1])), 0
keyed.read()
while True:
    number += 1
    text = str(number).encode()
    changing = [(b"key %d" % (number % 7), text), (b"key %d" % (number % 5), None)]
    keyed.append([(b"one", text), (b"two", text), *changing])
    print(number, flush=True)
"""

_KEYS = st.binary(min_size=1, max_size=2)
_CHANGES = st.lists(st.tuples(_KEYS, st.none() | st.binary(max_size=40)), min_size=1, max_size=5)


def read(path: Path) -> dict[bytes, bytes]:
    with closing(KeyedLog(path)) as log:
        return log.read()


@given(steps=st.lists(_CHANGES | st.just("restart") | st.just("tear"), max_size=40))
def test_it_holds_what_a_map_does(
    steps: list[list[Change] | str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After restarts, rewritings, and tails that were not written whole."""
    path = tmp_path_factory.mktemp("log") / "a.log"
    held: dict[bytes, bytes] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("emulator.journal.log.OVERGROWN_BYTES", 300)
        patched.setattr("emulator.journal.keyed_log._LONG_AT_START", 200)
        log = KeyedLog(path, head=b"us")
        log.read()
        for step in steps:
            if isinstance(step, str):
                log.close()
                if step == "tear":
                    with path.open("ab") as file:
                        file.write(frames.header(b"torn") + b"to")
                log = KeyedLog(path, head=b"us")
                assert bool(log.torn_bytes) == (step == "tear")
                assert log.read() == held
            else:
                log.append(step)
                for key, value in step:
                    held.pop(key, None) if value is None else held.update({key: value})
        log.close()
    assert read(path) == held


def test_what_was_appended_survives_kill_9_and_together(tmp_path: Path) -> None:
    """While the log is rewritten again and again; the next process has nothing that was half done."""
    path = tmp_path / "a.log"
    process = subprocess.Popen([sys.executable, "-c", _WORKER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(300):
        process.stdout.readline()
    process.kill()
    # The last line may have been cut short by the kill.
    told = [line for line in process.stdout.read().split("\n")[:-1] if line]
    process.wait(60)
    process.stdout.close()
    found = read(path)
    assert found[b"one"] == found[b"two"]
    assert int(found[b"one"]) >= int(told[-1] if told else 300)
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize("living", [None, [(b"kept", b"1" * 100)]], ids=["its own values", "its owner's"])
def test_a_log_in_which_little_lives_is_rewritten(
    living: list[Change] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own last values, or with those that its owner has when it drops some without a word."""
    monkeypatch.setattr("emulator.journal.log.OVERGROWN_BYTES", 10_000)
    path = tmp_path / "a.log"
    with closing(KeyedLog(path, list_living=(lambda: living) if living else None)) as log:
        log.append([(b"kept", b"1" * 100), (b"over", b"2" * 100)])
        for number in range(1000):
            log.append([(b"other", b"%090d" % number)])
            assert path.stat().st_size < 12_000
    found = read(path)
    assert found[b"kept"] == b"1" * 100
    assert found[b"other"] == b"%090d" % 999
    assert (b"over" in found) == (living is None)


def test_a_full_disk_leaves_the_long_log_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append does not fail since the log cannot be rewritten, and not every one tries that."""
    monkeypatch.setattr("emulator.journal.log.OVERGROWN_BYTES", 1000)
    tries = 0

    def full(*_: object, **__: object) -> Iterator[Log]:
        nonlocal tries
        tries += 1
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(Log, "rewriting", full)
    with closing(KeyedLog(tmp_path / "a.log")) as log:
        for number in range(1000):
            log.append([(b"key", str(number).encode())])
    assert read(tmp_path / "a.log") == {b"key": b"999"}
    assert 1 <= tries < 8


def test_damage_is_named_and_a_repair_keeps_the_rest(tmp_path: Path) -> None:
    """A flipped byte costs the changes of its entry, and no others."""
    path = tmp_path / "a.log"
    with closing(KeyedLog(path)) as log:
        for number in range(9):
            log.append([(b"key %d" % number, b"value %d" % number)])
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"value 4")] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamagedLogError, match=r"a\.log is damaged at byte"):
        KeyedLog(path)
    found = salvage(path)
    assert found is not None
    write_kept(path, found.kept, tmp_path / "b.log")
    assert sorted(read(tmp_path / "b.log")) == [b"key %d" % number for number in range(9) if number != 4]


def test_entries_of_another_form_are_taken_over_once(tmp_path: Path) -> None:
    """By what knows their form; without that they are damage, and nothing is changed."""
    path = tmp_path / "a.log"
    with closing(Log(path)) as old:
        old.append(b'["a",1]')
        old.append(b'["b",2]')
    before = path.read_bytes()
    with pytest.raises(DamagedLogError, match="no keys and values"):
        read(path)
    assert path.read_bytes() == before

    def read_old(payload: bytes, values: dict[bytes, bytes]) -> None:
        values[payload[2:3]] = payload[5:6]

    with closing(KeyedLog(path, read_old=read_old)) as log:
        assert log.read() == {b"a": b"1", b"b": b"2"}
        log.append([(b"a", None)])
    assert read(path) == {b"b": b"2"}


def test_without_a_path_nothing_is_kept() -> None:
    """The owner has the values."""
    log = KeyedLog(None)
    log.append([(b"a", b"1")])
    log.replace([(b"a", b"2")])
    assert log.read() == {}
    log.close()
