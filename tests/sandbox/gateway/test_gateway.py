"""The gateway: what was handed over is sent, whatever the broker does, or is still there to be sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from emulator.channels.channel import Delivery, Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine, SendFailedError, SendRefusedError
from sandbox.repository import MessageStatus, Repository
from schemas.rdss.sequence import join

NOW = 1_780_000_000.0
THROTTLED = PublishRefusedError("ProvisionedThroughputExceededException", "slow down")


class Broker:
    """A channel that answers what it is told to, then takes everything."""

    name = "input"

    def __init__(self, *answers: Exception) -> None:
        self.answers = list(answers)
        self.taken: list[bytes] = []
        self.calls = 0

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        self.calls += 1
        return [self._take(data) for data, _ in entries]

    def _take(self, data: bytes) -> Outcome:
        if self.answers:
            return self.answers.pop(0)  # type: ignore[return-value]
        self.taken.append(data)
        return Receipt("shardId-0", str(len(self.taken)))

    def publish(self, data: bytes, key: str) -> Receipt:
        raise NotImplementedError

    def read(self, *, limit: int = 100, wait: float = 0.0) -> list[Delivery]:
        raise NotImplementedError

    def commit(self, delivery: Delivery) -> None:
        raise NotImplementedError

    def close(self) -> None: ...


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen_at=NOW, autojump=True)


@pytest.fixture
def repository(tmp_path: Path, clock: Clock) -> Iterator[Repository]:
    repository = Repository(tmp_path / "application.sqlite3", clock)
    yield repository
    repository.close()


def _message(padding: int = 0) -> dict[str, object]:
    return {
        "messageHeader": {
            "messageId": "5680e8e0-28a5-4b20-948e-fd0d08781e0b",
            "messageSequence": {
                "sequence": "b66be1c2-e610-461e-bc49-14a42c0b5d24",
                "position": 1,
                "total": 1,
            },
        },
        "messageBody": {"text": 'é"\\' * padding},
    }


def _ids() -> Callable[[], str]:
    numbers = iter(range(1, 1000))
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012}"


def test_a_message_is_sent_once_the_broker_has_answered(repository: Repository, clock: Clock) -> None:
    """The status is TO_SEND until the broker's answer and SENT after it."""
    broker = Broker()
    gateway = Gateway(broker, repository, clock)
    gateway.keep([b"{}"])
    assert repository.tally("input") == {(MessageStatus.TO_SEND, None, None): 1}
    assert gateway.flush() == 1
    assert repository.tally("input") == {(MessageStatus.SENT, None, None): 1}
    assert broker.taken == [b"{}"]


def test_no_answer_is_tried_again_with_the_delays_of_the_specification(
    repository: Repository, clock: Clock
) -> None:
    """Refused and unanswered tries are followed by 200, 400, 800 ms; then the message is sent."""
    broker = Broker(THROTTLED, PublishUnknownError("timeout", "no answer"), THROTTLED)
    Gateway(broker, repository, clock).send_serialised(b"{}")
    assert broker.taken == [b"{}"]
    assert clock.elapsed() == pytest.approx(1.4, abs=0.01)


def test_the_waits_are_those_of_the_specification(
    repository: Repository, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first try ten retries, 2^n x 100 ms before each; the last, after 102.4 s, may succeed."""
    waits: list[float] = []
    monkeypatch.setattr(clock, "wait", lambda seconds, _stopped: waits.append(seconds) or True)
    broker = Broker(*[THROTTLED] * 10)
    Gateway(broker, repository, clock).send_serialised(b"{}")
    assert waits == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4])
    assert broker.taken == [b"{}"]


def test_after_ten_retries_the_error_is_generr005_and_the_message_is_kept(
    repository: Repository, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The sender is told GENERR005, and so is the log; the next flush, by a new process too, sends it."""
    broker = Broker(*[PublishUnknownError("timeout", "no answer")] * 11)
    with caplog.at_level("INFO"), pytest.raises(SendFailedError, match="GENERR005"):
        Gateway(broker, repository, clock).send_serialised(b"{}")
    assert broker.calls == 11
    assert [record.levelname for record in caplog.records if "GENERR005" in record.message] == ["ERROR"]
    tries = [record.message for record in caplog.records if record.levelname == "INFO"]
    assert len(tries) == 10
    assert all(line.startswith("GENERR006: trying to send") for line in tries)
    repository.close()
    reopened = Repository(repository.path, clock)
    assert Gateway(broker, reopened, clock).flush() == 1
    assert broker.taken == [b"{}"]
    reopened.close()


def test_what_the_broker_will_never_take_holds_up_nothing_else(repository: Repository, clock: Clock) -> None:
    """A final refusal is reported after the others have gone, and the refused message is kept."""
    broker = Broker(PublishRefusedError("ValidationException", "too large"))
    gateway = Gateway(broker, repository, clock)
    with pytest.raises(SendRefusedError, match="too large"):
        gateway.send_serialised(b'"bad"', b'"good"')
    assert broker.taken == [b'"good"']
    assert clock.elapsed() == 0
    assert gateway.flush() == 0
    assert repository.tally("input")[(MessageStatus.TO_SEND, None, "GENERR006")] == 1


def test_a_large_message_goes_out_as_a_sequence(repository: Repository, clock: Clock) -> None:
    """A body beyond the limit is split; the parts give it back byte for byte."""
    broker = Broker()
    message = _message(400_000)
    parts = Gateway(broker, repository, clock, new_id=_ids()).send(message)
    assert len(parts) > 1
    assert broker.taken == parts
    assert json.loads(join(parts))["messageBody"] == message["messageBody"]


def test_the_machine_that_sends_is_in_the_history(repository: Repository, clock: Clock) -> None:
    """A gateway with a machine adds its entry behind those that are there."""
    broker = Broker()
    Gateway(broker, repository, clock, machine=Machine("repository", "localhost")).send(_message())
    history = json.loads(broker.taken[0])["messageHeader"]["messageHistory"]
    assert [entry["machineId"] for entry in history] == ["repository"]
    assert history[0]["timestamp"].endswith("Z")
