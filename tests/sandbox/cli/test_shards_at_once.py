"""The command line on a stream of eight shards: it reads, and works on, all of them at the same time."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.channels.kinesis import connect
from rdss_sandbox.client import Client
from rdss_sandbox.questions.conditions import read_condition, wait_for
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.taken_out import needs

SHARDS, EACH = 8, 3
PATIENCE = 10.0


@contextmanager
def _serving_eight_at_once() -> Iterator[str]:
    """The address of a file that is served when eight ask for it at the same time, and else is damaged."""
    together = threading.Barrier(SHARDS, timeout=PATIENCE)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = b"reef"
            try:
                together.wait()
            except threading.BrokenBarrierError:
                content = b"torn"
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        # With the default of five, the other clients would try to connect again for seconds.
        request_queue_size = SHARDS * EACH

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/reef.csv"
        server.shutdown()
        thread.join()


def _messages(location: str) -> Iterator[dict[str, Any]]:
    """Creates, each with the file at ``location``."""
    samples = Samples(3)
    while True:
        message = samples.message("MetadataCreate", "dataset")
        if files := message["messageBody"]["objectFile"]:
            checksum = files[0]["fileChecksum"][0]
            checksum |= {"checksumType": "md5", "checksumValue": md5(b"reef").hexdigest()}
            platform = files[0]["fileStoragePlatform"] | {"storagePlatformType": "HTTP"}
            told = {"fileSize": 4, "fileStorageLocation": location, "fileStoragePlatform": platform}
            message["messageBody"]["objectFile"] = [files[0] | told | {"fileChecksum": [checksum]}]
            yield message


@pytest.mark.parametrize("options", [(), pytest.param(("--asynchronous",), marks=needs("processing"))])
def test_files_of_eight_shards_are_fetched_at_the_same_time(
    emulator: Embedded, ask: Callable[..., Any], options: tuple[str, ...]
) -> None:
    """The server answers no request before there are eight: one after another, none would be packaged.

    So eight shards with 100 ms of work a message are eight times as fast as one. Each message is packaged
    once, and those of a shard in their order.
    """
    client = connect(emulator.aws)
    client.create_stream(StreamName="eight", ShardCount=SHARDS)
    shards = client.list_shards(StreamName="eight")["Shards"]
    sent: dict[str, list[str]] = defaultdict(list)
    with _serving_eight_at_once() as location:
        messages = _messages(location)
        for _ in range(EACH):
            for shard in shards:
                message, start = next(messages), shard["HashKeyRange"]["StartingHashKey"]
                client.put_record(
                    StreamName="eight", Data=serialise(message), PartitionKey="k", ExplicitHashKey=start
                )
                sent[shard["ShardId"]].append(message["messageHeader"]["messageId"])
        ran = ask("application", "run", "preservation", "--channel", "eight", "--once", "--json", *options)
    assert ran.code == 0
    deeds = [json.loads(line) for line in ran.out.splitlines()]
    assert [deed["did"].rpartition(" with ")[2] for deed in deeds] == ["1 files"] * SHARDS * EACH
    for ids in sent.values():
        assert [deed["message_id"] for deed in deeds if deed["message_id"] in ids] == ids


def test_eight_shards_are_asked_at_the_same_time(emulator: Embedded, ask: Callable[..., Any]) -> None:
    """The clock stands still, so no call is answered, until all eight are on their way."""
    client = connect(emulator.aws)
    client.create_stream(StreamName="eight", ShardCount=SHARDS)
    messages, sent = Samples(3).stream(SHARDS), []
    for shard, message in zip(client.list_shards(StreamName="eight")["Shards"], messages, strict=True):
        start = shard["HashKeyRange"]["StartingHashKey"]
        client.put_record(
            StreamName="eight", Data=serialise(message), PartitionKey="k", ExplicitHashKey=start
        )
        sent.append(message["messageHeader"]["messageId"])
    ask("clock", "freeze")
    ask("fault", "add", "latency", "--channel", "eight", "--direction", "deliver", "--limit", str(SHARDS))

    struck = f"fault latency has struck {SHARDS} times"

    def go_on() -> None:
        try:
            wait_for(
                read_condition(struck), lambda: Client(emulator.control), seconds=PATIENCE, wanted=struck
            )
        finally:
            emulator.components.clock.resume_real_time()

    waiting = threading.Thread(target=go_on)
    waiting.start()
    received = ask("receive", "--channel", "eight", "--follow", "--count", str(SHARDS), "--json")
    waiting.join()
    assert received.code == 0
    ids = [json.loads(line)["messageHeader"]["messageId"] for line in received.out.splitlines()]
    assert sorted(ids) == sorted(sent)
