"""A record processor for the KCL's MultiLangDaemon; notes what it is given in a file, its argument."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from amazon_kclpy import kcl
from amazon_kclpy.v3 import processor


class Notes(processor.RecordProcessorBase):
    """One line of JSON an event, appended in one write so that many processors can share the file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _note(self, event: str, **fields: Any) -> None:
        line = {"event": event, "shard": self._shard, **fields}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def initialize(self, initialize_input: Any) -> None:
        self._shard = initialize_input.shard_id
        self._note("begin")

    def process_records(self, process_records_input: Any) -> None:
        records = process_records_input.records
        self._note("records", data=[record.binary_data.decode() for record in records])
        if records:
            process_records_input.checkpointer.checkpoint()

    def lease_lost(self, lease_lost_input: Any) -> None:
        self._note("lost")

    def shard_ended(self, shard_ended_input: Any) -> None:
        self._note("end")
        shard_ended_input.checkpointer.checkpoint()

    def shutdown_requested(self, shutdown_requested_input: Any) -> None:
        shutdown_requested_input.checkpointer.checkpoint()


if __name__ == "__main__":
    kcl.KCLProcess(Notes(sys.argv[1])).run()
