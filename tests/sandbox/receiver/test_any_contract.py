"""What a receiver does with the messages of any contract, known by the keys of their records."""

from __future__ import annotations

import pytest

from emulator.rng import Chance
from sandbox.receiver import OriginalNotKeptError
from schemas.contract import Sample, SampleMaker
from schemas.rdss.error_codes import Queue
from tests.sandbox.receiver.receiver_on_tapes import Tapes


def test_a_message_is_processed_once_however_often_it_comes(any_tapes: Tapes, samples: SampleMaker) -> None:
    """A redelivery and a producer's retry are both dropped, and counted."""
    sample = samples.message()
    any_tapes.put(sample)
    any_tapes.input.put_again(0)
    any_tapes.put(sample)
    any_tapes.receive()
    assert any_tapes.arrivals() == [(sample.key, sample.data, 1)]
    assert any_tapes.counted("duplicate") == 2


def test_nothing_is_read_again_after_a_restart(any_tapes: Tapes, samples: SampleMaker) -> None:
    """A new receiver on the same repository goes on behind the last processed message."""
    any_tapes.put(samples.message())
    any_tapes.receive()
    any_tapes.put(samples.message())
    any_tapes.receive()
    assert len(any_tapes.arrivals()) == 2
    assert any_tapes.counted("duplicate") == 0


def test_every_bad_message_goes_to_the_queue_of_its_code(any_tapes: Tapes, samples: SampleMaker) -> None:
    """With its code, once, and a valid one behind each is processed."""
    contract = any_tapes.contract
    assert contract.samples is not None
    bad = {code: samples.bad(code) for code in contract.samples.codes}
    good = [samples.message() for _ in bad]
    for one, other in zip(bad.values(), good, strict=True):
        any_tapes.put(one, one, other)
    any_tapes.receive()
    queued = {
        (queue, contract.peek(each.data).error_code)
        for queue, tape in any_tapes.queues.items()
        for each in tape.deliveries
    }
    assert queued == {(str(code.queue), str(code)) for code in bad}
    assert sum(len(tape.deliveries) for tape in any_tapes.queues.values()) == len(bad)
    assert [row[1] for row in any_tapes.arrivals()] == [each.data for each in good]
    assert any_tapes.counted("duplicate") == len(bad)


def test_a_message_repaired_under_its_id_is_processed(any_tapes: Tapes, samples: SampleMaker) -> None:
    """What was rejected does not count as processed: the right message may follow under the same id."""
    good, contract = samples.message(), any_tapes.contract
    assert contract.changes is not None
    bad = contract.changes.spoil(good.data, contract.changes.codes[0], Chance(1).draws("bad"))
    assert bad is not None
    any_tapes.put(Sample(bad, good.key), good)
    any_tapes.receive()
    assert [row[1] for row in any_tapes.arrivals()] == [good.data]


def test_an_original_that_cannot_be_kept_comes_again(
    any_tapes: Tapes, samples: SampleMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bucket out of reach nothing is rejected half; the next receiver finds the message again."""

    def unreachable(bucket: str, key: str, data: bytes) -> str:
        raise OriginalNotKeptError(f"{bucket}/{key}", OSError("no route"))

    contract, sample = any_tapes.contract, samples.message()
    data = sample.data + b" " * contract.max_bytes
    any_tapes.put(Sample(data, sample.key))
    with monkeypatch.context() as broken:
        broken.setattr(any_tapes.originals, "keep", unreachable)
        with pytest.raises(OriginalNotKeptError, match="no route"):
            any_tapes.receive()
    queue = any_tapes.queues[Queue(contract.oversize.queue)]
    assert queue.deliveries == []
    any_tapes.receive()
    (rejected,) = queue.deliveries
    assert contract.peek(rejected.data).error_code == contract.oversize
    assert list(any_tapes.originals.kept.values()) == [data]


def test_an_application_drops_what_it_sent_itself(any_tapes: Tapes, samples: SampleMaker) -> None:
    """A sender is given its own message back, and drops it."""
    mine, theirs = samples.message(), samples.message()
    repository = any_tapes.open()
    repository.record_to_send("input", [mine.data], mine.key)
    (unsent,) = repository.unsent("input", 2)
    assert unsent.key == mine.key
    repository.close()
    any_tapes.put(mine, theirs)
    any_tapes.receive()
    assert [row[1] for row in any_tapes.arrivals()] == [theirs.data]
    assert any_tapes.counted("echo") == 1


def test_its_own_reject_that_comes_back_is_dropped(any_tapes: Tapes, samples: SampleMaker) -> None:
    """A queue whose messages lead back to the input does not make a receiver reject for ever."""
    contract = any_tapes.contract
    assert contract.samples is not None
    any_tapes.put(samples.bad(contract.samples.codes[-1]))
    any_tapes.receive()
    (reject,) = [delivery.data for tape in any_tapes.queues.values() for delivery in tape.deliveries]
    any_tapes.input.put(reject)
    any_tapes.receive()
    assert sum(len(tape.deliveries) for tape in any_tapes.queues.values()) == 1
    assert any_tapes.counted("echo") == 1
