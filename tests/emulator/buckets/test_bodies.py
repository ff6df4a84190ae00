"""Bodies of objects: on disk, in few files, and gone when nobody needs them."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.object_bodies import Body
from emulator.rng import Chance

MB = 1 << 20


def kept(bodies: Bodies, data: bytes) -> Body:
    body = Body(bodies)
    body.write(data)
    return body


def random_bytes(count: int, seed: int = 1) -> bytes:
    return Chance(seed).draws("bodies").randbytes(count)


def test_any_part_of_a_body_is_read_back(tmp_path: Path) -> None:
    """Across the pieces that it is kept in, whether they could be compressed or not."""
    bodies = Bodies(tmp_path)
    data = random_bytes(2 * MB + 17) + b"x" * MB
    body = kept(bodies, data)

    body.seek(0)
    assert body.read() == data
    for start, end in [(0, 1), (MB - 1, MB + 1), (5, 3 * MB), (3 * MB, 3 * MB + 17), (7, 7), (9, 99 * MB)]:
        assert b"".join(body.contents()[start:end]) == data[start:end]
        assert len(body.contents()[start:end]) == len(data[start:end])
    assert b"".join(body.contents()[MB : 3 * MB][10:20]) == data[MB + 10 : MB + 20]


def test_nothing_with_a_name_is_left_on_disk(tmp_path: Path) -> None:
    """However a process ends, there is nothing to remove."""
    bodies = Bodies(tmp_path)
    body = kept(bodies, random_bytes(3 * MB))

    assert list(tmp_path.iterdir()) == []
    assert bodies.stored_bytes >= 3 * MB
    body.seek(0)
    assert len(body.read()) == 3 * MB


def test_bodies_that_are_dropped_leave_no_file_open(tmp_path: Path) -> None:
    """Also when the garbage collector comes in the middle of a call, and nobody closes them."""
    bodies = Bodies(tmp_path)
    body = kept(bodies, random_bytes(100))
    file = bodies._files[1].storage._file
    with bodies._lock:
        del body
    del bodies
    gc.collect()
    assert file.closed


def test_thousands_of_bodies_need_few_files(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 -- names only

    many = [kept(bodies, random_bytes(100, seed)) for seed in range(3000)]

    assert len(os.listdir("/dev/fd")) <= before + 1  # noqa: PTH208 -- as above
    many[1234].seek(0)
    assert many[1234].read() == random_bytes(100, 1234)


def test_what_is_overwritten_or_deleted_gives_its_room_back(tmp_path: Path) -> None:
    """One body written again and again takes the room of few."""
    bodies = Bodies(tmp_path)
    body = Body(bodies)
    for seed in range(100):
        body.seek(0)
        body.truncate()
        body.write(random_bytes(2 * MB, seed))
    assert bodies.stored_bytes <= 2 * 64 * MB

    body.close()
    assert bodies.stored_bytes == 0


def test_a_few_survivors_do_not_keep_what_was_deleted(tmp_path: Path) -> None:
    """Of 200 MB one body in fifty stays: they are moved together."""
    bodies = Bodies(tmp_path)
    survivors: list[tuple[int, Body]] = []
    for seed in range(200):
        body = kept(bodies, random_bytes(MB, seed))
        if seed % 50 == 0:
            survivors.append((seed, body))

    assert bodies.stored_bytes <= 70 * MB
    for seed, body in survivors:
        body.seek(0)
        assert body.read() == random_bytes(MB, seed)


def test_an_answer_under_way_is_not_disturbed_by_what_becomes_of_the_object(tmp_path: Path) -> None:
    """A reader gets the body that was there when it asked."""
    bodies = Bodies(tmp_path)
    body = kept(bodies, b"a" * 3 * MB)
    pieces = iter(body.contents())
    first = next(pieces)

    body.seek(0)
    body.truncate()
    body.write(b"b" * 3 * MB)
    body.close()

    assert first + b"".join(pieces) == b"a" * 3 * MB


def test_a_deleted_body_is_not_read_as_an_empty_one(tmp_path: Path) -> None:
    body = kept(Bodies(tmp_path), b"x")
    body.close()

    with pytest.raises(ValueError, match="deleted"):
        body.read()


def test_bytes_that_changed_on_disk_are_not_given_out(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    body = kept(bodies, random_bytes(MB))
    for descriptor in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 -- names only
        try:
            where = str(Path(f"/dev/fd/{descriptor}").readlink())
        except OSError:
            continue
        if where.startswith(str(tmp_path)):
            os.pwrite(descriptor, b"?", 5000)

    body.seek(0)
    with pytest.raises(OSError, match="damaged at byte 0"):
        body.read()


def test_a_full_disk_fails_the_write_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = Bodies(tmp_path)
    body = kept(bodies, b"first")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.pwritev", full)
        with pytest.raises(OSError, match="No space"):
            kept(bodies, random_bytes(MB))

    after = kept(bodies, b"after")
    for each, expected in ((body, b"first"), (after, b"after")):
        each.seek(0)
        assert each.read() == expected


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 1000, MB - 1, MB + 1]), st.booleans()),
        max_size=30,
    )
)
def test_bodies_are_what_was_last_written_to_them(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]]
) -> None:
    """Against a dictionary, while small files make everything move about."""
    bodies = Bodies(tmp_path_factory.mktemp("bodies"), file_bytes=MB)
    model: dict[int, tuple[Body, bytes]] = {}
    for number, (key, size, delete) in enumerate(steps):
        if delete:
            model.pop(key, None)
        else:
            data = random_bytes(size, number)
            model[key] = (kept(bodies, data), data)
        for body, data in model.values():
            body.seek(0)
            assert body.read() == data
    bodies.close()


def test_many_threads_write_and_delete_at_once(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path, file_bytes=MB)
    wrong: list[str] = []

    def work(worker: int) -> None:
        for number in range(40):
            data = random_bytes(100_000, worker * 1000 + number)
            body = kept(bodies, data)
            body.seek(0)
            if body.read() != data:
                wrong.append(f"{worker}/{number}")

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong
    assert bodies.stored_bytes <= 4 * MB
