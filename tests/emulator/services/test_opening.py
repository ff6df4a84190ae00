"""Two requests at once are the first that a service gets."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from emulator.clock import Clock
from emulator.events import Events
from emulator.services.service_store import ServiceStore

A_MOMENT = 0.2
"""Seconds that a request gets in which it must not be answered."""
LIST = {"REQUEST_METHOD": "GET", "PATH_INFO": "/"}


def test_no_request_is_answered_before_what_is_made_on_opening() -> None:
    """The sandbox's buckets are made on opening S3: who lists them meanwhile does not find half of them."""
    store = ServiceStore(None, Events(Clock()), fsync=False)
    made = threading.Event()
    others: list[Future[bool]] = []

    def ask() -> bool:
        with store.request("s3", LIST):
            return made.is_set()

    with ThreadPoolExecutor() as threads:

        def make() -> None:
            others.append(threads.submit(ask))
            wait(others, timeout=A_MOMENT)
            made.set()

        store.on_open["s3"] = make
        assert threads.submit(ask).result(60)
        assert others[0].result(60)
    store.close()
