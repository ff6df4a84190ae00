"""A million messages of 1 KB in one queue: what a process with our broker holds in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from emulator.amqp.broker import Broker
from emulator.amqp.message import Message
from emulator.clock import Clock
from tests.emulator.amqp.calls import queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import build_properties

def resident():
    fields = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in fields if line.startswith("VmRSS"))

count, folder = int(sys.argv[1]), Path(sys.argv[2])
own = OwnBroker(folder)
own.client().ask(queue(durable=True))
vhost = own.broker.vhost
body, properties = bytes(1024), build_properties(mode=2)
for number in range(count):
    list(vhost.publish(Message("", ("q1",), properties, body, persistent=True), [vhost.queues["q1"]]))
full = resident()
own.broker.close()
del own, vhost
own = OwnBroker(folder)
waiting = own.broker.vhost.queues["q1"]
assert waiting.ready == count, waiting.ready
found = resident()
first = waiting.get()
assert own.broker.vhost.load(first).body == body
print(full, found)
"""


@pytest.mark.slow
def test_a_million_messages_take_less_than_300_megabytes(tmp_path: Path) -> None:
    """While they come, and when a new process finds them."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, "1000000", str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert ran.returncode == 0, ran.stderr
    full, found = map(int, ran.stdout.split())
    assert full < 300
    assert found < 300
