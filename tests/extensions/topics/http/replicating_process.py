"""A process that serves topics, on a port and in a directory that are given, until it is killed.

Started by ``test_replicating`` with the directory, the port, and for an upstream how and where its downstream
is. It prints its port once it is served.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.topic_configuration import TopicConfiguration
from rdss_sandbox.shapes.topics import Downstream
from tests.extensions.topics.http.topics_port import Port


def configuration(mode: Any = "", url: str = "") -> TopicConfiguration:
    """The topics ``local`` and ``orders``, which goes on to ``url`` if there is one."""
    orders = Topic(
        name="orders", keys=("/id",), logged=True, downstreams=("there",) if url else (), expiration=0
    )
    downstreams = (Downstream(name="there", url=url, mode=mode),) if url else ()
    return TopicConfiguration(topics=(orders, Topic(name="local", logged=True)), downstreams=downstreams)


async def main(directory: str, port: str, *downstream: str) -> None:
    """Serve for ever."""
    served = Port(configuration(*downstream), Clock(), Path(directory), int(port))
    await served.begin()
    served.service.replicate()
    os.write(1, b"%d\n" % served.server.port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
