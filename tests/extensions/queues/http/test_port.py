"""The messaging port of a whole sandbox."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from extensions.queues.settings import USUAL_PORT, QueueSettings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.queues import PROJECT
from rdss_sandbox.shapes.topology import Topology
from tests.extensions.queues.http.case import CLIENT
from tests.waiting import wait_until

_HEADERS = {"Client-ID": CLIENT, "X-Project-ID": "demo"}
TOPOLOGY = Topology(streams={"input": 1}, claimable=("input",))


def settings(**more: Any) -> Settings:
    return Settings(aws_port=0, control_port=0, **{"data_dir": None, **more})


def asked(url: str, method: str, path: str, body: Any = None) -> httpx.Response:
    with httpx.Client(base_url=url, trust_env=False, headers=_HEADERS) as client:
        return client.request(method, path, json=body)


def test_a_client_finds_its_way_without_headers() -> None:
    """The versions at the root, and what a version has at its own path, as discovery asks for them."""
    with (
        embedded(settings()) as emulator,
        httpx.Client(base_url=emulator.urls["queues"], trust_env=False) as client,
    ):
        versions = client.get("/")
        assert (versions.status_code, [each["id"] for each in versions.json()["versions"]]) == (
            300,
            ["1", "1.1", "2"],
        )
        for path in ("/v1", "/v1/", "/v1.1", "/v2"):
            home = client.get(path)
            assert (home.status_code, home.headers["content-type"]) == (200, "application/json-home")
            template = home.json()["resources"]["rel/claim"]["href-template"]
            assert template.startswith(f"{path.rstrip('/')}/queues/{{queue_name}}/claims")


@pytest.mark.parametrize("version", ["v1", "v1.1", "v2"])
def test_the_home_document_names_its_parameters(version: str) -> None:
    """Every limit by what it limits; the rest by their own names."""
    with embedded(settings()) as emulator:
        resources = asked(emulator.urls["queues"], "GET", f"/{version}/").json()["resources"]
    limits = {
        rel: resource["href-vars"]["limit"]
        for rel, resource in resources.items()
        if "limit" in resource["href-vars"]
    }
    expected = {
        "rel/queues": "param/queue_limit",
        "rel/messages": "param/messages_limit",
        "rel/claim": "param/claim_limit",
    }
    assert limits == expected | ({"rel/subscriptions": "param/subscription_limit"} if version == "v2" else {})
    assert resources["rel/queues"]["href-vars"]["marker"] == "param/marker"


@pytest.mark.parametrize("version", ["v1", "v1.1", "v2"])
def test_a_body_that_is_empty_is_told_from_none(version: str) -> None:
    """A length of 0 was given, and nothing can be read from that; without a length there is no body."""
    with embedded(settings()) as emulator:
        path = f"/{version}/queues/q/messages"
        empty = asked(emulator.urls["queues"], "POST", path)
        assert empty.request.headers["content-length"] == "0"
        assert (empty.status_code, empty.json()) == (
            400,
            {"title": "Invalid request body", "description": "Request body could not be parsed."},
        )
        with httpx.Client(base_url=emulator.urls["queues"], trust_env=False, headers=_HEADERS) as client:
            request = client.build_request("POST", path)
            del request.headers["content-length"]
            assert client.send(request).json()["description"] == "Request body can not be empty"


def test_a_claim_survives_the_sandbox(tmp_path: Path) -> None:
    """Stopped and started on the same directory: the claim still holds, and a reset forgets it."""
    with embedded(settings(data_dir=tmp_path)) as emulator:
        asked(emulator.urls["queues"], "POST", "/v2/queues/q/messages", {"messages": [{"body": {"n": 1}}]})
        claim = asked(emulator.urls["queues"], "POST", "/v2/queues/q/claims").headers["location"]
    with embedded(settings(data_dir=tmp_path)) as emulator:
        held = asked(emulator.urls["queues"], "GET", claim).json()
        assert [message["body"] for message in held["messages"]] == [{"n": 1}]
        assert asked(emulator.urls["queues"], "POST", "/v2/queues/q/claims").status_code == 204
        with Client(emulator.control) as control:
            control.reset()
        assert asked(emulator.urls["queues"], "GET", claim).status_code == 404


def test_time_that_is_moved_by_hand_ends_a_claim() -> None:
    """The sandbox's clock is the clock of queues, and the event says who held what."""
    with embedded(settings()) as emulator, Client(emulator.control) as control:
        asked(emulator.urls["queues"], "POST", "/v2/queues/q/messages", {"messages": [{"body": 1}]})
        asked(emulator.urls["queues"], "POST", "/v2/queues/q/claims", {"ttl": 600, "grace": 60})
        control.change_clock(ClockChange("advance", seconds=600))
        assert asked(emulator.urls["queues"], "POST", "/v2/queues/q/claims").status_code == 201
        kinds = [event.kind for event in control.events() if event.kind.startswith("queue.")]
    assert kinds == [
        "queue.created",
        "queue.messages_posted",
        "queue.claimed",
        "queue.claim_expired",
        "queue.claimed",
    ]


