"""A receiver that dies, anywhere: nothing is lost, nothing processed twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import embedded
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.judging.arrivals import ArrivalsReader
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from tests.contracts import make_samples
from tests.sandbox.receiver.mortal import Life, MortalStore
from tests.sandbox.receiver.receiver_on_tapes import NOW, Tapes, make_parts


def _filled(tapes: Tapes, folder: Path) -> tuple[Tapes, Counter[bytes], bytes]:
    """Tapes with one of everything, what must be processed, and what the reject carries."""
    contract, draws = tapes.contract, Chance(1).draws("parts")
    here, samples = type(tapes)(folder, tapes.clock, contract=contract), make_samples(contract, 1, NOW)
    assert contract.samples is not None
    code = contract.samples.codes[-1]
    whole, bad, parts = samples.message(), samples.bad(code), make_parts(contract, samples, 2, draws)
    here.put(whole, *parts[1:], bad, *parts[:1], whole)
    wanted = Counter([whole.data])
    if contract.sequences and (joined := contract.sequences.judge_parts(part.data for part in parts).whole):
        wanted[joined] += 1
    return here, wanted, here.carried(contract.decorate(bad.data, code, "why", now=NOW))


def _live(tapes: Tapes, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store = type(tapes).open

    def opened(self: Any) -> Any:
        repository = open_store(self)
        repository._store = MortalStore(repository._store, self.step)
        return repository

    with monkeypatch.context() as mortal:
        mortal.setattr(type(tapes), "open", opened)
        tapes.step = life
        try:
            tapes.receive()
        except tapes.crash:
            assert life.ends_at is not None
        finally:
            tapes.step = lambda: None


def test_a_receiver_killed_at_any_read_or_write_loses_and_repeats_nothing(
    any_tapes: Tapes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each statement of its store, each call to a channel, each step of the application, one by one."""
    whole_life = Life(None, any_tapes.crash)
    here, *_ = _filled(any_tapes, tmp_path / "whole")
    _live(here, whole_life, monkeypatch)
    assert whole_life.steps >= 50
    for moment in range(1, whole_life.steps + 1):
        here, wanted, rejected = _filled(any_tapes, tmp_path / str(moment))
        life = Life(moment, any_tapes.crash)
        _live(here, life, monkeypatch)
        assert life.steps >= moment
        here.receive()
        assert Counter(data for _, data, _ in here.arrivals()) == wanted, moment
        # A death between the broker's answer and writing it down sends a reject again, and only that.
        assert [carried for _, carried in here.refused()] in ([rejected], [rejected] * 2), moment


RECEIVER = """
import sys
from pathlib import Path
from emulator.clock import Clock
from sandbox.judging.arrivals import ARRIVALS, record_arrival
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.over_kinesis import open_endpoint
from sandbox.repository import Repository

clock = Clock()
repository = Repository(Path(sys.argv[2]), clock)
with repository.transaction() as store:
    store.execute(ARRIVALS)

def work(arrival):
    print("has one", flush=True)
    sys.stdin.readline()

def process(arrival, store):
    record_arrival(arrival, store, clock.time())
    work(arrival)

class Preparing:
    prepare = staticmethod(work)

    def __call__(self, arrival, store):
        record_arrival(arrival, store, clock.time())

application = Preparing() if sys.argv[3] == "prepares" else process
endpoint = AwsEndpoint(sys.argv[1], "us-east-1")
with assembled_receiver(
    *open_endpoint(endpoint, clock),
    stream="input",
    repository=repository,
    application=application,
    clock=clock,
) as receiver:
    receiver.run(lambda: True)
"""


@pytest.mark.parametrize("kind", ["processes", "prepares"])
def test_a_receiver_ended_by_kill_9_loses_and_repeats_nothing(tmp_path: Path, kind: str) -> None:
    """A process with a real stream: killed with a message half processed, twice, and started again.

    One that prepares is killed in its preparation, on the thread of a shard.
    """
    topology = Topology({"input": 2, "error": 1, "invalid": 1}, ("rdss-error", "rdss-invalid"))
    settings = Settings(aws_port=0, control_port=0, data_dir=None, seed=1, topology=topology)
    store = tmp_path / "receiver.sqlite3"
    with embedded(settings) as running:
        samples = Samples(9)
        sent = [serialise(message) for message in samples.stream(5)]
        kinesis = AwsEndpoint(running.aws, "us-east-1").kinesis()
        for number, data in enumerate([*sent, samples.bad(ErrorCode.GENERR002), sent[0]]):
            kinesis.put_record(StreamName="input", Data=data, PartitionKey=str(number))
        kinesis.close()
        begun = [_receive(running.aws, store, kind, killed_at) for killed_at in (2, 3, None)]
    assert begun[:2] == [2, 3]
    assert begun[2] >= 2, "what was half done is not done"
    with closing(ArrivalsReader(store)) as reader:
        arrived = Counter(each.message_id for each in reader.more())
    assert arrived == Counter(json.loads(data)["messageHeader"]["messageId"] for data in sent)


def _receive(aws: str, store: Path, kind: str, killed_at: int | None) -> int:
    """Run a receiver until nothing is left, or kill it amid its n-th message; how many it began with."""
    command = [sys.executable, "-W", "ignore", "-c", RECEIVER, aws, str(store), kind]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    begun = 0
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while process.stdout.readline():
            begun += 1
            if begun == killed_at:
                process.send_signal(signal.SIGKILL)
            else:
                process.stdin.write("go on\n")
                process.stdin.flush()
    assert process.returncode == (-signal.SIGKILL if killed_at else 0)
    return begun
