"""A right consumer with the KCL: it starts the MultiLangDaemon, which starts this program for each shard.

    certified_kcl.py JAVA JARS PYTHON   becomes the daemon
    certified_kcl.py                    is a record processor

A message that was processed is kept in a file that all record processors share, under a lock: the KCL
delivers again what was not checkpointed, and after a split to another process.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

STATE = Path(os.environ["SANDBOX_STATE_DIR"])
IDS = STATE / "ids.txt"
TOLD = "CERTIFIED_KCL_TOLD"
SETTINGS = {
    "applicationName": "certified",
    "streamName": os.environ["SANDBOX_STREAM"],
    "regionName": os.environ["AWS_REGION"],
    "AwsCredentialsProvider": "DefaultCredentialsProvider",
    "initialPositionInStream": "TRIM_HORIZON",
    "retrievalMode": "POLLING",
    # The same worker takes its own leases again after a kill, without waiting for them to run out. It would
    # wait for the leader's lock of a dead worker, its own, with the assignment of leases by a leader.
    "workerIdentifier": "certified",
    "clientVersionConfig": "CLIENT_VERSION_CONFIG_COMPATIBLE_WITH_2X",
    "failoverTimeMillis": 2000,
    "shardSyncIntervalMillis": 1000,
    "parentShardPollIntervalMillis": 500,
}


def start_daemon(java: str, jars: str, python: str) -> None:
    """Become the daemon. Its log goes to standard error; the told lines keep standard output."""
    told = os.dup(1)
    os.set_inheritable(told, True)
    os.dup2(2, 1)
    os.environ[TOLD] = f"/proc/{os.getpid()}/fd/{told}"
    properties = STATE / "kcl.properties"
    settings = {**SETTINGS, "executableName": f"{python} {__file__}"}
    properties.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    daemon = ["-cp", f"{jars}/*", "software.amazon.kinesis.multilang.MultiLangDaemon"]
    os.execv(
        java, [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", *daemon, "--properties-file", str(properties)]
    )


def run_processor() -> None:
    """Process the records of one shard."""
    from amazon_kclpy import kcl
    from amazon_kclpy.v3 import processor

    told = os.open(os.environ[TOLD], os.O_WRONLY)

    class Processor(processor.RecordProcessorBase):
        def initialize(self, initialize_input: Any) -> None:
            pass

        def process_records(self, process_records_input: Any) -> None:
            for record in process_records_input.records:
                process(record.binary_data, told)
            if process_records_input.records:
                process_records_input.checkpointer.checkpoint()

        def lease_lost(self, lease_lost_input: Any) -> None:
            pass

        def shard_ended(self, shard_ended_input: Any) -> None:
            shard_ended_input.checkpointer.checkpoint()

        def shutdown_requested(self, shutdown_requested_input: Any) -> None:
            shutdown_requested_input.checkpointer.checkpoint()

    kcl.KCLProcess(Processor()).run()


def process(data: bytes, told: int) -> None:
    """Tell a message once, whichever process gets it, with the SHA-256 of its body's text."""
    message_id = json.loads(data)["messageHeader"]["messageId"]
    text, name = data.decode(), '"messageBody":'
    start = text.index(name) + len(name)
    _, end = json.JSONDecoder().raw_decode(text, start)
    digest = hashlib.sha256(text[start:end].encode()).hexdigest()
    with IDS.open("a+") as ids:
        fcntl.flock(ids, fcntl.LOCK_EX)
        ids.seek(0)
        if message_id not in ids.read().split():
            os.write(told, json.dumps({"processed": message_id, "sha256": digest}).encode() + b"\n")
            ids.write(f"{message_id}\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        start_daemon(*sys.argv[1:])
    else:
        run_processor()
