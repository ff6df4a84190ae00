"""The processes that Spark's tasks run in."""

from __future__ import annotations

import socket
import threading
from io import BufferedReader, BufferedWriter

import pytest

from emulator.clock import stopwatch
from sandbox.pipeline.spark import python_daemon

_HEAD, _REST, _ROUNDS = b"h" * 4600, b"r" * 400, 20


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="NO TCP_QUICKACK: Linux alone has it")
def test_a_task_that_comes_in_two_writes_is_not_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM's second write waits for the acknowledgement of its first, which comes at once."""

    def read_task(infile: BufferedReader, outfile: BufferedWriter) -> None:
        assert infile.read(len(_HEAD) + len(_REST)) == _HEAD + _REST
        outfile.write(b"done")
        outfile.flush()

    monkeypatch.setattr(python_daemon, "_run_task", read_task)
    with socket.create_server(("127.0.0.1", 0)) as server:
        jvm = socket.create_connection(server.getsockname())
        worker, _ = server.accept()

        def work() -> None:
            with worker.makefile("rb") as infile, worker.makefile("wb") as outfile:
                for _ in range(_ROUNDS):
                    python_daemon.run_task(infile, outfile)

        working = threading.Thread(target=work, daemon=True)
        working.start()
        lasted = []
        with jvm, worker:
            for _ in range(_ROUNDS):
                began = stopwatch()
                jvm.sendall(_HEAD)
                jvm.sendall(_REST)
                assert jvm.recv(4) == b"done"
                lasted.append(stopwatch() - began)
            working.join()
    # The first rounds of a connection are acknowledged at once anyhow.
    assert min(lasted[_ROUNDS // 2 :]) < 0.03