def test_a_slow_channel_holds_up_nobody_else() -> None:
    """While one request waits for the stream behind its queue, others are answered."""
    with ThreadPoolExecutor(1) as others, ExitStack() as stack:
        emulator = stack.enter_context(embedded(settings(topology=TOPOLOGY)))
        control = stack.enter_context(Client(emulator.control))
        viewing = stack.enter_context(
            httpx.Client(
                base_url=emulator.urls["queues"],
                trust_env=False,
                headers=_HEADERS | {"X-Project-ID": PROJECT},
            )
        )
        control.change_clock(ClockChange("freeze"))
        stack.callback(control.change_clock, ClockChange("advance", seconds=61))
        control.add_fault(
            NewFault("latency", channel="input", direction="deliver", attributes={"delay": "60s"})
        )
        body = {"messages": [{"body": 1}]}
        posted = others.submit(viewing.post, "/v2/queues/input/messages", json=body, timeout=60)
        wait_until(lambda: any(event.kind == "fault.injected" for event in control.events()))
        assert asked(emulator.urls["queues"], "GET", "/").status_code == 300
        assert not posted.done()
        control.change_clock(ClockChange("advance", seconds=61))
        assert posted.result(20).status_code == 201


def test_a_usual_port_that_is_taken_keeps_no_sandbox_from_starting() -> None:
    """It takes a free one, and the status says where and why."""
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", USUAL_PORT))
            taken.listen()
        except OSError:
            pass  # Somebody else has it, which is as good.
        usual = settings(extensions=(QueueSettings(queues_port=None),))
        with embedded(usual) as emulator, Client(emulator.control) as control:
            status = control.status()
            assert asked(emulator.urls["queues"], "GET", "/v2/ping").status_code == 204
    url = emulator.urls["queues"]
    assert status.ports["queues"] == url != f"http://127.0.0.1:{USUAL_PORT}"
    assert any(f"queues answer at {url}" in note and "in use" in note for note in status.notes)


def test_a_port_that_was_asked_for_and_is_taken_is_said_so() -> None:
    """Then it is a mistake, and the sandbox does not start."""
    with embedded(settings()) as emulator:
        port = int(emulator.urls["queues"].rpartition(":")[2])
        taken = settings(extensions=(QueueSettings(queues_port=port),))
        with pytest.raises(OSError, match=f"port {port} .* is in use"), embedded(taken):
            pass


def test_a_body_beyond_all_bounds_is_refused_and_nothing_breaks() -> None:
    """17 MiB are answered with 400; the next request is served."""
    with embedded(settings()) as emulator:
        body = {"messages": [{"body": "x" * (17 << 20)}]}
        refused = asked(emulator.urls["queues"], "POST", "/v2/queues/q/messages", body)
        assert (refused.status_code, refused.json()["title"]) == (400, "Invalid API request")
        assert asked(emulator.urls["queues"], "GET", "/v2/ping").status_code == 204


def test_nothing_of_the_api_is_imported_before_it_is_asked() -> None:
    """A sandbox whose queues nobody uses does not wait for them when it starts."""
    program = (
        "import sys, httpx\n"
        "from emulator.assembly.embedded import embedded\n"
        "from emulator.settings.settings import Settings\n"
        "with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:\n"
        "    print('extensions.queues.http' in sys.modules)\n"
        "    print(httpx.get(emulator.urls['queues'], trust_env=False).status_code)\n"
        "    print('extensions.queues.http' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout.split(), ran.returncode) == (["False", "300", "True"], 0), ran.stderr
