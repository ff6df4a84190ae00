"""A consumer on the sandbox's own receiver: it joins, upgrades, rejects, and drops what it knows."""

import json
import os
import signal
from contextlib import closing
from pathlib import Path

from emulator.clock import Clock
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.judging.arrivals import body_digest
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.over_kinesis import open_endpoint
from sandbox.repository import Repository
from schemas.rdss.error_codes import Queue

stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
clock = Clock()
endpoint = AwsEndpoint(os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_REGION"])
queues = {
    Queue.ERROR: os.environ["SANDBOX_ERROR_STREAM"],
    Queue.INVALID: os.environ["SANDBOX_INVALID_STREAM"],
}


def process(arrival, _store) -> None:
    told = {"processed": arrival.header.message_id, "sha256": body_digest(arrival.data)}
    print(json.dumps(told), flush=True)


with (
    closing(Repository(Path(os.environ["SANDBOX_STATE_DIR"], "repository.sqlite3"), clock)) as repository,
    assembled_receiver(
        *open_endpoint(endpoint, clock),
        stream=os.environ["SANDBOX_STREAM"],
        repository=repository,
        application=process,
        clock=clock,
        queues=queues,
    ) as receiver,
):
    receiver.run(lambda: bool(stopping), wait=0.6)
